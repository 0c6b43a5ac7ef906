"""What charts are drawn with: colours, ticks, scales, and single marks as SVG text."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from nanwise.report.numbers import is_number, number

TONES = 8


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


def tick_names(values: Sequence[float]) -> list[tuple[float, str]]:
    """Each tick with its text, with just as many decimals as tell all of them apart truly."""
    step = min([abs(b - a) for a, b in pairwise(values)] or [1.0])
    digits = next(
        (d for d in range(10) if all(abs(round(v, d) - v) < 1e-6 * step for v in values)), 10
    )
    short = [number(v, digits) for v in values]
    if len(set(short)) == len(short):
        return list(zip(values, short, strict=True))
    return [(v, f"{v:.{digits}f}".replace("-", "−")) for v in values]  # large, and close together


def bounds(values: Iterable[Any], margin: float = 0.04) -> tuple[float, float]:
    """Smallest and largest number, with some room around."""
    found = [float(v) for v in values if is_number(v)]
    if not found:
        return 0.0, 1.0
    low, high = min(found), max(found)
    room = (high - low) * margin
    if room <= 1e-12 * max(1.0, abs(high)):  # a flat picture needs some height all the same
        room = 0.05 * abs(high) or 1.0
    return low - room, high + room


def scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """The function that takes ``low`` to ``start`` and ``high`` to ``end``."""
    return lambda v: start + (v - low) / (high - low) * (end - start)


def shorten(text: str, most: int) -> str:
    """At most so many letters, the last one an ellipsis if some are left out."""
    return text if len(text) <= most else text[: most - 1] + "…"


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" class="{kind}"/>'


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A filled box."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}"/>'
    )


def text(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> str:
    """Level text."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'
    )


def turned(x: float, y: float, angle: int, text: str, anchor: str, kind: str) -> str:
    """Text turned by ``angle`` degrees around its anchor."""
    return (
        f'<text transform="translate({x:.1f} {y:.1f}) rotate({angle})" text-anchor="{anchor}" '
        f'class="{kind}">{escape(text)}</text>'
    )


def picture(width: float, height: float, title: str, desc: str, parts: Iterable[str]) -> str:
    """The whole ``<svg>``, with a title and a description for those who cannot see it."""
    body = "".join(parts)
    key = hashlib.sha256(f"{title}{desc}{body}".encode()).hexdigest()[:10]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-labelledby="t{key} d{key}"><title id="t{key}">{escape(title)}</title>'
        f'<desc id="d{key}">{escape(desc)}</desc>{body}</svg>'
    )
