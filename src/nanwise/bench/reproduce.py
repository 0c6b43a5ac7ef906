"""Published tables again: our figures beside the printed ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nanwise.bench.board import interval
from nanwise.bench.case import Case, Record, plain, versions
from nanwise.bench.charts import curves, panels
from nanwise.bench.papers.table import Heading, PublishedTable, find_table, tables
from nanwise.bench.pool import spread
from nanwise.bench.store import Store
from nanwise.registry import known

NOT_MEASURED = "not measured"


def known_tables() -> list[dict[str, Any]]:
    """Facts of every table that can be reproduced: id, title, source, rows, columns, scales."""
    return [
        {
            "id": table.id,
            "title": table.title,
            "source": table.source,
            "metric": table.metric.label,
            "rows": [row.name for row in table.rows],
            "columns": [column.name for column in table.columns],
            "scales": plain(table.scales),
        }
        for table in tables()
    ]


def reproduce(
    id: str,
    scale: str = "laptop",
    jobs: int = 1,
    backend: str = "loky",
    out: str | Path | None = None,
    only: Sequence[str] | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Compute a published table again.

    Parameters
    ----------
    id : str
        For example ``"sn/table9"``; :func:`known_tables` lists them.
    scale : {"smoke", "laptop", "paper"}
        Number of runs, rows and epochs; never the method.
    jobs, backend
        As in :func:`nanwise.compare`.
    out : path, optional
        Folder for finished cells; a later run skips what is there. Tables may share a folder.
    only : sequence of str, optional
        Names of rows and columns; only their cells are run (no row named: all rows; no column
        named: all columns).
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    dict
        Facts for a report: every cell with ``ours`` (mean, half width of the 95 % interval, number
        of runs), ``published`` and a verdict on where our mean lies: ``within``, ``above`` or
        ``below`` the published interval, or ``not measured``.
    """
    table = find_table(id)
    sizes = table.sizes(scale)
    grid = _grid(table, scale, _wanted(table, only))
    store = Store(out)
    _run_all(table, grid, store, jobs, backend, progress)
    rows = [_row(table, row, grid, store) for row in table.rows]
    facts = {
        "kind": "reproduce",
        "id": table.id,
        "title": table.title,
        "source": table.source,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "scale": scale,
        "metric": dict(table.metric.__dict__),
        "columns": [column.name for column in table.columns],
        "rows": rows,
        "notes": [*table.notes, *_torn(store)],
        "axis": table.axis,
        "curves": curves(table, rows),
        "panels": panels(table, rows),
        "versions": versions(),
        "settings": {"sizes": sizes, "params": table.params, "protocol": table.protocol},
    }
    return plain(facts)


Grid = dict[tuple[str, str], list[Case]]


def _wanted(table: PublishedTable, only: Iterable[str] | None) -> set[tuple[str, str]]:
    rows = [row.name for row in table.rows]
    columns = [column.name for column in table.columns]
    named = set(only or ())
    for name in sorted(named - {*rows, *columns}):
        near = difflib.get_close_matches(name, [*rows, *columns], n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"rows: {rows}"
        raise ValueError(f"{table.id} has no row or column {name!r}; {hint}")
    rows = [name for name in rows if name in named] or rows
    columns = [name for name in columns if name in named] or columns
    return {(row, column) for row in rows for column in columns}


def _grid(table: PublishedTable, scale: str, wanted: set[tuple[str, str]]) -> Grid:
    """Cases of every cell that is wanted and whose method exists."""
    there = {method.name for method in known()}
    return {
        (row.name, column.name): table.cases(row, column, scale)
        for row in table.rows
        for column in table.columns
        if (row.name, column.name) in wanted and (row.method or column.method) in there
    }


def _run_all(
    table: PublishedTable, grid: Grid, store: Store, jobs: int, backend: str, progress: bool
) -> None:
    from tqdm import tqdm

    # Rows of a figure may share a run; sorted by run, so that every cell has one result early.
    cases = {case.key: case for cell in grid.values() for case in cell}
    todo = sorted(store.missing(cases.values()), key=lambda case: case.fold)
    with tqdm(
        total=len(cases), initial=len(cases) - len(todo), unit="run", disable=not progress
    ) as bar:
        for found in spread(table.run, todo, jobs, backend):
            store.add(found)
            bar.set_postfix_str(f"{found.case['dataset']} {found.method}")
            bar.update()


def _row(table: PublishedTable, row: Heading, grid: Grid, store: Store) -> dict[str, Any]:
    cells = [_cell(table, row, column, grid, store) for column in table.columns]
    return {"name": row.name, "method": row.method, "cells": cells}


def _cell(
    table: PublishedTable, row: Heading, column: Heading, grid: Grid, store: Store
) -> dict[str, Any]:
    place = row.name, column.name
    printed = table.published.get(place)
    published = None if printed is None else {"mean": printed[0], "ci": printed[1]}
    if place not in grid:
        why = _why_not(row.method or column.method)
        return {"ours": None, "published": published, "verdict": NOT_MEASURED, "error": why}
    records = [store.get(case) for case in grid[place]]
    ours = _ours(records, table.score(row, column))
    errors = [found.reason for found in records if found is not None and found.failed]
    return {
        "ours": ours,
        "published": published,
        "verdict": _verdict(ours, published),
        "error": errors[0] if errors else None,
    }


def _why_not(method: str | None) -> str | None:
    if method in {found.name for found in known()}:
        return None
    return f"no method {method!r} in this version"


def _ours(records: Iterable[Record | None], score: str) -> dict[str, Any] | None:
    found = [record.scores.get(score) for record in records if record is not None]
    values = [value for value in found if value is not None]
    if not values:
        return None
    mean, half = interval(values)
    return {"mean": mean, "ci": half, "n": len(values)}


def _verdict(ours: dict[str, Any] | None, published: dict[str, Any] | None) -> str:
    """Where our mean lies; without a published figure there is nothing to be within."""
    if ours is None:
        return NOT_MEASURED
    if published is None:
        return "not published"
    gap = ours["mean"] - published["mean"]
    if abs(gap) <= published["ci"]:
        return "within"
    return "above" if gap > 0 else "below"


def _torn(store: Store) -> list[str]:
    return [f"{store.torn} cut-off lines in the store were passed over"] if store.torn else []
