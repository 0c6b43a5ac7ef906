"""Published tables again: our figures beside the printed ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from nanwise.bench.board import interval
from nanwise.bench.case import Case, Record, plain, versions
from nanwise.bench.charts import curves, panels
from nanwise.bench.papers.table import Heading, PublishedTable, find_table, tables
from nanwise.bench.pool import spread
from nanwise.bench.store import Store

NOT_MEASURED = "not measured"
NOT_PUBLISHED = "not published"
OTHER_DATA = "published for other data"
DIFFERENCE = "paired difference"


Place = tuple[str, str]
Grid = dict[Place, list[Case]]


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
    runs: int | None = None,
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
    runs : int, optional
        Runs of every cell; None: as many as the scale has. Run k has seed k at any number of runs,
        so that more of them go on from fewer.

    Returns
    -------
    dict
        Facts for a report: every cell with ``ours`` (mean, half width of the 95 % interval, number
        of runs), ``published`` and a verdict on where our mean lies: ``within``, ``above`` or
        ``below`` the published interval (or figure, where no interval is printed), ``not
        measured``, ``not published``, or what is not judged: ``paired difference`` of two rows, and
        ``published for other data`` where ours had to be others (``stand_in`` says which).
    """
    table = find_table(id).with_runs(scale, runs)
    cells = _cells(table, scale, _wanted(table, only))
    known = _Known(Store(out))
    grid = _run_all(table, scale, cells, known, _Pool(jobs, backend, progress))
    return _facts(table, scale, grid, known)


def stored(id: str, scale: str, store: Store, runs: int | None = None) -> dict[str, Any]:
    """The facts of :func:`reproduce` as far as a store has them; nothing is run.

    A cell is measured if all of its runs are in the store.
    """
    table = find_table(id).with_runs(scale, runs)
    known = _Known(store)
    grid = {}
    for row, column in _cells(table, scale, _wanted(table, None)):
        cases = table.runs(row, column, scale, known)
        if all(store.has(case) for case in cases):
            grid[row.name, column.name] = cases
    return _facts(table, scale, grid, known)


def _facts(table: PublishedTable, scale: str, grid: Grid, known: _Known) -> dict[str, Any]:
    store = known.store
    rows = [_row(table, row, scale, grid, store) for row in table.rows]
    facts = {
        "kind": "reproduce",
        "id": table.id,
        "title": table.title,
        "source": table.source,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "scale": scale,
        "stand_in": table.stand_in,
        "metric": dict(table.metric.__dict__),
        "columns": [column.name for column in table.columns],
        "rows": rows,
        "notes": [*table.notes, *_remarks(table, scale, grid, known), *_torn(store)],
        "axis": table.axis,
        "curves": [*curves(table, rows), *table.drawings(scale, set(grid), known)],
        "panels": panels(table, rows),
        "pictures": table.pictures(scale, set(grid), known),
        "versions": versions(),
        "settings": {
            "sizes": table.sizes(scale),
            "params": table.params,
            "protocol": table.protocol,
        },
    }
    return plain(facts)


