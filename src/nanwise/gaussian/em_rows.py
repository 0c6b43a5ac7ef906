"""Rows made ready for EM: counted, measured, compressed, with a first guess of their moments.

**Fewer rows.** The step depends on the rows of a pattern only through their weight, mean and
scatter. More rows than that are replaced by a triangular factor of ``sum_i w_i (1, x_i)(1, x_i)'``,
whose rows ``(c, z)`` take the place of ``sqrt(w) (1, x)``: a step on a million rows with a hundred
patterns costs what it costs on some thousand rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nanwise.gaussian.moments import Moments
from nanwise.gaussian.patterns import stacks


class Rows(NamedTuple):
    """Rows ``sqrt(w) (1, x)`` or a triangular factor of many such rows.

    Attributes
    ----------
    one : ndarray of shape (n,)
    values : ndarray of shape (n, d)
        0 in gaps.
    observed : ndarray of bool, shape (n, d)
    """

    one: np.ndarray
    values: np.ndarray
    observed: np.ndarray


def rows_that_count(
    values: np.ndarray, observed: np.ndarray, weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with weight and at least one value, 0 in gaps."""
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=np.float64)
    if weight.shape != (len(values),):
        raise ValueError(f"weight must have shape {(len(values),)}, got {weight.shape}")
    if not (np.isfinite(weight) & (weight >= 0)).all():
        row = int(np.argmin(np.isfinite(weight) & (weight >= 0)))
        raise ValueError(f"weights must be finite and not negative, row {row} has {weight[row]}")
    keep = (weight > 0) & observed.any(axis=1)
    values = np.where(observed[keep], values[keep], 0.0).astype(np.float64, copy=False)
    return values, observed[keep], weight[keep]


def column_moments(
    values: np.ndarray, observed: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Available-case means and standard deviations; a column of rounding errors has none."""
    heavy = observed * weight[:, None]
    total = heavy.sum(axis=0)
    total = np.where(total > 0, total, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = (heavy * values).sum(axis=0) / total
        variance = (heavy * (values - mean) ** 2).sum(axis=0) / total
    if not np.isfinite(variance).all():
        column = int(np.argmin(np.isfinite(variance)))
        raise ValueError(f"the values of column {column} are too large to be squared; scale them")
    low = np.min(values, axis=0, where=observed, initial=np.inf)
    high = np.max(values, axis=0, where=observed, initial=-np.inf)
    rounding = 10 * np.finfo(np.float64).eps * np.maximum(np.abs(low), np.abs(high))
    constant = high <= low + rounding
    return np.where(high == low, low, mean), np.where(constant, 0.0, np.sqrt(variance))


def default_shrinkage(observed: np.ndarray, weight: np.ndarray) -> float:
    """A share that falls with the square of rows per column."""
    n_values, d = float((weight @ observed).mean()), observed.shape[1]
    return 1 / (1 + (n_values / d) ** 2)


def first_guess(values: np.ndarray, observed: np.ndarray, weight: np.ndarray) -> Moments:
    """Available-case moments of scaled columns, made definite."""
    heavy, there = values * observed * weight[:, None], observed.astype(np.float64)
    pairs = (there * weight[:, None]).T @ there
    cov = heavy.T @ (values * observed) / np.where(pairs > 0, pairs, 1.0)
    power, axes = np.linalg.eigh((cov + cov.T) / 2)
    cov = (axes * np.maximum(power, 1e-4 * power[-1])) @ axes.T
    return Moments(np.zeros(len(cov)), (cov + cov.T) / 2)


def compress(values: np.ndarray, observed: np.ndarray, weight: np.ndarray) -> Rows:
    """At most k + 1 rows for a pattern of k columns, with the same weight, mean and scatter."""
    one = np.sqrt(weight)
    values = np.where(observed, values * one[:, None], 0.0)
    kept = np.ones(len(one), dtype=bool)
    for group in stacks(observed):
        k, m = group.columns.shape[1], group.rows.shape[1]
        if m <= k + 1:
            continue
        cells = group.rows[:, :, None], group.columns[:, None, :]
        stacked = np.concatenate([one[group.rows][:, :, None], values[cells]], axis=2)
        factor: Any = np.linalg.qr(stacked, mode="r")  # typed as a pair by some versions of numpy
        first, rest = group.rows[:, : k + 1], group.rows[:, k + 1 :]
        one[first], kept[rest] = factor[:, :, 0], False
        values[first[:, :, None], group.columns[:, None, :]] = factor[:, :, 1:]
    return Rows(one[kept], values[kept], observed[kept])
