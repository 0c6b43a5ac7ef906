"""Realistic facts without training anything, shared by the unit tests and the browser test."""

import numpy as np

METHODS = [
    (
        "sparsity_norm",
        "method",
        "Scale by how many values were observed, then a network.",
    ),
    ("hist_gradient_boosting", "rival", "Gradient boosted trees on raw NaN."),
    ("missing_indicator", "method", "Zeros in gaps, and a second input that marks them."),
    ("iterative", "method", "Chained regressions fill the gaps."),
    ("softimpute", "method", "Low-rank completion."),
    ("knn", "method", "The mean of the nearest rows."),
    ("mean_logistic", "rival", "Mean filling with indicators, then logistic regression."),
    ("mean", "baseline", "The column's mean in every gap."),
    ("median", "baseline", "The column's median in every gap."),
    ("zero", "baseline", "Zeros in gaps."),
    ("batch_norm", "method", "Batch normalisation after the first layer."),
]
COLUMNS = ["pregnant", "glucose", "pressure", "triceps", "insulin", "mass", "pedigree", "age"]
SHARES = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]


def stress_facts(model="zero", slope=-0.03, outputs=("pos",), seed=0, scores=True):
    rng = np.random.default_rng(seed)
    share = np.array(SHARES)
    curves = [_output(name, share, slope * (1 - 0.7 * k)) for k, name in enumerate(outputs)]
    facts = {
        "kind": "stress",
        "model": model,
        "task": "classification",
        "mechanism": "mcar",
        "repeats": 50,
        "rows": 154,
        "rows_total": 768,
        "rows_empty": 0,
        "columns": 8,
        "observed_share": 0.88,
        "shares": SHARES,
        "kept": SHARES,
        "output": outputs[0],
        "slope": slope,
        "slope_low": slope - 0.003,
        "slope_high": slope + 0.003,
        "sparsity_bias": abs(slope) * 9 / 0.24,
        "outputs": curves,
        "samples": [_sample(k, slope, rng) for k in range(3)],
        "scores": {},
    }
    if scores:
        auroc = 0.5 + 0.33 * share**0.45
        facts["scores"] = {
            "AUROC": {
                "mean": auroc.tolist(),
                "low": (auroc - 0.03 * (1 - share)).tolist(),
                "high": (auroc + 0.03 * (1 - share)).tolist(),
                "higher_is_better": True,
            }
        }
    return facts


def _output(name, share, slope):
    change = 10 * slope * (share - 1)
    return {
        "name": name,
        "mean": (0.35 + change).tolist(),
        "standard_error": [0.02] * len(share),
        "change": change.tolist(),
        "change_low": (change - 0.02 * (1 - share)).tolist(),
        "change_high": (change + 0.02 * (1 - share)).tolist(),
        "slope": slope,
        "slope_low": slope - 0.003,
        "slope_high": slope + 0.003,
        "sparsity_bias": abs(slope) * 9 / 0.24,
        "full_mean": 0.35,
        "full_sd": 0.24,
    }


def _sample(k, slope, rng):
    count = np.repeat(np.rint(8 * np.array(SHARES)), 25)
    level = 0.15 + 0.3 * k
    centre = level + 10 * slope * (count / 8 - 1)
    prediction = np.clip(centre + 0.07 * (1 - count / 8) * rng.normal(size=len(count)), 0, 1)
    return {
        "row": 17 * k + 4,
        "observed": count.tolist(),
        "prediction": prediction.tolist(),
        "mean_observed": count[::25].tolist(),
        "mean_prediction": prediction.reshape(-1, 25).mean(axis=1).tolist(),
    }


def compare_facts():
    rng = np.random.default_rng(0)
    return {
        "kind": "compare",
        "title": "Which treatment of the gaps? pima.csv",
        "created": "2026-11-15T22:00:00+00:00",
        "command": "nanwise compare pima.csv --target diabetes",
        "data": _data(rng),
        "metric": {"name": "roc_auc", "label": "AUROC", "higher_is_better": True},
        "leaderboard": _board(rng),
        "baseline": "mean",
        "winner": {
            "method": "sparsity_norm",
            "path": "out/model",
            "params": {"hidden": [256, 256], "plan": {"lr": 0.001}},
        },
        "curves": {
            m: _curve(k, rng)
            for k, m in enumerate(["sparsity_norm", "missing_indicator", "mean", "zero"])
        },
        "stress": {
            m: stress_facts(m, slope, seed=k)
            for k, (m, slope) in enumerate(
                {
                    "sparsity_norm": 0.0011,
                    "hist_gradient_boosting": -0.012,
                    "missing_indicator": -0.019,
                    "iterative": 0.004,
                    "softimpute": 0.006,
                    "knn": -0.006,
                    "mean_logistic": -0.008,
                    "mean": 0.005,
                    "median": -0.004,
                    "zero": -0.027,
                }.items()
            )
        },
        "failures": [
            {
                "method": "batch_norm",
                "fold": k,
                "error": "TrainingError: the loss is not a number in epoch 3, first in layer norm",
            }
            for k in range(5)
        ],
        "settings": {"folds": 5, "seed": 0, "budget": None, "plan": {"epochs": 200, "batch": 128}},
        "versions": {
            "nanwise": "0.1.0",
            "torch": "2.13.0",
            "scikit-learn": "1.9.1",
            "python": "3.11.2",
        },
    }


