"""Ratings: who rated what how, as a sparse matrix whose stored cells are the observed ones."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nanwise.data.ratings.scale import Scale
from nanwise.errors import need

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """Ratings of items by users.

    Attributes
    ----------
    users, items : ndarray
        The ids, in the order of the matrix: int64, or objects such as texts. An id may be there
        without any rating (its row or column is *cold*), for example after a split.
    matrix : scipy.sparse.csr_array of shape (n_users, n_items)
        float32, int32 indices, sorted. **Stored = observed**: a stored 0 is a rating of 0, a cell
        that is not stored is unknown.
    time : ndarray, optional
        When each rating was given, aligned with ``matrix.data``: numbers or datetime64.
    scale : Scale
        Smallest, largest, step and levels of the ratings as they were read. Parts of the data
        (:meth:`select`, splits) keep the scale of the whole.
    facts : dict
        ``rows_read``, ``rows_dropped`` (no user, item or rating), ``duplicates`` (rows that repeat
        a pair of user and item), ``duplicates_rule``, ``source``, and what was done afterwards.
    """

    users: np.ndarray
    items: np.ndarray
    matrix: sparse.csr_array
    scale: Scale
    time: np.ndarray | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (len(self.users), len(self.items))
        if self.matrix.shape != shape:
            raise ValueError(
                f"the matrix has shape {self.matrix.shape}, but there are {shape[0]} users "
                f"and {shape[1]} items"
            )
        if self.time is not None and len(self.time) != self.matrix.nnz:
            raise ValueError(f"{len(self.time)} times were given for {self.matrix.nnz} ratings")

    def __repr__(self) -> str:
        timed = "" if self.time is None else ", with time"
        return (
            f"Ratings({len(self):,} of {len(self.users):,} users and {len(self.items):,} items, "
            f"{self.scale}{timed})"
        )

    def __len__(self) -> int:
        """How many ratings there are."""
        return int(self.matrix.nnz)

    @property
    def rows(self) -> np.ndarray:
        """Position of the user of each stored cell, aligned with ``matrix.data``."""
        counts = np.diff(self.matrix.indptr)
        return np.repeat(np.arange(len(counts), dtype=np.int32), counts)

    def user_index(self, users: Any) -> Any:
        """Position of a user's id, or positions of a list or array of them.

        Raises
        ------
        ValueError
            If there is no such user; the message says what ids look like here.
        """
        return _find(users, self._user_positions, "user")

    def item_index(self, items: Any) -> Any:
        """Position of an item's id, or positions of a list or array of them."""
        return _find(items, self._item_positions, "item")

    def transpose(self) -> Ratings:
        """The same ratings with users and items exchanged."""
        order = sort_codes(self.matrix.indices, len(self.items))
        matrix = cells_to_csr(
            self.matrix.indices[order],
            self.rows[order],
            self.matrix.data[order],
            (len(self.items), len(self.users)),
        )
        time = None if self.time is None else self.time[order]
        return replace(self, users=self.items, items=self.users, matrix=matrix, time=time)

    def select(self, cells: Any) -> Ratings:
        """Some of the ratings on the same axes.

        Parameters
        ----------
        cells : array of bool or int
            Which stored cells, by their position in ``matrix.data``. Their order does not matter.
            Users and items stay even if all their ratings are left out.
        """
        kept = _as_kept(cells, len(self))
        before = np.concatenate([[0], np.cumsum(kept)]).astype(self.matrix.indptr.dtype)
        matrix = sparse.csr_array(
            (self.matrix.data[kept], self.matrix.indices[kept], before[self.matrix.indptr]),
            shape=self.matrix.shape,
        )
        return replace(self, matrix=matrix, time=None if self.time is None else self.time[kept])

    def restrict(self, users: Any, items: Any) -> Ratings:
        """Only these users and items, given as arrays of bool along the axes; the rest is gone."""
        users, items = np.asarray(users, dtype=bool), np.asarray(items, dtype=bool)
        part = self.select(users[self.rows] & items[self.matrix.indices])
        counts = np.diff(part.matrix.indptr)[users]
        place = (np.cumsum(items) - 1).astype(np.int32)
        matrix = sparse.csr_array(
            (part.matrix.data, place[part.matrix.indices], _pointers(counts)),
            shape=(int(users.sum()), int(items.sum())),
        )
        return replace(part, users=self.users[users], items=self.items[items], matrix=matrix)

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame with the columns user, item, rating and, if known, time."""
        pd = need("pandas", "data")
        columns = {
            "user": self.users[self.rows],
            "item": self.items[self.matrix.indices],
            "rating": self.matrix.data,
        }
        if self.time is not None:
            columns["time"] = self.time
        return pd.DataFrame(columns)

    @cached_property
    def _user_positions(self) -> dict[Any, int]:
        return {key: place for place, key in enumerate(self.users.tolist())}

    @cached_property
    def _item_positions(self) -> dict[Any, int]:
        return {key: place for place, key in enumerate(self.items.tolist())}


def sort_codes(codes: np.ndarray, n_codes: int) -> np.ndarray:
    """Stable order of small integers, in linear time (a comparison sort takes five times longer).

    A matrix with one cell per row, in the column of its code, read column by column.
    """
    n = len(codes)
    one_per_row = sparse.csr_array(
        (np.empty(n, dtype=np.int8), codes, np.arange(n + 1, dtype=np.int32)), shape=(n, n_codes)
    )
    return one_per_row.tocsc().indices


def cells_to_csr(
    rows: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, int]
) -> sparse.csr_array:
    """A CSR matrix of cells that are already in the order of rows and columns, each once."""
    counts = np.bincount(rows, minlength=shape[0])
    return sparse.csr_array((values, columns, _pointers(counts)), shape=shape)


def _pointers(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def _as_kept(cells: Any, n: int) -> np.ndarray:
    cells = np.asarray(cells)
    if cells.dtype == bool:
        if cells.shape != (n,):
            raise ValueError(f"{n} stored cells need {n} truth values, got shape {cells.shape}")
        return cells
    kept = np.zeros(n, dtype=bool)
    kept[cells.astype(np.intp, casting="same_kind") if cells.size else []] = True
    return kept


def _find(ids: Any, positions: dict[Any, int], axis: str) -> Any:
    many = isinstance(ids, (list, np.ndarray)) or hasattr(ids, "to_list")
    keys = (ids.tolist() if hasattr(ids, "tolist") else list(ids)) if many else [ids]
    try:
        found = [positions[key] for key in keys]
    except (KeyError, TypeError) as error:
        raise ValueError(_unknown(keys, positions, axis)) from error
    return np.array(found, dtype=np.int64) if many else found[0]


def _unknown(keys: list[Any], positions: dict[Any, int], axis: str) -> str:
    wrong = next(key for key in keys if not isinstance(key, Hashable) or key not in positions)
    there = next(iter(positions), None)
    hint = f"ids here are of type {type(there).__name__}, such as {there!r}"
    return f"no {axis} has the id {wrong!r} ({type(wrong).__name__}); {hint}"
