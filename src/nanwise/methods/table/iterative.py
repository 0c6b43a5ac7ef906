"""Filling by chained equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.impute_core.chained import Chain, apply_chain, fit_chain
from nanwise.estimators.impute_core.statistics import positive_rows
from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "iterative",
    kind="treatment",
    summary="Each column is regressed on the others in turn, and its gaps follow the regression.",
    paper="van Buuren and Groothuis-Oudshoorn: mice, JSS 2011 (deterministic form, Bayesian ridge)",
    when="Columns that depend on each other about linearly, up to some hundred of them. It fills "
    "in expectations, not draws: no measure of doubt remains.",
    space={"max_iter": [5, 10]},
    tiny={"max_iter": 2},
    fills=True,
)
class Iterative(Treatment):
    """Chained Bayesian ridge regressions, kept as arrays and replayed on new rows.

    Parameters
    ----------
    max_iter : int, default=10
        Most rounds over all columns.
    tol : float, default=1e-3
        Rounds end when no row's fills moved by more, in sum, than ``tol`` times the largest
        observed magnitude.
    n_nearest : int or None, default=60
        Each column is predicted from that many others, those it correlates with most; None for all.
        A round costs about ``rows * columns * n_nearest ** 2``.
    clip : bool, default=True
        Keep fills within the range of the column in the training rows, so that a row with few
        values cannot run away from round to round.

    Attributes
    ----------
    start_, low_, high_ : ndarray of shape (n_features,)
        First fill and bounds.
    targets_ : ndarray of shape (T,)
        Columns in the order of the regressions; a column never observed is not among them.
    neighbours_ : ndarray of shape (T, P)
    coef_ : ndarray of shape (rounds, T, P)
    intercept_ : ndarray of shape (rounds, T)
    """

    def __init__(
        self,
        max_iter: int = 10,
        tol: float = 1e-3,
        n_nearest: int | None = 60,
        clip: bool = True,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.n_nearest = n_nearest
        self.clip = clip

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Learn the regressions of every round."""
        chain = fit_chain(
            *positive_rows(values, observed, weight),
            rounds=self.max_iter,
            tol=self.tol,
            nearest=self.n_nearest,
            clip=self.clip,
        )
        for name, learnt in chain._asdict().items():
            setattr(self, name + "_", learnt)
        return self

    def prepare(self, values: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fill the gaps by the regressions, in their order."""
        chain = Chain(*(getattr(self, name + "_") for name in Chain._fields))
        filled = apply_chain(chain, values, observed)
        return np.where(observed, values, filled.astype(values.dtype)), np.ones_like(observed)

    def layer(self, n_features: int) -> nn.Module:
        """Module that passes the filled values on."""
        from nanwise.nn.fill import Plain as Layer

        return Layer(n_features)
