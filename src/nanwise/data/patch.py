"""A table in a file copied with values put into its gaps; all else stays as it stands.

Of a text table every byte is copied but those of gap cells: quotes, blanks, line ends, blank lines
and columns that nobody asked about. Of a Parquet file the schema with its metadata, and all values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from nanwise.data.parse import MARKERS
from nanwise.data.writing import TableWriter
from nanwise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from nanwise.data.schema import Column, Schema

_BOM = b"\xef\xbb\xbf"
_OPENED = re.compile(rb' *"')
_QUOTED = re.compile(rb' *"[^"]*(?:""[^"]*)*"(?!")')
_END = re.compile(rb"\r\n|\n|\r|")
_GAPS = frozenset(marker.encode() for marker in MARKERS)
#: what follows the day in a date: separator, time, fraction of a second, zone
_TIME = re.compile(r"(.)\d\d:\d\d(:\d\d)?(?:\.(\d+))? ?(Z|[+-]\d\d:?\d\d)?$")
#: cells that tell whether numbers have leading zeros
_MANY = 100

#: cells of one row as they stand in the file, and what ends the row
Row = tuple[list[bytes], bytes]
#: blank lines before a row, its cells, and what ends it
Led = tuple[bytes, list[bytes], bytes]


def raw_rows(file: IO[bytes], sep: bytes) -> Iterator[Row]:
    """Every line of a text table, cut at its delimiters; blank lines are rows of one blank cell."""
    plain = re.compile(rb"[^" + re.escape(sep) + rb"\r\n]*")
    for line in file:
        end = _line_end(line)
        body = line[: len(line) - len(end)]
        if b'"' in body or b"\r" in body:
            yield from _scanned(line, file, sep, plain)
        else:
            yield body.split(sep), end


def is_blank(cells: list[bytes]) -> bool:
    """Whether a row is no row but a blank line."""
    return len(cells) == 1 and not cells[0].strip()


def is_gap(cell: bytes) -> bool:
    """Whether nothing stands in a cell, or something that stands for nothing."""
    return cell in _GAPS or unquoted(cell) in _GAPS


def unquoted(cell: bytes) -> bytes:
    """What a cell says, without quotes and the blanks around it."""
    text = cell.strip()
    if text.startswith(b'"'):
        whole = _QUOTED.match(text)
        inside = whole.end() - 1 if whole else len(text)
        text = text[1:inside].replace(b'""', b'"') + text[inside + 1 :]
    return text.strip()


class TextPatch:
    """Copies a text table, some rows at a time, into a file that appears when all is done.

    Parameters
    ----------
    file : binary file
        The table, unpacked, UTF-8.
    path : path
        Where the copy goes; packed if it ends in ``.gz``.
    schema : Schema
        What the columns that may be filled are.
    decimals : dict
        Decimals of columns of numbers, None: as many digits as it takes.
    sep, decimal : str
        Delimiter and decimal sign.

    Examples
    --------
    >>> with TextPatch(file, "out.csv", schema, decimals) as patch:     # doctest: +SKIP
    ...     patch.put(before, after)
    """

    def __init__(
        self,
        file: IO[bytes],
        path: str | PathLike[str],
        schema: Schema,
        decimals: dict[str, int | None],
        sep: str = ",",
        decimal: str = ".",
    ):
        self._sep = sep.encode()
        self._rows = raw_rows(file, self._sep)
        self._out = WholeFile(path)
        self._schema = schema
        self._style = {
            c.name: _Style(c, decimals.get(c.name), sep, decimal) for c in schema.columns
        }
        self.path = Path(path)

    def __enter__(self) -> TextPatch:
        self._out.__enter__()
        lead, header, end = self._next_row()
        self._names = [unquoted(cell.removeprefix(_BOM)).decode() for cell in header]
        self._out.put(lead + self._sep.join(header) + end)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None:
                self._copy_tail()
        except BaseException as failure:
            self._out.__exit__(type(failure), failure, None)
            raise
        self._out.__exit__(kind, error, trace)

    def put(self, before: pd.DataFrame, after: pd.DataFrame) -> int:
        """Copy the next rows with their gaps filled; how many cells were.

        Parameters
        ----------
        before : DataFrame
            These rows as the schema's ``check`` gives them.
        after : DataFrame
            The same, filled; what is still a gap stays one.
        """
        rows = [self._next_row() for _ in range(len(before))]
        filled = 0
        for column in self._schema.columns:
            if column.name in self._names:
                filled += self._put_column(rows, column, before[column.name], after[column.name])
        self._out.put(b"".join(lead + self._sep.join(cells) + end for lead, cells, end in rows))
        return filled

    def _put_column(self, rows: list[Led], column: Column, before: Any, after: Any) -> int:
        place = self._names.index(column.name)
        gap = before.isna().to_numpy()
        # A category that the model does not know counts as missing, but it stands in the file.
        open_ = np.flatnonzero(gap & after.notna().to_numpy())
        wanted = [i for i in open_ if is_gap(_cell(rows[i][1], place))]
        if not wanted:
            return 0
        style = self._style[column.name]
        style.look(before, gap, lambda i: _cell(rows[i][1], place))
        for i, text in zip(wanted, style.write(after.iloc[wanted]), strict=True):
            cells = rows[i][1]
            cells += [b""] * (place + 1 - len(cells))
            cells[place] = text
        return len(wanted)

    def _next_row(self) -> Led:
        lead = b""
        for cells, end in self._rows:
            if not is_blank(cells):
                return lead, cells, end
            lead += cells[0] + end
        raise DataError(f"{self.path}: the table ended too early; was the file changed meanwhile?")

    def _copy_tail(self) -> None:
        for cells, end in self._rows:
            if not is_blank(cells):
                raise DataError(f"{self.path}: the table has more rows than were read")
            self._out.put(cells[0] + end)


class WholeFile(TableWriter):
    """A file that appears when all of it is there; packed if its name ends in ``.gz``."""

    def put(self, data: bytes) -> None:
        """Append bytes."""
        self._file.write(data)


class _Style:
    """How the cells of one column are spelt in the file."""

    def __init__(self, column: Column, decimals: int | None, sep: str, decimal: str):
        self.column, self.decimals, self.sep, self.decimal = column, decimals, sep, decimal
        self.words: dict[Any, bytes] = {}
        self.sample: bytes | None = None
        self.width = 0

    def look(self, before: Any, gap: np.ndarray, raw: Any) -> None:
        """Learn from cells that are there: quotes, signs, and the text of every level."""
        there = np.flatnonzero(~gap)
        if self.sample is None and len(there):
            self.sample = raw(there[0])
            self.width = _zeros({unquoted(raw(i)) for i in there[:_MANY]})
        if self.column.kind in ("numeric", "date"):
            return
        values = before.iloc[there]
        first = ~values.duplicated().to_numpy()
        for i, value in zip(there[first], values[first], strict=True):
            self.words.setdefault(value, raw(i))

    def write(self, values: Any) -> list[bytes]:
        """Cells for these values."""
        if self.column.kind == "numeric":
            return [self._quoted(self._number(value)) for value in values.to_numpy()]
        if self.column.kind == "date":
            return [self._quoted(self._date(value)) for value in values]
        return [self.words.get(value) or self._quoted(self._word(value)) for value in values]

    def _number(self, value: float) -> str:
        if self.decimals is None:
            return f"{value:.8g}".replace(".", self.decimal)
        text = f"{round(value, self.decimals):.{self._places()}f}"
        text = text.lstrip("-") if not text.strip("-0.") else text  # no -0.0
        return text.replace(".", self.decimal).zfill(self.width)

    def _places(self) -> int:
        """Decimals to write: those of the values, but 72.0 beside 148.0 where whole numbers are."""
        sample = unquoted(self.sample or b"").decode()
        _, point, zeros = sample.partition(self.decimal)
        return len(zeros) if point and not self.decimals and zeros.isdigit() else self.decimals or 0

    def _date(self, value: Any) -> str:
        sample = unquoted(self.sample or b"").decode()
        day, time = sample[:10], _TIME.match(sample[10:])
        if time is None:
            text = value.round("D").strftime("%Y-%m-%d")
        else:
            text = _stamp(value, *time.groups())
        return text.replace("-", "/", 2) if "/" in day else text

    def _word(self, value: Any) -> str:
        if self.column.kind == "boolean":
            return self.column.levels[bool(value)] if self.column.levels else str(value).lower()
        return str(value)

    def _quoted(self, text: str) -> bytes:
        plain = not any(sign in text for sign in (self.sep, '"', "\n", "\r"))
        if plain and not (self.sample or b"").lstrip().startswith(b'"'):
            return text.encode()
        return b'"' + text.replace('"', '""').encode() + b'"'


def _stamp(
    value: Any, gap: str, seconds: str | None, fraction: str | None, zone: str | None
) -> str:
    """A moment of UTC, written with as many parts as another one has."""
    digits = len(fraction or "")
    value = value.round("min" if not seconds else f"{10 ** -min(digits, 6):.6f}s")
    if zone not in (None, "Z"):
        sign, hours, rest = zone[0], int(zone[1:3]), int(zone[-2:])
        value += (1 if sign == "+" else -1) * np.timedelta64(60 * hours + rest, "m")
    text = value.strftime(f"%Y-%m-%d{gap}%H:%M") + (value.strftime(":%S") if seconds else "")
    if digits:
        text += "." + f"{value.microsecond:06d}".ljust(digits, "0")[:digits]
    return text + (zone or "")


def _zeros(cells: set[bytes]) -> int:
    """Width of whole numbers that are filled up with zeros, as codes are; 0: they are not."""
    widths = {len(cell) for cell in cells}
    padded = any(cell.startswith(b"0") and cell != b"0" for cell in cells)
    codes = padded and len(widths) == 1 and all(cell.isdigit() for cell in cells)
    return widths.pop() if codes else 0


def _cell(cells: list[bytes], place: int) -> bytes:
    """A cell; those that a short row lacks are empty."""
    return cells[place] if place < len(cells) else b""


def _line_end(line: bytes) -> bytes:
    if line.endswith(b"\r\n"):
        return b"\r\n"
    return b"\n" if line.endswith(b"\n") else b""


def _scanned(text: bytes, file: IO[bytes], sep: bytes, plain: re.Pattern[bytes]) -> Iterator[Row]:
    """Rows of a line with quotes, which may go on in the lines after it, or with bare returns."""
    at, cells = 0, list[bytes]()
    while True:
        stop = at
        if _OPENED.match(text, at):
            while (whole := _QUOTED.match(text, at)) is None:
                more = next(iter(file), b"")
                if not more:
                    raise DataError("a quote in the table is opened and never closed")
                text += more
            stop = whole.end()
        stop = plain.match(text, stop).end()  # type: ignore[union-attr]
        cells.append(text[at:stop])
        if text[stop : stop + 1] == sep:
            at = stop + 1
            continue
        end = _END.match(text, stop).group()  # type: ignore[union-attr]
        yield cells, end
        at, cells = stop + len(end), []
        if at >= len(text):
            return
