"""What a Gaussian vector says about its gaps: conditional means and draws.

With mean mu and covariance S, observed cells o, missing cells m and ``r = x_o - mu_o``,

    E[x_m | x_o] = mu_m + S_mo S_oo^-1 r = mu_m - K_mm^-1 K_mo r,    K = S^-1               (1)

The two forms need the inverse of a matrix as large as o or as m; each row takes the smaller one.

**Gaussian self-masking.** The density of x given x_o is multiplied by
``exp(-(x_j - c_j)^2 / (2 v_j))`` for every missing j, which adds ``1 / v_j`` to the diagonal of
K_mm and pulls towards ``c_j``:

    E[x_m | x_o, gaps] = mu_m - (K_mm + V_m^-1)^-1 (K_mo r - V_m^-1 (c_m - mu_m))           (2)

Where K cannot be trusted: the factor is also the likelihood of a value ``c_j`` observed with an
error of variance ``v_j``. So the first form of (1) holds with all columns observed, the missing
ones at ``c_j``, with ``v_j`` added to the diagonal of S.

**Draws.** If z is a draw of the whole vector, ``E[x | x_o] + z - E[z | z_o]`` has the conditional
distribution of x, so a draw needs nothing but conditional means.

**Singular covariances.** All is computed on the scale of correlations. If their matrix has
eigenvalues below ``FLOOR``, its diagonal is raised until it has not. A column of variance 0 is set
aside: it has its mean, and no influence on the others.
"""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from nanwise.gaussian.moments import (
    Moments,
    SelfMasking,
    check_masking,
    check_moments,
    lift,
    scales,
)
from nanwise.gaussian.patterns import solve, stacks
from nanwise.missing import Observed, observe, refuse_infinite

#: least eigenvalue of a correlation matrix that is worked with
FLOOR = 1e-10
#: the precision matrix is used where rounding errors in it stay far below the answer's scale
_WELL = 1e-6
#: rows worked on at a time, which keeps memory small
_ROWS = 1 << 15


def conditional_mean(X: Any, moments: Moments, masking: SelfMasking | None = None) -> np.ndarray:
    """Rows with their gaps filled by the expectation of the missing values.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        NaN is a gap. A row with nothing observed gets the mean.
    moments : Moments
        Mean and covariance of the complete rows.
    masking : SelfMasking, optional
        How values hide themselves. None: missing completely at random or at random (given what is
        observed), where the pattern says nothing about the values.

    Returns
    -------
    ndarray of shape (n, d)
        float64; observed cells as they came.
    """
    moments = check_moments(*moments)
    masking = check_masking(masking, len(moments.mean))
    values, observed = read_rows(X, len(moments.mean))
    guess = expectation(values, observed, moments, masking)
    return np.where(observed, values, guess)


def conditional_sample(
    X: Any, moments: Moments, n_draws: int, rng: Any, widen: np.ndarray | None = None
) -> np.ndarray:
    """Rows with their gaps filled by draws from their conditional distribution.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        NaN is a gap.
    moments : Moments
        Mean and covariance of the complete rows.
    n_draws : int
        Number of copies.
    rng : Generator or RandomState
        Source of random numbers.
    widen : ndarray of shape (d,), optional
        What the noise of each column is multiplied by, for moments that are estimates
        (:class:`nanwise.gaussian.em.GaussianFit`).

    Returns
    -------
    ndarray of shape (n_draws, n, d)
        float64; observed cells as they came.
    """
    if not isinstance(n_draws, Integral) or n_draws < 0:
        raise ValueError(f"the number of draws must be 0 or a larger whole number, got {n_draws!r}")
    n_draws = int(n_draws)
    moments = check_moments(*moments)
    values, observed = read_rows(X, len(moments.mean))
    draw = _draw(moments, (n_draws, *values.shape), rng)
    there = np.broadcast_to(observed, draw.shape)
    # E is affine in the observed values: E[x] - E[z] is E of the difference, less the mean.
    shift = np.where(there, values - draw + moments.mean, 0.0).reshape(-1, len(moments.mean))
    guess = expectation(shift, there.reshape(shift.shape), moments).reshape(draw.shape)
    drawn = guess + draw - moments.mean
    if widen is not None:
        centre = expectation(values, observed, moments)
        drawn = centre + widen * (drawn - centre)
    return np.where(there, values, drawn)


