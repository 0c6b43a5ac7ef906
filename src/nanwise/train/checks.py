"""Checks of single settings; the message names the setting, what it may be and what came."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np


def whole(name: str, value: Any, optional: bool = False, *, least: int = 1) -> None:
    """Refuse anything but a whole number of at least ``least`` (or None, if ``optional``)."""
    if optional and value is None:
        return
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number{_or_none(optional)}, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")


def number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
    optional: bool = False,
) -> None:
    """Refuse anything but a number within the bounds (or None, if ``optional``)."""
    if optional and value is None:
        return
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number{_or_none(optional)}, got {value!r}")
    if not (above < float(value) < below and float(value) >= least):
        low = f"above {above:g}" if above > -math.inf else f"at least {least:g}"
        high = f" and below {below:g}" if below < math.inf else " and finite"
        raise ValueError(f"{name} must be {low}{high}, got {value!r}")


def one_of(name: str, value: Any, allowed: Iterable[Any]) -> None:
    """Refuse anything but one of some strings (and None, if it is among them)."""
    allowed = tuple(allowed)
    if not (value is None or isinstance(value, str)) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def flag(name: str, value: Any) -> None:
    """Refuse anything but True and False; a text such as "false" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def _or_none(optional: bool) -> str:
    return " or None" if optional else ""
