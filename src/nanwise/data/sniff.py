"""What kind of file this is: compression, encoding, delimiter, decimal sign, header."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from nanwise.data.frames import refuse_twice
from nanwise.data.parse import GROUPED
from nanwise.errors import DataError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SAMPLE = 1 << 18
_LONGEST = 1 << 26
_MAGIC = {
    b"PK\x03\x04": "a zip archive or an Excel file; save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel file; save the sheet as CSV",
    b"%PDF": "a PDF file",
    b"\x89PNG": "a picture",
}
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Format(NamedTuple):
    """How a text table is written."""

    gzipped: bool
    encoding: str
    sep: str
    decimal: str
    header: list[str]


def is_parquet(path: Path) -> bool:
    """By content, not by name."""
    with told(path), open(path, "rb") as file:
        return file.read(4) == b"PAR1"


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what the system says about a file into one clear DataError."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder, not a file") from error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path}: the gzip file is damaged or cut off ({error})") from error
    except csv.Error as error:
        raise DataError(f"{path} is not a regular table: {error}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def open_bytes(path: Path, gzipped: bool) -> Any:
    """The file's bytes, unpacked."""
    return gzip.open(path, "rb") if gzipped else open(path, "rb")


def sniff(path: Path, sep: str | None = None, encoding: str | None = None) -> Format:
    """Look at the beginning of a text table.

    Parameters
    ----------
    path : Path
    sep : str, optional
        The delimiter; guessed among comma, semicolon, tab and bar when not given.
    encoding : str, optional
        Name of the encoding; UTF-8 with or without byte order mark when not given.
    """
    with told(path):
        with open(path, "rb") as file:
            gzipped = file.read(2) == b"\x1f\x8b"
        with open_bytes(path, gzipped) as file:
            head, whole = _head(file)
    _refuse_binary(path, head, encoding)
    encoding = _known(encoding or "utf-8-sig")
    lines = _lines(path, head, encoding, whole)
    if not lines:
        raise DataError(f"{path} is empty; expected a header line and rows")
    with told(path):
        sep = _delimiter(path, lines, sep)
        header = [name.strip() for name in next(csv.reader(lines, delimiter=sep))]
        refuse_twice([name for name in header if name], str(path))
        return Format(gzipped, encoding, sep, _decimal_sign(lines, sep), header)


def explain_encoding(path: Path, form: Format) -> DataError:
    """The error that names the first byte that is not text in the expected encoding."""
    decoder = codecs.getincrementaldecoder(form.encoding)()
    position = 0
    with told(path), open_bytes(path, form.gzipped) as file:
        while block := file.read(1 << 20):
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                return _bad_byte(path, form.encoding, position - pending + error.start, error)
            position += len(block)
    return DataError(f"{path} ends in the middle of a {form.encoding} character")


def _known(encoding: str) -> str:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise DataError(
            f"no encoding is called {encoding!r}; usual ones: utf-8, latin-1"
        ) from error
    return encoding


def _head(file: Any) -> tuple[bytes, bool]:
    """The beginning of the file with two lines at least (a table can be wide), and if it is all."""
    head = block = file.read(_SAMPLE)
    while len(block) == _SAMPLE and head.count(b"\n") < 3 and len(head) < _LONGEST:
        block = file.read(_SAMPLE)
        head += block
    return head, len(block) < _SAMPLE


def _refuse_binary(path: Path, head: bytes, encoding: str | None) -> None:
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            raise DataError(f"{path} is not a text table but {what}")
    if encoding is None and head.startswith(_WIDE):
        raise DataError(f'{path} is written in UTF-16; read it with encoding="utf-16"')
    if encoding is None and b"\0" in head:
        raise DataError(
            f"{path} is not a text table: zero byte at offset {head.index(0)}; "
            "expected CSV, TSV or Parquet"
        )


def _lines(path: Path, head: bytes, encoding: str, whole: bool) -> list[str]:
    """The complete lines of the sample that are not blank."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(head, final=whole)
    except UnicodeDecodeError as error:
        raise _bad_byte(path, encoding, error.start, error) from error
    lines = io.StringIO(text, newline="").read().splitlines(keepends=True)
    if not whole and len(lines) > 1:
        lines = lines[:-1]
    return [line for line in lines if line.strip()]


def _bad_byte(path: Path, encoding: str, offset: int, error: UnicodeDecodeError) -> DataError:
    name = encoding.removesuffix("-sig").upper()
    byte = error.object[error.start : error.start + 1].hex()
    return DataError(
        f"{path} is not {name} text: byte 0x{byte} at offset {offset}; say how it is written, "
        'for example encoding="latin-1" or "cp1252", or convert it: iconv -f cp1252 -t utf-8'
    )


def _delimiter(path: Path, lines: list[str], sep: str | None) -> str:
    """The delimiter that splits header and rows into the same number of cells, more than one."""
    widths = {mark: _widths(lines, mark) for mark in DELIMITERS}
    fits = {mark: _agreement(w) for mark, w in widths.items() if w[0] > 1}
    best = max(fits, key=lambda mark: (fits[mark], widths[mark][0]), default=None)
    if sep is None and best is not None:
        return best
    if sep is not None:
        if best not in (None, sep) and _widths(lines, sep)[0] == 1 and fits[best] > 0.9:
            raise DataError(
                f"{path}: with sep={sep!r} there is one column only; "
                f"the cells look separated by {DELIMITERS[best]}"
            )
        return sep
    if odd := _odd_delimiter(lines):
        raise DataError(
            f"{path}: there is one column only, and its cells look separated by {odd!r}; "
            "if so, pass it as sep=, else pass sep=','"
        )
    return ","


def _widths(lines: list[str], sep: str) -> list[int]:
    try:
        return [len(row) for row in csv.reader(lines[:100], delimiter=sep)]
    except csv.Error:  # a long line that this delimiter does not split at all
        return [1]


def _agreement(widths: list[int]) -> float:
    return sum(width == widths[0] for width in widths) / len(widths)


def _odd_delimiter(lines: list[str]) -> str | None:
    """A blank or colon that splits all lines alike, into numbers: surely a delimiter."""
    for mark in (" ", ":", "^", "~"):
        rows = [line.split() if mark == " " else line.strip().split(mark) for line in lines[:100]]
        cells = [cell for row in rows[1:] for cell in row]
        numbers = sum(bool(re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", cell)) for cell in cells)
        alike = len(rows) > 1 and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1
        if alike and numbers > 0.5 * len(cells):
            return mark
    return None


def _decimal_sign(lines: list[str], sep: str) -> str:
    """A comma when cells such as 1,5 occur and none such as 1.5; else a point.

    Where every comma stands before three digits, as in 1,234, it sets thousands apart.
    """
    if sep == ",":
        return "."
    cells = [cell.strip() for row in csv.reader(lines[1:200], delimiter=sep) for cell in row]
    comma = any(re.fullmatch(r"[-+]?\d+,\d+", c) and not GROUPED.fullmatch(c) for c in cells)
    point = any(re.fullmatch(r"[-+]?\d+\.\d+", cell) for cell in cells)
    return "," if comma and not point else "."
