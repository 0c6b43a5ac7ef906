"""Statistics of columns with gaps, in which a weight counts a row several times."""

from __future__ import annotations

import numpy as np


def positive_rows(
    values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that count, in float64 with 0 in gaps, with their weights.

    Parameters
    ----------
    values, observed : ndarray of shape (N, D)
        Data and where it is; what stands behind a gap is ignored.
    weight : ndarray of shape (N,) or None
        None counts every row once. Rows of weight 0 are left out.

    Returns
    -------
    values, observed, weight : ndarray
    """
    values = np.where(observed, values, 0.0).astype(np.float64, copy=False)
    if weight is None:
        return values, observed, np.ones(len(values))
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (len(values),):
        raise ValueError(
            f"weight has shape {weight.shape}, expected one number for each of {len(values)} rows"
        )
    if (weight < 0).any() or not np.isfinite(weight).all():
        row = int(np.flatnonzero((weight < 0) | ~np.isfinite(weight))[0])
        raise ValueError(
            f"weight of row {row} is {weight[row]}; weights must be finite and not negative"
        )
    counts = weight > 0
    return values[counts], observed[counts], weight[counts]


def weighted_mean(values: np.ndarray, observed: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Mean of what is observed in each column; 0 for a column that is never observed."""
    total = weight @ observed
    return (weight @ np.where(observed, values, 0.0)) / np.where(total > 0, total, 1.0)


def weighted_median(values: np.ndarray, observed: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Median of what is observed in each column; 0 for a column that is never observed.

    Whole weights give the median of the rows repeated that often: half-way between the smallest
    value with at least half of the weight at or below it and the smallest with more than half.
    """
    columns = range(values.shape[1])
    return np.array([_median(values[observed[:, j], j], weight[observed[:, j]]) for j in columns])


def mean_count(counts: np.ndarray, weight: np.ndarray | None) -> float:
    """Weighted mean number of observed cells in a row; 0 if no row counts."""
    weight = np.ones(len(counts)) if weight is None else np.asarray(weight, dtype=np.float64)
    total = weight.sum()
    return float(weight @ counts / total) if total > 0 else 0.0


def _median(values: np.ndarray, weight: np.ndarray) -> float:
    if not len(values):
        return 0.0
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    half = reached[-1] / 2
    low = values[order[np.searchsorted(reached, half, side="left")]]
    high = values[order[np.searchsorted(reached, half, side="right")]]
    return float(low + (high - low) / 2)
