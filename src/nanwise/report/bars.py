"""Shares of levels side by side, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from nanwise.report.marks import line, picture, scale, shorten, text, tick_names, ticks, tone
from nanwise.report.numbers import is_number, percent
from nanwise.report.svg import LETTER, SMALL

NAME = 16  # letters of a level
ROW = 14  # height of one bar


def bars(
    levels: Sequence[Any],
    series: Sequence[dict[str, Any]],
    *,
    title: str,
    desc: str,
    x_label: str,
) -> str:
    """One group of level bars for each level, with its name on the left.

    Parameters
    ----------
    levels : sequence
        Names of the groups, from top to bottom.
    series : sequence of dict
        ``name``, ``y`` (one share per level) and ``tone``.
    title, desc, x_label : str
    """
    width = SMALL[0]
    left = 14 + LETTER * max([len(shorten(str(level), NAME)) for level in levels] or [0])
    most = max([v for s in series for v in s["y"] if is_number(v)] or [1.0]) or 1.0
    group = ROW * len(series) + 8
    bottom = 8 + group * len(levels)
    x = scale(0.0, most * 1.04, left, width - 16)
    marks = tick_names([100 * t for t in ticks(0.0, most * 1.04, 4)])
    out = [line(x(t / 100), 8, x(t / 100), bottom, "grid") for t, _ in marks]
    out += [text(x(t / 100), bottom + 16, f"{name} %", "middle") for t, name in marks]
    for k, level in enumerate(levels):
        top = 12 + group * k
        out.append(text(left - 8, top + group / 2, shorten(str(level), NAME), "end", "name"))
        out += [_bar(s, k, level, x, left, top + ROW * place) for place, s in enumerate(series)]
    out.append(text((left + width - 16) / 2, bottom + 36, x_label, "middle", "axis-label"))
    return picture(width, bottom + 44, title, desc, out)


def _bar(series: dict[str, Any], k: int, level: Any, x: Any, left: float, top: float) -> str:
    share = series["y"][k] if is_number(series["y"][k]) else 0.0
    label = f"{level}, {series['name']}: {percent(share, 1)}"
    return (
        f"<g><title>{escape(label)}</title>"
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(x(share) - left, 0.5):.1f}" '
        f'height="{ROW - 3}" style="fill:{tone(series.get("tone"))}"/></g>'
    )
