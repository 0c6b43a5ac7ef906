"""Readers for the plain text in which the old data sets are kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nanwise.errors import DataError, need

if TYPE_CHECKING:
    import pandas as pd

BLANKS = r"\s+"


def read_rows(path: Path, names: Sequence[str], sep: str = ",") -> pd.DataFrame:
    """A file of rows under the given names.

    Many copies have a header added to the original file. A first line is a header when none of
    its cells is a number although the second line has some, or when the reader is told so by a
    cell equal to one of ``names``.
    """
    pd = need("pandas", "data")
    try:
        first, second = _head(path, sep)
        skip = int(_is_header(first, second, names))
        frame = pd.read_csv(path, sep=sep, header=None, skiprows=skip, na_values=["?", "nan"])
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not the expected table: {error}") from error
    if frame.shape[1] != len(names):
        raise DataError(f"{path}: expected {len(names)} columns, got {frame.shape[1]}")
    return frame.set_axis(list(names), axis=1)


def _head(path: Path, sep: str) -> tuple[list[str], list[str]]:
    with open(path, encoding="utf-8") as file:
        lines = [file.readline(), file.readline()]
    cells = [line.split() if sep == BLANKS else line.strip().split(sep) for line in lines]
    return cells[0], cells[1]


def _is_header(first: list[str], second: list[str], names: Sequence[str]) -> bool:
    if set(cell.strip('" ') for cell in first) & set(names):
        return True
    return not any(map(_is_number, first)) and any(map(_is_number, second))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
