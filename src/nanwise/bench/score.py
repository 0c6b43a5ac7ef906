"""Scores of predictions, as a dict of plain numbers; None where a score is not defined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn import metrics

Scores = dict[str, float | None]


@dataclass(frozen=True)
class Metric:
    """A score by name, with the words and the direction to show it with."""

    name: str
    label: str
    higher_is_better: bool

    @property
    def sign(self) -> int:
        """+1 if more is better, else -1."""
        return 1 if self.higher_is_better else -1


METRICS = {
    metric.name: metric
    for metric in (
        Metric("auroc", "AUROC", True),
        Metric("accuracy", "accuracy", True),
        Metric("balanced_accuracy", "balanced accuracy", True),
        Metric("log_loss", "log loss", False),
        Metric("error", "1 - accuracy", False),
        Metric("rmse", "RMSE", False),
        Metric("mae", "MAE", False),
        Metric("r2", "R²", True),
    )
}


def classification_scores(y: np.ndarray, proba: np.ndarray, classes: np.ndarray) -> Scores:
    """Scores of class probabilities.

    Parameters
    ----------
    y : array of shape (N,)
        True classes; a class that the model has never seen has probability 0.
    proba : array of shape (N, C)
        Probabilities, columns in the order of ``classes``.
    classes : array of shape (C,)

    Returns
    -------
    dict
        ``auroc`` (two classes: of the second; more: one against the rest, averaged over the classes
        that occur in ``y``), ``accuracy``, ``balanced_accuracy``, ``log_loss``.
    """
    y, classes = np.asarray(y), np.asarray(classes)
    proba, classes = _with_unseen(np.asarray(proba, dtype=float), classes, y)
    predicted = classes[proba.argmax(axis=1)]
    recalls = [float(np.mean(predicted[y == name] == name)) for name in np.unique(y)]
    return {
        "auroc": auroc(y, proba, classes),
        "accuracy": float(np.mean(predicted == y)),
        "balanced_accuracy": float(np.mean(recalls)),
        "log_loss": float(metrics.log_loss(y, proba, labels=classes)) if len(classes) > 1 else None,
    }


def auroc(y: np.ndarray, proba: np.ndarray, classes: np.ndarray) -> float | None:
    """Area under the ROC curve; None when only one class occurs in ``y``."""
    columns = [1] if len(classes) == 2 else list(range(len(classes)))
    truths = [y == classes[column] for column in columns]
    areas = [
        metrics.roc_auc_score(truth, proba[:, column])
        for truth, column in zip(truths, columns, strict=True)
        if 0 < truth.sum() < len(y)
    ]
    return float(np.mean(areas)) if areas else None


def regression_scores(y: np.ndarray, predicted: np.ndarray) -> Scores:
    """RMSE, mean absolute error and R² (None for fewer than two different targets)."""
    y, predicted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
    varies = len(np.unique(y)) > 1
    return {
        "rmse": float(np.sqrt(np.mean((y - predicted) ** 2))),
        "mae": float(np.mean(np.abs(y - predicted))),
        "r2": float(metrics.r2_score(y, predicted)) if varies else None,
    }


def _with_unseen(
    proba: np.ndarray, classes: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Columns of zeros for classes that occur in ``y`` only, all columns in sorted order."""
    unseen = np.setdiff1d(y, classes)
    if not len(unseen):
        return proba, classes
    everything = np.concatenate([classes, unseen])
    wide = np.hstack([proba, np.zeros((len(proba), len(unseen)))])
    order = np.argsort(everything)
    return wide[:, order], everything[order]
