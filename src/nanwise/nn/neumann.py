"""Weights for NeuMiss networks from the moments of a Gaussian vector; numpy only.

Inside a NeuMiss network an iteration solves ``cov_obs g = x_obs - mean_obs`` for every row at once,
whatever its pattern of gaps. Both iterations here are Richardson's,

    g_k = (I - w_k cov_obs) g_{k-1} + w_k (x_obs - mean_obs),        g_0 = 0,

with step sizes ``w_k``. Constant steps give the Neumann series; steps that are the inverses of
Chebyshev nodes give the smallest error for their number. With ``h_k = g_k / w_k`` the residual
comes in with weight 1, as the network wants it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

ITERATIONS = ("neumann", "chebyshev")

#: lower end of the interval on which Chebyshev steps are best, as a share of the upper one
LOWER = 0.05


class Analytic(NamedTuple):
    """Weights in the row-vector convention: ``h @ step``, ``h @ mix``.

    Attributes
    ----------
    mean : ndarray, shape (D,)
        What is taken from values and put into gaps.
    steps : ndarray, shape (n_steps - 1, D, D)
        Every step of the iteration but the first, which is the identity.
    mix : ndarray, shape (D, D)
        From the solution to the gaps.
    """

    mean: np.ndarray
    steps: np.ndarray
    mix: np.ndarray


def analytic_weights(
    moments: Any,
    n_steps: int,
    *,
    iteration: str = "neumann",
    lower: float = LOWER,
    masking: Any = None,
    ratio: Any = None,
) -> Analytic:
    """Weights with which a network completes rows by ``n_steps`` steps of an iteration.

    Parameters
    ----------
    moments : Moments
        Mean and covariance, checked.
    n_steps : int
        Number of steps, at least 1.
    iteration : {"neumann", "chebyshev"}
        Which step sizes.
    lower : float
        For ``chebyshev``: smallest eigenvalue that is aimed at, as a share of the largest.
    masking : SelfMasking, optional
        Gaussian self-masking, see :meth:`nanwise.nn.NeuMiss.from_moments`.
    ratio : array-like, shape (D,) or (D, D), optional
        For ``masking``: see there.
    """
    mean, cov = moments
    sizes = step_sizes(spectral_norm(cov), n_steps, iteration, lower)
    eye = np.eye(len(mean))
    steps = [(a / b) * (eye - b * cov) for a, b in pairwise(sizes)]
    mix = sizes[-1] * cov
    if masking is not None:
        mean, mix = _self_masked(mean, cov, mix, masking, ratio)
    return Analytic(mean, np.reshape(steps, (-1, *cov.shape)), mix)


def spectral_norm(cov: np.ndarray) -> float:
    """Largest eigenvalue of a covariance matrix; 1 for the zero matrix, which needs no scale."""
    return float(np.linalg.eigvalsh(cov)[-1]) if cov.any() else 1.0


def step_sizes(
    largest: float, n_steps: int, iteration: str = "neumann", lower: float = LOWER
) -> np.ndarray:
    """Step sizes of the iteration for eigenvalues up to ``largest``, in the order of their use."""
    if iteration not in ITERATIONS:
        raise ValueError(f"iteration must be one of {ITERATIONS}, got {iteration!r}")
    if iteration == "neumann":
        return np.full(n_steps, 1 / largest)
    if not 0 < lower <= 1:
        raise ValueError(f"lower must be above 0 and at most 1, got {lower!r}")
    angles = (2 * np.arange(n_steps) + 1) * np.pi / (2 * n_steps)
    nodes = (1 + lower) / 2 + (1 - lower) / 2 * np.cos(angles)
    return 1 / (largest * _leja(nodes))


def _leja(nodes: np.ndarray) -> np.ndarray:
    """Reorder so that each node is far from all before it: rounding errors then stay small."""
    order, distance = [int(np.argmax(nodes))], np.ones(len(nodes))
    while len(order) < len(nodes):
        distance = distance * np.abs(nodes - nodes[order[-1]])
        distance[order] = -1.0
        order.append(int(np.argmax(distance)))
    return nodes[order]


def _self_masked(
    mean: np.ndarray, cov: np.ndarray, mix: np.ndarray, masking: Any, ratio: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and mix that pull a gap towards where values go missing."""
    from nanwise.gaussian.moments import check_masking

    masking = check_masking(masking, len(mean))
    eye = np.eye(len(mean))
    if ratio is None:
        ratio = default_ratio(cov, masking.variance)
    else:
        ratio = _checked_ratio(ratio, len(mean))
    pull = np.diag(1 / (1 + ratio)) if ratio.ndim == 1 else np.linalg.inv(eye + ratio)
    return pull @ masking.centre + (eye - pull) @ mean, mix @ (eye - pull).T


def default_ratio(cov: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """One number per feature in place of the matrices ``variance_mis / cov_mis|obs``.

    The variance of a gap given the values lies between that given all other features and that
    given none; their geometric mean is taken.
    """
    own = np.diag(cov)
    given_all = 1 / np.diag(np.linalg.pinv(cov, hermitian=True)).clip(np.finfo(float).tiny)
    between = np.sqrt(own * np.minimum(given_all, own))
    return np.divide(variance, between, out=np.full(len(own), np.inf), where=between > 0)


def _checked_ratio(ratio: Any, n_features: int) -> np.ndarray:
    ratio = np.asarray(ratio, dtype=np.float64)
    if ratio.shape not in ((n_features,), (n_features, n_features)):
        raise ValueError(
            f"ratio must have the shape ({n_features},) or ({n_features}, {n_features}), "
            f"got {ratio.shape}"
        )
    if not np.isfinite(ratio).all() or (np.diag(ratio) if ratio.ndim == 2 else ratio).min() < 0:
        raise ValueError(f"ratio must be finite and not negative, got {ratio!r}")
    return ratio
