"""Scores of many repeats at once: arrays of shape (R, N, C) against one target of N rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata

from nanwise.errors import DataError
from nanwise.missing import is_gap

#: name -> whether more is better
HIGHER = {"AUROC": True, "accuracy": True, "log loss": False, "RMSE": False, "R2": True}


class Scorer:
    """Scores per repeat for one task and one target.

    Parameters
    ----------
    y : array-like of shape (N,) or (N, K)
    task : {"classification", "regression"}
    classes : list or None
        Labels of the columns of a classifier's answer.
    metric : callable, optional
        ``metric(y, prediction) -> float`` in place of the usual scores. The prediction is the
        probability of the second class for two classes, (N, C) probabilities for more, and the
        value for a regressor.
    """

    def __init__(
        self,
        y: Any,
        task: str,
        classes: list[Any] | None,
        metric: Callable[[Any, Any], float] | None = None,
    ):
        self.y = np.asarray(y)
        self.metric = metric
        self.task = task
        if task == "classification" and metric is None:
            self.codes = _codes(self.y, list(classes or [0, 1]))

    def __call__(self, answers: np.ndarray) -> dict[str, np.ndarray]:
        """Name -> one score per repeat, from answers of shape (R, N, C)."""
        if self.metric is not None:
            return self._own(answers)
        if self.task == "classification":
            return self._classification(answers)
        return self._regression(answers)

    def _own(self, answers: np.ndarray) -> dict[str, np.ndarray]:
        name = getattr(self.metric, "__name__", type(self.metric).__name__)
        plain = answers[:, :, 0] if answers.shape[2] == 1 else answers
        if self.task == "classification" and answers.shape[2] == 2:
            plain = answers[:, :, 1]
        return {name: np.array([float(self.metric(self.y, p)) for p in plain])}  # type: ignore[misc]

    def _classification(self, answers: np.ndarray) -> dict[str, np.ndarray]:
        if answers.shape[2] == 1:  # a callable that gives the probability of the second class
            answers = np.concatenate([1 - answers, answers], axis=2)
        truth = answers[:, np.arange(len(self.codes)), self.codes]
        total = answers.sum(axis=2)
        tiny = np.finfo(np.float64).eps
        return {
            "AUROC": auroc(self.codes, answers),
            "accuracy": (answers.argmax(axis=2) == self.codes).mean(axis=1),
            "log loss": -np.log(np.clip(truth / total, tiny, 1)).mean(axis=1),
        }

    def _regression(self, answers: np.ndarray) -> dict[str, np.ndarray]:
        y = self.y.astype(np.float64).reshape(answers.shape[1:])
        square = np.nanmean((answers - y) ** 2, axis=1)
        variance = np.nanvar(y, axis=0)
        r2 = np.divide(square, variance, out=np.full_like(square, np.nan), where=variance > 0)
        return {"RMSE": np.sqrt(square.mean(axis=1)), "R2": 1 - r2.mean(axis=1)}


def auroc(codes: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Area under the ROC curve per repeat.

    For several classes one against the rest, averaged over the classes that occur in the target, as
    in :func:`nanwise.bench.score.auroc`; NaN if only one does. By ranks: (rank sum of the positives
    - n1 (n1 + 1) / 2) / (n1 n0), ties share their rank.
    """
    columns = [1] if answers.shape[2] == 2 else range(answers.shape[2])
    found = [j for j in columns if 0 < (codes == j).sum() < len(codes)]
    if not found:
        return np.full(len(answers), np.nan)
    return np.mean([_area(codes == j, answers[:, :, j]) for j in found], axis=0)


def _area(positive: np.ndarray, score: np.ndarray) -> np.ndarray:
    n1 = int(positive.sum())
    n0 = len(positive) - n1
    total = rankdata(score, axis=1)[:, positive].sum(axis=1)
    return (total - n1 * (n1 + 1) / 2) / (n1 * n0)


def check_target(y: Any, n_rows: int) -> np.ndarray:
    """``y`` as an array of the right length without gaps (several columns may have gaps)."""
    y = np.asarray(y)
    if len(y) != n_rows:
        raise DataError(f"y has {len(y)} rows, X has {n_rows}; both must be equal")
    if y.ndim == 1:
        gaps = np.array([is_gap(v) for v in y.tolist()], dtype=bool)
        if gaps.any():
            raise DataError(
                f"y has a gap in {int(gaps.sum())} rows, first in row {int(gaps.argmax())}; a row "
                "without target cannot be scored: drop it, or leave y out"
            )
    return y


def _codes(y: np.ndarray, classes: list[Any]) -> np.ndarray:
    place = {label: j for j, label in enumerate(classes)}
    unknown = sorted({str(v) for v in y.tolist() if v not in place})
    if unknown:
        raise DataError(
            f"y holds labels the model does not know: {', '.join(unknown[:5])}; "
            f"it knows {', '.join(map(str, classes[:10]))}"
        )
    return np.array([place[v] for v in y.tolist()], dtype=np.intp)
