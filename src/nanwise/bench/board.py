"""From records to a leaderboard.

Two intervals are shown, both of 95 % and both approximate, because the folds of a cross-validation
share most of their training rows and their scores are therefore not independent:

* of a method's mean, Student's t over folds, ``mean ± t · s / √J``: the customary interval, rather
  too narrow;
* of the paired difference to the best simple baseline, with the variance of Nadeau and Bengio
  (*Inference for the generalization error*, Machine Learning 52, 2003), ``mean ± t · s · √(1/J +
  n_test/n_train)``, which corrects for the shared rows. In k folds ``n_test/n_train = 1/(k-1)``.

Neither corrects for looking at many methods at once: the mean of the method that comes first is the
largest of several noisy means, and new rows will on average be answered a little worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from nanwise.bench.case import Record
from nanwise.bench.score import METRICS, Metric
from nanwise.registry import Method

NOT_RUN = "not run: budget"


def interval(values: Sequence[float], shared: float = 0.0) -> tuple[float, float | None]:
    """Mean and half width of its 95 % interval (None for a single value).

    Parameters
    ----------
    values : sequence of float
        One score, or difference of scores, per split.
    shared : float
        ``n_test / n_train`` for the corrected variance, 0 for Student's interval.
    """
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return mean, None
    spread = np.std(values, ddof=1) * np.sqrt(1 / n + shared)
    return mean, float(stats.t.ppf(0.975, n - 1) * spread)


def primary_metric(records: Iterable[Record], task: str) -> Metric:
    """RMSE, or AUROC where every finished cell has one, else accuracy."""
    if task == "regression":
        return METRICS["rmse"]
    done = [record for record in records if not record.failed]
    computable = all(record.scores.get("auroc") is not None for record in done)
    return METRICS["auroc" if computable else "accuracy"]


@dataclass(frozen=True)
class Line:
    """What is known of one method: its finished folds, and why others are not there."""

    method: Method
    done: dict[int, Record]
    failed: dict[int, Record]
    planned: int

    @property
    def complete(self) -> bool:
        """Whether every planned fold was scored."""
        return len(self.done) == self.planned

    @property
    def error(self) -> str | None:
        """Why folds are missing, or None."""
        if self.failed:
            return next(iter(self.failed.values())).reason
        if not self.complete:
            return f"{NOT_RUN} ({self.planned - len(self.done)} of {self.planned} folds)"
        return None

    def scores(self, name: str) -> dict[int, float]:
        """One score by fold, where it could be computed."""
        found = {fold: record.scores.get(name) for fold, record in sorted(self.done.items())}
        return {fold: value for fold, value in found.items() if value is not None}

    def mean(self, name: str) -> float:
        """Mean score over the finished folds."""
        return float(np.mean(list(self.scores(name).values())))


def lines(records: Iterable[Record], methods: Iterable[Method], planned: int) -> list[Line]:
    """Records sorted by method."""
    records = list(records)
    return [
        Line(
            method,
            done={r.fold: r for r in records if r.method == method.name and not r.failed},
            failed={r.fold: r for r in records if r.method == method.name and r.failed},
            planned=planned,
        )
        for method in methods
    ]


def leaderboard(found: Sequence[Line], metric: Metric, shared: float) -> list[dict[str, Any]]:
    """Rows of the leaderboard, best first.

    Methods with all folds come first and carry a rank; then those that the budget cut short, then
    those that failed, each with its reason.

    Parameters
    ----------
    found : sequence of Line
    metric : Metric
        What is ranked.
    shared : float
        ``n_test / n_train`` of one split, for the corrected variance.
    """
    baseline = best_baseline(found, metric)
    ordered = sorted(found, key=lambda line: _place(line, metric))
    rows = [_row(line, metric, baseline, shared) for line in ordered]
    ranks = (rank for rank in range(1, len(rows) + 1))
    return [{"rank": next(ranks) if row["error"] is None else None, **row} for row in rows]


def best_baseline(found: Iterable[Line], metric: Metric) -> Line | None:
    """The best of the simple methods that finished every fold."""
    return best([line for line in found if line.method.role == "baseline"], metric)


def best(found: Iterable[Line], metric: Metric) -> Line | None:
    """The line with the best mean among those with all folds done, or None."""
    done = [line for line in found if line.complete]
    return min(done, key=lambda line: _place(line, metric), default=None)


def winner(found: Sequence[Line], metric: Metric) -> Line:
    """The best line with all folds done; if there is none, the best of those with most folds."""
    whole = best(found, metric)
    if whole is not None:
        return whole
    most = max(len(line.done) for line in found)
    return min(
        (line for line in found if len(line.done) == most), key=lambda line: _place(line, metric)
    )


def _place(line: Line, metric: Metric) -> tuple[int, float, str]:
    group = 2 if line.failed else int(not line.complete)
    value = line.mean(metric.name) if line.done else np.inf
    return group, -metric.sign * value if line.done else np.inf, line.method.name


def _row(line: Line, metric: Metric, baseline: Line | None, shared: float) -> dict[str, Any]:
    scores = list(line.scores(metric.name).values())
    row = {
        "method": line.method.name,
        "role": line.method.role,
        "summary": line.method.summary,
        "folds": scores,
        "failures": len(line.failed),
        "error": line.error,
        "difference": _difference(line, metric, baseline, shared),
        "fit_seconds": _mean_of(line, "fit_seconds"),
        "predict_seconds": _mean_of(line, "predict_seconds"),
        "other_scores": _other_scores(line, metric),
    }
    return row | _with_bounds(scores)


def _difference(
    line: Line, metric: Metric, baseline: Line | None, shared: float
) -> dict[str, Any] | None:
    """Paired over the folds that both finished; method minus baseline, in the metric's unit."""
    if baseline is None or line is baseline:
        return None
    ours, theirs = line.scores(metric.name), baseline.scores(metric.name)
    gaps = [value - theirs[fold] for fold, value in ours.items() if fold in theirs]
    return {"to": baseline.method.name, **_with_bounds(gaps, shared)} if gaps else None


def _with_bounds(values: Sequence[float], shared: float = 0.0) -> dict[str, float | None]:
    if not values:
        return {"mean": None, "low": None, "high": None}
    mean, half = interval(values, shared)
    if half is None:
        return {"mean": mean, "low": None, "high": None}
    return {"mean": mean, "low": mean - half, "high": mean + half}


def _mean_of(line: Line, name: str) -> float | None:
    values = [getattr(record, name) for record in line.done.values()]
    return float(np.mean(values)) if values else None


def _other_scores(line: Line, metric: Metric) -> dict[str, float | None]:
    names = {name for record in line.done.values() for name in record.scores} - {metric.name}
    values = {name: list(line.scores(name).values()) for name in sorted(names)}
    return {name: float(np.mean(found)) if found else None for name, found in values.items()}
