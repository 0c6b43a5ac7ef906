"""Measured figures that come with the package: collected from stores, read by lists and pages.

One JSON file per published table, ``papers/measured/sn-table9.json``: facts of
:func:`nanwise.bench.reproduce.reproduce` without charts and settings. ``tools/collect_measured.py``
writes them; nobody edits them by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nanwise.bench.papers.table import NO_DATA, tables
from nanwise.bench.reproduce import stored
from nanwise.bench.store import FILE, Store
from nanwise.errors import DataError

FOLDER = Path(__file__).parent / "papers" / "measured"
#: what is kept of the facts of a table
KEPT = (
    "kind",
    "id",
    "title",
    "source",
    "scale",
    "stand_in",
    "metric",
    "columns",
    "rows",
    "versions",
)
#: significant digits that are kept of a figure
DIGITS = 6

Facts = dict[str, Any]


def measured(id: str, folder: Path = FOLDER) -> Facts | None:
    """The measured facts of a table; None if there are none."""
    path = folder / file_name(id)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def file_name(id: str) -> str:
    """``sn-table9.json`` of ``sn/table9``."""
    return f"{id.replace('/', '-')}.json"


def collect(
    stores: Iterable[Path],
    scale: str = "laptop",
    folder: Path = FOLDER,
    only: Iterable[str] = (),
    runs: int | None = None,
) -> dict[str, int]:
    """Write what stores have measured, and return the number of cells taken for each table.

    Parameters
    ----------
    stores : iterable of path
        Folders that were the ``--out`` of ``nanwise reproduce``. Where two have the same run, the
        later one counts.
    scale : {"laptop", "paper"}
        Scale to look for; figures of the smoke scale are not to be compared and are refused.
    folder : path
        Where the files are. Cells of an old file that the stores do not have stay, if they are of
        the same scale.
    only : iterable of str
        Ids of tables; none: all.
    runs : int, optional
        Runs that a cell must have; None: as many as the scale has.
    """
    if scale == "smoke":
        raise ValueError("the smoke scale shows that a table runs; its figures are not collected")
    store = _joined(stores)
    wanted = set(only) or {table.id for table in tables()}
    taken = {}
    for id in sorted(wanted):
        facts = _kept(stored(id, scale, store, runs))
        count = sum(cell["ours"] is not None for row in facts["rows"] for cell in row["cells"])
        if count:
            taken[id] = count
            _write(folder / file_name(id), _merged(facts, measured(id, folder)))
    return taken


def _joined(folders: Iterable[Path]) -> Store:
    joined = Store()
    for folder in folders:
        if not (Path(folder) / FILE).is_file():
            raise DataError(f"{folder} has no {FILE}: it is no --out folder of nanwise reproduce")
        for record in Store(folder):
            joined.add(record)
    return joined


def _kept(facts: Facts) -> Facts:
    kept = {name: facts[name] for name in KEPT}
    for row in kept["rows"]:
        row["cells"] = [{**cell, "error": _anywhere(cell["error"])} for cell in row["cells"]]
    return _rounded({**kept, "collected": datetime.now(UTC).date().isoformat()})


def _anywhere(error: str | None) -> str | None:
    """Why a cell was not run, without the folders of this machine."""
    absent = error is not None and error.startswith(NO_DATA)
    return NO_DATA if absent else error


def _merged(new: Facts, old: Facts | None) -> Facts:
    """New cells where there are some, else those of the old file."""
    if old is None or old["scale"] != new["scale"]:
        return new
    before = {
        (row["name"], column): cell
        for row in old["rows"]
        for column, cell in zip(old["columns"], row["cells"], strict=True)
    }
    rows = [
        {
            **row,
            "cells": [
                cell if cell["ours"] is not None else before.get((row["name"], column), cell)
                for column, cell in zip(new["columns"], row["cells"], strict=True)
            ],
        }
        for row in new["rows"]
    ]
    return {**new, "rows": rows}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _write(path: Path, facts: Facts) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # One line per row: a file that people look through when it changes.
    head = {name: value for name, value in facts.items() if name != "rows"}
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in facts["rows"])
    text = json.dumps(head, ensure_ascii=False, indent=1)[:-2]
    path.write_text(f'{text},\n "rows": [\n{lines}\n ]\n}}\n', encoding="utf-8")
