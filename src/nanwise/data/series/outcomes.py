"""A target for every sequence, from a table of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nanwise.data.series.core import SeriesData, id_text
from nanwise.data.series.frames import frame_of
from nanwise.errors import DataError


def with_outcomes(
    data: SeriesData, outcomes: Any, column: str | None = None, id: str | None = None
) -> SeriesData:
    """The sequences that have an outcome, with it as their target.

    Parameters
    ----------
    data : SeriesData
    outcomes : DataFrame or path
        One line per sequence.
    column : str, optional
        The target; None: the only column beside the id.
    id : str, optional
        The column of ids, which are compared as text; None: ``id`` if there is one, else the first.

    Returns
    -------
    SeriesData
        ``notes`` says how many sequences or outcomes have no partner.
    """
    frame, where = frame_of(outcomes, "the table of outcomes", lambda names: [_ids(names, id)])
    if frame.columns.empty:
        raise DataError(f"{where} has no columns; it needs the ids and the target")
    id = _ids(list(frame.columns), id)
    column = column or _only(frame, id, where)
    for name in (id, column):
        if name not in frame.columns:
            raise DataError(
                f"{where} has no column {name!r}; there are: {', '.join(frame.columns)}"
            )
    if column == id:
        raise DataError(f"the column {id!r} of {where} holds the ids and cannot be the target")
    frame = frame[frame[id].notna() & frame[column].notna()]
    keys = frame[id].map(id_text)
    if keys.duplicated().any():
        raise DataError(f"{where} has more than one line for {keys[keys.duplicated()].iloc[0]!r}")
    place = {key: number for number, key in enumerate(keys)}
    found = np.array([place.get(id_text(one), -1) for one in data.ids])
    rows = np.flatnonzero(found >= 0)
    if not len(rows):
        raise DataError(
            f"no id of the series is in the column {id!r} of {where}; ids are for example "
            f"{data.ids[0]!r} and {frame[id].iloc[0] if len(frame) else None!r}"
        )
    y = np.asarray(frame[column])[found[rows]]
    alone = {
        "sequences without an outcome were left out": len(data) - len(rows),
        "outcomes have no sequence": len(frame) - len(rows),
    }
    notes = [f"{count:,} {words}" for words, count in alone.items() if count]
    return replace(data.take(rows), y=y, notes=[*data.notes, *notes])


def _ids(names: list[str], asked: str | None) -> str:
    """The column of ids."""
    return asked or ("id" if "id" in names else names[0])


def _only(frame: Any, id: str, where: str) -> str:
    others = [str(name) for name in frame.columns if name != id]
    if len(others) != 1:
        raise DataError(
            f"{where} must have one column beside {id!r}, or say which is the target; there are: "
            f"{', '.join(others) or 'none'}"
        )
    return others[0]
