"""How numbers are written in reports, and which values count as numbers at all."""

from __future__ import annotations

import math
from typing import Any

NONE = "–"


def is_number(value: Any) -> bool:
    """True for a finite int or float; a bool is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value)


def number(value: Any, digits: int = 3) -> str:
    """So many decimals from 0.01 to 10,000, so many significant digits outside."""
    if not is_number(value):
        return NONE
    size = abs(value)
    if size == 0 or 0.01 <= size < 10_000:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}g}"


def signed(value: Any, digits: int = 3) -> str:
    """Like :func:`number`, with its sign, and a true minus."""
    if not is_number(value):
        return NONE
    text = number(abs(value), digits)
    return ("+" if value >= 0 else "−") + text


def percent(value: Any, digits: int = 0) -> str:
    """A share as a percentage; never 0 % or 100 % for something in between."""
    if not is_number(value):
        return NONE
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


def interval(low: Any, high: Any, digits: int = 3) -> str:
    """``low to high``, or nothing."""
    if not (is_number(low) and is_number(high)):
        return ""
    return f"{signless(low, digits)} to {signless(high, digits)}"


def signless(value: float, digits: int = 3) -> str:
    """Like :func:`number` with a true minus."""
    return number(value, digits).replace("-", "−")


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
