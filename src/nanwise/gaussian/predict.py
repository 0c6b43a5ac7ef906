"""The best predictions of a linear target from Gaussian rows with gaps, and an approximation."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.gaussian.conditional import conditional_mean, read_rows
from nanwise.gaussian.moments import Moments, SelfMasking, check_masking, check_moments


class GaussianPredictor:
    """Bayes predictor of ``y = intercept + coef . x + noise`` with x Gaussian.

    ``E[y | x_o, pattern]``: the linear model on rows whose gaps are filled by their expectation.

    Parameters
    ----------
    moments : Moments
        Mean and covariance of x.
    coef : ndarray of shape (d,) or (k, d)
    intercept : float or ndarray of shape (k,)
    masking : SelfMasking, optional
        None: values are missing completely at random or at random.
    """

    def __init__(
        self, moments: Moments, coef: Any, intercept: Any = 0.0, masking: SelfMasking | None = None
    ) -> None:
        self.moments = check_moments(*moments)
        self.coef, self.intercept = _check_linear(coef, intercept, len(self.moments.mean))
        self.masking = check_masking(masking, len(self.moments.mean))

    def predict(self, X: Any) -> np.ndarray:
        """Expectation of the target of each row, shape (n,) or (n, k)."""
        filled = conditional_mean(X, self.moments, self.masking)
        return filled @ self.coef.T + self.intercept


class NeumannPredictor:
    """Approximation of the Bayes predictor in which no matrix is inverted.

    The inverse of ``S_oo`` is replaced by ``order`` steps of ``A <- (I - S_oo) A + I`` from
    ``A = I``, on the scale on which the largest eigenvalue of S is 1. It tends to
    :class:`GaussianPredictor` as the order grows, the more slowly the smaller the least eigenvalue
    is beside the largest.

    Parameters
    ----------
    moments : Moments
        Mean and covariance of x.
    coef : ndarray of shape (d,) or (k, d)
    intercept : float or ndarray of shape (k,)
    order : int
        Number of steps, 0 or more.
    """

    def __init__(self, moments: Moments, coef: Any, intercept: Any = 0.0, order: int = 0) -> None:
        self.moments = check_moments(*moments)
        self.coef, self.intercept = _check_linear(coef, intercept, len(self.moments.mean))
        if not order >= 0:
            raise ValueError(f"order must not be negative, got {order!r}")
        self.order = int(order)

    def predict(self, X: Any) -> np.ndarray:
        """Approximate expectation of the target of each row, shape (n,) or (n, k)."""
        values, observed = read_rows(X, len(self.moments.mean))
        largest = float(np.linalg.eigvalsh(self.moments.cov)[-1])
        cov = self.moments.cov / (largest if largest > 0 else 1.0)
        rest = np.where(observed, values - self.moments.mean, 0.0)
        pull = rest
        for _ in range(self.order):
            pull = rest + np.where(observed, pull - pull @ cov, 0.0)
        filled = np.where(observed, values, self.moments.mean + pull @ cov)
        return filled @ self.coef.T + self.intercept


def _check_linear(coef: Any, intercept: Any, d: int) -> tuple[np.ndarray, np.ndarray]:
    coef, intercept = (np.asarray(part, dtype=np.float64) for part in (coef, intercept))
    if coef.ndim not in (1, 2) or coef.shape[-1] != d:
        raise ValueError(f"coef must have shape ({d},) or (k, {d}), got {coef.shape}")
    if intercept.shape not in ((), coef.shape[:-1]):
        raise ValueError(
            f"intercept must be a number or have shape {coef.shape[:-1]}, got {intercept.shape}"
        )
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError("coef and intercept must be finite")
    return coef, intercept
