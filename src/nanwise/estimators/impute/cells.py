"""Tables of whatever kind: where there are values, and some of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.estimators.inputs import is_frame
from nanwise.missing import gaps_to_nan


def observed_cells(X: Any) -> np.ndarray:
    """(N, D) bool, True where there is a value; for arrays, pandas and polars."""
    if not is_frame(X):
        return ~np.isnan(np.asarray(gaps_to_nan(np.asarray(X)), dtype=np.float64))
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    return np.column_stack([_there(column) for column in frame.iter_columns()])


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """These rows, in this order."""
    if not is_frame(X):
        return np.asarray(X)[rows]
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _there(column: Any) -> np.ndarray:
    gap = column.is_null()
    if column.dtype.is_float():
        gap = gap | column.is_nan().fill_null(True)
    return ~np.asarray(gap.to_numpy(), dtype=bool)
