"""Several pooled numbers tested at once (Li, Raghunathan and Rubin, 1991; Reiter, 2007).

With p numbers Q and U, B the matrices of Rubin's rules, the increase of the variance by the gaps is
taken to be the same for all:

    r = (1 + 1/m) tr(B U^-1) / p,    F = (Q - Q0)' U^-1 (Q - Q0) / (p (1 + r))

F has about an F distribution with p and v degrees of freedom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats


class WaldTest(NamedTuple):
    """Result of a joint test.

    Attributes
    ----------
    statistic : float
        F.
    df : tuple of float
        Degrees of freedom of F.
    p_value : float
    increase : float
        Mean relative increase of the variance by the gaps.
    """

    statistic: float
    df: tuple[float, float]
    p_value: float
    increase: float


def wald_test(
    difference: np.ndarray,
    within: np.ndarray,
    between: np.ndarray,
    m: int,
    df_complete: float = np.inf,
) -> WaldTest:
    """Test that all of ``difference`` (p,) is 0, given matrices (p, p) from m completed tables."""
    p = len(difference)
    try:
        spread = np.linalg.solve(within, between)
        distance = difference @ np.linalg.solve(within, difference)
    except np.linalg.LinAlgError:
        raise ValueError(
            "the mean covariance matrix is singular: what is tested repeats itself; leave out "
            "combinations that follow from others"
        ) from None
    increase = float((1 + 1 / m) * np.trace(spread) / p)
    statistic = float(distance / (p * (1 + increase)))
    below = _denominator(increase, p, m, df_complete)
    return WaldTest(statistic, (float(p), below), _tail(statistic, p, below), increase)


def _tail(statistic: float, p: int, below: float) -> float:
    if np.isinf(below):
        return float(stats.chi2.sf(p * statistic, p))
    return float(stats.f.sf(statistic, p, below))


def _denominator(r: float, p: int, m: int, df_complete: float) -> float:
    """Degrees of freedom below the line."""
    t = p * (m - 1)
    few = p == 1 or t <= 4
    if r == 0:
        large = np.inf
    elif few:
        large = t * (1 + 1 / p) * (1 + 1 / r) ** 2 / 2
    else:
        large = 4 + (t - 4) * (1 + (1 - 2 / t) / r) ** 2
    expanded = None if few or np.isinf(df_complete) else _reiter(r, t, df_complete)
    return _with_table(large, r, df_complete) if expanded is None else expanded


def _with_table(large: float, r: float, df_complete: float) -> float:
    """As Barnard and Rubin have it for one number."""
    if np.isinf(df_complete):
        return large
    there = df_complete * (df_complete + 1) / (df_complete + 3) / (1 + r)
    return there / (1 + there / large)


def _reiter(r: float, t: int, df_complete: float) -> float | None:
    """Reiter (2007), equations 1 and 2; None where the table is too small for the expansion."""
    a = r * t / (t - 2)
    whole = df_complete * (df_complete + 1) / (df_complete + 3)
    b, c = whole - 2 * (1 + a), whole - 4 * (1 + a)
    if c <= 0:
        return None
    terms = (
        b / ((1 + a) ** 2 * c)
        + 8 * b / ((1 + a) * c**2)
        + 4 / ((1 + a) * c)
        + 4 / (b * c)
        + 16 * b / c**3
        + 8 / c**2
    )
    return 4 + 1 / (1 / c + a**2 * terms / (t - 4))
