"""The scale of ratings: its ends, its levels, and the step between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nanwise.errors import DataError

#: with more different values than this, ratings are taken for a continuous quantity
MOST_LEVELS = 1000
#: steps are looked for among multiples of this
_FINEST = 1e-6


@dataclass(frozen=True)
class Scale:
    """Where ratings lie.

    Attributes
    ----------
    smallest, largest : float
        The ends. Predictions are clipped to them.
    step : float or None
        The largest number of which all differences between levels are multiples; None for a
        continuous scale or a single level.
    levels : tuple of float
        The different values, ascending; empty for a continuous scale.
    """

    smallest: float
    largest: float
    step: float | None = None
    levels: tuple[float, ...] = ()

    def __str__(self) -> str:
        steps = "" if self.step is None else f" in steps of {self.step:g}"
        return f"{self.smallest:g} to {self.largest:g}{steps}"

    def outside(self, values: np.ndarray) -> np.ndarray:
        """True where a value is beyond the ends or, if there is a step, between two levels."""
        slack = 1e-5 * max(abs(self.smallest), abs(self.largest), 1)
        wrong = (values < self.smallest - slack) | (values > self.largest + slack)
        if self.step is not None:
            steps = (values - self.smallest) / self.step
            wrong |= np.abs(steps - np.rint(steps)) * self.step > slack
        return wrong


def given_scale(scale: Scale | Sequence[float] | None) -> Scale | None:
    """The scale a caller asks for: a Scale, (smallest, largest), or the same with the step."""
    if scale is None or isinstance(scale, Scale):
        return scale
    ends = [float(x) for x in scale]
    if len(ends) not in (2, 3) or not all(map(math.isfinite, ends)) or ends[0] >= ends[1]:
        raise ValueError(
            f"scale must be (smallest, largest) or (smallest, largest, step), got {scale!r}"
        )
    if len(ends) == 2:
        return Scale(ends[0], ends[1])
    smallest, largest, step = ends
    n_steps = (largest - smallest) / step if step > 0 else 0
    if n_steps < 1 or abs(n_steps - round(n_steps)) > _FINEST:
        raise ValueError(
            f"the step must divide largest - smallest = {largest - smallest:g}, got {step:g}"
        )
    return Scale(smallest, largest, step, _neat(smallest + step * np.arange(round(n_steps) + 1)))


class Levels:
    """Collects the different ratings, piece by piece, as long as they are few."""

    def __init__(self) -> None:
        self._seen = np.empty(0, dtype=np.float32)
        self._few = True
        self._ends = (math.inf, -math.inf)

    def add(self, ratings: np.ndarray) -> None:
        """Take note of the values of one piece."""
        if not len(ratings):
            return
        low, high = self._ends
        self._ends = (min(low, float(ratings.min())), max(high, float(ratings.max())))
        if self._few:
            self._seen = np.union1d(self._seen, ratings)
            self._few = len(self._seen) <= MOST_LEVELS

    def scale(self, asked: Scale | None = None) -> Scale:
        """What was learnt; the ends of a scale that was asked for stand, as does its step."""
        if asked is not None and asked.step is not None:
            return asked
        low, high = _neat(self._ends)
        if asked is not None:
            low, high = asked.smallest, asked.largest
        levels = _neat(self._seen) if self._few else ()
        return Scale(low, high, _step(levels), levels)


def learn_scale(ratings: np.ndarray) -> Scale:
    """The scale of an array of ratings."""
    if not len(ratings):
        raise DataError("there are no ratings to learn a scale from")
    levels = Levels()
    levels.add(ratings.astype(np.float32, copy=False))
    return levels.scale()


def _neat(values: Sequence[float] | np.ndarray) -> tuple[float, ...]:
    """0.1 for float32's 0.10000000149: the shortest number that is the same in float32."""
    return tuple(float(str(x)) for x in np.asarray(values, dtype=np.float32))


def _step(levels: Sequence[float]) -> float | None:
    if len(levels) < 2:
        return None
    units = [round((level - levels[0]) / _FINEST) for level in levels]
    step = math.gcd(*units) * _FINEST
    # thirds written with two decimals and the like: a grid, but one that nobody meant
    if step * MOST_LEVELS < levels[-1] - levels[0]:
        return None
    return round(step, 6)
