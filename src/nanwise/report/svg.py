"""Small charts as SVG text.

Every function takes plain lists and returns one ``<svg>`` string. Colours are CSS variables
(``--tone-1`` ... ``--tone-8``, ``--muted``, ``--seen``, ``--gap``) set by the page, so that one
picture serves a light and a dark page. All text is escaped here. Points without a number are left
out, and break a line in two.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from nanwise.report.numbers import is_number, signless

WIDTH, HEIGHT = 460, 280
TONES = 8
ROW = 26  # height of one line of a forest plot


def tone(index: int | None) -> str:
    """CSS colour of the series with that number; None is the quiet colour of the background."""
    return "var(--muted)" if index is None else f"var(--tone-{index % TONES + 1})"


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between ``low`` and ``high``, about so many."""
    if not high > low:
        return [low]
    raw = (high - low) / max(1, about)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def lines(series: Sequence[dict[str, Any]], **frame: Any) -> str:
    """Line curves, with a band where ``low`` and ``high`` are given.

    Parameters
    ----------
    series : sequence of dict
        ``name``, ``x``, ``y``; optional ``low``, ``high``, ``tone`` (int or None), ``dash``.
    **frame
        ``title``, ``desc``, ``x_label``, ``y_label``, and ``rule`` for a horizontal line.
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
    low, high = _range([*values, rule] if rule is not None else values)
    left = 14 + min(190, max([6.6 * len(str(i["name"])) for i in items] or [0]))
    bottom = 12 + ROW * len(items)
    x = _scale(low, high, left, WIDTH - 16)
    out = [_line(x(t), 8, x(t), bottom, "grid") for t in ticks(low, high)]
    out += [
        _text(x(t), bottom + 16, signless(t, _digits(low, high)), "middle")
        for t in ticks(low, high, 4)
    ]
    if rule is not None:
        out.append(_line(x(rule), 8, x(rule), bottom, "rule"))
    out += [_interval(item, x, 12 + ROW * (k + 0.5), left) for k, item in enumerate(items)]
    out.append(_text((left + WIDTH - 16) / 2, bottom + 36, x_label, "middle", "axis-label"))
    return _svg(WIDTH, bottom + 44, title, desc, out)


def pattern(columns: Sequence[str], rows: Sequence[Sequence[int]], *, title: str, desc: str) -> str:
    """Picture of where values are: one column per column, one thin line per row."""
    top, left, width = 6, 6, WIDTH - 12
    cell, line = width / max(1, len(columns)), max(1.6, min(5.0, 240 / max(1, len(rows))))
    height = line * len(rows)
    gaps = [
        f"M{left + j * cell:.1f} {top + start * line:.1f}h{cell:.1f}v{n * line:.1f}h{-cell:.1f}z"
        for j in range(len(columns))
        for start, n in _runs([row[j] for row in rows])
    ]
    out = [
        f'<rect x="{left}" y="{top}" width="{width}" height="{height:.1f}" class="seen"/>',
        f'<path d="{"".join(gaps)}" class="gap"/>',
        *[
            _line(left + j * cell, top, left + j * cell, top + height, "seam")
            for j in range(1, len(columns))
        ],
    ]
    names, extra = _column_names(columns, left, cell, top + height)
    return _svg(WIDTH, top + height + extra, title, desc, out + names)


def patterns(
    columns: Sequence[str], found: Sequence[dict[str, Any]], *, title: str, desc: str
) -> str:
    """The most frequent patterns of gaps: one line each, with a bar for how many rows have it."""
    top, left, bars = 6, 6, 130
    width = WIDTH - 12 - bars
    cell, line = width / max(1, len(columns)), 15
    most = max([p["count"] for p in found] or [1])
    out = []
    for k, item in enumerate(found):
        y = top + k * line
        for j, seen in enumerate(item["observed"]):
            kind = "seen" if seen else "gap"
            out.append(_rect(left + j * cell, y, max(cell - 1, cell * 0.8), line - 3, kind))
        length = (bars - 60) * item["count"] / most
        out.append(_rect(left + width + 8, y, max(1, length), line - 3, "bar"))
        out.append(_text(left + width + 14 + length, y + 10, f"{item['count']:,}", "start"))
    names, extra = _column_names(columns, left, cell, top + line * len(found))
    return _svg(WIDTH, top + line * len(found) + extra, title, desc, out + names)


@dataclass(frozen=True)
class _Axes:
    """Two scales with their grid; the y axis points up."""

    x: Callable[[float], float]
    y: Callable[[float], float]
    grid: list[str]
    title: str
    desc: str

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
    ) -> _Axes:
        """Axes that hold all points."""
        (x0, x1), (y0, y1) = _range(xs, 0.02), _range([*ys, rule] if rule is not None else ys, 0.06)
        y_names = [(t, signless(t, _digits(y0, y1))) for t in ticks(y0, y1)]
        left = 26 + 6.4 * max(len(name) for _, name in y_names)
        right, top, bottom = WIDTH - 12, 10, HEIGHT - 44
        x, y = _scale(x0, x1, left, right), _scale(y0, y1, bottom, top)
        grid = [_line(left, y(t), right, y(t), "grid") for t, _ in y_names]
        grid += [_text(left - 6, y(t) + 4, name, "end") for t, name in y_names]
        grid += [
            _text(x(t), bottom + 16, signless(t, _digits(x0, x1)), "middle") for t in ticks(x0, x1)
        ]
        if rule is not None:
            grid.append(_line(left, y(rule), right, y(rule), "rule"))
        middle = (top + bottom) / 2
        grid.append(_text((left + right) / 2, HEIGHT - 8, x_label, "middle", "axis-label"))
        grid.append(
            f'<text transform="translate(13 {middle:.0f}) rotate(-90)" text-anchor="middle" '
            f'class="axis-label">{escape(y_label)}</text>'
        )
        return cls(x, y, grid, title, desc)

    def svg(self, marks: list[str]) -> str:
        return _svg(WIDTH, HEIGHT, self.title, self.desc, [*self.grid, *marks])


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
    name = _text(left - 10, y + 4, _short(str(item["name"]), 28), "end", "name")
    if not is_number(item["mean"]):
        return name + _text(left + 4, y + 4, "no result", "start")
    colour = tone(item.get("tone"))
    dots = "".join(f"M{x(v):.1f} {y:.1f}h0" for v in item.get("points") or [] if is_number(v))
    low = item["low"] if is_number(item["low"]) else item["mean"]
    high = item["high"] if is_number(item["high"]) else item["mean"]
    label = f"{item['name']}: {signless(item['mean'])} ({signless(low)} to {signless(high)})"
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
    shown = [(j, _short(str(c), 16)) for j, c in enumerate(columns) if j % every == 0]
    out = [
        f'<text transform="translate({left + (j + 0.5) * cell + 3:.1f} {bottom + 10:.1f}) '
        f'rotate(-55)" text-anchor="end">{escape(name)}</text>'
        for j, name in shown
    ]
    return out, 18 + 5.6 * max([len(name) for _, name in shown] or [0])


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


def _range(values: Iterable[Any], margin: float = 0.04) -> tuple[float, float]:
    found = [float(v) for v in values if is_number(v)]
    if not found:
        return 0.0, 1.0
    low, high = min(found), max(found)
    room = (high - low) * margin
    if room <= 1e-12 * max(1.0, abs(high)):  # a flat picture needs some height all the same
        room = 0.05 * abs(high) or 1.0
    return low - room, high + room


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    return lambda v: start + (v - low) / (high - low) * (end - start)


def _digits(low: float, high: float) -> int:
    step = (high - low) / 5
    return max(0, min(6, math.ceil(-math.log10(step)))) if step > 0 else 2


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" class="{kind}"/>'


def _rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}"/>'
    )


def _text(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'
    )


def _svg(width: float, height: float, title: str, desc: str, parts: Iterable[str]) -> str:
    body = "".join(parts)
    key = hashlib.sha256(f"{title}{desc}{body}".encode()).hexdigest()[:10]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-labelledby="t{key} d{key}"><title id="t{key}">{escape(title)}</title>'
        f'<desc id="d{key}">{escape(desc)}</desc>{body}</svg>'
    )
