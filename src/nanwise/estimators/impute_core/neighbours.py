"""Nearest-neighbour imputation from a fixed set of donors.

Distances are sums of squared differences taken directly, not the expansion
``|x|^2 - 2 x·y + |y|^2``: its rounding depends on how many rows are multiplied at once, and with
tied distances (whole numbers, categories) that decides which donor is taken. The expansion, quick
for many rows, only says which donors are worth a look; where its rounding could have left out one
that counts, all are looked at. So the answer for a row is the same to the last bit whatever other
rows are passed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

#: donors with a smaller share of values are searched through their values only
_SPARSE = 0.25
#: nearest donors looked at before the whole order is worked out, per neighbour wanted
_HEADROOM = 8
#: numbers in one array while some rows are searched together
_ROOM = 1 << 18


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
        self._columns = np.ascontiguousarray(values.T, dtype=np.float64)
        self._squares = self._columns * self._columns
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
        return _per_coordinate(total, common)

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

    def estimate_all(self, values: np.ndarray, observed: np.ndarray, k: float) -> np.ndarray:
        """`estimate` for many rows, of shape (N, D); NaN in cells that are observed as well."""
        lent = np.full(values.shape, np.nan)
        settled = np.zeros(len(values), dtype=bool)
        if self._cells is None and _HEADROOM * k < len(self.values):
            step = max(1, _ROOM // len(self.values))
            for start in range(0, len(values), step):
                rows = slice(start, start + step)
                lent[rows], settled[rows] = self._estimate_block(values[rows], observed[rows], k)
        for row in np.flatnonzero(~settled):
            lent[row, ~observed[row]] = self.estimate(values[row], observed[row], k)
        return lent

    def _estimate_block(
        self, values: np.ndarray, observed: np.ndarray, k: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Answers for some rows from their nearest donors, and which of the rows that settles."""
        rough, rounding = self._rough_distances(values, observed)
        wanted = int(_HEADROOM * k)
        reach = np.partition(rough, wanted, axis=1)[:, wanted] + 2 * rounding
        near = (rough <= reach[:, None]) & np.isfinite(rough)
        counts = near.sum(axis=1)
        lent, settled = np.full(values.shape, np.nan), np.zeros(len(values), dtype=bool)
        for rows in self._alike(counts, values.shape[1], 2 * wanted):
            found = self._lend_rows(_indices(near[rows]), values[rows], observed[rows], k)
            lent[rows], enough, farthest = found
            settled[rows] = np.isinf(reach[rows]) | (
                enough & (farthest < reach[rows] - rounding[rows])
            )
        return lent, settled

    @staticmethod
    def _alike(counts: np.ndarray, columns: int, usual: int) -> Iterator[np.ndarray]:
        """Rows with the usual number of donors, then those with more, as fits into memory."""
        for rows in (np.flatnonzero(counts <= usual), np.flatnonzero(counts > usual)):
            widest = int(counts[rows].max(initial=1))
            step = max(1, _ROOM // (widest * columns))
            yield from (rows[start : start + step] for start in range(0, len(rows), step))

    def _rough_distances(
        self, values: np.ndarray, observed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances of some rows to all donors, and for each row a bound of their error."""
        donors, there = self._columns, self._there
        left = np.hstack([values * values, observed, -2.0 * values])
        rough = left @ np.vstack([there, self._squares, donors])
        common = observed.astype(np.float64) @ there
        rough /= np.maximum(common, 1.0)
        rough[common == 0] = np.inf
        size = (values * values).sum(axis=1) + self._squares.sum(axis=0).max(initial=0.0)
        return rough, 8 * len(donors) * np.finfo(np.float64).eps * size

    def _lend_rows(
        self, near: np.ndarray, values: np.ndarray, observed: np.ndarray, k: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For some rows: means of k of some donors, whether all found k, the farthest needed."""
        distance = self._distances_to(near, values, observed)
        distance[near < 0] = np.inf
        order = np.argsort(distance, axis=1, kind="stable")[:, : int(_HEADROOM * k)]
        near, distance = (np.take_along_axis(a, order, axis=1) for a in (near, distance))
        before, total, summed = (np.zeros(values.shape) for _ in range(3))
        farthest = np.zeros(len(values))
        for donor, far in zip(near.T, distance.T, strict=True):
            able = self.observed[donor] & ~observed & np.isfinite(far)[:, None]
            weight = self.weight[donor][:, None] * able
            share = np.clip(k - before, 0.0, weight)
            before += weight
            total += share
            summed += share * self.values[donor]
            farthest = np.where(share.any(axis=1), far, farthest)
            if (observed | _reached(total, k)).all():
                break
        enough = (observed | _reached(total, k)).all(axis=1)
        return _ratio(summed, total), enough, farthest

    def _distances_to(
        self, near: np.ndarray, values: np.ndarray, observed: np.ndarray
    ) -> np.ndarray:
        """What `distances` says, to the last bit, for a few donors of each row."""
        total, common = np.zeros(near.shape), np.zeros(near.shape)
        for j in np.flatnonzero(observed.any(axis=0)):
            both = self._there[j][near]
            both *= observed[:, j, None]
            difference = self._columns[j][near]
            difference -= values[:, j, None]
            difference *= difference
            difference *= both
            total += difference
            common += both
        return _per_coordinate(total, common)

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
        return _ratio(summed, total)

    def _lend(
        self, near: np.ndarray, distance: np.ndarray, gaps: np.ndarray, k: float
    ) -> tuple[np.ndarray, bool]:
        """Mean of the k nearest of some donors for each gap, and whether k were found for all."""
        order = near[np.argsort(distance[near], kind="stable")]
        able = self.observed[np.ix_(order, gaps)] & np.isfinite(distance[order])[:, None]
        weight = self.weight[order, None] * able
        # sums run from the nearest on, one by one: donors without a share change no bit
        before = np.cumsum(weight, axis=0)
        before = np.vstack([np.zeros(len(gaps)), before[:-1]])
        share = np.clip(k - before, 0.0, weight)
        total = np.cumsum(share, axis=0)[-1]
        summed = np.cumsum(share * self.values[np.ix_(order, gaps)], axis=0)[-1]
        return _ratio(summed, total), bool(_reached(total, k).all())


def _indices(near: np.ndarray) -> np.ndarray:
    """Where each row is True, in order, filled up with -1."""
    rows, places = np.nonzero(near)
    counts = near.sum(axis=1)
    indices = np.full((len(near), int(counts.max(initial=1))), -1)
    indices[rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)] = places
    return indices


def _reached(total: np.ndarray, k: float) -> np.ndarray:
    return total >= k * (1 - 1e-12)


def _per_coordinate(total: np.ndarray, common: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(common > 0, total / common, np.inf)


def _ratio(summed: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.where(total > 0, summed / np.where(total > 0, total, 1.0), np.nan)
