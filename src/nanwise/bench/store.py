"""Finished cells in one append-only file of JSON lines: a killed run loses at most one cell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from nanwise.bench.case import Case, Record
from nanwise.errors import DataError

FILE = "cells.jsonl"


class Store:
    """Records by the key of their case; the newest record of a key counts.

    Only the parent process writes, one line per record, flushed at once. A line that was cut off
    when a run was killed is passed over and counted; the next record starts on a fresh line.

    Parameters
    ----------
    folder : path, optional
        Where ``cells.jsonl`` is; made when missing. None keeps the records in memory only.

    Attributes
    ----------
    torn : int
        Number of lines that could not be read.
    """

    def __init__(self, folder: str | Path | None = None):
        self.path = None if folder is None else Path(folder) / FILE
        self.torn = 0
        self._records: dict[str, Record] = {}
        self._tail_is_open = False
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._read(self.path)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())

    def get(self, case: Case) -> Record | None:
        """The record of a case, also a failed one, or None."""
        return self._records.get(case.key)

    def has(self, case: Case) -> bool:
        """Whether the case is done: stored, and not failed."""
        found = self.get(case)
        return found is not None and not found.failed

    def missing(self, cases: Iterable[Case]) -> list[Case]:
        """The cases that still have to be run, in their order."""
        return [case for case in cases if not self.has(case)]

    def add(self, record: Record) -> None:
        """Keep a record, on disk before this returns."""
        self._records[record.key] = record
        if self.path is None:
            return
        line = json.dumps(record.to_dict(), allow_nan=False) + "\n"
        if self._tail_is_open:
            line, self._tail_is_open = "\n" + line, False
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line)

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        data = path.read_bytes()
        self._tail_is_open = bool(data) and not data.endswith(b"\n")
        for number, line in enumerate(data.split(b"\n"), start=1):
            if line.strip():
                self._take(line, number)

    def _take(self, line: bytes, number: int) -> None:
        try:
            facts = json.loads(line)
        except ValueError:  # cut off in the middle of a write; UnicodeDecodeError is one, too
            self.torn += 1
            return
        try:
            record = Record.from_dict(facts)
        except TypeError as error:
            raise DataError(
                f"{self.path}, line {number}, is not a record of this program; "
                "choose another output folder, or delete the file to start anew"
            ) from error
        self._records[record.key] = record
