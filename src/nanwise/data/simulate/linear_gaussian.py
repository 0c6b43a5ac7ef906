"""Gaussian columns with gaps and a target that is a function of a linear score."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nanwise import missing
from nanwise.data.simulate import mechanisms
from nanwise.data.simulate.targets import TARGETS, Target
from nanwise.gaussian.moments import Moments, SelfMasking

MECHANISMS = ("mcar", "mar", "gaussian_self_masking", "probit_self_masking")

Hider = Callable[[np.ndarray, np.random.RandomState], np.ndarray]


@dataclass(frozen=True)
class Simulation:
    """A simulated table and everything it was made from.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Features, NaN in gaps.
    y : ndarray of shape (n,)
        ``target.value(intercept + complete @ coef)`` plus noise.
    complete : ndarray of shape (n, d)
        Features before cells were hidden.
    moments : Moments
        Mean and covariance of the features.
    coef, intercept : ndarray of shape (d,), float
        Of the linear score.
    target : Target
        What the target does with the score.
    mechanism : str
        How cells were hidden.
    masking : SelfMasking or None
        Of Gaussian self-masking, the only one of the mechanisms of which the best predictor has
        to know.
    noise_variance : tuple of float
        Variance of the noise in each appended part of the rows.
    """

    X: np.ndarray
    y: np.ndarray
    complete: np.ndarray
    moments: Moments
    coef: np.ndarray
    intercept: float
    target: Target
    mechanism: str
    masking: SelfMasking | None
    noise_variance: tuple[float, ...]


def linear_gaussian(
    n: int,
    d: int = 10,
    mechanism: str = "mcar",
    *,
    share: float = 0.5,
    target: str = "linear",
    latent: float = 0.5,
    snr: float = 10.0,
    drivers: float = 0.1,
    k: float = 2.0,
    slope: float = 0.5,
    n_sizes: Sequence[int] | None = None,
    random_state: Any = 0,
) -> Simulation:
    r"""Rows of the simulated data of NeuMiss (Le Morvan et al., NeurIPS 2020).

    ``x ~ N(μ, U Uᵀ + diag(ε))`` with U (d, ⌊latent · d⌋) and μ standard normal and ε uniform in
    (0.01, 0.1); ``y = 1 + Σ x_j + noise``; then cells are hidden. The defaults are the published
    parameters, and an integer ``random_state`` gives the rows that the authors' public code draws
    with it.

    Parameters
    ----------
    n, d : int
        Rows and columns.
    mechanism : str, default="mcar"
        ``mcar``, ``mar`` (logistic in columns without gaps), ``gaussian_self_masking`` or
        ``probit_self_masking``; :mod:`nanwise.data.simulate.mechanisms` has the formulas.
    share : float, default=0.5
        Expected share of gaps in a column that has gaps.
    target : str, default="linear"
        Or ``bowl``, ``wave``, ``break`` of the follow-up paper of 2021, see
        :mod:`nanwise.data.simulate.targets`. For these the coefficients are equal and scaled such
        that the score has variance 1. The follow-up used d = 50 and ``latent`` 0.3 and 0.7.
    latent : float, default=0.5
        Number of factors per column: the fewer, the stronger the correlations.
    snr : float, default=10.0
        Variance of the signal over that of the noise. For the linear target under ``mcar`` and
        ``mar`` the variance of the signal is the true one, else that of the simulated rows.
    drivers : float, default=0.1
        Share of columns without gaps, for ``mar``.
    k : float, default=2.0
        Centre of the Gaussian self-masking, in standard deviations above the mean.
    slope : float, default=0.5
        Of the probit self-masking.
    n_sizes : sequence of int, optional
        Numbers of rows, rising to ``n``, after which the authors scored their methods. Rows are
        drawn part by part: the ``mar`` mechanism is drawn anew for each part, and so is the
        empirical noise variance. By default all rows are one part.
    random_state : int, Generator, RandomState or None, default=0
        The integer seeds parameters and rows, each with a legacy ``RandomState`` of its own. What
        is no integer draws one.

    Returns
    -------
    Simulation

    Notes
    -----
    ``RandomState.multivariate_normal`` factors the covariance by singular values, whose signs are
    up to the linear algebra library. Where they differ, the same seed gives other rows of the same
    distribution.

    Examples
    --------
    >>> from nanwise.data.simulate import linear_gaussian
    >>> data = linear_gaussian(1000, d=4, mechanism="gaussian_self_masking")
    >>> data.X.shape, data.y.shape
    ((1000, 4), (1000,))
    """
    _check(n, d, mechanism, share, target, latent, snr, slope)
    _check_finite(drivers=drivers, k=k)
    sizes = _parts(n, n_sizes)
    seed = seed_of(random_state)
    moments = _moments(d, latent, np.random.RandomState(seed))
    coef = np.ones(d) if target == "linear" else np.full(d, 1 / math.sqrt(moments.cov.sum()))
    masking, hide = _mechanism(mechanism, moments, share, drivers, k, slope)
    population = target == "linear" and mechanism in ("mcar", "mar")
    known = float(coef @ moments.cov @ coef) / snr if population else None
    rng = np.random.RandomState(seed)
    parts = [_rows(m, moments, coef, TARGETS[target], known, snr, hide, rng) for m in sizes]
    complete, y, held, noise = zip(*parts, strict=True)
    values = np.concatenate(complete)
    return Simulation(
        X=missing.hide(values, np.concatenate(held)),
        y=np.concatenate(y),
        complete=values,
        moments=moments,
        coef=coef,
        intercept=1.0,
        target=TARGETS[target],
        mechanism=mechanism,
        masking=masking,
        noise_variance=noise,
    )


def _rows(
    n: int,
    moments: Moments,
    coef: np.ndarray,
    target: Target,
    noise_variance: float | None,
    snr: float,
    hide: Hider,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """One part of the rows, drawn in the order features, noise, gaps."""
    X = rng.multivariate_normal(moments.mean, moments.cov, size=n, check_valid="raise")
    signal = target.value(1.0 + X.dot(coef))
    if noise_variance is None:
        noise_variance = float(np.mean((signal - signal.mean()) ** 2)) / snr
    noise = rng.normal(loc=0, scale=math.sqrt(noise_variance), size=n)
    return X, signal + noise, hide(X, rng), noise_variance


def _moments(d: int, latent: float, rng: np.random.RandomState) -> Moments:
    factors = rng.randn(d, int(latent * d))
    cov = factors.dot(factors.T) + np.diag(rng.uniform(low=0.01, high=0.1, size=d))
    return Moments(rng.randn(d), cov)


def _mechanism(
    name: str, moments: Moments, share: float, drivers: float, k: float, slope: float
) -> tuple[SelfMasking | None, Hider]:
    if name == "mcar":
        return None, lambda X, rng: mechanisms.mcar(X, share, rng)
    if name == "mar":
        return None, lambda X, rng: mechanisms.mar_logistic(X, share, rng, drivers)
    if name == "gaussian_self_masking":
        masking = mechanisms.self_masking_for(moments, share, k)
        return masking, lambda X, rng: mechanisms.gaussian_self_masking(X, masking, rng)
    threshold = mechanisms.probit_threshold(moments, share, slope)
    return None, lambda X, rng: mechanisms.probit_self_masking(X, slope, threshold, rng)


def _parts(n: int, n_sizes: Sequence[int] | None) -> list[int]:
    """Numbers of rows of the parts."""
    if n_sizes is None:
        return [n]
    sizes = [int(size) for size in n_sizes]
    parts = np.diff([0, *sizes])
    if not sizes or sizes[-1] != n or (parts < 1).any():
        raise ValueError(f"n_sizes must rise from at least 1 to n = {n}, got {list(n_sizes)}")
    return parts.tolist()


def seed_of(random_state: Any) -> int:
    """The integer itself, or one that is drawn from what is none."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(np.random.default_rng(random_state).integers(2**31 - 1))


def _check_finite(**settings: float) -> None:
    for name, value in settings.items():
        if not math.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value}")


def _check(
    n: int,
    d: int,
    mechanism: str,
    share: float,
    target: str,
    latent: float,
    snr: float,
    slope: float,
) -> None:
    for name, value in (("n", n), ("d", d)):
        if value < 1 or int(value) != value:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value}")
    if mechanism not in MECHANISMS:
        raise ValueError(f"mechanism must be one of {MECHANISMS}, got {mechanism!r}")
    if target not in TARGETS:
        raise ValueError(f"target must be one of {tuple(TARGETS)}, got {target!r}")
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    if not 0 <= latent <= 1:
        raise ValueError(f"latent must lie in [0, 1], got {latent}")
    for name, number in (("snr", snr), ("slope", slope)):
        if not number > 0:
            raise ValueError(f"{name} must be positive, got {number}")
