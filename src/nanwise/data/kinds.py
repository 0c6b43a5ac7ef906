"""The kinds a column can have, and how the kind of a column is decided.

========== ================================================================== =====================
kind       decided for                                                        encoded as
========== ================================================================== =====================
numeric    numbers (integers too), text that is numbers throughout, columns   the number
           in which nothing is observed
boolean    bool dtype; true/false, yes/no, t/f, y/n in any case               0, 1
date       dates; text such as 2024-05-31 or 2024-05-31T12:00 throughout      days since 1970-01-01
ordinal    ordered pandas categories; else only on request                    position of the level
categorical everything else                                                   one column per level
========== ================================================================== =====================

A text column with more than ``MAX_LEVELS`` levels keeps the ``MAX_LEVELS`` most frequent ones that
occur at least twice (ties: first in alphabetical order); all others, also those seen first at
prediction, are the level ``OTHER``. So an identifier, unique in every row, becomes one constant
column, which is harmless, instead of thousands. A note says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nanwise.data import parse
from nanwise.errors import DataError, need

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("numeric", "categorical", "ordinal", "boolean", "date")
MAX_LEVELS = 100
MANY_ROWS = 50
OTHER = "(other)"
#: texts that look like dates or amounts and are neither, what they look like, and what to do
_MISREAD = (
    (re.compile(r"\s*\d{1,2}([./-])\d{1,2}\1(\d\d|\d{4})\s*"), "dates", "write them as 2024-05-31"),
    (
        re.compile(r"\s*(-?\s?[$€£¥]\s?-?[\d.,]*\d|-?[\d.,]*\d\s?[$€£¥%])\s*"),
        "amounts",
        "leave the sign away and they are numbers",
    ),
)
_ALONE = {"false", "true", "no", "yes"}


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    name : str
    kind : str
        One of ``KINDS``.
    levels : tuple of str
        Levels of a categorical or ordinal column, in order; of a boolean column the texts that
        stand for (false, true), or none for the usual words. Empty for numeric and date.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(f"column {self.name!r}: kind must be one of {KINDS}, got {self.kind!r}")
        if len(set(self.levels)) < len(self.levels):
            raise DataError(f"column {self.name!r}: a level is named twice in {self.levels}")
        if self.kind == "boolean" and len(self.levels) not in (0, 2):
            raise DataError(
                f"column {self.name!r}: a boolean column has two levels, the text for false and "
                f"the text for true; got {self.levels}"
            )


def infer_column(cells: pd.Series) -> tuple[Column, str | None]:
    """Column and, where something should be said, a note."""
    pd = need("pandas", "cli")
    name, dtype = str(cells.name), cells.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _from_categories(name, cells)
    if pd.api.types.is_bool_dtype(dtype):
        return Column(name, "boolean"), None
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return Column(name, "date"), None
    if pd.api.types.is_numeric_dtype(dtype) or dtype.kind == "m":
        return Column(name, "numeric"), _row_number(cells)
    codes, cells_ = parse.distinct(cells)
    kind = _kind_of([cells_[k] for k in parse.used(codes, cells_)])
    if kind != "categorical":
        return Column(name, kind), None
    column, note = _with_levels(Column(name, kind), cells)
    return column, _looks_like(name, cells_) or note


def complete_column(cells: pd.Series, wanted: Column) -> tuple[Column, str | None]:
    """What the user decided, with the levels the data shows where none were given."""
    if wanted.levels or wanted.kind in ("numeric", "date", "boolean"):
        return wanted, None
    if wanted.kind == "ordinal":
        return replace(wanted, levels=_ordered_levels(cells)), None
    return _with_levels(wanted, cells)


def _kind_of(cells: list[Any]) -> str:
    """Kind of a column without a telling dtype, from its distinct observed cells."""
    if cells and _are_truth(cells):
        return "boolean"
    if not np.isnan(parse.numbers_of(cells)).any():
        return "numeric"
    if not np.isnat(parse.dates_of(cells)).any():
        return "date"
    return "categorical"


def _are_truth(cells: list[Any]) -> bool:
    if all(isinstance(cell, (bool, np.bool_)) for cell in cells):
        return True
    if not all(isinstance(cell, str) for cell in cells):
        return False
    words = {cell.lower() for cell in cells}
    # One letter alone says little ("t" may be a size); both letters together are a pair.
    return any(words <= set(pair) and (len(words) == 2 or words <= _ALONE) for pair in parse.WORDS)


def _from_categories(name: str, cells: pd.Series) -> tuple[Column, str | None]:
    kind = "ordinal" if cells.cat.ordered else "categorical"
    levels = tuple(dict.fromkeys(parse.text_of(level) for level in cells.cat.categories))
    if kind == "categorical" and len(levels) > MAX_LEVELS:
        return _with_levels(Column(name, kind), cells)
    return Column(name, kind, levels), None


def _with_levels(column: Column, cells: pd.Series) -> tuple[Column, str | None]:
    codes, texts = parse.to_texts(cells)
    counts: dict[str, int] = {}
    for text, count in zip(
        texts, np.bincount(codes[codes >= 0], minlength=len(texts)), strict=True
    ):
        if count:
            counts[text] = counts.get(text, 0) + int(count)
    if len(counts) <= MAX_LEVELS:
        return replace(column, levels=_sorted(counts)), None
    frequent = sorted((text for text in counts if counts[text] > 1), key=lambda t: (-counts[t], t))
    levels = (*_sorted(t for t in frequent[:MAX_LEVELS] if t != OTHER), OTHER)
    return replace(column, levels=levels), _many_levels(column.name, counts, len(levels) - 1)


def _many_levels(name: str, counts: dict[str, int], kept: int) -> str:
    how = f"the {kept} most frequent are kept, the others are" if kept else "none twice, so all are"
    note = f"column {name!r} has {len(counts)} different texts: {how} one level {OTHER!r}"
    if len(counts) > 0.5 * sum(counts.values()):
        note += '; it looks like an identifier or free text, consider "drop" in the schema'
    return note


def _looks_like(name: str, cells: list[Any]) -> str | None:
    """A note if most texts are dates or amounts, but not written in a way that is read as such."""
    texts = [cell for cell in cells if isinstance(cell, str) and any(map(str.isdigit, cell))]
    for pattern, what, remedy in _MISREAD:
        if len(texts) > 1 and sum(map(bool, map(pattern.fullmatch, texts))) > 0.9 * len(cells):
            return (
                f"column {name!r} holds {what} such as {texts[0]!r}, which are read as categories; "
                f"{remedy}"
            )
    return None


def _row_number(cells: pd.Series) -> str | None:
    """A note if whole numbers follow each other nearly without a gap and none occurs twice."""
    if cells.dtype.kind not in "iu" or len(cells) < MANY_ROWS or not cells.is_unique:
        return None
    if cells.isna().any() or int(cells.max()) - int(cells.min()) > 2 * len(cells):
        return None
    return (
        f"column {cells.name!r} holds another whole number in every row, as an identifier or a "
        'row number does; if it is one, "drop" it in the schema'
    )


def _ordered_levels(cells: pd.Series) -> tuple[str, ...]:
    pd = need("pandas", "cli")
    if isinstance(cells.dtype, pd.CategoricalDtype) and cells.cat.ordered:
        return tuple(parse.text_of(level) for level in cells.cat.categories)
    codes, found = parse.distinct(cells)
    found = [found[k] for k in parse.used(codes, found)]
    if np.isnan(parse.numbers_of(found)).any():
        raise DataError(
            f"column {cells.name!r}: an ordinal column of texts needs its levels in order, as in "
            '{"kind": "ordinal", "levels": ["low", "mid", "high"]}'
        )
    return _sorted({parse.text_of(cell) for cell in found})


def _sorted(texts: Any) -> tuple[str, ...]:
    """By number if all are numbers, else alphabetically."""
    texts = list(texts)
    numbers = parse.numbers_of(texts)
    if np.isnan(numbers).any():
        return tuple(sorted(texts))
    return tuple(text for _, text in sorted(zip(numbers.tolist(), texts, strict=True)))
