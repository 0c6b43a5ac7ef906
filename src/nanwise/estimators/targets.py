"""From whatever target the user holds to an array; a gap where none may be is told in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from nanwise.missing import gaps_to_nan, is_gap, refuse_infinite


def read_labels(y: Any, owner: str) -> np.ndarray:
    """Class labels (N,) of rows that all have one."""
    _refuse_none(y, owner)
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "O":
        gaps = np.array([is_gap(label) for label in labels], dtype=bool)
        if gaps.any():
            raise ValueError(
                f"Input y contains NaN: {int(gaps.sum())} of {len(gaps)} rows have no class, "
                f"first row {int(gaps.argmax())}; leave these rows out"
            )
    check_classification_targets(labels)
    return labels


def read_numbers(y: Any, owner: str) -> tuple[np.ndarray, bool]:
    """Targets (N, K) in float64, and whether there is just one, given as such.

    Several targets may have gaps, but no target may have nothing else.
    """
    _refuse_none(y, owner)
    y = gaps_to_nan(np.asarray(y))
    flat = y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1)
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


def _refuse_none(y: Any, owner: str) -> None:
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None")
