"""A published table: headings, figures with their source, and how its cells are run."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from nanwise.bench.case import Case, Record
from nanwise.bench.score import Metric
from nanwise.registry import everything

#: what is known of a case; None if it has to be run
Get = Callable[[Case], Record | None]

SCALES = ("smoke", "laptop", "paper")
#: begins the reason why a cell cannot be run on a machine that lacks its data
NO_DATA = "data not available"

_TABLES: dict[str, PublishedTable] = {}


@dataclass(frozen=True)
class Heading:
    """A row or a column: its printed name and what it fixes in the cases of its cells.

    Attributes
    ----------
    name : str
        As printed.
    dataset, method : str, optional
        Of the case. Without a method, what was published is shown and nothing is run.
    score : str, optional
        Which score of the record stands in the cell; by default the table's metric.
    params, protocol : mapping
        Added to those of the case.
    hide : mapping, optional
        Of the case.
    minus : pair of str, optional
        Names of two rows: this one holds their difference, run by run.
    """

    name: str
    dataset: str | None = None
    method: str | None = None
    score: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    hide: Mapping[str, Any] | None = None
    minus: tuple[str, str] | None = None


@dataclass(frozen=True)
class PublishedTable:
    """One table or figure of a paper.

    Attributes
    ----------
    id : str
        ``family/table``, what the user types.
    title, source : str
        What it shows, and where it was published (paper, table, page).
    metric : Metric
        What is in the cells.
    rows, columns : tuple of Heading
    run : callable
        ``run(case) -> Record``, picklable.
    scales : mapping
        ``smoke``, ``laptop`` and ``paper`` to sizes: ``runs`` per cell (or of each data set, in
        a mapping), at most so many ``rows`` of a data set (None: all), ``epochs`` and ``patience``.
        Sizes only, never the method.
    published : mapping
        ``(row, column)`` to the printed mean and half width of the interval (None: not printed).
        Figures without printed numbers have none.
    params, protocol : mapping
        Common to all cells.
    notes : tuple of str
        What a reader should know when comparing, above all where we had to choose.
    axis : str, optional
        For a figure: what the columns count. Their names are then numbers, rows become curves.
    panels : bool
        Whether a chart is drawn of each column, with the rows side by side.
    stand_in : str
        Where the data of the paper cannot be had: what is simulated instead. The published figures
        are then of other data and are shown without a verdict.
    """

    id: str
    title: str
    source: str
    metric: Metric
    rows: tuple[Heading, ...]
    columns: tuple[Heading, ...]
    run: Callable[[Case], Record]
    scales: Mapping[str, Mapping[str, Any]]
    published: Mapping[tuple[str, str], tuple[float, float | None]] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    axis: str | None = None
    panels: bool = False
    stand_in: str = ""

    def sizes(self, scale: str) -> Mapping[str, Any]:
        """Sizes at a scale, or a ValueError that names the scales."""
        if scale not in self.scales:
            raise ValueError(f"scale must be one of {tuple(self.scales)}, got {scale!r}")
        return self.scales[scale]

    def with_runs(self, scale: str, runs: int | None) -> Self:
        """The same table with so many runs of every cell at a scale; None: as many as it has."""
        sizes = self.sizes(scale)
        if runs is None:
            return self
        if runs < 1:
            raise ValueError(f"runs must be at least 1, got {runs!r}")
        has = sizes["runs"]
        asked = dict.fromkeys(has, runs) if isinstance(has, Mapping) else runs
        return replace(self, scales={**self.scales, scale: {**sizes, "runs": asked}})

    def cases(self, row: Heading, column: Heading, scale: str) -> list[Case]:
        """The runs behind one cell."""
        sizes = self.sizes(scale)
        plan = {name: sizes[name] for name in ("epochs", "patience")}
        params = {**self.params, **column.params, **row.params}
        params["plan"] = {**params.get("plan", {}), **plan}
        protocol = {**self.protocol, **column.protocol, **row.protocol, "rows": sizes["rows"]}
        return [
            Case(
                dataset=row.dataset or column.dataset or "",
                method=row.method or column.method or "",
                params=params,
                protocol=protocol,
                fold=run,
                seed=run,
                hide=row.hide or column.hide,
            )
            for run in range(sizes["runs"])
        ]

    def runs(self, row: Heading, column: Heading, scale: str, get: Get) -> list[Case]:
        """What is to be run for one cell, as far as it is known.

        Asked again after these runs, until nothing is left to run: a table whose cases depend on
        the results of others names those first. At last it names the runs behind the cell.
        """
        return self.cases(row, column, scale)

    def absent(self, row: Heading, column: Heading, scale: str) -> str | None:
        """Why a cell cannot be run; None if it can, or if it only shows what was published."""
        method = row.method or column.method
        there = method is None or method in {found.key for found in everything()}
        return None if there else f"no method {method!r} in this version"

    def remarks(self, row: Heading, column: Heading, scale: str, get: Get) -> list[str]:
        """Notes on how one cell came about."""
        return []

    def drawings(self, scale: str, wanted: set[tuple[str, str]], get: Get) -> list[dict[str, Any]]:
        """Charts beside those of :mod:`nanwise.bench.charts`, from what the runs have kept."""
        return []

    def pictures(self, scale: str, wanted: set[tuple[str, str]], get: Get) -> list[dict[str, Any]]:
        """Sheets of small pictures that the runs have kept, for :mod:`nanwise.report.pictures`."""
        return []

    def score(self, row: Heading, column: Heading) -> str:
        """Name of the score in one cell."""
        return row.score or column.score or self.metric.name


def figures(
    rows: Sequence[Heading], columns: Sequence[Heading], text: str
) -> dict[tuple[str, str], tuple[float, float]]:
    """Published cells from text: one line per row, ``mean half-width`` for each column."""
    cells = {}
    for row, line in zip(rows, text.strip().splitlines(), strict=True):
        numbers = [float(word) for word in line.split()]
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        for column, pair in zip(columns, pairs, strict=True):
            cells[row.name, column.name] = pair
    return cells


def publish(table: PublishedTable) -> PublishedTable:
    """Make a table known."""
    if table.id in _TABLES:
        raise ValueError(f"two published tables are called {table.id!r}")
    _TABLES[table.id] = table
    return table


def tables() -> list[PublishedTable]:
    """All known tables, by id."""
    root = importlib.import_module("nanwise.bench.papers")
    for module in pkgutil.iter_modules(root.__path__, prefix=root.__name__ + "."):
        importlib.import_module(module.name)
    return [_TABLES[name] for name in sorted(_TABLES)]


def find_table(name: str) -> PublishedTable:
    """The table of that id, or a ValueError that suggests the nearest ones."""
    found = {table.id: table for table in tables()}
    if name in found:
        return found[name]
    near = difflib.get_close_matches(name, found, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(found)}"
    raise ValueError(f"no published table is called {name!r}; {hint}")