def _wanted(table: PublishedTable, only: Iterable[str] | None) -> set[Place]:
    rows = [row.name for row in table.rows]
    columns = [column.name for column in table.columns]
    named = set(only or ())
    for name in sorted(named - {*rows, *columns}):
        near = difflib.get_close_matches(name, [*rows, *columns], n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"rows: {rows}"
        raise ValueError(f"{table.id} has no row or column {name!r}; {hint}")
    named |= {of for row in table.rows if row.name in named for of in row.minus or ()}
    rows = [name for name in rows if name in named] or rows
    columns = [name for name in columns if name in named] or columns
    return {(row, column) for row in rows for column in columns}


class _Known:
    """Results by case: those of the store, and what is run now; failures of old are run again."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._now: set[str] = set()

    def __call__(self, case: Case) -> Record | None:
        found = self.store.get(case)
        return found if case.key in self._now or self.store.has(case) else None

    def add(self, found: Record) -> None:
        self._now.add(found.key)
        self.store.add(found)


class _Pool(NamedTuple):
    jobs: int
    backend: str
    progress: bool


def computed(table: PublishedTable) -> list[tuple[Heading, Heading]]:
    """Row and column of the cells that are computed: no differences, nothing only published."""
    return [
        (row, column)
        for row in table.rows
        for column in table.columns
        if (row.method or column.method) and not row.minus
    ]


def _cells(table: PublishedTable, scale: str, wanted: set[Place]) -> list[tuple[Heading, Heading]]:
    """Those that are wanted and can be run."""
    table.sizes(scale)  # an unknown scale is refused before anything is looked up
    return [
        (row, column)
        for row, column in computed(table)
        if (row.name, column.name) in wanted and table.absent(row, column, scale) is None
    ]


def _run_all(
    table: PublishedTable,
    scale: str,
    cells: list[tuple[Heading, Heading]],
    known: _Known,
    pool: _Pool,
) -> Grid:
    """Run the cells and return the runs behind each."""
    from tqdm import tqdm

    seen: set[str] = set()
    with tqdm(unit="run", disable=not pool.progress) as bar:
        while True:
            grid = {(r.name, c.name): table.runs(r, c, scale, known) for r, c in cells}
            # Rows of a figure may share a run.
            cases = {case.key: case for cell in grid.values() for case in cell}
            todo = [case for case in cases.values() if known(case) is None]
            if not todo:
                return grid
            seen |= set(cases)
            bar.total, bar.n = len(seen), len(seen) - len(todo)
            _run_some(table, todo, known, pool, bar)


def _run_some(
    table: PublishedTable, cases: list[Case], known: _Known, pool: _Pool, bar: Any
) -> None:
    # Sorted by run, so that every cell has one result early.
    todo = sorted(cases, key=lambda case: case.fold)
    for found in spread(table.run, todo, pool.jobs, pool.backend):
        known.add(found)
        bar.set_postfix_str(f"{found.case['dataset']} {found.method}")
        bar.update()


def _row(
    table: PublishedTable, row: Heading, scale: str, grid: Grid, store: Store
) -> dict[str, Any]:
    cell = _difference if row.minus else _cell
    cells = [cell(table, row, column, scale, grid, store) for column in table.columns]
    return {"name": row.name, "method": row.method, "cells": cells}


def _cell(
    table: PublishedTable, row: Heading, column: Heading, scale: str, grid: Grid, store: Store
) -> dict[str, Any]:
    place = row.name, column.name
    printed = table.published.get(place)
    published = None if printed is None else {"mean": printed[0], "ci": printed[1]}
    if place not in grid:
        why = table.absent(row, column, scale)
        return {"ours": None, "published": published, "verdict": NOT_MEASURED, "error": why}
    records = [store.get(case) for case in grid[place]]
    ours = _ours(_scores(records, table.score(row, column)))
    errors = [found.reason for found in records if found is not None and found.failed]
    return {
        "ours": ours,
        "published": published,
        "verdict": _verdict(ours, published, table.stand_in),
        "error": errors[0] if errors else None,
    }


def _difference(
    table: PublishedTable, row: Heading, column: Heading, scale: str, grid: Grid, store: Store
) -> dict[str, Any]:
    """One row minus another, run by run; that of the published means has no interval."""
    places = [(name, column.name) for name in row.minus or ()]
    printed = [table.published[place][0] for place in places if place in table.published]
    score = table.score(row, column)
    pairs = zip(
        *(_scores(map(store.get, grid.get(place, [])), score) for place in places), strict=False
    )
    ours = _ours(None if a is None or b is None else a - b for a, b in pairs)
    return {
        "ours": ours,
        "published": {"mean": printed[0] - printed[1], "ci": None} if len(printed) == 2 else None,
        "verdict": NOT_MEASURED if ours is None else DIFFERENCE,
        "error": None,
    }


def _remarks(table: PublishedTable, scale: str, grid: Grid, known: _Known) -> list[str]:
    return [
        line
        for row in table.rows
        for column in table.columns
        if (row.name, column.name) in grid
        for line in table.remarks(row, column, scale, known)
    ]


def _scores(records: Iterable[Record | None], score: str) -> list[float | None]:
    return [None if found is None else found.scores.get(score) for found in records]


def _ours(scores: Iterable[float | None]) -> dict[str, Any] | None:
    values = [score for score in scores if score is not None]
    if not values:
        return None
    mean, half = interval(values)
    return {"mean": mean, "ci": half, "n": len(values)}


def _verdict(ours: dict[str, Any] | None, published: dict[str, Any] | None, stand_in: str) -> str:
    """Where our mean lies; without a published figure of these data there is nothing to be in."""
    if ours is None:
        return NOT_MEASURED
    if published is None:
        return NOT_PUBLISHED
    if stand_in:
        return OTHER_DATA
    gap = ours["mean"] - published["mean"]
    if abs(gap) <= (published["ci"] or 0.0):
        return "within"
    return "above" if gap > 0 else "below"


def _torn(store: Store) -> list[str]:
    return [f"{store.torn} cut-off lines in the store were passed over"] if store.torn else []
