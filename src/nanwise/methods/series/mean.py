"""Series filled with the mean of each variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.series.statistics import variable_means
from nanwise.estimators.series.treatment import SeriesTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "mean",
    kind="treatment",
    inputs="series",
    role="baseline",
    summary="A gap is the mean of its variable over all steps of the training sequences.",
    paper="a baseline of Che et al., Scientific Reports 2018",
    when="With another scale than 'standard'; after standardising it is the same as zero.",
    fills=True,
)
class MeanSeries(SeriesTreatment):
    """Replace gaps by the mean of the variable; 0 for one that is never observed.

    Attributes
    ----------
    fill_ : ndarray of shape (n_features,)
    """

    def fit(self, values: np.ndarray, observed: np.ndarray, lengths: np.ndarray) -> Self:
        """Learn the mean of each variable."""
        self.fill_ = variable_means(values, observed)
        return self

    def prepare(
        self, values: np.ndarray, observed: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fill the gaps; afterwards every cell holds a value."""
        filled = np.where(observed, values, self.fill_.astype(values.dtype))
        return filled, np.ones_like(observed)

    def layer(self, n_features: int) -> nn.Module:
        """Module that leaves the filled steps as they are."""
        from nanwise.nn.fill import Plain

        return Plain(n_features)