def expectation(
    values: np.ndarray,
    observed: np.ndarray,
    moments: Moments,
    masking: SelfMasking | None = None,
) -> np.ndarray:
    """Conditional means of all cells, for checked input; only those in gaps mean anything.

    ``values`` must be finite where ``observed``; what stands elsewhere is not looked at.
    """
    scale = scales(moments.cov)
    constant = np.diag(moments.cov) == 0
    cov = lift(moments.cov / scale / scale[:, None] + np.diag(constant.astype(float)), FLOOR)
    precision = np.linalg.inv(cov) if np.linalg.eigvalsh(cov)[0] >= _WELL else None
    if masking is None:
        find: Any = partial(_at_random, cov=cov, precision=precision)
    else:
        centre = (masking.centre - moments.mean) / scale
        variance = np.where(constant, np.inf, masking.variance / scale**2)
        known: Any = {"centre": centre, "variance": variance}
        if precision is None:
            find = partial(_self_masked_singular, cov=cov, **known)
        else:
            find = partial(_self_masked, precision=precision, **known)
    guess = np.empty(values.shape)
    for part in (slice(i, i + _ROWS) for i in range(0, len(values), _ROWS)):
        guess[part] = find((values[part] - moments.mean) / scale, observed[part])
    return moments.mean + scale * guess


def read_rows(X: Any, n_features: int) -> Observed:
    """Rows in float64 as values and mask, or a ValueError."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(
            f"X must have shape (n, {n_features}), one column for each entry of the mean; "
            f"got {X.shape}"
        )
    refuse_infinite(X)
    return observe(X)


def _at_random(
    values: np.ndarray, observed: np.ndarray, cov: np.ndarray, precision: np.ndarray | None
) -> np.ndarray:
    """Equation (1) for rows with mean 0; without a precision matrix only its first form."""
    values = np.where(observed, values, 0.0)
    by_missing = few_gaps(observed) & (precision is not None)
    guess = np.empty(values.shape)
    rows = np.flatnonzero(~by_missing)
    guess[rows] = solve(stacks(observed[rows]), cov, values[rows]).solution @ cov
    if precision is not None:
        rows = np.flatnonzero(by_missing)
        pull = values[rows] @ precision
        guess[rows] = values[rows] - solve(stacks(~observed[rows]), precision, pull).solution
    return guess


def _self_masked(
    values: np.ndarray,
    observed: np.ndarray,
    precision: np.ndarray,
    centre: np.ndarray,
    variance: np.ndarray,
) -> np.ndarray:
    """Equation (2) for rows with mean 0."""
    values = np.where(observed, values, 0.0)
    narrow = 1 / variance
    pull = values @ precision - narrow * centre
    extra = np.where(observed, 0.0, narrow)
    return values - solve(stacks(~observed), precision, pull, diagonal=extra).solution


def _self_masked_singular(
    values: np.ndarray,
    observed: np.ndarray,
    cov: np.ndarray,
    centre: np.ndarray,
    variance: np.ndarray,
) -> np.ndarray:
    """Equation (1) with the centres as uncertain values of the missing cells."""
    used = observed | np.isfinite(variance)
    known = np.where(observed, values, np.where(used, centre, 0.0))
    error = np.where(used & ~observed, variance, 0.0)
    return solve(stacks(used, observed), cov, known, diagonal=error).solution @ cov


def few_gaps(observed: np.ndarray) -> np.ndarray:
    """Rows in which fewer cells are missing than observed."""
    return 2 * observed.sum(axis=1) > observed.shape[1]


def _draw(moments: Moments, shape: tuple[int, ...], rng: Any) -> np.ndarray:
    """Draws of the whole vector; works for singular covariances."""
    power, axes = np.linalg.eigh(moments.cov)
    root = axes * np.sqrt(np.maximum(power, 0.0))
    return moments.mean + rng.standard_normal(shape) @ root.T
