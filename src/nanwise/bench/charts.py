"""What a published table is drawn from: our figures and the printed ones, as plain numbers."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from nanwise.bench.papers.table import Heading, PublishedTable

Row = dict[str, Any]


def curves(table: PublishedTable, rows: list[Row]) -> list[dict[str, Any]]:
    """For a figure, one chart per data set (and number of columns) with a line per row.

    Where figures were printed, they are a second line, dashed, in the colour of ours.
    """
    if table.axis is None:
        return []
    charts: dict[Any, list[Row]] = {}
    for heading, row in zip(table.rows, rows, strict=True):
        charts.setdefault((heading.dataset, heading.protocol.get("d")), []).append(row)
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
    # Rows of one data set are named "Boston w/ SN", "Boston w/o SN": what they share is the title.
    words = zip(*(row["name"].split() for row in rows), strict=False)
    same = list(takewhile(lambda column: len(set(column)) == 1, words)) if len(rows) > 1 else []
    shared = "".join(f"{column[0]} " for column in same)
    names = [row["name"].removeprefix(shared) for row in rows]
    ours = [_line(table, row, name) for row, name in zip(rows, names, strict=True)]
    printed = [
        {**line, "tone": tone, "dash": True}
        for tone, (row, name) in enumerate(zip(rows, names, strict=True))
        if (line := _line(table, row, f"{name}, published", "published"))["x"]
    ]
    return {
        "title": shared.strip() or table.title,
        "x_label": table.axis,
        "y_label": table.metric.label,
        "series": [*({**line, "tone": tone} for tone, line in enumerate(ours)), *printed],
    }


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
