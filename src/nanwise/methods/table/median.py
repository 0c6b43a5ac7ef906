"""Filling with the median of the column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.impute_core.statistics import positive_rows, weighted_median
from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "median",
    kind="treatment",
    role="baseline",
    summary="A gap is the median of its column in the training rows.",
    paper="a baseline in App. H of Yi et al., ICLR 2020",
    when="Like mean, for columns with long tails or outliers.",
    fills=True,
)
class Median(Treatment):
    """Replace gaps by the median of the column.

    A weight counts a row several times. A column never observed in training is filled with 0, the
    centre of a scaled feature.

    Attributes
    ----------
    fill_ : ndarray of shape (n_features,)
    """

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Learn the median of each column."""
        self.fill_ = weighted_median(*positive_rows(values, observed, weight))
        return self

    def layer(self, n_features: int) -> nn.Module:
        """Module that puts the median into gaps."""
        from nanwise.nn.fill import Constant as Layer

        return Layer(self.fill_)
