"""What the columns of a numeric table stand for: attributes of a kind, and level numbers for them.

========== ======================================================= ===================
kind       meaning                                                 in the code matrix
========== ======================================================= ===================
real       any number                                              the number
positive   a number of at least 0, skewed                          the number
count      0, 1, 2, …                                              the number
binary     two values                                              0, 1
categorical several values without an order                        0, 1, 2, …
ordinal    several values with an order                            0, 1, 2, … in order
vector     several columns that are there or missing together      the numbers
========== ======================================================= ===================
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nanwise.data.frames import listed
from nanwise.errors import DataError, GapWarning

KINDS = ("real", "positive", "count", "binary", "categorical", "ordinal", "vector")
LEVELLED = ("binary", "categorical", "ordinal")


@dataclass(frozen=True)
class Attribute:
    """One attribute.

    Attributes
    ----------
    name : str
    kind : str
        One of ``KINDS``.
    columns : tuple of int
        Its columns in the matrix: one, or several of a vector.
    levels : tuple of float
        The values of a binary, categorical or ordinal attribute, ascending; else empty.
    """

    name: str
    kind: str
    columns: tuple[int, ...]
    levels: tuple[float, ...] = ()


@dataclass(frozen=True)
class Layout:
    """The attributes of a table, in order; together they have every column once."""

    attributes: tuple[Attribute, ...]

    def __len__(self) -> int:
        return len(self.attributes)

    @property
    def n_columns(self) -> int:
        """Number of columns of the matrix."""
        return sum(len(attribute.columns) for attribute in self.attributes)

    @property
    def column_names(self) -> list[str]:
        """A name for every column; the columns of a vector share that of the vector."""
        names = {j: a.name for a in self.attributes for j in a.columns}
        return [names[j] for j in range(self.n_columns)]

    def restrict(self, kept: np.ndarray) -> Layout:
        """The same for a matrix that has only some of the columns."""
        new = np.cumsum(kept) - 1
        attributes = []
        for attribute in self.attributes:
            columns = tuple(int(new[j]) for j in attribute.columns if kept[j])
            if columns:
                attributes.append(replace(attribute, columns=columns))
        return Layout(tuple(attributes))

    @classmethod
    def infer(
        cls,
        x: np.ndarray,
        names: Sequence[str] | None = None,
        kinds: Any = None,
        levels: Mapping[int, tuple[str, int]] | None = None,
    ) -> Layout:
        """Decide what the columns are.

        Parameters
        ----------
        x : ndarray of shape (N, D)
            Numbers, NaN in gaps.
        names : sequence of str, optional
            Names of the columns; ``x0``, ``x1``, … when not given.
        kinds : sequence or mapping, optional
            One kind per column; or a mapping from the name or number of a column to its kind; or,
            for a vector, from the name of the vector to the list of its columns. Columns that are
            not named are real.
        levels : mapping, optional
            For columns that hold level numbers already: kind and number of levels.
        """
        names = [f"x{j}" for j in range(x.shape[1])] if names is None else [str(n) for n in names]
        wanted, vectors = _read_kinds(kinds, names)
        inside = {j: name for name, columns in vectors.items() for j in columns}
        found: list[Attribute] = []
        for j, name in enumerate(names):
            if j in inside:
                if j == vectors[inside[j]][0]:
                    found.append(Attribute(inside[j], "vector", tuple(vectors[inside[j]])))
            elif levels and j in levels and j not in wanted:
                kind, n = levels[j]
                found.append(Attribute(name, kind, (j,), tuple(map(float, range(n)))))
            else:
                found.append(_attribute(name, wanted.get(j, "real"), j, x[:, j]))
        return cls(tuple(found))

    def encode(self, x: np.ndarray) -> np.ndarray:
        """Level numbers instead of levels, in a copy; a level not known here becomes NaN."""
        out = np.array(x, dtype=np.float64)
        for attribute in self.attributes:
            if attribute.kind in LEVELLED:
                j = attribute.columns[0]
                out[:, j] = _level_numbers(out[:, j], attribute)
        return out

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Levels instead of level numbers, whole numbers for counts, in a copy."""
        out = np.array(codes, dtype=np.float64)
        for attribute in self.attributes:
            j = attribute.columns[0]
            if attribute.kind in LEVELLED and attribute.levels:
                there = ~np.isnan(out[:, j])
                place = np.clip(np.rint(out[there, j]), 0, len(attribute.levels) - 1).astype(int)
                out[there, j] = np.asarray(attribute.levels)[place]
            elif attribute.kind == "count":
                out[:, j] = np.maximum(np.rint(out[:, j]), 0)
        return out

    def observed(self, codes: np.ndarray) -> np.ndarray:
        """Which attributes are there, (N, A): all columns of them."""
        there = ~np.isnan(codes)
        return np.column_stack([there[:, list(a.columns)].all(axis=1) for a in self.attributes])

    def __nanwise_state__(self) -> dict[str, Any]:
        return {"attributes": [[a.name, a.kind, a.columns, a.levels] for a in self.attributes]}

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Layout:
        return cls(tuple(Attribute(n, k, tuple(c), tuple(v)) for n, k, c, v in state["attributes"]))


