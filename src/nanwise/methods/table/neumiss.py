"""NeuMiss block in front of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.neumiss_start import row_moments, some_rows
from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn

STARTS = ("moments", "random")


@method(
    "neumiss",
    kind="treatment",
    summary="A learnt Neumann iteration on the observed values, trained together with the network.",
    paper="Le Morvan, Josse, Scornet, Varoquaux: What's a good imputation to predict with missing "
    "values?, NeurIPS 2021",
    when="Columns that depend on each other about linearly and many patterns of gaps, with some "
    "thousand rows or more, or gaps that depend on the missing value itself. With some hundred "
    "rows a depth of 1 is enough.",
    space={"depth": [1, 3, 10]},
    tiny={"depth": 2},
)
class NeuMiss(Treatment):
    """Iterate on the observed values, with one shared matrix; gaps are 0 afterwards.

    See :class:`nanwise.nn.NeuMissBlock`.

    Parameters
    ----------
    depth : int, default=3
        Number of steps, at least 0.
    start : {"moments", "random"}, default="moments"
        Weights at the start of training: from mean and covariance of the training rows (EM), or
        random, as published.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    cov_ : ndarray of shape (n_features, n_features)
        Estimated on at most 20,000 of the rows; not there for ``start="random"``.
    """

    def __init__(self, depth: int = 3, start: str = "moments"):
        self.depth = depth
        self.start = start

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Estimate mean and covariance."""
        if self.start not in STARTS:
            raise ValueError(f"start must be one of {STARTS}, got {self.start!r}")
        if self.start == "moments":
            rows = some_rows(len(values))
            part = None if weight is None else weight[rows]
            self.mean_, self.cov_ = row_moments(values[rows], observed[rows], part)
        return self

    def layer(self, n_features: int) -> nn.Module:
        """Module that iterates, to be trained."""
        from nanwise.nn import NeuMissBlock as Layer

        if self.start == "moments":
            return Layer.from_moments(self.mean_, self.cov_, depth=self.depth)
        return Layer(n_features, self.depth)
