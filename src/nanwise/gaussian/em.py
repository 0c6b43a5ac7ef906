"""Mean and covariance by maximum likelihood from rows with gaps (EM).

Columns are brought to mean 0 and variance 1 first; columns that are constant or never observed are
set aside. With C_i the expectation of row i (less the mean) given what is observed, and V the sum
over rows of the conditional covariances, one step is

    mu' = mu + delta,   S' = (1 - lambda) (sum_i w_i C_i C_i' / n - delta delta' + V / n) + lambda I

with ``delta = sum_i w_i C_i / n`` and n the sum of the weights. A row with few observed cells gives
C and V through the inverse of ``S_oo``, a row with few gaps through that of ``K_mm``, ``K = S^-1``
(see :mod:`nanwise.gaussian.conditional`), so neither end is expensive.

**Shrinkage.** lambda is the share of an inverse Wishart prior around independent columns of
variance 1. What never decreases is then the log-likelihood less ``nu/2 (log det S + tr S^-1)``,
where ``nu = n lambda / (1 - lambda)``; with lambda = 0 the log-likelihood itself.

**Fewer steps.** Two steps are extrapolated (SQUAREM; Varadhan and Roland, 2008); the point reached
is kept only if it is not worse than the last one.
"""

from __future__ import annotations

import math
import warnings
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from nanwise.errors import GapWarning
from nanwise.gaussian.conditional import few_gaps, read_rows
from nanwise.gaussian.em_rows import (
    Rows,
    column_moments,
    compress,
    default_shrinkage,
    first_guess,
    rows_that_count,
)
from nanwise.gaussian.moments import Moments, lift
from nanwise.gaussian.patterns import Stack, solve, stacks

#: least eigenvalue of the correlation matrix of an answer. Below its square, rounding errors of the
#: sums in a step would be larger than the eigenvalue.
FLOOR = 1e-7
#: relative loss of log-likelihood that is put down to rounding
_ROUNDING = 1e-11


class GaussianFit(NamedTuple):
    """What :func:`fit_gaussian` found.

    Attributes
    ----------
    moments : Moments
    log_likelihood : list of float
        What is maximised (see the module's text), per row and in the units of the data, before each
        step; never decreasing.
    n_iter : int
        Number of steps.
    converged : bool
    widen : ndarray of shape (d,)
        What the noise of draws is multiplied by, column by column, to make up for few rows. The
        variance left over by d parameters from n values comes out too small by d / n, and what they
        predict is off by as much again.
    """

    moments: Moments
    log_likelihood: list[float]
    n_iter: int
    converged: bool
    widen: np.ndarray


