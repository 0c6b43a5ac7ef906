"""Mixture of factor analysers learnt by EM from rows with gaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from nanwise.gaussian.factor_start import start

#: rows that are looked at together
BLOCK = 2048


class Factors(NamedTuple):
    r"""Parameters of :math:`\sum_k p_k N(\mu_k, A_k A_k^T + diag(d_k))` over rows of D numbers.

    Attributes
    ----------
    weights : ndarray, shape (K,)
    means : ndarray, shape (K, D)
    factors : ndarray, shape (K, l, D)
    noise : ndarray, shape (K, D)
    """

    weights: np.ndarray
    means: np.ndarray
    factors: np.ndarray
    noise: np.ndarray


class FactorFit(NamedTuple):
    """What was learnt, and the objective after every step of EM.

    Attributes
    ----------
    parameters : Factors
    history : list of float
        Log density of what is observed plus the prior of the variances, per row; never falls.
    """

    parameters: Factors
    history: list[float]


def fit_factors(
    values: np.ndarray,
    observed: np.ndarray,
    components: int = 1,
    factors: int = 4,
    *,
    steps: int = 50,
    tolerance: float = 1e-4,
    floor: float = 1e-4,
    prior: float = 0.1,
    rng: Any = None,
) -> FactorFit:
    r"""EM for a mixture of factor analysers.

    Given its scores z, the cells of a row are independent, so gaps simply drop out: the complete
    data are the observed cells, the scores and the component. The M-step is one weighted regression
    of every column on the scores, over the rows in which it is observed.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        0 in gaps.
    observed : ndarray of bool, shape (N, D)
    components, factors : int
        K and l.
    steps : int
        Most steps.
    tolerance : float
        Stop when a step raises the objective per row by less.
    floor : float
        Least variance.
    prior : float
        The variance of each column is learnt as if that many further rows with the variance of the
        whole column had been seen: no component makes a column certain that it hardly saw.
    rng : int, Generator or None

    Returns
    -------
    FactorFit
    """
    rng = np.random.default_rng(rng)
    spread, now = start(values, observed, components, factors, floor, rng)
    now, history = Factors(*now), []
    for _ in range(steps):
        sums, likelihood = _expect(values, observed, now)
        penalty = 0.5 * prior * (np.log(now.noise) + spread / now.noise).sum()
        history.append(float(likelihood - penalty) / len(values))
        if len(history) > 1 and history[-1] - history[-2] < tolerance:
            break
        now = _maximise(sums, now, spread, floor, prior)
    return FactorFit(now, history)


class _Sums:
    """What a step adds up over rows; for each component, with z extended by a 1."""

    def __init__(self, components: int, rank: int, columns: int) -> None:
        wide = rank + 1
        self.rows = np.zeros(components)
        self.count = np.zeros((components, columns))
        self.gram = np.zeros((components, columns, wide, wide))
        self.cross = np.zeros((components, columns, wide))
        self.square = np.zeros((components, columns))

    def add(self, k: int, share: np.ndarray, x: np.ndarray, m: np.ndarray, z: _Scores) -> None:
        """Rows x, 0 in gaps, m 1 where observed, that belong to component k by these shares."""
        wide = np.concatenate([z.mean, np.ones((len(x), 1))], axis=1)
        second = wide[:, :, None] * wide[:, None, :]
        second[:, :-1, :-1] += z.cov
        weighed = m * share[:, None]
        flat = weighed.T @ second.reshape(len(x), -1)
        self.rows[k] += share.sum()
        self.count[k] += weighed.sum(axis=0)
        self.gram[k] += flat.reshape(self.gram[k].shape)
        self.cross[k] += (x * share[:, None]).T @ wide
        self.square[k] += (x * x * share[:, None]).sum(axis=0)


class _Scores(NamedTuple):
    """Scores given the observed cells: mean (N, l), covariance (N, l, l), log density (N,)."""

    mean: np.ndarray
    cov: np.ndarray
    log_density: np.ndarray


def scores(x: np.ndarray, m: np.ndarray, now: Factors, k: int) -> _Scores:
    """Scores of rows under component k, and the log density of what is observed, by Woodbury."""
    a, d = now.factors[k], now.noise[k]
    rank = len(a)
    pairs = (a[:, None, :] * a[None, :, :] / d).reshape(rank * rank, -1)
    inner = (m @ pairs.T).reshape(-1, rank, rank) + np.eye(rank)
    rest = (x - now.means[k]) * m
    side = (rest / d) @ a.T
    cov = np.linalg.inv(inner)
    mean = np.einsum("nij,nj->ni", cov, side)
    distance = (rest * rest) @ (1 / d) - np.einsum("ni,ni->n", side, mean)
    volume = m @ np.log(2 * np.pi * d) + np.linalg.slogdet(inner)[1]
    return _Scores(mean, cov, -0.5 * (distance + volume))


def log_density(values: np.ndarray, observed: np.ndarray, now: Factors) -> np.ndarray:
    """Log density (N,) of the observed cells of each row."""
    out = np.empty(len(values))
    for part, x, m in _blocks(values, observed):
        out[part] = _posterior(x, m, now)[2]
    return out


def _expect(values: np.ndarray, observed: np.ndarray, now: Factors) -> tuple[_Sums, float]:
    sums, total = _Sums(len(now.weights), now.factors.shape[1], values.shape[1]), 0.0
    for _, x, m in _blocks(values, observed):
        found, shares, likelihood = _posterior(x, m, now)
        total += float(likelihood.sum())
        for k, z in enumerate(found):
            sums.add(k, shares[:, k], x, m, z)
    return sums, total


def _posterior(
    x: np.ndarray, m: np.ndarray, now: Factors
) -> tuple[list[_Scores], np.ndarray, np.ndarray]:
    """Scores under each component, shares of the components (N, K), log density (N,)."""
    found = [scores(x, m, now, k) for k in range(len(now.weights))]
    joint = np.stack([z.log_density for z in found], axis=1) + np.log(now.weights)
    top = joint.max(axis=1, keepdims=True)
    total = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
    return found, np.exp(joint - total[:, None]), total


def _maximise(sums: _Sums, now: Factors, spread: np.ndarray, floor: float, prior: float) -> Factors:
    """Columns that a component hardly saw keep what they had, which cannot lower the objective."""
    seen = sums.count > 1e-3
    gram = np.where(seen[..., None, None], sums.gram, np.eye(sums.gram.shape[-1]))
    slopes = np.linalg.solve(gram, sums.cross[..., None])[..., 0]
    left = sums.square - (slopes * sums.cross).sum(axis=-1)
    noise = (np.maximum(left, 0.0) + prior * spread) / np.maximum(sums.count + prior, 1e-12)
    tiny = np.finfo(float).tiny
    return Factors(
        np.maximum(sums.rows / sums.rows.sum(), tiny),
        np.where(seen, slopes[..., -1], now.means),
        np.where(seen[:, None], np.moveaxis(slopes[..., :-1], -1, 1), now.factors),
        np.where(seen, np.maximum(noise, floor), now.noise),
    )


def _blocks(
    values: np.ndarray, observed: np.ndarray
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    for first in range(0, len(values), BLOCK):
        part = slice(first, first + BLOCK)
        m = observed[part].astype(np.float64)
        yield part, values[part] * m, m
