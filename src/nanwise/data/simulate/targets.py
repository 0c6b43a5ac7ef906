r"""What a simulated target does with the linear score ``z = intercept + x @ coef``.

``linear`` is the target of NeuMiss (Le Morvan et al., NeurIPS 2020). The others come from "What's a
good imputation to predict with missing values?" (Le Morvan et al., NeurIPS 2021), whose score has
intercept 1 and variance 1; their constants are those of the authors' public code:

=======  ===========================================================================
linear   ``z``
bowl     ``(z - 1)²``
wave     ``(z - 1) + 2 Φ(c (z - 0.8)) - 4 Φ(c (z - 1)) + 2 Φ(c (z - 1.2))``
break    ``z + 3 · [z > 1]``
=======  ===========================================================================

with Φ the normal distribution function and ``c = 20 √(π/8)``.

If the score given what was observed is normal with mean m and variance v, as it is under MCAR, MAR
and Gaussian self-masking, the best prediction has a closed form, from ``E Φ(c (z - a)) = Φ((m - a)
/ √(1/c² + v))`` and ``P(z > 1) = Φ((m - 1) / √v)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

WAVE_SLOPE = 20 * math.sqrt(math.pi / 8)
WAVE_STEPS = ((2.0, 0.8), (-4.0, 1.0), (2.0, 1.2))
BREAK_AT = 1.0
BREAK_HEIGHT = 3.0


@dataclass(frozen=True)
class Target:
    """A function of the score, and its mean over a normal score.

    Attributes
    ----------
    name : str
    value : callable
        ``value(z)``, elementwise.
    mean : callable
        ``mean(m, v)``: expectation of ``value(z)`` for z normal with mean m and variance v >= 0.
    """

    name: str
    value: Callable[[np.ndarray], np.ndarray]
    mean: Callable[[np.ndarray, np.ndarray], np.ndarray]


def _linear(z: np.ndarray) -> np.ndarray:
    return z


def _linear_mean(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    return m


def _bowl(z: np.ndarray) -> np.ndarray:
    return (z - 1) ** 2


def _bowl_mean(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    return (m - 1) ** 2 + v


def _wave(z: np.ndarray) -> np.ndarray:
    return _wave_mean(z, np.zeros_like(z))


def _wave_mean(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    slope = 1 / np.sqrt(1 / WAVE_SLOPE**2 + v)
    return (m - 1) + sum(height * ndtr(slope * (m - at)) for height, at in WAVE_STEPS)


def _break(z: np.ndarray) -> np.ndarray:
    return z + BREAK_HEIGHT * (z > BREAK_AT)


def _break_mean(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    known = v == 0
    beyond = ndtr((m - BREAK_AT) / np.sqrt(np.where(known, 1.0, v)))
    return m + BREAK_HEIGHT * np.where(known, m > BREAK_AT, beyond)


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("linear", _linear, _linear_mean),
        Target("bowl", _bowl, _bowl_mean),
        Target("wave", _wave, _wave_mean),
        Target("break", _break, _break_mean),
    )
}
