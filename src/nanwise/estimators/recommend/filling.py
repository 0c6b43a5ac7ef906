"""What stands in the gaps of rows of ratings: centres of columns, and what an imputer says."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nanwise.errors import DataError
from nanwise.estimators.treatment import Treatment

#: cells (rows × columns) that imputers may make dense; MovieLens 1M has 22 million
MOST_CELLS = 25_000_000
#: columns that chained regressions work on unless more are asked for
CHAINED_COLUMNS = 200


def centres(matrix: sparse.csr_array, kind: str) -> np.ndarray:
    """Mean or median of what is observed in each column; of all cells for an empty column."""
    counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
    if kind == "median":
        by_column = matrix.tocsc().data.astype(np.float64)
        parts = np.split(by_column, np.cumsum(counts)[:-1])
        overall = float(np.median(by_column))
        return np.array([np.median(part) if len(part) else overall for part in parts])
    sums = np.bincount(matrix.indices, weights=matrix.data, minlength=matrix.shape[1])
    overall = float(matrix.data.mean(dtype=np.float64))
    return np.where(counts > 0, sums / np.maximum(counts, 1), overall)


def fullest(matrix: sparse.csr_array, most: int | None) -> np.ndarray:
    """The columns with the most observed cells, in ascending order; of equals the first ones."""
    counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
    most = matrix.shape[1] if most is None else most
    return np.sort(np.argsort(-counts, kind="stable")[:most])


def deviations(
    rows: sparse.csr_array, centre: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Some columns as the imputers take them: values less the centre (0 in gaps), and observed."""
    part = rows[:, columns].tocsr()
    at = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
    values, observed = np.zeros(part.shape), np.zeros(part.shape, dtype=bool)
    values[at, part.indices] = part.data - centre[columns[part.indices]]
    observed[at, part.indices] = True
    return values, observed


def fit_imputer(
    imputer: Treatment, matrix: sparse.csr_array, centre: np.ndarray, columns: np.ndarray
) -> Treatment:
    """Fit on the rows that have ratings, if they are few enough to be made dense."""
    rows = np.flatnonzero(np.diff(matrix.indptr))
    cells, most = len(rows) * len(columns), MOST_CELLS // len(rows)
    if cells > MOST_CELLS:
        raise DataError(
            f"fill={type(imputer).__name__} makes {len(rows):,} rows × {len(columns):,} columns = "
            f"{cells:,} cells dense, more than {MOST_CELLS:,}; set columns={most} or fewer, keep "
            "only users and items with many ratings (k_core), or use fill='mean' or 'median', "
            "which make nothing dense"
        )
    return imputer.fit(*deviations(matrix[rows], centre, columns))


class Gaps:
    """What a fitted imputer puts into the gaps of rows; equal rows are filled once.

    Imputing takes longer than an epoch of training, and the rows that training stops on are rows
    that it learns from.
    """

    def __init__(self, imputer: Treatment, centre: np.ndarray, columns: np.ndarray) -> None:
        self.imputer, self.centre, self.columns = imputer, centre, columns
        self._known: dict[bytes, np.ndarray] = {}

    def of(self, rows: sparse.csr_array) -> np.ndarray:
        """Fills less the centre, 0 at observed cells, shape (n_rows, len(columns))."""
        keys = _keys(rows)
        new = [at for at, key in enumerate(keys) if key not in self._known]
        if new:
            found = fill_gaps(self.imputer, rows[new], self.centre, self.columns)
            self._known.update(zip([keys[at] for at in new], found, strict=True))
        return np.array([self._known[key] for key in keys]).reshape(len(keys), len(self.columns))


def _keys(rows: sparse.csr_array) -> list[bytes]:
    """What tells the rows apart: which cells they have, and their values."""
    ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    return [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in ends]


def fill_gaps(
    imputer: Treatment, rows: sparse.csr_array, centre: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """What the imputer puts into the gaps of rows, less the centre; 0 at observed cells."""
    values, observed = deviations(rows, centre, columns)
    filled, there = imputer.prepare(values, observed)
    if filled.shape != values.shape or not np.all(there):
        raise ValueError(
            f"fill={type(imputer).__name__} does not fill the gaps by itself, column for column; "
            "use 'mean', 'median', 'knn', 'softimpute' or 'iterative', or an imputer"
        )
    return np.where(observed, 0.0, filled)


def rows_of_block(block: Any) -> sparse.csr_array:
    """The ratings of a block as a CSR matrix."""
    pattern = block.pattern
    parts = (block.targets.numpy(), pattern.columns.numpy(), pattern.offsets.numpy())
    return sparse.csr_array(parts, shape=pattern.shape)
