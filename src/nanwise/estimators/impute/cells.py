"""Cells of a table of whatever kind: where there are values, some rows, some cells hidden."""

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


def hide_cells(X: Any, held: np.ndarray) -> Any:
    """A copy of the table in which the cells where ``held`` is True are gaps."""
    if not is_frame(X):
        cells = np.array(gaps_to_nan(np.asarray(X)), dtype=np.float64)
        cells[held] = np.nan
        return cells
    if hasattr(X, "iloc"):
        return X.mask(held)
    import polars as pl

    columns = [
        pl.select(pl.when(pl.Series(held[:, j])).then(None).otherwise(column)).to_series()
        for j, column in enumerate(X.get_columns())
    ]
    return pl.DataFrame([new.alias(name) for new, name in zip(columns, X.columns, strict=True)])


def _there(column: Any) -> np.ndarray:
    gap = column.is_null()
    if column.dtype.is_float():
        gap = gap | column.is_nan().fill_null(True)
    return ~np.asarray(gap.to_numpy(), dtype=bool)
