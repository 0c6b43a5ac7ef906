"""Ids of users and items: from whatever they are to positions, piece by piece, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from nanwise.errors import need

#: 18 digits always fit into int64
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")


class Ids:
    """Positions of ids in order of first appearance, learnt from one piece of a column at a time.

    Only the different ids of a piece are looked up in Python, so ten million rows with a hundred
    thousand users cost some hundred thousand lookups per piece.

    Parameters
    ----------
    written : bool, default=False
        Whether the ids come from a text file, where one cannot tell 7 from "7". They are whole
        numbers as long as each one is written as Python writes it, and texts from the first one
        that is not: the numbers before it are then texts, too.
    """

    def __init__(self, written: bool = False) -> None:
        self._position: dict[Any, int] = {}
        self._may_be_numbers = written
        self._written = written

    def __len__(self) -> int:
        return len(self._position)

    def codes(self, column: Any) -> np.ndarray:
        """Position of each id as int32; new ids get new positions."""
        pd = need("pandas", "data")
        codes, found = pd.factorize(column)
        keys = self._as_written(found.tolist()) if self._written else found.tolist()
        position = self._position
        places = [position.setdefault(key, len(position)) for key in keys]
        return np.array(places, dtype=np.int32)[codes]

    def values(self) -> np.ndarray:
        """All ids by position."""
        return id_array(self._position)

    def _as_written(self, keys: list[Any]) -> list[Any]:
        if self._may_be_numbers:
            if all(map(_is_plain_number, keys)):
                return [int(key) for key in keys]
            self._may_be_numbers = False
            self._position = {str(key): place for key, place in self._position.items()}
        return [str(key) for key in keys]


def _is_plain_number(key: Any) -> bool:
    return isinstance(key, int) or _NUMBER.fullmatch(key) is not None


def id_array(ids: Iterable[Any]) -> np.ndarray:
    """One axis of ids: int64 if all are whole numbers, else an array of objects, unchanged."""
    ids = list(ids)
    kinds = set(map(type, ids))
    if kinds == {int} and all(-(2**63) <= key < 2**63 for key in ids):
        return np.array(ids, dtype=np.int64)
    out = np.empty(len(ids), dtype=object)
    out[:] = ids
    return out


def as_ids(ids: Any, n: int, axis: str) -> np.ndarray:
    """The caller's ids for ``n`` rows or columns, each once; 0, 1, 2, … when none are given."""
    if ids is None:
        return np.arange(n, dtype=np.int64)
    ids = id_array(ids.tolist() if hasattr(ids, "tolist") else ids)
    if len(ids) != n:
        raise ValueError(f"{len(ids)} ids of {axis}s were given for {n} {axis}s")
    if len(set(ids.tolist())) < n:
        raise ValueError(f"the ids of the {axis}s are not all different")
    return ids
