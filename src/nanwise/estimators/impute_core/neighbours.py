"""Nearest-neighbour imputation from a fixed set of donors.

Distances are sums of squared differences taken directly, not the expansion
``|x|^2 - 2 x·y + |y|^2``: its rounding depends on how many rows are multiplied at once, and with
tied distances (whole numbers, categories) that decides which donor is taken. The expansion, quick
for many rows, only says which donors are worth a look; where its rounding could have left out one
that counts, all are looked at. So the answer for a row is the same to the last bit whatever other
rows are passed.

Donors as far away as the k-th share its place: none of them is picked by the order of the rows, and
where many are equally near, as with few values in common, the mean of them all is the better one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

#: donors with a smaller share of values are searched through their values only
_SPARSE = 0.25
#: nearest donors looked at before the whole order is worked out, per neighbour wanted; at least so
#: many, and so many that have a value
_HEADROOM, _WITH_VALUE = 5, 3
#: numbers in one array while some rows are searched together
_ROOM = 1 << 19


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
        self._equal = bool((weight == 1).all())
        share = float(observed.mean()) if observed.size else 1.0
        self._headroom = max(_HEADROOM, _WITH_VALUE / max(share, _SPARSE))
        self._cells = sparse.csr_array(observed) if share < _SPARSE else None

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

        Only donors that have the value, and a coordinate in common with the row, count. Those as
        far away as the k-th share what is left of k.
        """
        distance = self.distances(x, observed)
        if self._cells is not None:
            return self._lend_cells(self._cells, distance, k)[~observed]
        gaps, wanted = ~observed[None], int(self._headroom * k)
        if wanted < len(distance):
            near = np.flatnonzero(distance <= np.partition(distance, wanted)[wanted])
            lent, enough, _ = self._lend(near[None], distance[None, near], gaps, k)
            if enough[0]:
                return lent[gaps]
        every = np.arange(len(distance))
        return self._lend(every[None], distance[None], gaps, k)[0][gaps]

    def estimate_all(self, values: np.ndarray, observed: np.ndarray, k: float) -> np.ndarray:
        """`estimate` for many rows, of shape (N, D); NaN in cells that are observed as well."""
        lent = np.full(values.shape, np.nan)
        settled = np.zeros(len(values), dtype=bool)
        if self._cells is None and self._headroom * k < len(self.values):
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
        wanted = int(self._headroom * k)
        reach = np.partition(rough, wanted, axis=1)[:, wanted] + 2 * rounding
        near = (rough <= reach[:, None]) & np.isfinite(rough)
        counts = near.sum(axis=1)
        lent, enough = np.full(values.shape, np.nan), np.zeros(len(values), dtype=bool)
        farthest = np.zeros(len(values))
        for rows in _alike(counts):
            some = _indices(near[rows])
            distance = self._distances_to(some, values[rows], observed[rows])
            distance[some < 0] = np.inf
            found = self._lend(some, distance, ~observed[rows], k)
            lent[rows], enough[rows], farthest[rows] = found
        return lent, np.isinf(reach) | (enough & (farthest < reach - rounding))

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
        far = distance[donors]
        tie = np.cumsum(_differs(far) | _differs(columns)) - 1
        weight = np.bincount(tie, self.weight[donors])
        mean = np.bincount(tie, self.weight[donors] * self.values[donors, columns]) / weight
        columns = columns[np.flatnonzero(_differs(tie))]
        reached = np.cumsum(weight) - weight
        start = np.searchsorted(columns, np.arange(cells.shape[1]))
        before = reached - np.append(reached, 0.0)[start][columns]
        share = np.clip(k - before, 0.0, weight)
        total = np.bincount(columns, share, minlength=cells.shape[1])
        return _ratio(np.bincount(columns, share * mean, cells.shape[1]), total)

    def _lend(
        self, near: np.ndarray, distance: np.ndarray, gaps: np.ndarray, k: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means of the k nearest of some donors (N, M) for the gaps (N, D) of some rows.

        Returns
        -------
        lent : ndarray of shape (N, D)
        enough, farthest : ndarray of shape (N,)
            Whether there were k for every gap, and the distance of the farthest that was needed.
        """
        order = np.argsort(distance, axis=1, kind="stable")
        near, distance = (np.take_along_axis(a, order, axis=1) for a in (near, distance))
        lent, enough = np.full(gaps.shape, np.nan), np.ones(len(gaps), dtype=bool)
        farthest = np.zeros(len(gaps))
        cells = np.argwhere(gaps)
        ties: np.ndarray | None = None
        step = max(1, _ROOM // near.shape[1])
        for row, column in (cells[i : i + step].T for i in range(0, len(cells), step)):
            plain, means, far = self._lend_plainly(near, distance, row, column, k)
            lent[row[plain], column[plain]] = means
            np.maximum.at(farthest, row[plain], far)
            row, column = row[~plain], column[~plain]
            if not len(row):
                continue
            ties = _ties(distance) if ties is None else ties
            donors = near[row], column[:, None]
            weight = self.weight[donors[0]] * self.observed[donors] * np.isfinite(distance[row])
            share, reached = _shares(weight, ties[:, row], k)
            # cumsum adds one by one: how many donors come behind the last needed changes no bit
            total, summed = (
                np.cumsum(part, axis=1)[:, -1] for part in (share, share * self.values[donors])
            )
            lent[row, column] = _ratio(summed, total)
            far = np.where(share > 0, distance[row], 0.0).max(axis=1)
            np.maximum.at(farthest, row, far)
            np.logical_and.at(enough, row, reached)
        return lent, enough, farthest

    def _lend_plainly(
        self,
        near: np.ndarray,
        distance: np.ndarray,
        row: np.ndarray,
        column: np.ndarray,
        k: float,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means for the cells whose k-th donor has no rival; to the last bit what ties would give.

        Returns
        -------
        plain : ndarray of bool, shape (cells,)
            Which cells: their k-th donor is nearer than the next, and all donors weigh 1.
        means, far : ndarray of shape (plain cells,)
            What they get, and how far away the k-th donor is.
        """
        plain, wanted = np.zeros(len(row), dtype=bool), int(k)
        if wanted != k or not self._equal:
            return plain, np.empty(0), np.empty(0)
        there = self.observed[near[row], column[:, None]]
        there &= np.isfinite(distance)[row]
        count = np.cumsum(there, axis=1, dtype=np.int32)
        able = np.flatnonzero(count[:, -1] > wanted)
        first = there[able] & (count[able] <= wanted + 1)
        places = np.nonzero(first)[1].reshape(len(able), wanted + 1)
        apart = distance[row[able, None], places[:, -2:]]
        alone = apart[:, 0] < apart[:, 1]
        chosen, places, far = able[alone], places[alone, :-1], apart[alone, 0]
        plain[chosen] = True
        values = self.values[near[row[chosen, None], places], column[chosen, None]]
        return plain, np.cumsum(values, axis=1)[:, -1] / k, far


def _ties(distance: np.ndarray) -> np.ndarray:
    """Of ascending distances (N, M), where the equal ones of each begin and end, (2, N, M)."""
    places = np.arange(distance.shape[1])
    new = np.ones(distance.shape, dtype=bool)
    new[:, 1:] = distance[:, 1:] != distance[:, :-1]
    last = np.roll(new, -1, axis=1)
    begin = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    end = np.where(last, places + 1, len(places))[:, ::-1]
    return np.stack([begin, np.minimum.accumulate(end, axis=1)[:, ::-1]])


def _shares(weight: np.ndarray, ties: np.ndarray, k: float) -> tuple[np.ndarray, np.ndarray]:
    """What donors from the nearest on have of k, those of a tie alike, and whether they reach k."""
    so_far = np.zeros((len(weight), weight.shape[1] + 1))
    np.cumsum(weight, axis=1, out=so_far[:, 1:])
    before, until = (np.take_along_axis(so_far, places, axis=1) for places in ties)
    own = until - before
    share = np.clip(k - before, 0.0, own)
    share /= np.where(own > 0, own, 1.0)
    share *= weight
    return share, so_far[:, -1] >= k


def _differs(values: np.ndarray) -> np.ndarray:
    """Whether each value differs from the one before it."""
    return np.append(np.ones(len(values[:1]), dtype=bool), values[1:] != values[:-1])


def _alike(counts: np.ndarray) -> Iterator[np.ndarray]:
    """Rows with about as many donors, at least half of the most among them."""
    scale = np.frexp(counts)[1]
    yield from (np.flatnonzero(scale == size) for size in np.unique(scale))


def _indices(near: np.ndarray) -> np.ndarray:
    """Where each row is True, in order, filled up with -1."""
    rows, places = np.nonzero(near)
    counts = near.sum(axis=1)
    indices = np.full((len(near), int(counts.max(initial=1))), -1)
    indices[rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)] = places
    return indices


def _per_coordinate(total: np.ndarray, common: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(common > 0, total / common, np.inf)


def _ratio(summed: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.where(total > 0, summed / np.where(total > 0, total, 1.0), np.nan)
