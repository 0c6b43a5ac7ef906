"""Classes of pictures: from the names of their folders, or from a CSV file."""

from __future__ import annotations

import csv
import unicodedata
from pathlib import Path, PurePosixPath

import numpy as np

from nanwise.errors import DataError

_SHOWN = 5


def from_folders(names: list[str]) -> np.ndarray | None:
    """The first folder of each path; None if any picture lies in no folder."""
    parts = [PurePosixPath(name).parts for name in names]
    if any(len(part) == 1 for part in parts):
        return None
    return np.array([part[0] for part in parts])


def from_csv(path: Path, names: list[str], root: Path) -> np.ndarray:
    """The label of each picture; every picture needs one, and every line a picture."""
    # one letter may be spelt in two ways (é, or e and an accent), by macOS in files above all
    names = [_spelt(name) for name in names]
    there = set(names)
    table = _read(path, there)
    unknown = [name for name in table if name not in there]
    if unknown:
        raise DataError(f"{path}: no such pictures in {root}: {_some(unknown)}")
    bare = [name for name in names if name not in table]
    if bare:
        raise DataError(f"{path} has no label for {_some(bare)}; every picture needs one")
    return np.array([table[name] for name in names])


def _spelt(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _read(path: Path, pictures: set[str]) -> dict[str, str]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except FileNotFoundError:
        raise DataError(f"{path}: no such file of labels") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is not a CSV file in UTF-8: {error}") from error
    if len(rows) < 2:
        raise DataError(f"{path}: a line of heads (file,label) and a line per picture are expected")
    file_at, label_at = _columns(rows[0], path)
    if _file(rows[0][file_at]) in pictures:
        raise DataError(f"{path}: the first line must be heads (file,label), got {rows[0]}")
    table: dict[str, str] = {}
    for number, row in enumerate(rows[1:], start=2):
        name, label = _cells(row, file_at, label_at, path, number)
        if table.setdefault(name, label) != label:
            raise DataError(f"{path}: {name} has two labels, {table[name]!r} and {label!r}")
    return table


def _columns(heads: list[str], path: Path) -> tuple[int, int]:
    spelt = [head.strip().lower() for head in heads]
    if "file" in spelt and "label" in spelt:
        return spelt.index("file"), spelt.index("label")
    if len(spelt) < 2:
        raise DataError(f"{path}: expected the columns file and label, got {', '.join(heads)}")
    return 0, 1


def _cells(row: list[str], file_at: int, label_at: int, path: Path, number: int) -> tuple[str, str]:
    if len(row) <= max(file_at, label_at) or not row[label_at].strip():
        raise DataError(f"{path}, row {number}: no label; got {','.join(row)!r}")
    return _file(row[file_at]), row[label_at].strip()


def _file(cell: str) -> str:
    return _spelt(PurePosixPath(cell.strip()).as_posix())


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
