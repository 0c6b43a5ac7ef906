"""How a text file of ratings is laid out: compression, delimiter, header, which column is what."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nanwise.data.frames import listed
from nanwise.data.sniff import Format, explain_encoding, open_bytes, told
from nanwise.errors import DataError

Columns = Mapping[str, Any] | Sequence[Any] | None

ROLES = ("user", "item", "rating", "time")
#: names by which columns are recognised, in lower case and without signs such as _
_NAMES = {
    "user": ("user", "userid", "uid", "users", "customer", "customerid", "reviewer", "reviewerid"),
    "item": (
        *("item", "itemid", "iid", "items", "movie", "movieid", "product", "productid"),
        *("book", "bookid", "isbn", "asin", "song", "songid", "track", "trackid", "artist"),
        *("artistid", "game", "gameid"),
    ),
    "rating": ("rating", "ratings", "score", "stars", "bookrating", "overall"),
    "time": ("time", "timestamp", "date", "datetime", "unixreviewtime"),
}
#: the first that splits all lines into the same number of cells, three or more, is taken
_DELIMITERS = ("::", "\t", ",", ";", "|", " ")
_SAMPLE = 1 << 17
_LONGEST = 1 << 24


@dataclass(frozen=True)
class Layout:
    """How a text file of ratings is written.

    Attributes
    ----------
    path : Path
    gzipped : bool
    encoding : str
    sep : str
        One or more characters; quoted cells are recognised when it is a single byte.
    width : int
        Cells per line.
    has_header : bool
    places : dict
        Column of each role: user, item, rating and perhaps time.
    line_bytes : float
        Mean length of the first lines.
    """

    path: Path
    gzipped: bool
    encoding: str
    sep: str
    width: int
    has_header: bool
    places: dict[str, int]
    line_bytes: float

    @property
    def quoting(self) -> Literal[0, 3]:
        """The csv module's constant."""
        return csv.QUOTE_MINIMAL if len(self.sep.encode()) == 1 else csv.QUOTE_NONE


def look(path: Path, columns: Columns = None, sep: str | None = None, encoding: str = "") -> Layout:
    """Find out how a file is laid out from its first lines."""
    gzipped, encoding, text = _sample(path, encoding or "utf-8-sig")
    # Not splitlines: a cell may contain signs that end lines elsewhere, such as U+2028.
    lines = [line.rstrip("\r") for line in text.split("\n") if line.strip()]
    if not lines:
        raise DataError(f"{path} is empty; expected lines with user, item and rating")
    if "\n" not in text and "\r" in text.strip():
        raise DataError(f"{path} has line ends of old Macintoshs (\\r); write it with \\n")
    sep = sep or _delimiter(path, lines)
    first = _cells(lines[:1], sep)[0]
    has_header, places = _places(path, first, columns)
    line_bytes = len(text.encode("utf-8", "replace")) / max(1, text.count("\n"))
    return Layout(path, gzipped, encoding, sep, len(first), has_header, places, line_bytes)


def assign(names: Sequence[str], columns: Columns, where: str) -> dict[str, int]:
    """Column of each role by the names the caller gives, or by those that are recognised.

    Raises
    ------
    DataError
        If there is no column for user, item or rating, or a given one does not exist.
    """
    if columns is not None:
        return {role: _place(key, names, where) for role, key in _asked(columns).items()}
    plain = [_plain(name) for name in names]
    found = {
        role: next((plain.index(name) for name in known if name in plain), -1)
        for role, known in _NAMES.items()
    }
    if lacking := [role for role in ROLES[:3] if found[role] < 0]:
        raise DataError(
            f"{where}: cannot tell which column is the {' or the '.join(lacking)}; there are "
            f"{listed(names, 10)}; say so with columns={{'user': …, 'item': …, 'rating': …}}"
        )
    return {role: place for role, place in found.items() if place >= 0}


