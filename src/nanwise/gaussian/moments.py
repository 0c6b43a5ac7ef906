"""Mean and covariance of a Gaussian vector, checked once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: what rounding may take from the smallest eigenvalue of a correlation matrix
_ROUNDING = 1e-8


class Moments(NamedTuple):
    """Mean and covariance.

    Attributes
    ----------
    mean : ndarray of shape (d,)
    cov : ndarray of shape (d, d)
        Symmetric, positive semi-definite.
    """

    mean: np.ndarray
    cov: np.ndarray


class SelfMasking(NamedTuple):
    """Gaussian self-masking: a value hides itself, most often near a centre.

    ``P(x_j is missing | x)`` is proportional to ``exp(-(x_j - centre_j)^2 / (2 variance_j))``; the
    factor of proportion does not matter.

    Attributes
    ----------
    centre : ndarray of shape (d,)
    variance : ndarray of shape (d,)
        Above 0. Infinity means that column j is missing without regard to its value.
    """

    centre: np.ndarray
    variance: np.ndarray


def check_moments(mean: Any, cov: Any) -> Moments:
    """Mean and covariance in float64, or a ValueError that says what is wrong with them.

    A covariance may be singular and a variance may be 0. Rounding errors (asymmetry, an eigenvalue
    of the correlation matrix above -1e-8) are forgiven; what comes back is exactly symmetric.
    """
    mean, cov = np.asarray(mean, dtype=np.float64), np.asarray(cov, dtype=np.float64)
    if mean.ndim != 1 or not len(mean):
        raise ValueError(f"mean must have shape (d,) with d of at least 1, got {mean.shape}")
    if cov.shape != (len(mean), len(mean)):
        raise ValueError(
            f"cov must have shape {(len(mean), len(mean))}, one row and column for each of the "
            f"{len(mean)} entries of mean; got {cov.shape}"
        )
    for name, array in (("mean", mean), ("cov", cov)):
        if not np.isfinite(array).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise ValueError(f"{name} must be finite, got {array[place]} at {place}")
    return Moments(mean, _check_covariance(cov))


def check_masking(masking: SelfMasking | None, n_features: int) -> SelfMasking | None:
    """Self-masking in float64, or a ValueError; None stays None."""
    if masking is None:
        return None
    centre, variance = (np.asarray(part, dtype=np.float64) for part in masking)
    for name, array in (("centre", centre), ("variance", variance)):
        if array.shape != (n_features,):
            raise ValueError(
                f"{name} of the self-masking must have shape {(n_features,)}, got {array.shape}"
            )
    if not np.isfinite(centre).all():
        raise ValueError(f"centre of the self-masking must be finite, got {centre}")
    if not (variance > 0).all():
        column = int(np.argmin(variance > 0))
        raise ValueError(
            f"variance of the self-masking must be above 0 (infinity: no self-masking), got "
            f"{variance[column]} for column {column}"
        )
    return SelfMasking(centre, variance)


def scales(cov: np.ndarray) -> np.ndarray:
    """Standard deviations, 1 where the variance is 0: what turns a covariance into correlations."""
    variance = np.diag(cov)
    return np.sqrt(np.where(variance > 0, variance, 1.0))


def lift(matrix: np.ndarray, floor: float) -> np.ndarray:
    """The symmetric matrix with as much added to its diagonal as brings all eigenvalues to floor.

    Every principal submatrix then has its eigenvalues at or above ``floor`` as well, so one lift
    serves all patterns, and what a row is told does not depend on the rows beside it.
    """
    least = float(np.linalg.eigvalsh(matrix)[0])
    return matrix if least >= floor else matrix + (floor - least) * np.eye(len(matrix))


def _check_covariance(cov: np.ndarray) -> np.ndarray:
    variance = np.diag(cov)
    if (variance < 0).any():
        column = int(np.argmin(variance))
        raise ValueError(f"cov has the negative variance {variance[column]:g} at column {column}")
    scale = scales(cov)
    correlation = cov / scale / scale[:, None]
    apart = np.abs(correlation - correlation.T)
    if apart.max() > _ROUNDING:
        i, j = (int(x) for x in np.unravel_index(apart.argmax(), apart.shape))
        raise ValueError(
            f"cov must be symmetric, but cov[{i}, {j}] is {cov[i, j]:g} and cov[{j}, {i}] is "
            f"{cov[j, i]:g}; pass (cov + cov.T) / 2 if that is meant"
        )
    least = float(np.linalg.eigvalsh((correlation + correlation.T) / 2)[0])
    if least < -_ROUNDING * len(cov):
        raise ValueError(
            "cov must be positive semi-definite, but its correlation matrix has the eigenvalue "
            f"{least:.3g}; a covariance from pairwise complete rows often has one: use "
            "nanwise.gaussian.em.fit_gaussian instead"
        )
    return (cov + cov.T) / 2
