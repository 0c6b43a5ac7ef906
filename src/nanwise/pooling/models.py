"""Linear and logistic models of complete rows: coefficients and their covariance matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit, log_expit

from nanwise.errors import DataError

_STEPS = 50
_TOLERANCE = 1e-10
_HALVINGS = 20


class Fit(NamedTuple):
    """Coefficients (p,) and covariance matrix (p, p) of one completed table."""

    coef: np.ndarray
    covariance: np.ndarray


def linear(design: np.ndarray, y: np.ndarray) -> Fit:
    """Least squares: the covariance is ``s^2 (A'A)^-1`` with s^2 from n - p degrees of freedom."""
    n, p = design.shape
    if n <= p:
        raise DataError(f"a linear model with {p} coefficients needs more rows than that, got {n}")
    q, r = np.linalg.qr(design)
    _refuse_dependent(r, design)
    coef = solve_triangular(r, q.T @ y)
    residual = y - design @ coef
    inverse = solve_triangular(r, np.eye(p))
    return Fit(coef, residual @ residual / (n - p) * inverse @ inverse.T)


def logistic(design: np.ndarray, y: np.ndarray) -> Fit:
    """Maximum likelihood by Newton's method, ``y`` 0 or 1; the covariance is ``(A'WA)^-1``."""
    _refuse_dependent(np.linalg.qr(design)[1], design)
    width = np.maximum(design.std(axis=0), np.abs(design.mean(axis=0)))
    scaled = design / width
    coef, covariance = _maximise(scaled, y)
    return Fit(coef / width, covariance / np.outer(width, width))


def _maximise(design: np.ndarray, y: np.ndarray) -> Fit:
    coef = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        p = expit(design @ coef)
        information = (design * (p * (1 - p))[:, None]).T @ design
        try:
            covariance = np.linalg.inv(information)
        except np.linalg.LinAlgError:
            break
        step = covariance @ (design.T @ (y - p))
        coef = coef + _shortened(design, y, coef, step)
        if np.abs(step).max() <= _TOLERANCE * (1 + np.abs(coef).max()):
            return Fit(coef, covariance)
    raise DataError(
        "the logistic model has no finite maximum that Newton's method could find: most likely the "
        "columns tell the two classes apart without error; leave out the column that does, or take "
        "more rows"
    )


def _shortened(design: np.ndarray, y: np.ndarray, coef: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The step, halved until the likelihood does not fall."""
    start = _log_likelihood(design, y, coef)
    for _ in range(_HALVINGS):
        if _log_likelihood(design, y, coef + step) >= start - 1e-9 * abs(start):
            break
        step = step / 2
    return step


def _log_likelihood(design: np.ndarray, y: np.ndarray, coef: np.ndarray) -> float:
    return float(log_expit((2 * y - 1) * (design @ coef)).sum())


MODELS = {"linear": linear, "logistic": logistic}


def _refuse_dependent(r: np.ndarray, design: np.ndarray) -> None:
    size = np.linalg.norm(design, axis=0)
    if (np.abs(np.diag(r)) <= 1e-10 * np.maximum(size, 1e-300)).any():
        raise DataError(
            "a column of the model is constant or follows from the others; leave it out"
        )
