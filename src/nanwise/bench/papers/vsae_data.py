"""The rows of the VSAE papers' experiments: codes, what the columns are, and what is hidden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nanwise.bench.case import Case
from nanwise.data.ampute import held_cells
from nanwise.data.sets import find_modalities, load_dataset, load_modalities
from nanwise.errors import DataError

#: Statlog heart by its own documentation; of the ordered slope and of the nominal ones levels count
HEART_NUMBERS = (
    "age",
    "resting_pressure",
    "cholesterol",
    "max_heart_rate",
    "oldpeak",
    "vessels",
)
#: sets of rows with modalities, as opposed to tables
MODAL = ("mnist_pairs", "mnist_label", "fashion_label", "mnist_svhn", "mosi")


@dataclass(frozen=True)
class Attribute:
    """One attribute: consecutive columns, and what they are.

    Attributes
    ----------
    name : str
    kind : str
        ``"real"``, ``"binary"``, ``"categorical"`` or ``"vector"``.
    columns : slice
    shape : tuple of int
        Of one value; ``()`` but for vectors.
    """

    name: str
    kind: str
    columns: slice
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Rows:
    """Complete rows (but for gaps of their own), and which of them are for testing.

    Attributes
    ----------
    values : ndarray of shape (N, D)
        Numbers, and level numbers of categories; NaN in gaps.
    attributes : tuple of Attribute
    test : ndarray of bool, shape (N,)
    """

    values: np.ndarray
    attributes: tuple[Attribute, ...]
    test: np.ndarray

    @property
    def kinds(self) -> dict[Any, Any]:
        """What an imputer is told of the columns."""
        return {
            a.name if a.kind == "vector" else a.columns.start: _columns(a)
            if a.kind == "vector"
            else a.kind
            for a in self.attributes
        }

    @property
    def modal(self) -> bool:
        """Whether there are vectors."""
        return any(attribute.kind == "vector" for attribute in self.attributes)


def rows_of(case: Case) -> Rows:
    """The rows of a case: ``rows`` of the protocol at most, a share ``test`` for testing.

    Of a table the test rows are drawn by the seed. Modalities have test rows of their own; of
    fewer ``rows`` a quarter as many are taken for testing.
    """
    limit = case.protocol.get("rows")
    if case.dataset in MODAL:
        return _modal_rows(case.dataset, limit, case.seed)
    values, attributes = _table(case.dataset)
    rng = np.random.default_rng([case.seed, 1])
    order = rng.permutation(len(values))[:limit]
    test = np.arange(len(order)) < round(case.protocol["test"] * len(order))
    return Rows(values[order], attributes, test)


def held_of(rows: Rows, hide: Mapping[str, Any], seed: int) -> np.ndarray:
    """Boolean (N, D), True for cells that are hidden; all columns of an attribute together.

    Fixed by the seed: every method sees the same cells. A mechanism other than ``mcar`` is one of
    :mod:`nanwise.data.ampute` and looks at single columns.
    """
    if not rows.modal:
        return held_cells(rows.values, hide["share"], hide["mechanism"], random_state=seed)
    if hide["mechanism"] != "mcar":
        raise ValueError(f"modalities are hidden at random (mcar), got {hide['mechanism']!r}")
    rng = np.random.default_rng([seed, 2])
    chosen = rng.random((len(rows.values), len(rows.attributes))) < hide["share"]
    widths = [len(_columns(attribute)) for attribute in rows.attributes]
    return np.repeat(chosen, widths, axis=1)


def not_there(dataset: str) -> str | None:
    """Why a set cannot be read; None if it can."""
    try:
        if dataset in MODAL:
            find_modalities(dataset).paths()
        else:
            _table(dataset)
    except DataError as error:
        return str(error)
    return None


def _columns(attribute: Attribute) -> list[int]:
    return list(range(attribute.columns.start, attribute.columns.stop))


@lru_cache(maxsize=8)
def _table(name: str) -> tuple[np.ndarray, tuple[Attribute, ...]]:
    """Kept, because a worker meets the same set in many cells; never written to."""
    frame = load_dataset(name).X
    columns, attributes = [], []
    for j, column in enumerate(frame.columns):
        real = name in ("yeast", "whitewine") or (name == "heart" and column in HEART_NUMBERS)
        cells = frame[column].astype("float64").to_numpy() if real else _codes(frame[column])
        levels = len(np.unique(cells[~np.isnan(cells)]))
        kind = "real" if real else "binary" if levels == 2 else "categorical"
        columns.append(cells)
        attributes.append(Attribute(str(column), kind, slice(j, j + 1)))
    return np.column_stack(columns), tuple(attributes)


def _codes(column: Any) -> np.ndarray:
    codes, _ = column.factorize(sort=True)
    return np.where(codes < 0, np.nan, codes.astype(np.float64))


@lru_cache(maxsize=2)
def _modal_rows(name: str, limit: int | None, seed: int) -> Rows:
    """All modalities side by side; ``mosi`` in units of the range of its training rows."""
    data = load_modalities(name)
    rng = np.random.default_rng([seed, 1])
    parts = []
    for part, most in ((data.train, limit), (data.test, limit and max(limit // 4, 1))):
        n = len(next(iter(part.values())))
        chosen = np.sort(rng.permutation(n)[:most])
        parts.append({key: values[chosen] for key, values in part.items()})
    blocks, attributes, start = [], [], 0
    for key, shape in data.shapes.items():
        train, test = (np.asarray(part[key], dtype=np.float64) for part in parts)
        both = np.concatenate([train, test]).reshape(len(train) + len(test), -1)
        if name == "mosi":
            both = _in_unit_range(both, len(train))
        blocks.append(both)
        stop = start + both.shape[1]
        kind = "vector" if shape else "categorical"
        attributes.append(Attribute(key, kind, slice(start, stop), shape))
        start = stop
    values = np.concatenate(blocks, axis=1)
    return Rows(values, tuple(attributes), np.arange(len(values)) >= len(train))


def _in_unit_range(values: np.ndarray, n_train: int) -> np.ndarray:
    low, high = values[:n_train].min(axis=0), values[:n_train].max(axis=0)
    return (values - low) / np.where(high > low, high - low, 1.0)
