"""Rows for training and rows for testing."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from nanwise.errors import DataError

Split = tuple[np.ndarray, np.ndarray]


class Folds(list[Split]):
    """Pairs of (training rows, test rows), with a ``note`` when something should be said."""

    note: str | None = None


def folds(y: Any, task: str, n_folds: int = 5, seed: int | None = 0) -> Folds:
    """Shuffled folds; every row is tested once.

    Parameters
    ----------
    y : array of shape (N,)
    task : str
        ``"classification"``: every fold has the classes in the proportions of all rows.
        ``"regression"``: rows are dealt out at random.
    n_folds : int
    seed : int

    Returns
    -------
    Folds
        When a class has fewer rows than there are folds, the folds are not stratified and ``note``
        says so.

    Raises
    ------
    DataError
        If there are fewer rows than folds.
    """
    y = np.asarray(y)
    if n_folds < 2:
        raise ValueError(f"n_folds must be at least 2, got {n_folds}")
    if len(y) < n_folds:
        raise DataError(f"{len(y)} rows are too few for {n_folds} folds; use fewer folds")
    rare = _rare_class(y, task, n_folds)
    stratify = task == "classification" and rare is None
    kind = StratifiedKFold if stratify else KFold
    splitter = kind(n_folds, shuffle=True, random_state=seed)
    made = Folds(splitter.split(np.empty((len(y), 0)), y))
    made.note = rare
    return made


def holdout(y: Any, task: str, share: float = 0.2, seed: int | None = 0) -> Split:
    """One split (training rows, test rows) with ``share`` of the rows for the test.

    Stratified for classification, unless a class has a single row or there are more classes than
    test (or training) rows.
    """
    y = np.asarray(y)
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    if len(y) < 2:
        raise DataError(f"{len(y)} rows are too few to split")
    n_test = min(max(1, round(share * len(y))), len(y) - 1)
    stratify = task == "classification" and _can_stratify(y, n_test)
    kind = StratifiedShuffleSplit if stratify else ShuffleSplit
    splitter = kind(1, test_size=n_test, random_state=seed)
    train, test = next(splitter.split(np.empty((len(y), 0)), y))
    return train, test


def _can_stratify(y: np.ndarray, n_test: int) -> bool:
    counts = np.unique(y, return_counts=True)[1]
    return bool(counts.min() > 1 and len(counts) <= min(n_test, len(y) - n_test))


def _rare_class(y: np.ndarray, task: str, n_folds: int) -> str | None:
    if task != "classification":
        return None
    classes, counts = np.unique(y, return_counts=True)
    least = int(counts.argmin())
    if counts[least] >= n_folds:
        return None
    return (
        f"class {classes[least]!s} has {counts[least]} row(s), fewer than the {n_folds} folds: "
        "the folds are not stratified"
    )
