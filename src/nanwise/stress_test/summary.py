"""From predictions at every share to drift, intervals and sparsity bias: arrays in, numbers out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student

LEVEL = 0.95
STEP = 0.1  # the slope is told per 10 percentage points of share observed


def drift(
    change: np.ndarray, share: np.ndarray, repeat_change: np.ndarray, level: float = LEVEL
) -> tuple[float, float, float]:
    """Slope of the mean prediction over the share observed, per 10 points, with its interval.

    Parameters
    ----------
    change : ndarray of shape (S, N)
        For every share and row: mean prediction over the repeats, minus the prediction at full
        information.
    share : ndarray of shape (S,)
        Share of values really left, averaged over rows.
    repeat_change : ndarray of shape (S, R)
        The same, averaged over rows instead of repeats; used when there is only one row.
    level : float
        Of the interval.

    Returns
    -------
    slope, low, high : float

    Notes
    -----
    Least squares is linear in the predictions, so the slope of the mean curve is the mean of the
    slopes of the single rows. These are independent of each other: rows were drawn independently,
    and so was what is hidden in them. Their standard deviation over sqrt(N) therefore covers both
    sources of chance, which rows happened to be in the table and which cells happened to be hidden,
    without counting the repeats of one row as so many rows. The predictions of one row at several
    shares are dependent, but only their one slope enters. With a single row the interval can only
    cover the hiding, and is taken over the repeats.
    """
    weight = _slope_weights(share)
    units = weight @ change if change.shape[1] > 1 else weight @ repeat_change
    slope = float(weight @ change.mean(axis=1))
    half = _half_width(units, level)
    return slope, slope - half, slope + half


def _slope_weights(share: np.ndarray) -> np.ndarray:
    centred = share - share.mean()
    square = float(centred @ centred)
    return STEP * centred / square if square > 0 else np.zeros_like(centred)


def _half_width(units: np.ndarray, level: float) -> float:
    if len(units) < 2:
        return 0.0
    quantile = student.ppf(0.5 + level / 2, len(units) - 1)
    return float(quantile * units.std(ddof=1) / np.sqrt(len(units)))


def sparsity_bias(mean: np.ndarray, full: np.ndarray) -> float:
    """Spread of the mean prediction over shares, in units of the spread over rows.

    ``(max - min of the mean curve) / (standard deviation over rows at full information)``: 1 means
    that the number of values observed moves the mean prediction as far as one typical row differs
    from another. 0 if nothing moves at all; infinite if the mean moves although all rows get the
    same prediction at full information.
    """
    spread, scale = float(np.ptp(mean)), float(full.std())
    tiny = 1e-12 * max(1.0, float(np.abs(full).max()))
    if spread <= tiny:
        return 0.0
    return spread / scale if scale > tiny else float("inf")


def output_facts(
    name: str,
    full: np.ndarray,
    rows: np.ndarray,
    repeats: np.ndarray,
    share: np.ndarray,
    level: float,
) -> dict[str, Any]:
    """Everything about one output.

    Parameters
    ----------
    name : str
    full : ndarray of shape (N,)
        Predictions at full information.
    rows : ndarray of shape (S, N)
        Mean over repeats.
    repeats : ndarray of shape (S, R)
        Mean over rows.
    share : ndarray of shape (S,)
    level : float
        Level of the intervals of this one output.
    """
    change, by_repeat = rows - full, repeats - full.mean()
    slope, low, high = drift(change, share, by_repeat, level)
    half = np.array(
        [_half_width(units, level) for units in (change if len(full) > 1 else by_repeat)]
    )
    mean = rows.mean(axis=1)
    return {
        "name": name,
        "mean": mean.tolist(),
        "standard_error": _standard_errors(rows, repeats).tolist(),
        "change": change.mean(axis=1).tolist(),
        "change_low": (change.mean(axis=1) - half).tolist(),
        "change_high": (change.mean(axis=1) + half).tolist(),
        "slope": slope,
        "slope_low": low,
        "slope_high": high,
        "sparsity_bias": sparsity_bias(mean, full),
        "full_mean": float(full.mean()),
        "full_sd": float(full.std()),
    }


def _standard_errors(rows: np.ndarray, repeats: np.ndarray) -> np.ndarray:
    units = rows if rows.shape[1] > 1 else repeats
    if units.shape[1] < 2:
        return np.zeros(len(units))
    return units.std(axis=1, ddof=1) / np.sqrt(units.shape[1])
