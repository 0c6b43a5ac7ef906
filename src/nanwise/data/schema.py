"""What each column of a table is: kinds, levels, and the check of new rows against them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nanwise.data import parse
from nanwise.data.frames import as_frame, listed
from nanwise.data.kinds import KINDS, MAX_LEVELS, OTHER, Column, complete_column, infer_column
from nanwise.errors import DataError, need

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KINDS", "MAX_LEVELS", "OTHER", "Column", "Note", "Schema", "merge_notes"]


class Note(str):
    """A sentence for the user, with the facts behind it.

    Attributes
    ----------
    kind : str
        ``"extra_columns"`` or ``"unknown_category"``.
    column : str
        The column it is about, empty if it is about the table.
    number : int
        How many cells or columns it is about.
    """

    kind: str
    column: str
    number: int

    def __new__(cls, text: str, kind: str, column: str = "", number: int = 0) -> Self:
        """Text and facts."""
        note = super().__new__(cls, text)
        note.kind, note.column, note.number = kind, column, number
        return note


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order.

    Attributes
    ----------
    columns : tuple of Column
        What goes into a model.
    dropped : tuple of str
        Columns that are known and left out on purpose.
    notes : tuple of str
        What :meth:`infer` found worth saying. Not part of equality, not stored.
    """

    columns: tuple[Column, ...]
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return [column.name for column in self.columns]

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @classmethod
    def infer(cls, frame: Any, overrides: Any = None, target: str | None = None) -> Schema:
        """Decide the kind of every column.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, mapping of columns, or 2-D array
        overrides : Schema, mapping or path, optional
            What is known already: a :class:`Schema` (possibly of some columns only, as
            :meth:`read` gives it), the same as a mapping, or the name of a JSON file.
        target : str, optional
            A column that overrides may name although it is not in ``frame``.

        Returns
        -------
        Schema
            Complete: every level is known.
        """
        frame = as_frame(frame)
        known = _as_schema(overrides)
        wanted = {column.name: column for column in known.columns if column.name != target}
        dropped = tuple(name for name in known.dropped if name != target)
        _refuse_unknown([*wanted, *dropped], frame.columns, "the schema names")
        found, notes = [], []
        for name in frame.columns:
            if name in dropped:
                continue
            if name in wanted:
                column, note = complete_column(frame[name], wanted[name])
            else:
                column, note = infer_column(frame[name])
            found.append(column)
            notes += [note] if note else []
        return cls(tuple(found), dropped, tuple(notes))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Schema:
        """A schema file written by hand or by :meth:`to_dict`; give it to :meth:`infer`.

        The short form names only what is to be decided otherwise::

            {"columns": {"age": "numeric", "id": "drop",
                         "grade": {"kind": "ordinal", "levels": ["low", "mid", "high"]}}}
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise DataError(f"{path}: cannot read the schema: {error.strerror}") from error
        except ValueError as error:
            raise DataError(f"{path} is not a JSON file: {error}") from error
        try:
            return cls.from_dict(content)
        except DataError as error:
            raise DataError(f"{path}: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        columns = [{"name": c.name, "kind": c.kind, "levels": list(c.levels)} for c in self.columns]
        return {"columns": columns, "dropped": list(self.dropped)}

    def __nanwise_state__(self) -> dict[str, Any]:
        return self.to_dict()

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Schema:
        return cls.from_dict(state)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Schema:
        """The inverse of :meth:`to_dict`; also takes the short form of :meth:`read`."""
        if not isinstance(content, Mapping) or not isinstance(
            content.get("columns"), (Mapping, Sequence)
        ):
            raise DataError('a schema looks like {"columns": {"age": "numeric"}}')
        columns = content["columns"]
        if isinstance(columns, Mapping):
            entries = list(columns.items())
        else:
            entries = [(str(entry["name"]), entry) for entry in columns]
        dropped = [name for name, entry in entries if _kind(entry) == "drop"]
        kept = [_read_column(name, entry) for name, entry in entries if _kind(entry) != "drop"]
        return cls(tuple(kept), (*content.get("dropped", ()), *dropped))

    def check(self, frame: Any) -> tuple[pd.DataFrame, list[Note]]:
        """Bring new rows into the form the schema describes.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, mapping of columns, or 2-D array

        Returns
        -------
        frame : pandas.DataFrame
            The columns of the schema in its order, with the index of the input: numeric as
            float64, boolean as ``boolean``, date as ``datetime64[us]`` (UTC), categorical and
            ordinal as pandas categories. Unknown categories are gaps. The input is not changed;
            checking twice is checking once.
        notes : list of Note
            Columns that were ignored, categories that were unknown. The caller warns.

        Raises
        ------
        DataError
            If a column is absent, or a cell does not fit its column's kind.
        """
        pd = need("pandas", "cli")
        frame = as_frame(frame)
        _refuse_unknown(self.names, frame.columns, "the table must have")
        notes = _extra_columns(frame.columns, {*self.names, *self.dropped})
        numbers = _numbers(pd, frame, [c.name for c in self.columns if c.kind == "numeric"])
        done, others = set(numbers.columns), {}
        for column in self.columns:
            if column.name not in done:
                others[column.name], note = _fit_column(pd, frame[column.name], column)
                notes += [note] if note else []
        # The numbers stay one block: a frame made of ten thousand columns takes a second.
        both = pd.concat([numbers, pd.DataFrame(others, index=frame.index)], axis=1)
        return both[self.names], notes


def merge_notes(notes: Sequence[Note]) -> list[Note]:
    """One note per kind and column, for files read in chunks: counts of cells add up."""
    merged: dict[tuple[str, str], Note] = {}
    for note in notes:
        key = (note.kind, note.column)
        if key in merged and note.kind == "unknown_category":
            note = _unknown(note.column, note.number + merged[key].number)
        merged[key] = note
    return list(merged.values())


def _numbers(pd: Any, frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The numeric columns that need no look at single cells."""
    block, done = parse.numbers_at_once(frame[names])
    there = [name for name, is_done in zip(names, done, strict=True) if is_done]
    return pd.DataFrame(block[:, done], columns=there, index=frame.index)


