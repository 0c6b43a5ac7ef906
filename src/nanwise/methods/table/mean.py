"""Filling with the mean of the column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.impute_core.statistics import positive_rows, weighted_mean
from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "mean",
    kind="treatment",
    role="baseline",
    summary="A gap is the mean of its column in the training rows.",
    paper="a baseline in App. H of Yi et al., ICLR 2020",
    when="As the thing to beat. With a flexible network it is hard to beat where gaps come at "
    "random and columns are nearly independent; it hides that a value was missing.",
    fills=True,
)
class Mean(Treatment):
    """Replace gaps by the mean of the column.

    A weight counts a row several times. A column never observed in training is filled with 0, the
    centre of a scaled feature.

    Attributes
    ----------
    fill_ : ndarray of shape (n_features,)
    """

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Learn the mean of each column."""
        self.fill_ = weighted_mean(*positive_rows(values, observed, weight))
        return self

    def layer(self, n_features: int) -> nn.Module:
        """Module that puts the mean into gaps."""
        from nanwise.nn.fill import Constant as Layer

        return Layer(self.fill_)
