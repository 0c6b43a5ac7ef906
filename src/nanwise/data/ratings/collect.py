"""Collects rows piece by piece, resolves duplicates, and builds the matrix."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from nanwise.data.ratings.core import Ratings, cells_to_csr, sort_codes
from nanwise.data.ratings.ids import Ids
from nanwise.data.ratings.scale import Levels, Scale
from nanwise.data.ratings.text import Chunk
from nanwise.errors import DataError, need

Rule = Literal["last", "first", "mean", "error"]
RULES = ("last", "first", "mean", "error")
_LARGEST = float(np.finfo(np.float32).max)


class Collector:
    """Takes chunks of rows and ends in :class:`Ratings`; 20 bytes per row with integer times.

    Parameters
    ----------
    source : str
        What messages and ``facts`` call the data.
    duplicates : {"last", "first", "mean", "error"}
        What to do with several ratings of one item by one user.
    missing : {"error", "drop"}
        What to do with rows without user, item or rating.
    scale : Scale, optional
        Ratings outside of it are refused.
    written : bool
        Whether ids come from a text file; see :class:`nanwise.data.ratings.ids.Ids`.
    """

    def __init__(
        self,
        source: str,
        duplicates: Rule,
        missing: str = "error",
        scale: Scale | None = None,
        written: bool = False,
    ):
        if duplicates not in RULES:
            raise ValueError(f"duplicates must be one of {RULES}, got {duplicates!r}")
        if missing not in ("error", "drop"):
            raise ValueError(f"missing must be 'error' or 'drop', got {missing!r}")
        self.source, self.duplicates, self.missing, self.asked = source, duplicates, missing, scale
        self.users, self.items, self.levels = Ids(written), Ids(written), Levels()
        self.read = self.dropped = 0
        self._parts: dict[str, list[np.ndarray]] = {"user": [], "item": [], "rating": []}

    def add(self, chunk: Chunk) -> None:
        """Check and keep one chunk."""
        self.read += len(chunk.ratings)
        self._refuse(
            np.abs(chunk.ratings) > _LARGEST, chunk, "the rating is infinite, or nearly so"
        )
        kept = self._complete(chunk)
        self.dropped += len(kept) - int(kept.sum())
        if self.asked is not None:
            wrong = kept & self.asked.outside(np.where(kept, chunk.ratings, self.asked.smallest))
            self._refuse(wrong, chunk, f"the rating is not on the scale {self.asked}")
        parts = {
            "user": self.users.codes(chunk.users[kept]),
            "item": self.items.codes(chunk.items[kept]),
            "rating": chunk.ratings[kept].astype(np.float32),
        }
        if chunk.time is not None:
            parts["time"] = chunk.time[kept]
        for name, values in parts.items():
            self._parts.setdefault(name, []).append(values)
        self.levels.add(parts["rating"])

    def finish(self) -> Ratings:
        """The ratings of all chunks."""
        if not sum(map(len, self._parts["rating"])):
            raise DataError(f"{self.source} holds no ratings{self._why_none()}")
        columns = {name: self._joined(name) for name in list(self._parts)}
        shape = (len(self.users), len(self.items))
        order, again = _order(columns, shape, by_time=self.duplicates in ("last", "first"))
        if self.duplicates == "error" and again.any():
            raise self._twice(columns, order, again)
        facts = {
            "source": self.source,
            "rows_read": self.read,
            "rows_dropped": self.dropped,
            "duplicates": int(again.sum()),
            "duplicates_rule": self.duplicates,
        }
        columns = _resolved(columns, order, again, self.duplicates)
        return Ratings(
            self.users.values(),
            self.items.values(),
            cells_to_csr(columns["user"], columns["item"], columns["rating"], shape),
            self.levels.scale(self.asked),
            columns.get("time"),
            facts,
        )

    def _complete(self, chunk: Chunk) -> np.ndarray:
        """Rows that have everything; others are an error unless they may be dropped."""
        pd = need("pandas", "data")
        kept = np.ones(len(chunk.ratings), dtype=bool)
        for name in ("user", "item", "rating"):
            gaps = np.asarray(pd.isna(getattr(chunk, f"{name}s")))
            if self.missing == "error":
                why = f"the {name} is missing; missing='drop' drops such rows"
                self._refuse(gaps, chunk, why, show=False)
            kept &= ~gaps
        return kept

    def _refuse(self, wrong: np.ndarray, chunk: Chunk, why: str, show: bool = True) -> None:
        """Name the first wrong row, and its rating if ``show``."""
        if wrong.any():
            rows = np.flatnonzero(wrong)
            more = f" ({len(rows)} such rows)" if len(rows) > 1 else ""
            got = f", got {chunk.ratings[rows[0]]:g}" if show else ""
            raise DataError(f"{chunk.where(int(rows[0]))}: {why}{got}{more}")

    def _joined(self, name: str) -> np.ndarray:
        parts = self._parts.pop(name)
        kinds = {part.dtype.kind for part in parts}
        if "M" in kinds and len(kinds) > 1:
            raise DataError(f"{self.source}: times are numbers in some rows and dates in others")
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def _twice(self, columns: dict[str, Any], order: np.ndarray, again: np.ndarray) -> DataError:
        row = order[np.flatnonzero(again)[0]]
        user = self.users.values().tolist()[columns["user"][row]]
        item = self.items.values().tolist()[columns["item"][row]]
        return DataError(
            f"{self.source}: {again.sum():,} rows repeat a pair of user and item, first user "
            f"{user!r} and item {item!r}; pass duplicates='last', 'first' or 'mean'"
        )

    def _why_none(self) -> str:
        return f": {self.dropped:,} rows lack user, item or rating" if self.dropped else ""


def _order(
    columns: dict[str, np.ndarray], shape: tuple[int, int], by_time: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Order by user, item and (where it matters) time; and which rows repeat the one before."""
    order = _by_cell(columns, shape, None)
    again = _repeats(columns, order)
    if by_time and again.any() and "time" in columns:
        order = _by_cell(columns, shape, np.argsort(columns["time"], kind="stable"))
    return order, again


def _by_cell(
    columns: dict[str, np.ndarray], shape: tuple[int, int], start: np.ndarray | None
) -> np.ndarray:
    """Order by user and item, and by a starting order (None: that of the rows) among equals."""
    # Stable sorts by the less important key first.
    items = columns["item"] if start is None else columns["item"][start]
    step = sort_codes(items, shape[1])
    order = step if start is None else start[step]
    return order[sort_codes(columns["user"][order], shape[0])]


def _repeats(columns: dict[str, np.ndarray], order: np.ndarray) -> np.ndarray:
    user, item = columns["user"][order], columns["item"][order]
    again = np.zeros(len(order), dtype=bool)
    again[1:] = (user[1:] == user[:-1]) & (item[1:] == item[:-1])
    return again


def _resolved(
    columns: dict[str, np.ndarray], order: np.ndarray, again: np.ndarray, rule: Rule
) -> dict[str, np.ndarray]:
    """The columns in order, one row per cell."""
    if not again.any():
        return {name: columns.pop(name)[order] for name in list(columns)}
    first = np.flatnonzero(~again)
    last = np.append(first[1:], len(order)) - 1
    chosen = order[first if rule == "first" else last]
    one = {name: values[chosen] for name, values in columns.items()}
    if rule == "mean":
        totals = np.add.reduceat(columns["rating"][order].astype(np.float64), first)
        one["rating"] = (totals / (last - first + 1)).astype(np.float32)
        if "time" in columns:
            one["time"] = np.maximum.reduceat(columns["time"][order], first)
    return one
