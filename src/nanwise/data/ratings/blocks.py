"""A text file in pieces that end where a line ends, with the number of each first line."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from nanwise.data.ratings.layout import Layout
from nanwise.data.sniff import Format, explain_encoding, open_bytes, told
from nanwise.errors import DataError

#: takes the place of delimiters of more than one character: pandas' fast parser wants one
UNIT = "\x1f"
_LONGEST = 1 << 28


class Block(NamedTuple):
    """Whole lines of a file as UTF-8, and the number of the first of them (from 1)."""

    data: bytes
    first_line: int

    def line_of(self, row: int, layout: Layout) -> int:
        """Number of the line in which the given row starts; blank lines are no rows."""
        reader = csv.reader(
            io.StringIO(self.data.decode("utf-8", "replace"), newline=""),
            delimiter=one_byte(layout.sep),
            quoting=layout.quoting,
        )
        start = self.first_line
        for cells in reader:
            if any(cell.strip() for cell in cells) or len(cells) > 1:
                if not row:
                    return start
                row -= 1
            start = self.first_line + reader.line_num
        return start


def blocks(layout: Layout, size: int) -> Iterator[Block]:
    """The lines after the header, about ``size`` bytes at a time."""
    line, in_header = 1, layout.has_header
    for data in _whole_rows(layout, size):
        skipped = _header_end(data) if in_header else 0
        in_header = in_header and not skipped
        start = line + data.count(b"\n", 0, skipped)
        line += data.count(b"\n")
        if len(data) > skipped:
            yield Block(_with_one_byte(data[skipped:], layout), start)


def undecodable(layout: Layout) -> DataError:
    """The error that names the first byte that is not text in the expected encoding."""
    form = Format(layout.gzipped, layout.encoding, ",", ".", [])
    return explain_encoding(layout.path, form)


def one_byte(sep: str) -> str:
    """The delimiter as it stands in blocks."""
    return sep if len(sep.encode()) == 1 else UNIT


def _whole_rows(layout: Layout, size: int) -> Iterator[bytes]:
    """The file as UTF-8, cut where rows end; a row without a line break at the end gets one."""
    left = b""
    try:
        with told(layout.path), open_bytes(layout.path, layout.gzipped) as file:
            read = _reader(file, layout.encoding)
            while data := read(size):
                data = left + data
                end = _last_end(data, layout)
                left = data[end:]
                if len(left) > _LONGEST:
                    raise DataError(
                        f"{layout.path}: a cell of more than {_LONGEST >> 20} megabytes; "
                        "is a quote opened and not closed?"
                    )
                yield data[:end]
    except UnicodeDecodeError as error:
        raise undecodable(layout) from error
    yield left + b"\n" if left else b""


def _reader(file: Any, encoding: str) -> Any:
    """``read(size)`` that gives UTF-8 without a byte order mark, whatever the encoding is."""
    if codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig"):
        text = io.TextIOWrapper(file, encoding=encoding, newline="")
        return lambda size: text.read(size).encode()
    start = file.read(len(codecs.BOM_UTF8))
    ahead = [] if start == codecs.BOM_UTF8 else [start]
    return lambda size: (ahead.pop() if ahead else b"") + file.read(size)


def _header_end(data: bytes) -> int:
    """Where the first line that is not blank ends; 0 if there is none."""
    blank = len(data) - len(data.lstrip())
    return data.find(b"\n", blank) + 1 if blank < len(data) else 0


def _with_one_byte(data: bytes, layout: Layout) -> bytes:
    sep = one_byte(layout.sep)
    return data if sep == layout.sep else data.replace(layout.sep.encode(), sep.encode())


def _last_end(data: bytes, layout: Layout) -> int:
    """Where the last complete row ends: after a line break outside of quotes; 0 if nowhere."""
    end = data.rfind(b"\n") + 1
    if layout.quoting == csv.QUOTE_NONE or b'"' not in data[:end]:
        return end
    signs = np.frombuffer(data, dtype=np.uint8, count=end)
    quotes = np.flatnonzero(signs == ord('"'))
    if not _quotes_whole_cells(signs, quotes[::2], layout.sep):
        return _end_by_reading(data[:end], layout)
    ends = np.flatnonzero(signs == ord("\n"))
    outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else 0


def _quotes_whole_cells(signs: np.ndarray, opening: np.ndarray, sep: str) -> bool:
    """Whether quotes open at the start of cells only; in 5" pipe one is a letter like others."""
    before = set(signs[opening[opening > 0] - 1].tolist())
    return before <= {ord(sep), ord("\n"), ord('"')}


def _end_by_reading(data: bytes, layout: Layout) -> int:
    """The same by reading row for row, as the parser does; slow, so only where quotes are odd."""
    lines = [line + "\n" for line in data.decode().split("\n")[:-1]]
    # Swallowed by the last cell if that is still open.
    closing = f"{UNIT}end"
    start = 0
    reader = csv.reader([*lines, closing], delimiter=layout.sep)
    for row in reader:
        if reader.line_num > len(lines) and row != [closing]:
            return len("".join(lines[:start]).encode())
        start = reader.line_num
    return len(data)
