"""From what a caller hands over to positions on the axes of users and items."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from nanwise.data.ratings import Ratings, from_csr, from_frame
from nanwise.errors import DataError, GapWarning


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

    def warn_of_strangers(self, ids: Any) -> None:
        """Warn if none is there although some would be as numbers, or as texts."""
        keys = as_list(ids)
        if not keys or any(key in self._place for key in keys):
            return
        other = next((key for key in keys if _otherwise(key) in self._place), None)
        if other is not None:
            warnings.warn(
                f"no {self.name} is known: ids were of type {type(_otherwise(other)).__name__} in "
                f"training, such as {_otherwise(other)!r}, and are of type {type(other).__name__} "
                f"now, such as {other!r}",
                GapWarning,
                stacklevel=3,
            )

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


def _otherwise(key: Any) -> Any:
    """7 for the text "7", "7" for the number, None for anything else."""
    if isinstance(key, str):
        return int(key) if key.removeprefix("-").isdecimal() else None
    return str(key) if isinstance(key, int) else None


def matrix_on(R: Any, there: tuple[Axis, Axis]) -> sparse.csr_array:
    """The cells of ratings on given axes; a matrix must have their shape."""
    shape = (len(there[0].ids), len(there[1].ids))
    if sparse.issparse(R):
        if R.shape != shape:
            raise ValueError(
                f"the ratings have shape {R.shape}, those of the training {shape}; "
                "both must have the same axes"
            )
        return R.tocsr()
    return _moved(read(R), *there)


def align(ratings: Ratings, like: Ratings) -> Ratings:
    """The same ratings on the axes of others; those of unknown users and items are refused."""
    if same(ratings.users, like.users) and same(ratings.items, like.items):
        return ratings
    matrix = _moved(ratings, Axis(like.users, "user"), Axis(like.items, "item"))
    return replace(ratings, users=like.users, items=like.items, matrix=matrix, time=None)


def warn_about_seen(held: Ratings, train: Ratings) -> None:
    """One warning if ratings to validate on are among those to learn from."""
    n_items = len(train.items)
    cells = [r.rows.astype(np.int64) * n_items + r.matrix.indices for r in (held, train)]
    seen = int(np.isin(*cells).sum())
    if seen:
        warnings.warn(
            f"{seen} of the {len(held)} validation ratings are among the training ratings: their "
            "error falls even when others no longer do, and training stops too late",
            UserWarning,
            stacklevel=3,
        )


def _moved(ratings: Ratings, users: Axis, items: Axis) -> sparse.csr_array:
    """The cells of ratings on other axes."""
    rows, columns = users.known(ratings.users), items.known(ratings.items)
    cells = (rows[ratings.rows], columns[ratings.matrix.indices])
    shape = (len(users.ids), len(items.ids))
    matrix = sparse.csr_array((ratings.matrix.data, cells), shape=shape, dtype=np.float32)
    matrix.sort_indices()
    return matrix


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