def _asked(columns: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    if isinstance(columns, Mapping):
        asked = dict(columns)
    elif isinstance(columns, str) or not 3 <= len(columns) <= 4:
        raise ValueError(f"columns must name user, item, rating and perhaps time, got {columns!r}")
    else:
        asked = dict(zip(ROLES, columns, strict=False))
    wrong = set(asked) - set(ROLES)
    if wrong or not set(ROLES[:3]) <= set(asked):
        raise ValueError(
            f"columns must have the keys user, item, rating and perhaps time, got {list(asked)}"
        )
    return {role: key for role, key in asked.items() if key is not None}


def _place(key: Any, names: Sequence[str], where: str) -> int:
    if isinstance(key, int):
        if not 0 <= key < len(names):
            raise DataError(f"{where}: there is no column {key}; columns are 0 to {len(names) - 1}")
        return key
    if key not in names:
        raise DataError(f"{where}: no column is called {key!r}; there are {listed(names, 10)}")
    return list(names).index(key)


def _places(path: Path, first: list[str], columns: Columns) -> tuple[bool, dict[str, int]]:
    """Whether the first line is a header, and where each role is."""
    if columns is not None:
        asked = _asked(columns)
        places = assign(first, asked, str(path))
        by_name = any(isinstance(key, str) for key in asked.values())
        return by_name or not _is_number(first[places["rating"]]), places
    if {_plain(name) for name in first} & {name for known in _NAMES.values() for name in known}:
        return True, assign(first, None, str(path))
    if len(first) < 3 or not _is_number(first[2]):
        raise DataError(
            f"{path}, line 1: expected a header with user, item and rating, or a line that starts "
            f"with them; got {listed(first)}. Say which columns are meant with "
            "columns={'user': …, 'item': …, 'rating': …}: names, or positions from 0"
        )
    roles = ROLES if len(first) > 3 and _may_be_time(first[3]) else ROLES[:3]
    return False, {role: place for place, role in enumerate(roles)}


def _may_be_time(cell: str) -> bool:
    return _is_number(cell) or cell[:4].isdigit()


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _plain(name: str) -> str:
    """UserID, user_id and RecBole's user_id:token are all userid."""
    return "".join(filter(str.isalnum, name.split(":")[0].lower()))


def _sample(path: Path, encoding: str) -> tuple[bool, str, str]:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise DataError(
            f"no encoding is called {encoding!r}; usual ones: utf-8, latin-1"
        ) from error
    with told(path):
        with open(path, "rb") as file:
            gzipped = file.read(2) == b"\x1f\x8b"
        with open_bytes(path, gzipped) as file:
            head = file.read(_SAMPLE)
            while b"\n" in head and not head.endswith(b"\n") and len(head) < _LONGEST:
                line = file.readline(_SAMPLE)
                head += line
                if not line:
                    break
    if encoding.startswith("utf-8") and head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f'{path} is written in UTF-16; read it with encoding="utf-16"')
    if encoding.startswith("utf-8") and b"\0" in head:
        raise DataError(
            f"{path} is not a text file: zero byte at offset {head.index(0)}; expected CSV, TSV, "
            "lines such as 1::2::3, or Parquet; for other encodings pass encoding="
        )
    return gzipped, encoding, _decoded(path, head, encoding, gzipped)


def _decoded(path: Path, head: bytes, encoding: str, gzipped: bool) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError as error:
        raise explain_encoding(path, Format(gzipped, encoding, ",", ".", [])) from error


def _delimiter(path: Path, lines: list[str]) -> str:
    fits = {}
    for sep in _DELIMITERS:
        widths = Counter(map(len, _cells(lines[:200], sep)))
        width, count = widths.most_common(1)[0]
        if width >= 3:
            fits[sep] = count / widths.total()
    if not fits:
        raise DataError(
            f"{path}, line 1: expected three columns or more (user, item, rating), separated by "
            f"comma, tab, semicolon, bar, blank or ::; got {lines[0][:60]!r}. Name another "
            "delimiter with sep="
        )
    return max(fits, key=lambda sep: fits[sep])


def _cells(lines: list[str], sep: str) -> list[list[str]]:
    if len(sep) > 1:
        return [[cell.strip() for cell in line.split(sep)] for line in lines]
    try:
        rows = list(csv.reader(lines, delimiter=sep))
    except csv.Error:  # a long line that this delimiter does not split at all
        return [[line] for line in lines]
    return [[cell.strip() for cell in row] for row in rows]