def _fit_column(pd: Any, cells: pd.Series, column: Column) -> tuple[Any, Note | None]:
    if column.kind == "numeric":
        return parse.to_numbers(cells), None
    if column.kind == "date":
        return parse.to_dates(cells), None
    if column.kind == "boolean":
        truth = parse.to_truth(cells, column.levels)
        gap = np.isnan(truth)
        return pd.arrays.BooleanArray(np.where(gap, 0, truth).astype(bool), gap), None
    codes, unknown = level_codes(cells, column)
    ordered = column.kind == "ordinal"
    levels = pd.CategoricalDtype(list(column.levels), ordered=ordered)
    note = _unknown(column.name, len(unknown), sorted(set(unknown))) if unknown else None
    return pd.Categorical.from_codes(codes, dtype=levels), note


def level_codes(cells: pd.Series, column: Column) -> tuple[np.ndarray, list[str]]:
    """Position of each cell in ``column.levels`` (-1: gap or unknown), and the unknown texts."""
    place = {level: k for k, level in enumerate(column.levels)}
    other = place.get(OTHER, -1)
    codes, texts = parse.to_texts(cells)
    # A text cell "1.0" belongs to the level "1" that was learnt from numbers.
    numbers = [parse.text_of(x) for x in parse.numbers_of(list(texts))]
    new = [
        place.get(text, place.get(number, other))
        for text, number in zip(texts, numbers, strict=True)
    ]
    lost = np.array([k < 0 for k in new] + [False], dtype=bool)
    unknown = [texts[code] for code in codes[lost[codes]]]
    return np.array([*new, -1], dtype=np.int64)[codes], unknown


def _unknown(name: str, count: int, examples: Sequence[str] = ()) -> Note:
    such = f" ({listed(examples, 3)})" if examples else ""
    text = (
        f"column {name!r}: {count} cell{'s' if count > 1 else ''} with a category that was not "
        f"there in training{such}; counted as missing"
    )
    return Note(text, "unknown_category", name, count)


def _extra_columns(names: Any, known: set[str]) -> list[Note]:
    extra = [name for name in names if name not in known]
    if not extra:
        return []
    text = f"{len(extra)} column{'s' if len(extra) > 1 else ''} not known: {listed(extra)}; ignored"
    return [Note(text, "extra_columns", "", len(extra))]


def _as_schema(overrides: Any) -> Schema:
    if overrides is None:
        return Schema(())
    if isinstance(overrides, Schema):
        return overrides
    if isinstance(overrides, Mapping):
        short = overrides if "columns" in overrides else {"columns": overrides}
        return Schema.from_dict(short)
    return Schema.read(overrides)


def _kind(entry: Any) -> Any:
    return entry.get("kind") if isinstance(entry, Mapping) else entry


def _read_column(name: str, entry: Any) -> Column:
    kind = _kind(entry)
    if kind not in KINDS:
        raise DataError(
            f"column {name!r}: kind must be one of {', '.join(KINDS)} or drop, got {kind!r}"
        )
    levels = entry.get("levels", ()) if isinstance(entry, Mapping) else ()
    return Column(name, kind, tuple(parse.text_of(level) for level in levels))


def _refuse_unknown(wanted: Sequence[str], there: Any, saying: str) -> None:
    """DataError naming all of ``wanted`` that is not ``there``, with near names."""
    have = set(there)
    absent = [name for name in wanted if name not in have]
    if not absent:
        return
    near = difflib.get_close_matches(absent[0], list(there), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {listed(there, 10)}"
    plural = "columns" if len(absent) > 1 else "column"
    raise DataError(f"{saying} {plural} {listed(absent, 20)}, not found in the table; {hint}")
