"""What a published table is drawn from: our figures and the printed ones, as plain numbers."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from nanwise.bench.papers.table import Heading, PublishedTable

Row = dict[str, Any]


def curves(table: PublishedTable, rows: list[Row]) -> list[dict[str, Any]]:
    """For a figure, one chart per data set (number of columns, score) with a line per row.

    Where figures were printed, they are a second line, dashed, in the colour of ours.
    """
    if table.axis is None:
        return []
    charts: dict[Any, list[Row]] = {}
    for heading, row in zip(table.rows, rows, strict=True):
        kind = (heading.dataset, heading.protocol.get("d"), heading.score)
        charts.setdefault(kind, []).append(row)
    return [_chart(table, group) for group in charts.values()]


def panels(table: PublishedTable, rows: list[Row]) -> list[dict[str, Any]]:
    """For a table of methods, one chart per column that was measured: its rows side by side.

    Rows that hold another score than the table's metric are left out.
    """
    if not table.panels:
        return []
    return [
        {"title": column.name, "x_label": table.metric.label.split(";")[0], "items": items}
        for place, column in enumerate(table.columns)
        if (items := _items(table, column, [row["cells"][place] for row in rows]))
    ]


def _chart(table: PublishedTable, rows: list[Row]) -> dict[str, Any]:
    title, names = _shared([row["name"] for row in rows])
    ours = [_line(table, row, name) for row, name in zip(rows, names, strict=True)]
    printed = [
        {**line, "tone": tone, "dash": True}
        for tone, (row, name) in enumerate(zip(rows, names, strict=True))
        if (line := _line(table, row, f"{name}, published", "published"))["x"]
    ]
    return {
        "title": title or table.title,
        "x_label": table.axis,
        "y_label": table.metric.label,
        "series": [*({**line, "tone": tone} for tone, line in enumerate(ours)), *printed],
    }


def _shared(names: list[str]) -> tuple[str, list[str]]:
    """What the names of all rows begin with, or end with behind a comma, and what is left of each.

    ``Boston w/ SN`` and ``Boston w/o SN``: Boston; ``w/ SN, averaged`` and ``w/o SN, averaged``:
    averaged.
    """
    if len(names) == 1:
        return "", names
    words = zip(*(name.split() for name in names), strict=False)
    same = takewhile(lambda column: len(set(column)) == 1, words)
    start = "".join(f"{column[0]} " for column in same)
    if start:
        return start.strip(), [name.removeprefix(start) for name in names]
    ends = {name.partition(", ")[2] for name in names}
    end = ends.pop() if len(ends) == 1 else ""
    return end, [name.removesuffix(f", {end}") if end else name for name in names]


def _line(table: PublishedTable, row: Row, name: str, whose: str = "ours") -> dict[str, Any]:
    places = [float(column.name) for column in table.columns]
    points = [
        (x, *_bounds(cell[whose]))
        for x, cell in zip(places, row["cells"], strict=True)
        if cell[whose] is not None
    ]
    line = {"name": name, "x": [point[0] for point in points], "y": [point[1] for point in points]}
    if whose == "published":
        return line
    return line | {"low": [point[2] for point in points], "high": [point[3] for point in points]}


def _items(table: PublishedTable, column: Heading, cells: list[dict[str, Any]]) -> list[Row]:
    """Of every row ours and then the printed one; nothing if nothing was measured."""
    shown = [
        (row.name, cell)
        for row, cell in zip(table.rows, cells, strict=True)
        if table.score(row, column) == table.metric.name
    ]
    if all(cell["ours"] is None for _, cell in shown):
        return []
    return [
        {"name": name, "mean": mean, "low": low, "high": high, "tone": tone}
        for method, cell in shown
        for name, whose, tone in ((method, "ours", 0), ("published", "published", None))
        if cell[whose] is not None
        for mean, low, high in [_bounds(cell[whose])]
    ]


def _bounds(figure: dict[str, Any]) -> tuple[float, float, float]:
    mean, half = figure["mean"], figure["ci"] or 0.0
    return mean, mean - half, mean + half
