"""Filling with the conditional expectation of a Gaussian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.treatment import Treatment
from nanwise.gaussian.conditional import expectation
from nanwise.gaussian.em import fit_rows
from nanwise.gaussian.moments import Moments
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "em",
    kind="treatment",
    summary="Gaps follow what is observed in the row, as in a Gaussian with moments found by EM.",
    paper="Dempster, Laird, Rubin: Maximum Likelihood from Incomplete Data via the EM Algorithm, "
    "JRSS B 1977",
    when="Columns that depend on each other about linearly, gaps at random. One formula for all "
    "patterns, no rounds of regressions: steadier than chained equations with many gaps. It "
    "hides that a value was missing.",
    space={"shrinkage": [None, 0.0, 0.1]},
    tiny={"max_iter": 20},
    fills=True,
)
class EM(Treatment):
    """Replace gaps by their expectation given the observed values of the row.

    A row with nothing observed gets the mean, a column never observed in training 0.

    Parameters
    ----------
    shrinkage : float of at least 0 and below 1, optional
        Share of a prior of independent columns; 0 is maximum likelihood, None a share that falls
        with the square of rows per column.
    tol : float, default=1e-4
        The search ends when a step changes no standardised mean or covariance by more.
    max_iter : int, default=500
        Most steps.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    covariance_ : ndarray of shape (n_features, n_features)
    n_iter_ : int
    log_likelihood_ : ndarray of shape (n_iter_,)
        Before each step, per row.
    """

    def __init__(self, shrinkage: float | None = None, tol: float = 1e-4, max_iter: int = 500):
        self.shrinkage = shrinkage
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Find the moments of the training rows."""
        found = fit_rows(
            values,
            observed,
            weight,
            shrinkage=self.shrinkage,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.mean_, self.covariance_ = found.moments
        self.n_iter_ = found.n_iter
        self.log_likelihood_ = np.array(found.log_likelihood)
        return self

    def prepare(self, values: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fill the gaps."""
        filled = expectation(
            np.where(observed, values, 0.0).astype(np.float64, copy=False),
            observed,
            Moments(self.mean_, self.covariance_),
        )
        return np.where(observed, values, filled.astype(values.dtype)), np.ones_like(observed)

    def layer(self, n_features: int) -> nn.Module:
        """Module that passes the filled values on."""
        from nanwise.nn.fill import Plain as Layer

        return Layer(n_features)
