"""Ratings as numbers of levels, as the loop and the networks see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from nanwise.nn.sparse import Rows

#: scores of levels held at once while predicting, and rows encoded at once
CELLS = 1 << 22
ROWS = 4096


def level_rows(matrix: sparse.csr_array, levels: list[float]) -> Rows:
    """Rows of ratings as level numbers; a rating between two levels counts as the nearer one."""
    rows = Rows.from_scipy(matrix, dtype=torch.float64)
    edges = np.asarray(levels[:-1]) + np.diff(levels) / 2
    return rows._replace(values=torch.as_tensor(np.searchsorted(edges, rows.values.numpy())))


class LevelSource:
    """Rows by number: a batch is the known ratings, or a pair of these and the cells asked for."""

    def __init__(self, known: Rows, asked: Rows | None = None) -> None:
        self.known, self.asked = known, asked

    def __len__(self) -> int:
        return self.known.offsets.shape[0] - 1

    def __getitem__(self, index: Tensor) -> Any:
        known = self.known.take(index)
        return known if self.asked is None else (known, self.asked.take(index))


class SameBatch:
    """One and the same batch, ``length`` times an epoch: the network draws from it."""

    def __init__(self, batch: Any, length: int = 1) -> None:
        self.batch, self.length = batch, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Tensor) -> Any:
        return self.batch


def cells_by_row(
    rows: np.ndarray, columns: np.ndarray, width: int, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray, Rows]]:
    """Pairs of row and column in pieces of about ``most`` cells.

    Yields
    ------
    places : ndarray
        Which pairs.
    needed : ndarray
        The rows they belong to, ascending, at most ``ROWS``.
    cells : Rows
        The pairs, row by row, on the rows ``needed``; without values.
    """
    order = np.argsort(rows, kind="stable")
    needed, counts = np.unique(rows, return_counts=True)
    ends = np.concatenate([[0], np.cumsum(counts)])
    first = 0
    while first < len(needed):
        last = int(np.searchsorted(ends, ends[first] + most, side="right")) - 1
        last = min(max(last, first + 1), first + ROWS)
        places = order[ends[first] : ends[last]]
        found = torch.as_tensor(columns[places])
        offsets = torch.as_tensor(ends[first : last + 1] - ends[first])
        yield places, needed[first:last], Rows(found, found, offsets, width)
        first = last


def pieces(n: int, each: int, most: int = CELLS) -> Iterator[slice]:
    """Slices of ``n`` rows of ``each`` numbers that hold about ``most`` numbers."""
    size = max(1, most // max(each, 1))
    return (slice(i, min(i + size, n)) for i in range(0, n, size))