def fit_gaussian(
    X: Any,
    *,
    weight: Any = None,
    shrinkage: float | None = None,
    tol: float = 1e-4,
    max_iter: int = 500,
) -> GaussianFit:
    """Mean and covariance of the complete rows, from rows with gaps.

    Right if values are missing completely at random or at random (given what is observed).

    Parameters
    ----------
    X : ndarray of shape (n, d)
        NaN is a gap. A row with nothing observed says nothing and is left out. A constant column
        keeps its value as mean, with variance and covariances 0; so does one observed once. A
        column never observed gets mean 0, variance 1 and no correlation, with a warning.
    weight : ndarray of shape (n,), optional
        A row of weight w counts as w equal rows.
    shrinkage : float of at least 0 and below 1, optional
        Share of a prior of independent columns with their available-case variances. 0 is maximum
        likelihood; where that has no answer (fewer rows than columns, columns that depend on each
        other) the eigenvalues of the correlation matrix end at 1e-7. None: ``1 / (1 + (n / d)^2)``
        with n the mean (weighted) number of values in a column, which matters for few rows only.
    tol : float
        The search ends when one step changes no standardised mean or covariance by more, and gains
        less of log-likelihood per row.
    max_iter : int
        Most steps.

    Returns
    -------
    GaussianFit

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise.gaussian.em import fit_gaussian
    >>> X = np.array([[1.0, 2.0], [2.0, 4.1], [3.0, 5.9], [4.0, np.nan]])
    >>> fit_gaussian(X, shrinkage=0).moments.mean.round(1).tolist()
    [2.5, 5.0]
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not X.shape[1]:
        raise ValueError(f"X must have shape (n, d) with d of at least 1, got {X.shape}")
    values, observed = read_rows(X, X.shape[1])
    empty = np.flatnonzero(~observed.any(axis=0))
    if len(empty):
        warnings.warn(
            f"nothing was observed in column {', '.join(map(str, empty[:5]))}"
            f"{' and others' if len(empty) > 5 else ''}: its mean is taken as 0, its variance as 1",
            GapWarning,
            stacklevel=2,
        )
    return fit_rows(values, observed, weight, shrinkage=shrinkage, tol=tol, max_iter=max_iter)


def fit_rows(
    values: np.ndarray,
    observed: np.ndarray,
    weight: Any = None,
    *,
    shrinkage: float | None = None,
    tol: float = 1e-4,
    max_iter: int = 500,
) -> GaussianFit:
    """:func:`fit_gaussian` for rows that are split already and without a warning."""
    _check_settings(shrinkage, tol, max_iter)
    values, observed, weight = rows_that_count(values, observed, weight)
    mean, spread = column_moments(values, observed, weight)
    varies = spread > 0
    moments = Moments(mean, np.diag(np.where(observed.any(axis=0), 0.0, 1.0)))
    widen = np.ones(len(mean))
    if not varies.any():
        return GaussianFit(moments, [], 0, True, widen)
    scaled = (values[:, varies] - mean[varies]) / spread[varies]
    there = observed[:, varies]
    if shrinkage is None:
        shrinkage = default_shrinkage(there, weight)
    search = _Search(compress(scaled, there, weight), shrinkage)
    start = first_guess(scaled, there, weight)
    point, history, n_iter, converged = search.run(start, tol, max_iter)
    moments.mean[varies] += spread[varies] * point.mean
    moments.cov[np.ix_(varies, varies)] = point.cov * spread[varies] * spread[varies][:, None]
    unit = float(weight @ (there @ np.log(spread[varies]))) / search.total
    widen[varies] = _widening(weight @ there, point.cov, shrinkage)
    return GaussianFit(moments, [h - unit for h in history], n_iter, converged, widen)


def _widening(n_values: np.ndarray, cov: np.ndarray, shrinkage: float) -> np.ndarray:
    """See :class:`GaussianFit`; at most twice the variance, less the more the prior says."""
    n_parameters = int((np.linalg.eigvalsh(cov) > 10 * FLOOR).sum())
    factor = 1 / (1 - np.minimum(2 * n_parameters / np.maximum(n_values, 1), 0.5))
    return np.sqrt(1 + (1 - shrinkage) * (factor - 1))


class _Search:
    """EM steps from given rows."""

    def __init__(self, rows: Rows, shrinkage: float) -> None:
        rich = few_gaps(rows.observed)
        self.rich = Rows(*(part[rich] for part in rows))
        self.poor = Rows(*(part[~rich] for part in rows))
        self.gaps: list[Stack] = stacks(~self.rich.observed)
        self.seen: list[Stack] = stacks(self.poor.observed)
        self.total = float(rows.one @ rows.one)
        self.n_values = float(rows.one**2 @ rows.observed.sum(axis=1))
        self.shrinkage = shrinkage

    def step(self, point: Moments) -> tuple[Moments, float]:
        """The next point, and the value of what is maximised at this one."""
        precision = np.linalg.inv(point.cov)
        log_det = float(np.linalg.slogdet(point.cov)[1])
        poor, poor_spread, poor_fit = self._by_values(point)
        rich, rich_spread, rich_fit = self._by_gaps(point, precision, log_det)
        delta = (self.poor.one @ poor + self.rich.one @ rich) / self.total
        cov = (poor.T @ poor + rich.T @ rich + poor_spread + rich_spread) / self.total
        cov += self.shrinkage * np.eye(len(cov)) - self.shrinkage * cov
        cov -= (1 - self.shrinkage) * np.outer(delta, delta)
        fit = (poor_fit + rich_fit) / self.total
        prior = self.shrinkage / (1 - self.shrinkage) * (log_det + np.trace(precision))
        constant = self.n_values / self.total * math.log(2 * math.pi)
        return Moments(point.mean + delta, lift((cov + cov.T) / 2, FLOOR)), -0.5 * (
            fit + prior + constant
        )

    def _by_values(self, point: Moments) -> tuple[np.ndarray, np.ndarray, float]:
        """Rows with few values: expectations, conditional covariances, -2 log-likelihood."""
        rows = self.poor
        rest = np.where(rows.observed, rows.values - rows.one[:, None] * point.mean, 0.0)
        weight = rows.one**2
        found = solve(self.seen, point.cov, rest, weight=weight)
        spread = weight.sum() * point.cov - point.cov @ found.inverse @ point.cov
        fit = found.log_det + float(np.vdot(rest, found.solution))
        return found.solution @ point.cov, spread, fit

    def _by_gaps(
        self, point: Moments, precision: np.ndarray, log_det: float
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The same for rows with few gaps."""
        rows = self.rich
        rest = np.where(rows.observed, rows.values - rows.one[:, None] * point.mean, 0.0)
        weight = rows.one**2
        pull = rest @ precision
        found = solve(self.gaps, precision, pull, weight=weight)
        full = rest - found.solution
        fit = weight.sum() * log_det + found.log_det + float(np.vdot(full, pull))
        return full, found.inverse, fit

    def run(
        self, point: Moments, tol: float, max_iter: int
    ) -> tuple[Moments, list[float], int, bool]:
        """Steps and extrapolations until both parameters and log-likelihood rest."""
        history: list[float] = []
        trail, best, fallback, n_iter = [point], point, None, 0
        while n_iter < max_iter:
            following, value = self.step(trail[-1])
            n_iter += 1
            if history and value < history[-1] - _ROUNDING * (1 + abs(value)):
                if fallback is None:  # only the floor under the eigenvalues can do that
                    return best, history, n_iter, True
                trail, fallback = [fallback], None
                continue
            history.append(value)
            best, fallback = trail[-1], None
            if _rests(best, following, history, tol):
                return following, history, n_iter, True
            trail.append(following)
            if len(trail) == 3:
                ahead = _extrapolate(*trail)
                fallback = None if ahead is following else following
                trail = [ahead]
        return trail[-1] if fallback is None else fallback, history, n_iter, False


