"""From what a caller hands over to positions on the axes of users and items."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from nanwise.data.ratings import Ratings, from_csr, from_frame
from nanwise.errors import DataError


def read(R: Any) -> Ratings:
    """Ratings from Ratings, a SciPy sparse matrix (stored = observed) or a frame."""
    if isinstance(R, Ratings):
        found = R
    elif sparse.issparse(R):
        found = from_csr(R)
    elif hasattr(R, "columns"):
        found = from_frame(R)
    else:
        raise TypeError(
            "ratings must be Ratings, a SciPy sparse matrix of users × items or a frame with the "
            f"columns user, item and rating, got {type(R).__name__}"
        )
    if not len(found):
        raise DataError("there are no ratings to learn from")
    return found


def as_list(ids: Any) -> list[Any]:
    """Ids as Python values; a single id is refused, since a text is also a list of letters."""
    if isinstance(ids, (str, bytes)) or not hasattr(ids, "__len__"):
        raise TypeError(f"ids must be a list or array of them, got {ids!r}; write [{ids!r}]")
    return ids.tolist() if hasattr(ids, "tolist") else list(ids)


class Axis:
    """Positions of the ids of one axis.

    Parameters
    ----------
    ids : ndarray
        In the order of the matrix, each once.
    name : str
        "user" or "item", for messages.
    """

    def __init__(self, ids: np.ndarray, name: str) -> None:
        self.ids, self.name = ids, name
        self._place = {key: place for place, key in enumerate(ids.tolist())}

    def places(self, ids: Any) -> np.ndarray:
        """Position of each id, -1 for one that is not there."""
        find = self._place.get
        return np.array([find(key, -1) for key in as_list(ids)], dtype=np.int64)

    def known(self, ids: Any) -> np.ndarray:
        """Position of each id, or a ValueError for the first one that is not there."""
        keys = as_list(ids)
        found = self.places(keys)
        if (found < 0).any():
            wrong, there = keys[int(np.argmin(found))], next(iter(self._place))
            raise ValueError(
                f"no {self.name} of the training ratings has the id {wrong!r} "
                f"({type(wrong).__name__}); ids here are of type {type(there).__name__}, "
                f"such as {there!r}"
            )
        return found


def align(ratings: Ratings, like: Ratings) -> Ratings:
    """The same ratings on the axes of others; those of unknown users and items are refused."""
    if same(ratings.users, like.users) and same(ratings.items, like.items):
        return ratings
    users = Axis(like.users, "user").known(ratings.users)
    items = Axis(like.items, "item").known(ratings.items)
    cells = (users[ratings.rows], items[ratings.matrix.indices])
    matrix = sparse.csr_array(
        (ratings.matrix.data, cells), shape=(len(like.users), len(like.items)), dtype=np.float32
    )
    matrix.sort_indices()
    return replace(ratings, users=like.users, items=like.items, matrix=matrix, time=None)


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two axes hold the same ids in the same order."""
    return one is other or (len(one) == len(other) and bool(np.all(one == other)))


def rows_of(ratings: list[dict[Any, float]], items: Axis) -> sparse.csr_array:
    """People given as ``{item: rating}``, as rows over the items."""
    places = [items.known(list(person)) for person in ratings]
    values = np.array([float(r) for person in ratings for r in person.values()])
    if not np.isfinite(values).all():
        raise ValueError("a rating is not a finite number; leave out what is not known")
    ends = np.concatenate([[0], np.cumsum([len(part) for part in places])]).astype(np.int32)
    columns = np.concatenate([*places, np.empty(0, np.int64)]).astype(np.int32)
    shape = (len(ratings), len(items.ids))
    rows = sparse.csr_array((values.astype(np.float32), columns, ends), shape=shape)
    rows.sort_indices()
    return rows
