"""From a table and a target to the matrix of a linear model."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.errors import DataError
from nanwise.estimators.impute.cells import observed_cells
from nanwise.estimators.inputs import has_other_than_numbers, is_frame, refuse_equal_names
from nanwise.missing import is_gap

INTERCEPT = "intercept"


class Design:
    """Columns of the model: numbers as they are, a category as 0 and 1 for all levels but one.

    Parameters
    ----------
    X : array or DataFrame
        The table with its gaps, for names and levels.
    intercept : bool
        Whether there is a constant.

    Attributes
    ----------
    terms : list of str
        Names of the coefficients.
    """

    def __init__(self, X: Any, intercept: bool = True) -> None:
        self.intercept = intercept
        self.encoder: Any = None
        self.kept = np.arange(_width(X))
        if is_frame(X):
            refuse_equal_names(X)
            names = [str(name) for name in X.columns]
            if has_other_than_numbers(X):
                names = self._learn_levels(X)
        else:
            names = [f"x{j}" for j in range(_width(X))]
        self.terms = [INTERCEPT, *names] if intercept else names

    def _learn_levels(self, X: Any) -> list[str]:
        from nanwise.data.encode import Encoder
        from nanwise.data.schema import Schema

        self.encoder = Encoder(Schema.infer(X)).fit()
        columns = zip(self.encoder.schema.columns, self.encoder.groups_, strict=True)
        kept = [group[1:] if column.kind == "categorical" else group for column, group in columns]
        self.kept = np.array([j for group in kept for j in group], dtype=int)
        return [self.encoder.feature_names_[j] for j in self.kept]

    def matrix(self, table: Any) -> np.ndarray:
        """(N, p) of a completed table; a column after those of ``X`` is not looked at."""
        if self.encoder is not None:
            names = [column.name for column in self.encoder.schema.columns]
            cells = self.encoder.transform(table[names])[:, self.kept]
        else:
            cells = np.asarray(table, dtype=np.float64)[:, : len(self.kept)]
        if np.isnan(cells).any():
            column = self.terms[int(np.isnan(cells).any(axis=0).argmax()) + self.intercept]
            raise DataError(f"{column!r} still has gaps after imputation; leave the column out")
        return np.column_stack([np.ones(len(cells)), cells]) if self.intercept else cells


def read_target(y: Any, model: str) -> np.ndarray:
    """(N,) float64, NaN in gaps; the two classes of a logistic model as 0 and 1."""
    cells = np.asarray(y)
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    if cells.ndim != 1:
        raise ValueError(f"y must have one value per row, got shape {cells.shape}")
    gap = np.array([is_gap(value) for value in cells.tolist()], dtype=bool)
    if model == "linear":
        return np.where(gap, np.nan, np.where(gap, 0, cells).astype(np.float64))
    classes = np.unique(cells[~gap])
    if len(classes) != 2:
        raise DataError(f"a logistic model needs two classes in y, got {len(classes)}")
    return np.where(gap, np.nan, np.where(gap, classes[0], cells) == classes[1])


def with_target(X: Any, y: np.ndarray) -> tuple[Any, str]:
    """The table with the target as its last column, and the name of that."""
    if len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows, y has {len(y)}")
    if not is_frame(X):
        cells = np.asarray(X)
        there = observed_cells(cells)
        return np.column_stack([np.where(there, cells, np.nan).astype(np.float64), y]), ""
    name = "target"
    while name in X.columns:
        name += "_"
    if hasattr(X, "iloc"):
        return X.assign(**{name: y}), name
    import polars as pl

    return X.with_columns(pl.Series(name, y)), name


def _width(X: Any) -> int:
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X must be a table of rows and columns, got shape {shape}")
    return shape[1]
