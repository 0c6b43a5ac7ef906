"""Mixture of normal distributions with independent columns, learnt by EM from rows with gaps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nanwise.gaussian.em_rows import column_moments, rows_that_count

#: how far from the centre the components begin, in standard deviations of a column
_APART = 0.5


class Mixture(NamedTuple):
    r"""Parameters of :math:`\sum_k p_k N(\mu_k, diag(v_k))` over rows of D numbers.

    Attributes
    ----------
    weights : ndarray, shape (K,)
    means : ndarray, shape (K, D)
    variances : ndarray, shape (K, D)
        0 in a column that is constant.
    """

    weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray


class MixtureFit(NamedTuple):
    """What was learnt, and the objective before every step of EM.

    Attributes
    ----------
    parameters : Mixture
    history : list of float
        Log density of what is observed, in standardised columns, plus the prior, per unit of
        weight; never falls.
    """

    parameters: Mixture
    history: list[float]


def fit_mixture(
    values: np.ndarray,
    observed: np.ndarray,
    components: int = 3,
    weight: np.ndarray | None = None,
    *,
    steps: int = 30,
    prior: float = 0.01,
) -> MixtureFit:
    r"""EM for a mixture with diagonal covariances.

    Given the component the cells of a row are independent, so gaps simply drop out of every sum.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        What stands in gaps is ignored.
    observed : ndarray of bool, shape (N, D)
    components : int
        K.
    weight : ndarray, shape (N,), optional
        Counts a row several times; only ratios of weights matter.
    steps : int
        Number of steps; always all of them, so that rounding errors cannot decide when to stop.
    prior : float
        Each component learns as if a further share of rows of that size, with mean and variance of
        the whole column, belonged to it: nothing becomes certain that it hardly saw.

    Returns
    -------
    MixtureFit
        A column never observed has mean 0 and variance 1, the prior of a scaled feature. The start
        is drawn with a fixed seed and does not depend on the number or order of rows.
    """
    values, observed, weight = rows_that_count(values, observed, weight)
    centre, spread = column_moments(values, observed, weight)
    z = np.where(observed, (values - centre) / np.where(spread > 0, spread, 1.0), 0.0)
    cells = (observed.astype(np.float64), z)
    (weights, means, variances), history = fit_standard(
        *cells, components, weight, steps=steps, prior=prior
    )
    spread = np.where(observed.any(axis=0), spread, 1.0)
    fitted = Mixture(weights, centre + means * spread, variances * spread**2)
    return MixtureFit(fitted, history)


def fit_standard(
    present: Any,
    z: Any,
    components: int = 3,
    weight: np.ndarray | None = None,
    *,
    steps: int = 30,
    prior: float = 0.01,
) -> MixtureFit:
    """The same for columns whose mean is about 0 and whose variance is about 1.

    Parameters
    ----------
    present, z : ndarray or scipy.sparse.csr_array, shape (N, D)
        1 where there is a value, and the values; both 0 in gaps. Sparse ones never get dense.
    components, weight, steps, prior
        As in :func:`fit_mixture`.
    """
    if components < 1:
        raise ValueError(f"components must be at least 1, got {components!r}")
    share = np.ones(z.shape[0]) if weight is None else weight
    share = share / max(share.sum(), np.finfo(float).tiny)
    drawn = np.random.default_rng(0).normal(size=(components, z.shape[1]))
    now = Mixture(np.full(components, 1 / components), _APART * drawn, np.ones(drawn.shape))
    powers, history = (present, z, z * z), []
    for _ in range(steps):
        belongs, density = _posterior(powers, now)
        history.append(float(share @ density) + _log_prior(now, prior))
        now = _maximise(belongs * share[:, None], powers, prior)
    return MixtureFit(now, history)


def _posterior(powers: tuple[Any, Any, Any], now: Mixture) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (N, K) of the components, log density (N,)."""
    m, z, z2 = powers
    precision = 1 / now.variances
    constant = now.means**2 * precision + np.log(2 * np.pi * now.variances)
    distance = z2 @ precision.T - 2 * (z @ (now.means * precision).T) + m @ constant.T
    joint = np.log(now.weights) - 0.5 * distance
    top = joint.max(axis=1, keepdims=True)
    total = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
    return np.exp(joint - total[:, None]), total


def _log_prior(now: Mixture, prior: float) -> float:
    cells = np.log(now.variances) + (1 + now.means**2) / now.variances
    return float(prior * (np.log(now.weights).sum() - 0.5 * cells.sum()))


def _maximise(belongs: np.ndarray, powers: tuple[Any, Any, Any], prior: float) -> Mixture:
    count, first, second = (belongs.T @ part for part in powers)
    means = first / (count + prior)
    scatter = second - 2 * means * first + means**2 * count + prior * (1 + means**2)
    weights = belongs.sum(axis=0) + prior
    return Mixture(weights / weights.sum(), means, scatter / (count + prior))
