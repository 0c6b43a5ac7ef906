"""Watches the bytes of a text table on their way to the parser, which lets two faults pass.

pandas fills a row that is shorter than the header with gaps, and reads over zero bytes; neither may
go unsaid. Bytes are looked at in blocks, so that the look costs little beside the parsing.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nanwise.data.sniff import Format, open_bytes, told
from nanwise.errors import DataError, GapWarning

_BLOCK = 1 << 20
_LONGEST = 1 << 26
_NEWLINE, _QUOTE, _BLANK = 10, 34, 32


class Short(NamedTuple):
    """Rows with fewer cells than the header has names."""

    rows: int = 0
    line: int = 0
    cells: int = 0


class Watch(io.RawIOBase):
    """The bytes of a text table, unpacked, as a stream that remembers whether rows were odd.

    Attributes
    ----------
    regular : bool
        Whether all rows so far have as many cells as the header. False may also mean that it could
        not be seen from the bytes; then the rows must be counted.
    """

    def __init__(self, path: Path, form: Format):
        self._path = path
        self._file = open_bytes(path, form.gzipped)
        self._marks = len(form.header) - 1
        self._tail = b""
        self._at = 0
        self._bytewise = _is_bytewise(form)
        self._sep = ord(form.sep)
        self.regular = self._bytewise

    def readable(self) -> bool:
        """Whether it can be read from."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read a block, and look at it."""
        block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        if self._bytewise and b"\0" in block:
            raise DataError(
                f"{self._path} is not a text table, or damaged: zero byte at offset "
                f"{self._at + block.index(0)}; expected CSV, TSV or Parquet"
            )
        if self.regular:
            self._look(self._tail + (block or b"\n"))
        # an open quote at the end of the file
        self.regular = self.regular and not (self._tail.strip() and not block)
        self._at += len(block)
        return len(block)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    def _look(self, data: bytes) -> None:
        """Count the delimiters of all complete lines; what is left waits for the next block."""
        ends, counts = _lines(data, self._sep)
        starts = np.append(0, ends + 1)
        odd = np.flatnonzero(counts != self._marks)
        # blank lines are no rows
        blank = not any(data[starts[k] : ends[k]].strip() for k in odd)
        tail = data[starts[-1] :]
        self.regular = blank and len(tail) < _LONGEST and _quotes_whole_cells(data, self._sep)
        self._tail = tail if self.regular else b""


@contextmanager
def watched(path: Path, form: Format) -> Iterator[Any]:
    """The file's bytes for a parser; when all went well, a warning tells of short rows."""
    watch = Watch(path, form)
    with io.BufferedReader(watch, _BLOCK) as file:
        yield file
    if not watch.regular:
        warn_short(path, form)


def warn_short(path: Path, form: Format) -> None:
    """Count the rows that are too short, and say so if there are any."""
    short = count_short(path, form)
    if short.rows:
        some = "1 row has" if short.rows == 1 else f"{short.rows:,} rows have"
        warnings.warn(
            f"{path}: {some} fewer cells than the {len(form.header)} names in the header (the "
            f"first ends in line {short.line}, with {short.cells}); the cells at the end that "
            "are not there are counted as missing",
            GapWarning,
            stacklevel=5,
        )


def count_short(path: Path, form: Format) -> Short:
    """Count by reading every row as the parser does; slow, so only where something was odd."""
    short, width = Short(), len(form.header)
    with told(path), open_bytes(path, form.gzipped) as file, suppress(csv.Error):
        text = io.TextIOWrapper(file, encoding=form.encoding, newline="")
        rows = csv.reader(text, delimiter=form.sep, skipinitialspace=True)
        for row in rows:
            if len(row) < width and any(cell.strip() for cell in row):
                first = short if short.rows else Short(0, rows.line_num, len(row))
                short = first._replace(rows=short.rows + 1)
    return short


def _lines(data: bytes, sep: int) -> tuple[np.ndarray, np.ndarray]:
    """Position of each line end, and how many delimiters the line has; both outside of quotes."""
    cells = np.frombuffer(data, dtype=np.uint8)
    ends, marks = np.flatnonzero(cells == _NEWLINE), np.flatnonzero(cells == sep)
    if b'"' in data:
        quotes = np.flatnonzero(cells == _QUOTE)
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    return ends, np.diff(np.searchsorted(marks, ends), prepend=0)


def _quotes_whole_cells(data: bytes, sep: int) -> bool:
    """Whether quotes open at the start of cells only; in 5" pipe one is a letter like others."""
    if b'"' not in data:
        return True
    opening = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _QUOTE)[::2]
    before = set(np.frombuffer(data, dtype=np.uint8)[opening[opening > 0] - 1].tolist())
    return before <= {sep, _NEWLINE, _QUOTE, _BLANK}


def _is_bytewise(form: Format) -> bool:
    """Whether each sign that matters is one byte, that never is part of another character."""
    signs = f'{form.sep}\n"'
    if not signs.isascii():
        return False
    return f"x{signs}".encode(form.encoding).endswith(b"x" + signs.encode("ascii"))
