"""Which cells are missing: the four mechanisms of NeuMiss, on any complete table.

Each function returns a boolean (N, D), True for a cell to hide, and draws from a legacy numpy
``RandomState`` in the order of the authors' public code, so that their data come out again.
:func:`nanwise.data.ampute.ampute` hides cells of frames and of tables that have gaps already.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import bisect, brentq, fsolve
from scipy.special import expit, logit, ndtr, ndtri

from nanwise.gaussian.moments import Moments, SelfMasking

#: How far the logistic curve of a MAR column lies from a step: 1 / slope per standard deviation.
STEEPNESS = (0.1, 0.5)


def mcar(X: np.ndarray, share: float, rng: np.random.RandomState) -> np.ndarray:
    """Every cell with probability ``share``, whatever the values."""
    return rng.random_sample(X.shape) < share


def mar_logistic(
    X: np.ndarray, share: float, rng: np.random.RandomState, drivers: float = 0.1
) -> np.ndarray:
    """Missing at random: some columns stay whole and decide about the others.

    ``max(⌊drivers · D⌋, 1)`` columns are drawn that keep every value, ``x_o``. Every other column j
    is hidden with probability ``s(x_o @ w_j + b_j)``, s the logistic function: w_j has a random
    direction and is scaled such that ``x_o @ w_j`` has the standard deviation 1 / steepness, which
    is uniform in ``STEEPNESS``; b_j makes the mean probability ``share``.
    """
    n, d = X.shape
    n_drivers = max(int(drivers * d), 1)
    if n_drivers >= d:
        raise ValueError(
            f"mar needs a column that is hidden beside those that decide; got {d} columns, of "
            f"which {n_drivers} decide. Give more columns or a smaller drivers={drivers}"
        )
    deciding = rng.choice(d, n_drivers, replace=False)
    others = np.setdiff1d(np.arange(d), deciding)
    weights = rng.randn(n_drivers, len(others))
    steepness = rng.uniform(*STEEPNESS, size=len(others))
    weights /= steepness * _spread(X[:, deciding], weights)
    slope = X[:, deciding] @ weights
    level = np.array([_level(column, share) for column in slope.T])
    held = np.zeros((n, d), dtype=bool)
    held[:, others] = rng.random_sample(slope.shape) < expit(slope + level)
    return held


def gaussian_self_masking(
    X: np.ndarray, masking: SelfMasking, rng: np.random.RandomState
) -> np.ndarray:
    """A cell x of column j with probability ``exp(-(x - centre_j)² / (2 variance_j))``."""
    return _bernoulli(np.exp(-0.5 * (X - masking.centre) ** 2 / masking.variance), rng)


def probit_self_masking(
    X: np.ndarray, slope: float, threshold: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """A cell x of column j with probability ``Φ(slope · x - threshold_j)``."""
    return _bernoulli(ndtr(slope * X - threshold), rng)


def self_masking_for(moments: Moments, share: float, k: float = 2.0) -> SelfMasking:
    """Gaussian self-masking centred k standard deviations above the mean.

    The variance is ``t`` times that of the column, with t such that a normal column is hidden with
    probability ``share``: ``√(t / (1 + t)) · exp(-k² / (2 (1 + t))) = share``. The bisection stops
    at a width of 1e-3, as in the authors' code, so the share is met to about 1e-4 only.
    """
    variance = np.diag(moments.cov)
    centre = moments.mean + k * np.sqrt(variance)
    return SelfMasking(centre, _relative_variance(share, k) * variance)


def probit_threshold(moments: Moments, share: float, slope: float) -> np.ndarray:
    """Threshold of each column with which a normal column is hidden with probability ``share``."""
    spread = np.sqrt(1 / slope**2 + np.diag(moments.cov))
    return slope * (moments.mean - ndtri(share) * spread)


def _relative_variance(share: float, k: float) -> float:
    least = share**2 / (1 - share**2)  # k = 0

    def excess(t: float) -> float:
        return -2 * (1 + t) * math.log(share * math.sqrt(1 / t + 1)) - k**2

    if k == 0:
        return least
    high = least
    while excess(high) < 0:
        high += 1
    return bisect(excess, high - 1, high, xtol=1e-3)


def _spread(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Standard deviation of each ``X @ w``; 1 where nothing varies."""
    centred = X - X.mean(axis=0)
    cov = centred.T @ centred / len(X)
    variance = np.einsum("ij,ik,kj->j", weights, cov, weights)
    return np.sqrt(np.where(variance > 0, variance, 1.0))


def _level(slope: np.ndarray, share: float) -> float:
    """Root b of ``mean(expit(slope + b)) = share``."""

    def excess(b: float) -> float:
        return float(expit(slope + b).mean() - share)

    # The authors' solver first, because the last digits of b decide single cells.
    (found,), _, converged, _ = fsolve(excess, x0=0, full_output=True)
    if converged == 1:
        return float(found)
    reach = np.abs(slope).max() + abs(logit(share)) + 1
    return brentq(excess, -reach, reach, xtol=1e-12)


def _bernoulli(probability: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Column after column, which is the order of the authors' draws."""
    return np.ascontiguousarray(rng.binomial(1, probability.T).T.astype(bool))
