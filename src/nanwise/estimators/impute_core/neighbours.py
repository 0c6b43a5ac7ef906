"""Nearest-neighbour imputation from a fixed set of donors, one row at a time.

Distances are sums of squared differences taken directly, not the expansion
``|x|^2 - 2 x·y + |y|^2``: its rounding depends on how many rows are multiplied at once, and with
tied distances (whole numbers, categories) that decides which donor is taken. Here the answer for a
row is the same to the last bit whatever other rows are passed.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

#: donors with a smaller share of values are searched through their values only
_SPARSE = 0.25
#: nearest donors looked at before the whole order is worked out, per neighbour wanted
_HEADROOM = 8


class Donors:
    """Training rows that lend their values.

    Parameters
    ----------
    values, observed : ndarray of shape (M, D)
        The rows; values are 0 in gaps.
    weight : ndarray of shape (M,)
        A donor of weight w stands for w equal rows.
    """

    def __init__(self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray):
        self.values, self.observed, self.weight = values, observed, weight
        self._columns = np.ascontiguousarray(values.T)
        self._there = np.ascontiguousarray(observed.T, dtype=np.float64)
        self._whole: np.ndarray = np.asarray(observed.all(axis=0))
        few = observed.size > 0 and float(observed.mean()) < _SPARSE
        self._cells = sparse.csr_array(observed) if few else None

    def distances(self, x: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """Squared distance of one row to each donor, per common coordinate.

        Infinite where row and donor have no coordinate in common.
        """
        total, common = np.zeros(len(self.values)), np.zeros(len(self.values))
        for j in np.flatnonzero(observed):
            difference = self._columns[j] - x[j]
            difference *= difference
            if not self._whole[j]:
                difference *= self._there[j]
            total += difference
            common += self._there[j]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(common > 0, total / common, np.inf)

    def estimate(self, x: np.ndarray, observed: np.ndarray, k: float) -> np.ndarray:
        """Mean of the ``k`` nearest donors for each gap of one row; NaN where there is none.

        Only donors that have the value, and a coordinate in common with the row, count. Equal
        distances go by the order of the donors.
        """
        distance, gaps = self.distances(x, observed), np.flatnonzero(~observed)
        if self._cells is not None:
            return self._lend_cells(self._cells, distance, k)[gaps]
        wanted = int(_HEADROOM * k)
        if wanted < len(distance):
            near = np.flatnonzero(distance <= np.partition(distance, wanted)[wanted])
            lent, enough = self._lend(near, distance, gaps, k)
            if enough:
                return lent
        return self._lend(np.arange(len(distance)), distance, gaps, k)[0]

    def _lend_cells(self, cells: sparse.csr_array, distance: np.ndarray, k: float) -> np.ndarray:
        """Mean of the k nearest donors for every column, by going through observed cells only."""
        order = np.argsort(distance, kind="stable")[: int(np.isfinite(distance).sum())]
        counts = np.diff(cells.indptr)[order]
        first = np.cumsum(counts) - counts
        places = np.repeat(cells.indptr[order] - first, counts) + np.arange(counts.sum())
        columns, donors = cells.indices[places], np.repeat(order, counts)
        # stable: within a column, from the nearest donor to the farthest
        by_column = np.argsort(columns.astype(np.min_scalar_type(cells.shape[1])), kind="stable")
        columns, donors = columns[by_column], donors[by_column]
        weight = self.weight[donors]
        reached = np.cumsum(weight) - weight
        start = np.searchsorted(columns, np.arange(cells.shape[1]))
        before = reached - np.append(reached, 0.0)[start][columns]
        share = np.clip(k - before, 0.0, weight)
        total = np.bincount(columns, share, minlength=cells.shape[1])
        summed = np.bincount(columns, share * self.values[donors, columns], cells.shape[1])
        return np.where(total > 0, summed / np.where(total > 0, total, 1.0), np.nan)

    def _lend(
        self, near: np.ndarray, distance: np.ndarray, gaps: np.ndarray, k: float
    ) -> tuple[np.ndarray, bool]:
        """Mean of the k nearest of some donors for each gap, and whether k were found for all."""
        order = near[np.argsort(distance[near], kind="stable")]
        able = self.observed[np.ix_(order, gaps)] & np.isfinite(distance[order])[:, None]
        weight = self.weight[order, None] * able
        before = np.cumsum(weight, axis=0) - weight
        share = np.clip(k - before, 0.0, weight)
        total = share.sum(axis=0)
        summed = (share * self.values[np.ix_(order, gaps)]).sum(axis=0)
        mean = np.where(total > 0, summed / np.where(total > 0, total, 1.0), np.nan)
        return mean, bool((total >= k * (1 - 1e-12)).all())