def _read_kinds(kinds: Any, names: list[str]) -> tuple[dict[int, str], dict[str, list[int]]]:
    """Kinds of single columns, and columns of vectors."""
    if kinds is None:
        return {}, {}
    if not isinstance(kinds, Mapping):
        if isinstance(kinds, str) or len(kinds) != len(names):
            raise ValueError(
                f"kinds must have one entry for each of the {len(names)} columns, got {kinds!r}"
            )
        kinds = dict(enumerate(kinds))
    wanted: dict[int, str] = {}
    vectors: dict[str, list[int]] = {}
    for key, kind in kinds.items():
        if isinstance(kind, str):
            if kind not in KINDS or kind == "vector":
                able = ", ".join(k for k in KINDS if k != "vector")
                raise ValueError(
                    f"kind of column {key!r} must be one of {able}, or a list of columns for a "
                    f"vector; got {kind!r}"
                )
            wanted[_place(key, names)] = kind
        else:
            vectors[str(key)] = sorted(_place(column, names) for column in kind)
    _refuse_overlap(wanted, vectors, names)
    return wanted, vectors


def _place(key: Any, names: list[str]) -> int:
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < len(names):
        return int(key)
    raise ValueError(f"kinds names the column {key!r}; there are: {listed(names, 10)}")


def _refuse_overlap(
    wanted: dict[int, str], vectors: dict[str, list[int]], names: list[str]
) -> None:
    seen = set(wanted)
    for vector, columns in vectors.items():
        if not columns:
            raise ValueError(f"kinds: the vector {vector!r} has no columns")
        for j in columns:
            if j in seen:
                raise ValueError(f"kinds names the column {names[j]!r} twice")
            seen.add(j)


def _attribute(name: str, kind: str, j: int, cells: np.ndarray) -> Attribute:
    values = np.unique(cells[~np.isnan(cells)])
    if kind in LEVELLED:
        if kind == "binary" and len(values) > 2:
            raise DataError(
                f"column {name!r} is to be binary but has {len(values)} different values; call it "
                "categorical or ordinal"
            )
        return Attribute(name, kind, (j,), tuple(values.tolist()))
    if kind in ("positive", "count") and len(values) and values[0] < 0:
        raise DataError(f"column {name!r} is to be {kind} but holds {values[0]:g}; call it real")
    if kind == "count" and (values != np.rint(values)).any():
        raise DataError(
            f"column {name!r} is to be a count but holds numbers that are not whole; call it "
            "positive or real"
        )
    return Attribute(name, kind, (j,))


def _level_numbers(cells: np.ndarray, attribute: Attribute) -> np.ndarray:
    levels = np.asarray(attribute.levels)
    place = np.searchsorted(levels, cells)
    known = (place < len(levels)) & (
        levels[np.minimum(place, len(levels) - 1)] == cells if len(levels) else False
    )
    strange = ~known & ~np.isnan(cells)
    if strange.any():
        warnings.warn(
            f"column {attribute.name!r}: {int(strange.sum())} cells with a value that was not "
            "there in training; counted as missing, and kept as they are",
            GapWarning,
            stacklevel=4,
        )
    return np.where(known, place, np.nan)
