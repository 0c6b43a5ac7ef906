"""From whatever targets and weights the user holds to arrays, or one clear line why not."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from nanwise.missing import gaps_to_nan, is_gap, is_observed, refuse_infinite


def read_column(y: Any, owner: str) -> np.ndarray:
    """One target (N,) of any kind, of rows that all have one."""
    _refuse_none(y, owner)
    column = column_or_1d(y, warn=True)
    _refuse_gaps(_gaps(column))
    return column


def read_labels(y: Any, owner: str) -> np.ndarray:
    """Class labels (N,)."""
    labels = read_column(y, owner)
    check_classification_targets(labels)
    return labels


def read_numbers(y: Any, owner: str) -> tuple[np.ndarray, bool]:
    """Targets (N, K) in float64, and whether there is just one, given as such.

    Several targets may have gaps, but no target may have nothing else.
    """
    _refuse_none(y, owner)
    y = gaps_to_nan(np.asarray(y))
    flat = y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1)
    if flat:
        _refuse_gaps(_gaps(y.ravel()))
    y = check_array(
        column_or_1d(y, warn=True) if flat else y,
        ensure_2d=False,
        dtype=np.float64,
        input_name="y",
        ensure_all_finite=True if flat else "allow-nan",
    )
    if not flat:
        refuse_infinite(y)
        empty = np.flatnonzero(np.isnan(y).all(axis=0))
        if len(empty):
            raise ValueError(f"target {int(empty[0])} has no value in any row")
    return y.reshape(len(y), -1), flat


def read_weight(weight: Any, n: int) -> np.ndarray:
    """Sample weights (N,), finite, not negative, not all 0; a number stands for equal weights."""
    if np.isscalar(weight):
        weight = np.full(n, weight, dtype=np.float64)
    weight = check_array(weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be 1D, got shape {weight.shape}")
    check_consistent_length(weight, np.empty(n))
    if (weight < 0).any():
        raise ValueError("sample_weight must not be negative")
    if not weight.any():
        raise ValueError("sample_weight is zero in all rows: there is nothing to learn from")
    return weight


def _refuse_gaps(gaps: np.ndarray) -> None:
    if gaps.any():
        raise ValueError(
            f"Input y contains NaN: {int(gaps.sum())} of {len(gaps)} rows have no target, "
            f"first row {int(gaps.argmax())}; leave these rows out"
        )


def _gaps(column: np.ndarray) -> np.ndarray:
    if column.dtype.kind == "O":
        return np.array([is_gap(value) for value in column], dtype=bool)
    return ~is_observed(column)


def _refuse_none(y: Any, owner: str) -> None:
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None")
