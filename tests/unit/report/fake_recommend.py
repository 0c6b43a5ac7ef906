"""Realistic facts of ``nanwise recommend`` without training anything."""

import numpy as np

SHARES = [1.0, 0.8, 0.6, 0.4, 0.2]


def recommend_facts():
    rows = [
        ("autorec", "method", 0.8908, 0.7036, 0.048, 0.044, 0.040, 0.427, 11.4),
        ("autorec, not normalised", "contrast", 0.8872, 0.7000, 0.114, 0.102, 0.080, 0.303, 3.0),
        ("biases", "baseline", 0.9339, 0.7397, 0.025, 0.029, 0.024, 0.022, 0.3),
        ("popularity", "baseline", 1.0216, 0.8198, 0.128, 0.149, 0.081, 0.041, 0.003),
    ]
    names = ("method", "role", "rmse", "mae", "ndcg", "recall", "precision", "coverage")
    names = (*names, "fit_seconds")
    return {
        "kind": "recommend",
        "title": "Recommendations from ratings.csv",
        "created": "2026-03-01T12:00:00+00:00",
        "method": "autorec",
        "contrast": "autorec, not normalised",
        "data": _data(),
        "protocol": {
            "split": "rating",
            "test": 0.1,
            "k": 10,
            "train": 90_000,
            "held": 10_000,
            "cold_ratings": 17,
            "liked_from": 4.0,
            "ranked_users": 858,
            "left_out": 85,
        },
        "scores": [
            dict(zip(names, row, strict=True), summary=f"About {row[0]}.", score_seconds=0.2)
            for row in rows
        ],
        "history": [
            {
                "epoch": e,
                "train_loss": 1 / e,
                "valid_loss": 0.8 + 0.01 * (e - 9) ** 2,
                "seconds": 0.1,
            }
            for e in range(1, 15)
        ],
        "best_epoch": 9,
        "stress": {"autorec": _stress(0.001), "autorec, not normalised": _stress(0.021)},
        "model": {
            "method": "autorec",
            "path": "out/model",
            "how": "trained again on all ratings for 9 epochs",
            "params": {"by": "item", "hidden": 500},
        },
        "top": {"path": "out/top.csv", "n": 10, "users": 943, "rows": 9430},
        "settings": {"k": 10, "split": "rating", "seed": 0},
        "versions": {"python": "3.11", "nanwise": "0.1.0"},
        "command": "nanwise recommend ratings.csv",
    }


def _data():
    return {
        "source": "ratings.csv",
        "ratings": 100_000,
        "users": 943,
        "items": 1682,
        "density": 0.063,
        "scale": "1 to 5 in steps of 1",
        "mean": 3.53,
        "levels": [{"rating": r, "count": c} for r, c in ((1.0, 6110), (4.5, 34174), (5.0, 21201))],
        "rows_read": 100_007,
        "rows_dropped": 3,
        "duplicates": 4,
        "duplicates_rule": "last",
        "per_user": {"least": 20, "median": 65.0, "most": 737},
        "per_item": {"least": 1, "median": 27.5, "most": 583},
        "empty_users": 0,
        "empty_items": 0,
        "notes": ["4 rows repeat a pair of user and item; what counts is the last"],
    }


def _stress(slope):
    share = np.array(SHARES)
    change = slope * 10 * (share - 1)
    return {
        "kind": "stress",
        "rows_are": "item",
        "rows": 900,
        "repeats": 10,
        "shares": SHARES,
        "kept": SHARES,
        "output": "rating",
        "slope": slope,
        "slope_low": slope - 0.002,
        "slope_high": slope + 0.002,
        "sparsity_bias": slope * 15,
        "outputs": [
            {
                "name": "rating",
                "mean": (3.2 + change).tolist(),
                "full_mean": 3.2,
                "change": change.tolist(),
                "change_low": (change - 0.01).tolist(),
                "change_high": (change + 0.01).tolist(),
            }
        ],
        "scores": {
            "RMSE": {
                "mean": (0.9 + 0.1 * (1 - share)).tolist(),
                "low": (0.89 + 0.1 * (1 - share)).tolist(),
                "high": (0.91 + 0.1 * (1 - share)).tolist(),
            }
        },
        "samples": [
            {
                "row": f"item {k}",
                "observed": [100, 80, 60, 40, 20],
                "prediction": [3 + k, 3.1 + k, 3 + k, 2.9 + k, 3 + k],
                "mean_observed": [100, 80, 60, 40, 20],
                "mean_prediction": [3 + k] * 5,
            }
            for k in range(3)
        ],
    }