def _data(rng):
    share = [0, 0.0065, 0.0456, 0.2956, 0.487, 0.0143, 0, 0]
    rows = sorted((rng.random((120, 8)) > share).astype(int).tolist())
    found = {}
    for row in rows:
        found[tuple(row)] = found.get(tuple(row), 0) + 6
    top = sorted(found.items(), key=lambda item: -item[1])[:20]
    return {
        "source": "pima.csv",
        "rows": 768,
        "columns": 8,
        "target": "diabetes",
        "task": "classification",
        "classes": {"neg": 500, "pos": 268},
        "target_stats": {},
        "missing_share": 0.106,
        "complete_rows": 392,
        "dropped_rows": 0,
        "notes": ["Column 'pregnant' holds whole numbers and is read as numeric."],
        "mcar_test": {
            "statistic": 35.1,
            "df": 14,
            "p_value": 0.00142,
            "n_patterns": 4,
            "rows": 768,
            "columns": 8,
            "reason": None,
        },
        "column_facts": [
            {
                "name": n,
                "kind": "numeric",
                "missing": round(768 * s),
                "distinct": 40 + 20 * k,
                "summary": "mean 3.8, from 0 to 17",
            }
            for k, (n, s) in enumerate(zip(COLUMNS, share, strict=True))
        ],
        "pattern": {
            "columns": COLUMNS,
            "rows": rows,
            "patterns": [{"observed": list(p), "count": n} for p, n in top],
        },
    }


def _board(rng):
    out = []
    for k, (name, role, summary) in enumerate(METHODS[:-1]):
        folds = (0.842 - 0.0045 * k + 0.012 * rng.permutation([-2, -1, 0, 1, 2])).tolist()
        mean = float(np.mean(folds))
        gap = {
            "to": "mean",
            "mean": mean - 0.81,
            "low": mean - 0.81 - 0.012,
            "high": mean - 0.81 + 0.012,
        }
        out.append(
            {
                "method": name,
                "role": role,
                "summary": summary,
                "mean": mean,
                "low": mean - 0.018,
                "high": mean + 0.018,
                "folds": folds,
                "difference": None if name == "mean" else gap,
                "fit_seconds": 0.4 + k * 0.31,
                "predict_seconds": 0.004 * (k + 1),
                "failures": 0,
                "error": None,
                "other_scores": {"accuracy": 0.77 - 0.003 * k},
            }
        )
    out.sort(key=lambda row: -row["mean"])
    for rank, row in enumerate(out, start=1):
        row["rank"] = rank
    name, role, summary = METHODS[-1]
    failed = dict.fromkeys(("mean", "low", "high", "difference", "rank"))
    return [
        *out,
        {
            **failed,
            "method": name,
            "role": role,
            "summary": summary,
            "folds": [],
            "fit_seconds": None,
            "predict_seconds": None,
            "failures": 5,
            "error": "TrainingError: the loss is not a number in epoch 3",
            "other_scores": {},
        },
    ]


def _curve(k, rng):
    epoch = np.arange(1, 41)
    train = 0.38 + 0.3 * np.exp(-epoch / (6 + 2 * k))
    valid = train + 0.03 + 0.0015 * np.maximum(0, epoch - 20) + 0.005 * rng.normal(size=40)
    return [
        {"epoch": int(e), "train_loss": float(a), "valid_loss": float(b)}
        for e, a, b in zip(epoch, train, valid, strict=True)
    ]


def reproduce_facts():
    sets = ["bands", "hepatitis", "horse", "mammographics", "pima"]
    treatments = ["zero", "zero + SN", "mean", "missing indicator"]
    rng = np.random.default_rng(3)
    rows = []
    for name in sets:
        cells = []
        for verdict in ("within", "above", "below", "not measured"):
            ours = {"mean": 0.8 + 0.05 * rng.random(), "ci": 0.012, "n": 5}
            cells.append(
                {
                    "ours": None if verdict == "not measured" else ours,
                    "published": {"mean": 0.81, "ci": 0.02},
                    "verdict": verdict,
                    "error": None,
                }
            )
        rows.append({"name": name, "cells": cells})
    rows[-1]["cells"][0]["error"] = "DataError: no such file"
    x = list(range(1, 9))
    series = [
        {
            "name": n,
            "x": x,
            "y": [0.7 + 0.01 * v * k for v in x],
            "low": [0.69 + 0.01 * v * k for v in x],
            "high": [0.71 + 0.01 * v * k for v in x],
        }
        for k, n in enumerate(treatments[:3])
    ]
    return {
        "kind": "reproduce",
        "id": "sn/table9",
        "title": "SN Table 9: ten UCI sets",
        "source": "ICLR 2020, Table 9",
        "scale": "laptop",
        "metric": "AUROC",
        "columns": treatments,
        "rows": rows,
        "notes": ["Smaller network than in the paper."],
        "curves": [
            {
                "title": "Replicated features",
                "x_label": "r",
                "y_label": "accuracy",
                "series": series,
            }
        ],
        "versions": {"torch": "2.13.0"},
        "settings": {"runs": 5},
    }
