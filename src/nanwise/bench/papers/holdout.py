"""The protocol of the sparsity normalisation papers on tables: hide, split once, train, score."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from nanwise.bench.case import Case, Record
from nanwise.bench.run import Measured, fit_and_score, record
from nanwise.data.split import holdout
from nanwise.estimators.supervised import NanRegressor


def run_holdout(case: Case) -> Record:
    """One run on a known data set.

    ``case.protocol`` holds ``test`` (share of rows), ``rows`` (at most so many, drawn at random;
    None: all), ``replicate`` (copies of each feature, made before cells are hidden) and
    ``raw_target`` (whether a regressor answers in the target's own unit). The share of validation
    rows is part of the plan. ``case.hide`` is None, or names a mechanism of
    :func:`nanwise.data.ampute.ampute` with its ``share``, or ``"groups"`` with the ``shares`` that
    are hidden in each group of rows.

    Beside the usual scores there are ``error`` (1 - accuracy) for classes, ``mean_predictor`` (RMSE
    of the training mean) for numbers, and with groups ``output_0``, ``output_1``, …: the mean
    activation of the output layer over the test rows of each group.
    """
    return record(case, partial(_measure, case))


def _measure(case: Case) -> Measured:
    X, y, task = _data(case)
    X, group = _hide(X, case)
    train, test = holdout(y, task, case.protocol["test"], seed=case.seed)
    model = _model(case, task)
    found = fit_and_score(model, (X[train], y[train]), (X[test], y[test]), task)
    accuracy = found.scores.get("accuracy")
    if accuracy is not None:
        found.scores["error"] = 1 - accuracy
    else:
        found.scores["mean_predictor"] = float(np.sqrt(np.mean((y[test] - y[train].mean()) ** 2)))
    if group is not None:
        found.scores |= _outputs_by_group(model, X[test], group[test], task)
    return found


def _model(case: Case, task: str) -> Any:
    from nanwise.estimators.table_model import make_estimator

    model = make_estimator(case.method, task, case.params, case.seed)
    if case.protocol.get("raw_target") and isinstance(model, NanRegressor):
        # NanRegressor's scaling is better, and hides much of what variable sparsity does to a
        # network that has to find the level of the target by itself.
        model.set_params(scale_target=False)
    return model


def _data(case: Case) -> tuple[np.ndarray, np.ndarray, str]:
    from nanwise.data.ampute import replicate

    X, y, task = _load(case.dataset)
    limit = case.protocol.get("rows")
    if limit is not None and limit < len(y):
        drawn = np.random.default_rng(case.seed).choice(len(y), limit, replace=False)
        X, y = X[drawn], y[drawn]
    return replicate(X, case.protocol.get("replicate", 1)), y, task


@lru_cache(maxsize=16)
def _load(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Kept, because a worker meets the same set in many cells; never written to."""
    from nanwise.data.sets import load_dataset

    data = load_dataset(name)
    return np.asarray(data.X, dtype=float), np.asarray(data.y), data.task


def _hide(X: np.ndarray, case: Case) -> tuple[np.ndarray, np.ndarray | None]:
    from nanwise.data.ampute import ampute, groups

    if case.hide is None:
        return X, None
    settings = {name: value for name, value in case.hide.items() if name != "mechanism"}
    if case.hide["mechanism"] == "groups":
        return groups(X, random_state=case.seed, **settings)
    return ampute(X, mechanism=case.hide["mechanism"], random_state=case.seed, **settings), None


def _outputs_by_group(model: Any, X: np.ndarray, group: np.ndarray, task: str) -> dict[str, float]:
    # The raw outputs: probabilities have lost the level that the figure is about.
    outputs = model.predict(X) if task == "regression" else model.decision_function(X)
    return {f"output_{g}": float(outputs[group == g].mean()) for g in np.unique(group)}
