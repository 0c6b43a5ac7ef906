"""Draws from the posteriors of the regressions that chained equations are made of."""

from __future__ import annotations

import numpy as np

#: precision of the Gaussian prior of coefficients, inputs and target being about of variance 1
PRIOR = 1.0
#: Newton steps of a logistic regression that starts from the coefficients of the round before
STEPS = 3


def draw_linear(
    x: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A draw of a linear regression of K targets on P inputs.

    Normal inverse-Wishart prior: coefficients around 0 with precision :data:`PRIOR` in units of the
    noise, K + 1 degrees of freedom for its covariance. Intercepts are flat.

    Parameters
    ----------
    x : ndarray of shape (N, P)
    y : ndarray of shape (N, K)
    rng : Generator

    Returns
    -------
    mean, coef : ndarray of shape (P + 1, K)
        Posterior mean and draw; the intercept is last.
    root : ndarray of shape (K, K)
        Noise is ``standard normal (N, K) @ root``.
    """
    n, p = x.shape
    k = y.shape[1]
    x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
    xc, yc = x - x_mean, y - y_mean
    lower = np.linalg.cholesky(xc.T @ xc + PRIOR * np.eye(p))
    half = np.linalg.solve(lower, xc.T @ yc)
    best = np.linalg.solve(lower.T, half)
    error = yc.T @ yc - half.T @ half + 1e-6 * np.eye(k)
    root = _draw_root(error, n + k, rng)
    coef = best + np.linalg.solve(lower.T, rng.standard_normal((p, k))) @ root
    level = y_mean + rng.standard_normal(k) @ root / np.sqrt(n)
    return (
        np.vstack([best, y_mean - x_mean @ best]),
        np.vstack([coef, level - x_mean @ coef]),
        root,
    )


def draw_logistic(
    x: np.ndarray, y: np.ndarray, start: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """A draw of K logistic regressions of 0 / 1 targets (N, K), by their Gaussian approximation.

    Parameters
    ----------
    x : ndarray of shape (N, P)
    y : ndarray of shape (N, K)
    start : ndarray of shape (P + 1, K)
        Where the search begins.
    rng : Generator

    Returns
    -------
    mean, coef : ndarray of shape (P + 1, K)
        Mode and draw; the intercept is last.
    """
    inputs = np.column_stack([x, np.ones(len(x))])
    mode, drawn = start.copy(), np.empty_like(start)
    for k in range(y.shape[1]):
        for _ in range(STEPS):
            step, lower = _newton(inputs, y[:, k], mode[:, k])
            mode[:, k] += step
        noise = rng.standard_normal(inputs.shape[1])
        drawn[:, k] = mode[:, k] + np.linalg.solve(lower.T, noise)
    return mode, drawn


def affine(coef: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Inputs times coefficients, plus the intercept in their last row."""
    # einsum adds a row's terms in the same order whatever rows are beside it
    return np.einsum("np,pk->nk", x, coef[:-1]) + coef[-1]


def logistic(scores: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-scores))."""
    return 0.5 * (1 + np.tanh(0.5 * scores))


def _newton(inputs: np.ndarray, y: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A step towards the mode, and the root of the precision there."""
    chance = logistic(inputs @ coef)
    weight = np.maximum(chance * (1 - chance), 1e-6)
    precision = (inputs * weight[:, None]).T @ inputs + PRIOR * np.eye(len(coef))
    lower = np.linalg.cholesky(precision)
    gradient = inputs.T @ (y - chance) - PRIOR * coef
    step = np.linalg.solve(lower.T, np.linalg.solve(lower, gradient))
    # far from the mode a whole step may overshoot
    return step / max(1.0, float(np.abs(step).max()) / 4), lower


def _draw_root(error: np.ndarray, freedom: int, rng: np.random.Generator) -> np.ndarray:
    """R with R' R drawn from the inverse Wishart distribution of scale ``error``."""
    k = len(error)
    bartlett = np.tril(rng.standard_normal((k, k)), -1)
    bartlett[np.diag_indices(k)] = np.sqrt(rng.chisquare(freedom - np.arange(k)))
    # W = L A A' L' with L L' = error^-1 is Wishart; its inverse has the root below
    return np.linalg.solve(bartlett, np.linalg.cholesky(error).T)
