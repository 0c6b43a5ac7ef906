"""How numbers are written in reports, and which values count as numbers at all."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import Any, TypeGuard

NONE = "–"
#: heights of a curve in letters, from nothing to full
STEPS = "▁▂▃▄▅▆▇█"


def is_number(value: Any) -> TypeGuard[float]:
    """True for a finite int or float; a bool is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value)


def number(value: Any, digits: int | None = None) -> str:
    """A number with so many decimals, by default as many as its size asks for; a true minus."""
    if not is_number(value):
        return NONE
    digits = decimals([value]) if digits is None else digits
    text = f"{value:.{digits}f}" if abs(value) < 1e7 else f"{value:.3g}"
    return text.replace("-", "−")


def signed(value: Any, digits: int | None = None) -> str:
    """Like :func:`number`, with its sign."""
    text = number(value, digits)
    return text if text == NONE or text.startswith("−") else "+" + text


def decimals(values: Iterable[Any]) -> int:
    """Decimals that suit all numbers of one column: two digits of the largest, at least 0.001."""
    largest = max((abs(v) for v in values if is_number(v)), default=0.0)
    if largest < 1e-9:
        return 3
    place = math.floor(math.log10(largest))
    return max(3, 1 - place) if place < 1 else max(0, 3 - place)


def percent(value: Any, digits: int = 0) -> str:
    """A share as a percentage; never 0 % or 100 % for something in between."""
    if not is_number(value):
        return NONE
    if value in (0, 1):
        return f"{100 * value:.0f} %"
    text = f"{100 * value:.{digits}f}"
    if float(text) == 0 and value > 0:
        return f"<{10**-digits:g} %"
    if float(text) == 100 and value < 1:
        return f">{100 - 10**-digits:g} %"
    return f"{text} %"


def whole(value: Any) -> str:
    """A count with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\u202f") if is_number(value) else NONE


def seconds(value: Any) -> str:
    """A duration in a unit that fits."""
    if not is_number(value):
        return NONE
    if value < 1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.1f} min"


def interval(low: Any, high: Any, digits: int | None = None, *, sign: bool = False) -> str:
    """``low to high``, or nothing."""
    if not (is_number(low) and is_number(high)):
        return ""
    digits = decimals([low, high]) if digits is None else digits
    write = signed if sign else number
    return f"{write(low, digits)} to {write(high, digits)}"


def spark(values: Iterable[Any], top: float, letters: int = 24) -> str:
    """A curve as a line of letters, each the mean of its part; ``top`` is the full height."""
    heights = [float(v) if is_number(v) else 0.0 for v in values]
    count = min(letters, len(heights))
    ends = [k * len(heights) // count for k in range(count + 1)] if count else []
    means = [sum(heights[a:b]) / (b - a) for a, b in pairwise(ends)]
    most = len(STEPS) - 1
    return "".join(STEPS[min(max(round(most * m / (top or 1.0)), 0), most)] for m in means)


def moment(value: Any) -> str:
    """An ISO time for readers; anything else as it is."""
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return str(value)
    return f"{at.day} {at:%B %Y, %H:%M} {at.tzname() or ''}".strip()


def plain(tree: Any) -> Any:
    """The same facts in what JSON can hold: no NaN, no infinity, no numpy, only string keys."""
    if isinstance(tree, dict):
        return {str(k): plain(v) for k, v in tree.items()}
    if isinstance(tree, (list, tuple, set)):
        return [plain(v) for v in tree]
    if hasattr(tree, "tolist"):  # numpy scalars and arrays
        return plain(tree.tolist())
    if isinstance(tree, float):
        return tree if math.isfinite(tree) else None
    return tree if tree is None or isinstance(tree, (bool, int, str)) else str(tree)
