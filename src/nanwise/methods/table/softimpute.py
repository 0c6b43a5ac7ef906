"""Filling by low-rank completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.impute_core.softimpute import Completion, complete, complete_rows
from nanwise.estimators.impute_core.statistics import positive_rows
from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "softimpute",
    kind="treatment",
    summary="Gaps follow the low-rank matrix that fits the observed values best.",
    paper="Mazumder, Hastie, Tibshirani: Spectral Regularization Algorithms for Learning Large "
    "Incomplete Matrices, JMLR 2010",
    when="Many columns driven by a few common factors, many gaps. Columns should be centred and on "
    "one scale.",
    space={"shrink": [0.02, 0.1]},
    tiny={"max_iter": 10},
    fills=True,
)
class SoftImpute(Treatment):
    """Nuclear-norm completion of the training rows, and ridge coordinates for new ones.

    Training rows and new rows are filled by the same formula, from the axes, strengths and
    threshold of the completed training matrix; see
    :mod:`nanwise.estimators.impute_core.softimpute`.

    Parameters
    ----------
    shrink : float, default=0.02
        Threshold of the singular values, as a share of the largest one of the zero-filled training
        matrix.
    tau : float or None, default=None
        The threshold itself, instead of ``shrink``.
    tol : float, default=1e-3
        Relative change of the missing cells at which the iteration ends.
    max_iter : int, default=100
        Most iterations.

    Attributes
    ----------
    axes_ : ndarray of shape (n_features, rank)
    strength_ : ndarray of shape (rank,)
    tau_ : float
    n_iter_ : int
    objective_ : float
    steps_ : ndarray of shape (n_iter_ - 1,)
        Relative change of the missing cells in each iteration but the first.
    """

    def __init__(
        self,
        shrink: float = 0.02,
        tau: float | None = None,
        tol: float = 1e-3,
        max_iter: int = 100,
    ):
        self.shrink = shrink
        self.tau = tau
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Complete the training rows and keep what a new row needs."""
        for name in ("shrink", "tau", "max_iter"):
            given = getattr(self, name)
            if given is not None and not given > 0:
                raise ValueError(f"{name} must be above 0, got {given!r}")
        _, learnt = complete(
            *positive_rows(values, observed, weight),
            tau=self.tau,
            shrink=self.shrink,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        for name, value in learnt._asdict().items():
            setattr(self, name + "_", value)
        return self

    def prepare(self, values: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fill the gaps."""
        completion = Completion(*(getattr(self, name + "_") for name in Completion._fields))
        filled = complete_rows(completion, values, observed)
        return np.where(observed, values, filled.astype(values.dtype)), np.ones_like(observed)

    def layer(self, n_features: int) -> nn.Module:
        """Module that passes the filled values on."""
        from nanwise.nn.fill import Plain as Layer

        return Layer(n_features)
