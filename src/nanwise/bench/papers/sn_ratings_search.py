"""The best number of one significant digit, found step by step from what was tried so far."""

from __future__ import annotations

import math
from collections.abc import Mapping

#: leading digits of the first, coarse steps; the fine ones are all digits from 1 to 9
COARSE = (1, 2, 5)
FINE = tuple(range(1, 10))


def next_to_try(losses: Mapping[float, float], centre: float, fine: bool = True) -> list[float]:
    """Numbers whose loss has to be known next; none when the search is over.

    Starting at ``centre``, whichever neighbour in 1, 2, 5, 10, 20, … is better is followed until
    both neighbours are worse, and then, if ``fine``, the same among all numbers of one significant
    digit.
    A tie ends a walk, so it also ends where the loss has become flat.

    Parameters
    ----------
    losses : mapping of float to float
        What is known; infinite for what cannot be used.
    centre : float
        Where to start.
    fine : bool, default=True
    """
    if not losses:
        return [centre, *neighbours(centre, COARSE)]
    if math.isinf(min(losses.values())):
        return []
    for digits in (COARSE, FINE) if fine else (COARSE,):
        around = neighbours(best_of(losses), digits)
        unknown = [value for value in around if value not in losses]
        if unknown:
            return unknown
    return []


def best_of(losses: Mapping[float, float]) -> float:
    """The number with the smallest loss; of equals the first that was tried."""
    return min(losses, key=losses.__getitem__)


def neighbours(value: float, digits: tuple[int, ...]) -> tuple[float, float]:
    """The next smaller and the next larger number with one of these leading digits."""
    digit, power = (int(part) for part in f"{value:.0e}".split("e"))
    below = [(d, power) for d in digits if d < digit] or [(digits[-1], power - 1)]
    above = [(d, power) for d in digits if d > digit] or [(digits[0], power + 1)]
    return _number(*below[-1]), _number(*above[0])


def _number(digit: int, power: int) -> float:
    # read from text, so that the same number is the same float however it was reached
    return float(f"{digit}e{power}")
