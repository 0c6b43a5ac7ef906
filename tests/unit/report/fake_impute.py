"""Realistic facts of ``nanwise impute`` and ``compare-imputers`` without fitting anything."""

GRID = [0.0, 0.5, 1.0, 1.5]
SCORES = {
    "error": 0.6,
    "rmse": 0.62,
    "rmse_column": 0.6,
    "rmse_range": 0.11,
    "rmse_rms": 0.35,
    "rmse_rms_column": 0.38,
    "mae": 0.44,
    "pfc": 0.25,
    "wasserstein": 0.2,
    "wasserstein_draws": 0.05,
    "crps": 0.31,
    "energy": 0.5,
}


def impute_facts():
    errors = [("age", "numeric", "RMSE / sd", 0.7, 1.0), ("colour", "categorical", "share wrong")]
    return {
        "kind": "impute",
        "title": "Gaps of people.csv, filled by chained",
        "created": "2026-03-01T12:00:00+00:00",
        "method": "chained",
        "summary": "Each column from the others.",
        "draws": 0,
        "data": {
            "source": "people.csv",
            "rows": 1000,
            "columns": 3,
            "missing": 300,
            "missing_share": 0.1,
            "complete_rows": 750,
            "filled": 290,
            "left": 10,
            "notes": ["column 'id': 10 gaps stay"],
        },
        "columns": [
            _column("age", "numeric", 200, "mean 41, sd 12", "mean 43, sd 7"),
            _column("colour", "categorical", 90, "red 60%, blue 40%", "red 90%, blue 10%"),
            _column("whole", "numeric", 0, "mean 0, sd 1", ""),
        ],
        "densities": [
            {
                "name": "age",
                "kind": "numeric",
                "n_observed": 800,
                "n_imputed": 200,
                "x": GRID,
                "observed": [0.1, 0.8, 0.7, 0.1],
                "imputed": [0.0, 1.2, 0.4, 0.0],
            },
            {
                "name": "colour",
                "kind": "categorical",
                "n_observed": 910,
                "n_imputed": 90,
                "levels": ["red", "blue"],
                "observed": [0.6, 0.4],
                "imputed": [0.9, 0.1],
            },
        ],
        "check": {
            "share": 0.1,
            "cells": 270,
            "scores": {**SCORES, "wasserstein_draws": None, "crps": None, "energy": None},
            "mean_scores": {**SCORES, "error": 0.8},
            "columns": [
                _error(*errors[0]),
                _error(*errors[1], 0.45, 0.4),
                _error("whole", "numeric", "RMSE / sd", None, None),
            ],
        },
        "seconds": {"fit": 1.2, "fill": 0.3, "check": 1.6},
        "history": [{"epoch": e, "train_loss": 1 / e, "valid_loss": None} for e in (1, 2, 3)],
        "files": ["out/completed.csv"],
        "model": {"path": "out/model", "params": {"max_iter": 10}},
        "settings": {"method": "chained", "m": 1, "seed": 0},
        "versions": {"python": "3.11", "nanwise": "0.1.0"},
        "command": "nanwise impute people.csv",
    }


def _column(name, kind, missing, observed, imputed):
    return {
        "name": name,
        "kind": kind,
        "missing": missing,
        "share": missing / 1000,
        "filled": missing,
        "observed": observed,
        "imputed": imputed,
    }


def _error(name, kind, measure, error, mean_error):
    return {
        "name": name,
        "kind": kind,
        "held": 100,
        "measure": measure,
        "error": error,
        "mean_error": mean_error,
        "wasserstein": 0.2,
        "crps": None,
    }


def compare_imputers_facts():
    settings = [("mcar", 0.2), ("mcar", 0.5), ("mnar", 0.2), ("mnar", 0.5)]
    return {
        "kind": "compare_imputers",
        "title": "Imputers on people.csv",
        "created": "2026-03-01T12:00:00+00:00",
        "data": {
            "source": "people.csv",
            "rows": 1000,
            "columns": 3,
            "numbers": 2,
            "missing_share": 0.1,
            "notes": ["GapWarning: something (knn)"],
        },
        "metric": {"name": "error", "label": "error", "higher_is_better": False},
        "baseline": "mean",
        "settings_facts": [
            {
                "mechanism": mechanism,
                "rate": rate,
                "name": f"{mechanism.upper()} {100 * rate:g} %",
                "best": "knn" if (mechanism, rate) == ("mnar", 0.2) else "chained",
            }
            for mechanism, rate in settings
        ],
        "leaderboard": [
            _row(1, "chained", 0.6, 0.7, [0.5, 0.6, 0.65, 0.65]),
            _row(2, "mean", 0.9, 1.0, [0.9, 0.9, 0.9, 0.9], role="baseline"),
            _row(3, "median", 0.95, 1.05, [0.9, 1.0, 0.9, 1.0], role="baseline"),
            _row(None, "knn", 0.5, 0.6, [0.6, None, 0.4, None], error="MemoryError: too large"),
            _row(None, "gain", None, None, [None] * 4, error="TrainingError: not a number"),
        ],
        "failures": [
            {"method": "knn", "fold": "MCAR 50 %, repeat 1", "error": "MemoryError: too large"}
        ],
        "seconds": 42.0,
        "settings": {"rates": [0.2, 0.5], "seed": 0},
        "versions": {"python": "3.11", "nanwise": "0.1.0"},
        "command": "nanwise compare-imputers people.csv",
    }


def _row(rank, method, mean, relative, errors, role="method", error=None):
    scores = dict(SCORES, rmse=mean) if mean else dict.fromkeys(SCORES)
    return {
        "rank": rank,
        "method": method,
        "role": role,
        "summary": f"About {method}.",
        "mean": mean,
        "relative": relative,
        "settings": errors,
        "scores": scores,
        "by_setting": [scores for _ in errors],
        "fit_seconds": 1.0 if mean else None,
        "fill_seconds": 0.1 if mean else None,
        "failures": int(error is not None),
        "error": error,
    }