def _rests(old: Moments, new: Moments, history: list[float], tol: float) -> bool:
    change = max(float(np.abs(b - a).max()) for a, b in zip(old, new, strict=True))
    return change <= tol and len(history) > 1 and history[-1] - history[-2] <= tol


def _extrapolate(first: Moments, second: Moments, third: Moments) -> Moments:
    """Beyond the third of three successive points, as far as the covariance stays definite."""
    step = Moments(second.mean - first.mean, second.cov - first.cov)
    bend = Moments(third.mean - second.mean - step.mean, third.cov - second.cov - step.cov)
    if not _norm(bend) > 0:
        return third
    length = _norm(step) / _norm(bend)
    while length > 1:
        mean, cov = (
            a + 2 * length * b + length**2 * c for a, b, c in zip(first, step, bend, strict=True)
        )
        if np.linalg.eigvalsh(cov)[0] > FLOOR:
            return Moments(mean, cov)
        length = (length + 1) / 2 if length > 1.1 else 1.0
    return third


def _norm(moments: Moments) -> float:
    return math.hypot(*(float(np.linalg.norm(part)) for part in moments))


def _check_settings(shrinkage: Any, tol: Any, max_iter: Any) -> None:
    for name, value in (("shrinkage", shrinkage), ("tol", tol), ("max_iter", max_iter)):
        if not isinstance(value, Real) and not (name == "shrinkage" and value is None):
            raise TypeError(f"{name} must be a number, got {value!r}")
    if shrinkage is not None and not 0 <= shrinkage < 1:
        raise ValueError(f"shrinkage must be at least 0 and below 1, or None; got {shrinkage!r}")
    if not tol > 0:
        raise ValueError(f"tol must be above 0, got {tol!r}")
    if not max_iter >= 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter!r}")
