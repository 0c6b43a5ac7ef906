"""Small charts as SVG text.

Every function takes plain lists and returns one ``<svg>`` string. Colours are CSS variables
(``--tone-1`` ... ``--tone-8``, ``--muted``, ``--seen``, ``--gap``) set by the page, so that one
picture serves a light and a dark page. All text is escaped here. Points without a number are left
out, and break a line in two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from nanwise.report.marks import (
    bounds,
    line,
    picture,
    rect,
    scale,
    shorten,
    text,
    tick_names,
    ticks,
    tone,
    turned,
)
from nanwise.report.numbers import is_number, number

WIDTH, HEIGHT = 460, 280
SMALL = (350, 220)
LETTER = 8.0  # width of a letter, wide enough for the larger text of phones
COLUMN = 16  # letters of a column name under a picture
NAME = 24  # letters of a name beside an interval
ROW = 26  # height of one line of a forest plot


def lines(series: Sequence[dict[str, Any]], **frame: Any) -> str:
    """Line curves, with a band where ``low`` and ``high`` are given.

    Parameters
    ----------
    series : sequence of dict
        ``name``, ``x``, ``y``; optional ``low``, ``high``, ``tone`` (int or None), ``dash``.
    **frame
        ``title``, ``desc``, ``x_label``, ``y_label``, ``rule`` for a horizontal line, and ``size``.
    """
    xs = [v for s in series for v in s["x"]]
    ys = [v for s in series for k in ("y", "low", "high") for v in s.get(k) or []]
    axes = _Axes.around(xs, ys, **frame)
    bands = [_band(axes, s) for s in series if s.get("low") and s.get("high")]
    curves = [_curve(axes, s) for s in series]
    return axes.svg([*bands, *curves])


def scatter(groups: Sequence[dict[str, Any]], **frame: Any) -> str:
    """Dots, with a line through their means where ``line_x`` and ``line_y`` are given.

    Parameters
    ----------
    groups : sequence of dict
        ``name``, ``x``, ``y``; optional ``line_x``, ``line_y``, ``tone``.
    **frame
        As for :func:`lines`.
    """
    axes = _Axes.around(
        [v for g in groups for v in g["x"]], [v for g in groups for v in g["y"]], **frame
    )
    marks = [_dots(axes, g) for g in groups]
    means = [
        _curve(axes, {**g, "x": g["line_x"], "y": g["line_y"]}) for g in groups if g.get("line_x")
    ]
    return axes.svg([*marks, *means])


def forest(
    items: Sequence[dict[str, Any]],
    *,
    title: str,
    desc: str,
    x_label: str,
    rule: float | None = None,
) -> str:
    """One interval per line, with its name on the left.

    Parameters
    ----------
    items : sequence of dict
        ``name``, ``mean``, ``low``, ``high``; optional ``tone`` and ``points`` (single results).
    title, desc, x_label : str
    rule : float, optional
        A vertical line to compare with.
    """
    values = [v for i in items for v in (i["mean"], i["low"], i["high"], *(i.get("points") or []))]
    low, high = bounds([*values, rule] if rule is not None else values)
    left = 14 + LETTER * max([len(shorten(str(i["name"]), NAME)) for i in items] or [0])
    bottom = 12 + ROW * len(items)
    x = scale(low, high, left, WIDTH - 16)
    marks = tick_names(ticks(low, high, 4))
    out = [line(x(t), 8, x(t), bottom, "grid") for t, _ in marks]
    out += [text(x(t), bottom + 16, name, "middle") for t, name in marks]
    if rule is not None:
        out.append(line(x(rule), 8, x(rule), bottom, "rule"))
    out += [_interval(item, x, 12 + ROW * (k + 0.5), left) for k, item in enumerate(items)]
    middle = min((left + WIDTH - 16) / 2, WIDTH - LETTER * len(x_label) / 2)
    out.append(text(middle, bottom + 36, x_label, "middle", "axis-label"))
    return picture(WIDTH, bottom + 44, title, desc, out)


def pattern(columns: Sequence[str], rows: Sequence[Sequence[int]], *, title: str, desc: str) -> str:
    """Picture of where values are: one column per column, one thin line per row."""
    left, cell = _columns(columns, WIDTH - 6)
    top, width = 6, cell * len(columns)
    thick = max(1.6, min(5.0, 240 / max(1, len(rows))))
    bottom = top + thick * len(rows)
    gaps = [
        f"M{left + j * cell:.1f} {top + start * thick:.1f}h{cell:.1f}v{n * thick:.1f}h{-cell:.1f}z"
        for j in range(len(columns))
        for start, n in _runs([row[j] for row in rows])
    ]
    seams = [left + j * cell for j in range(1, len(columns))]
    out = [
        rect(left, top, width, bottom - top, "seen"),
        f'<path d="{"".join(gaps)}" class="gap"/>',
        *[line(x, top, x, bottom, "seam") for x in seams],
    ]
    names, extra = _column_names(columns, left, cell, bottom)
    return picture(WIDTH, bottom + extra, title, desc, out + names)


def patterns(
    columns: Sequence[str], found: Sequence[dict[str, Any]], *, title: str, desc: str
) -> str:
    """The most frequent patterns of gaps: one line each, with a bar for how many rows have it."""
    bars, top, thick = 130, 6, 15
    left, cell = _columns(columns, WIDTH - 6 - bars)
    right = left + cell * len(columns) + 8
    most = max([p["count"] for p in found] or [1])
    out = []
    for k, item in enumerate(found):
        y = top + k * thick
        for j, seen in enumerate(item["observed"]):
            kind = "seen" if seen else "gap"
            out.append(rect(left + j * cell, y, max(cell - 1, cell * 0.8), thick - 3, kind))
        length = max(1, (bars - 64) * item["count"] / most)
        out.append(rect(right, y, length, thick - 3, "bar"))
        out.append(text(right + length + 6, y + 10, f"{item['count']:,}", "start"))
    names, extra = _column_names(columns, left, cell, top + thick * len(found))
    return picture(WIDTH, top + thick * len(found) + extra, title, desc, out + names)


def _columns(columns: Sequence[str], end: float) -> tuple[float, float]:
    """Where the first column begins, with room for its slanted name, and how wide each is."""
    count = max(1, len(columns))
    room = 10 + 4.9 * len(shorten(str(columns[0]), COLUMN)) if columns else 0
    left = max(6.0, room - end / count / 2)
    return left, (end - left) / count


@dataclass(frozen=True)
class _Axes:
    """Two scales with their grid; the y axis points up."""

    x: Callable[[float], float]
    y: Callable[[float], float]
    grid: list[str]
    title: str
    desc: str
    size: tuple[int, int]

    @classmethod
    def around(
        cls,
        xs: Iterable[Any],
        ys: Iterable[Any],
        *,
        title: str,
        desc: str,
        x_label: str,
        y_label: str,
        rule: float | None = None,
        size: tuple[int, int] = (WIDTH, HEIGHT),
    ) -> _Axes:
        """Axes that hold all points."""
        (x0, x1), (y0, y1) = bounds(xs, 0.02), bounds([*ys, rule] if rule is not None else ys, 0.06)
        x_names, y_names = tick_names(ticks(x0, x1)), tick_names(ticks(y0, y1))
        left = 30 + 7.4 * max(len(name) for _, name in y_names)
        right, top, bottom = size[0] - 14, 10, size[1] - 44
        x, y = scale(x0, x1, left, right), scale(y0, y1, bottom, top)
        grid = [line(left, y(t), right, y(t), "grid") for t, _ in y_names]
        grid += [text(left - 6, y(t) + 4, name, "end") for t, name in y_names]
        grid += [text(x(t), bottom + 17, name, "middle") for t, name in x_names]
        if rule is not None:
            grid.append(line(left, y(rule), right, y(rule), "rule"))
        grid.append(text((left + right) / 2, size[1] - 7, x_label, "middle", "axis-label"))
        grid.append(turned(14, (top + bottom) / 2, -90, y_label, "middle", "axis-label"))
        return cls(x, y, grid, title, desc, size)

    def svg(self, marks: list[str]) -> str:
        return picture(*self.size, self.title, self.desc, [*self.grid, *marks])


def _curve(axes: _Axes, series: dict[str, Any]) -> str:
    steps, pen = [], "M"
    for a, b in zip(series["x"], series["y"], strict=False):
        if not (is_number(a) and is_number(b)):
            pen = "M"
            continue
        steps.append(f"{pen}{axes.x(a):.1f} {axes.y(b):.1f}")
        pen = "L"
    dash = " dash" if series.get("dash") else ""
    return (
        f'<path d="{"".join(steps)}" class="curve{dash}" style="stroke:{tone(series.get("tone"))}">'
        f"<title>{escape(str(series['name']))}</title></path>"
    )


def _band(axes: _Axes, series: dict[str, Any]) -> str:
    edge = [
        (axes.x(a), axes.y(b), axes.y(c))
        for a, b, c in zip(series["x"], series["low"], series["high"], strict=False)
        if is_number(a) and is_number(b) and is_number(c)
    ]
    there = [f"{x:.1f} {low:.1f}" for x, low, _ in edge]
    back = [f"{x:.1f} {high:.1f}" for x, _, high in reversed(edge)]
    d = "M" + "L".join(there + back) + "z" if edge else ""
    return f'<path d="{d}" class="band" style="fill:{tone(series.get("tone"))}"/>'


def _dots(axes: _Axes, group: dict[str, Any]) -> str:
    """All dots as one path of strokes of no length with round ends: ten times smaller."""
    d = "".join(
        f"M{axes.x(a):.1f} {axes.y(b):.1f}h0"
        for a, b in zip(group["x"], group["y"], strict=False)
        if is_number(a) and is_number(b)
    )
    return f'<path d="{d}" class="dots" style="stroke:{tone(group.get("tone"))}"/>'


def _interval(item: dict[str, Any], x: Callable[[float], float], y: float, left: float) -> str:
    name = text(left - 10, y + 4, shorten(str(item["name"]), NAME), "end", "name")
    if not is_number(item["mean"]):
        return name + text(left + 4, y + 4, "no result", "start")
    colour = tone(item.get("tone"))
    dots = "".join(f"M{x(v):.1f} {y:.1f}h0" for v in item.get("points") or [] if is_number(v))
    low = item["low"] if is_number(item["low"]) else item["mean"]
    high = item["high"] if is_number(item["high"]) else item["mean"]
    label = f"{item['name']}: {number(item['mean'])} ({number(low)} to {number(high)})"
    return (
        f"<g><title>{escape(label)}</title>{name}"
        f'<path d="{dots}" class="dots" style="stroke:{colour}"/>'
        f'<path d="M{x(low):.1f} {y:.1f}H{x(high):.1f}" class="span" style="stroke:{colour}"/>'
        f'<circle cx="{x(item["mean"]):.1f}" cy="{y:.1f}" r="4.5" style="fill:{colour}"/></g>'
    )


def _column_names(
    columns: Sequence[str], left: float, cell: float, bottom: float
) -> tuple[list[str], float]:
    """Slanted names under the columns, thinned out where they would overlap, and their height."""
    every = max(1, math.ceil(13 / cell))
    shown = [(j, shorten(str(c), COLUMN)) for j, c in enumerate(columns) if j % every == 0]
    out = [
        turned(left + (j + 0.5) * cell + 3, bottom + 11, -55, name, "end", "tick")
        for j, name in shown
    ]
    return out, 20 + 6.6 * max([len(name) for _, name in shown] or [0])


def _runs(observed: Sequence[int]) -> list[tuple[int, int]]:
    """Start and length of each stretch of gaps."""
    out: list[tuple[int, int]] = []
    for i, seen in enumerate(observed):
        if seen:
            continue
        if out and sum(out[-1]) == i:
            out[-1] = (out[-1][0], out[-1][1] + 1)
        else:
            out.append((i, 1))
    return out
