"""The last value of a variable carried forward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.series.statistics import last_values, variable_means
from nanwise.estimators.series.treatment import SeriesTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "forward_fill",
    kind="treatment",
    inputs="series",
    role="baseline",
    summary="A gap is the last value of its variable; before the first one, the mean.",
    paper="a baseline of Che et al., Scientific Reports 2018",
    when="Variables that change slowly between measurements. It hides how old a value is.",
    fills=True,
)
class ForwardFill(SeriesTreatment):
    """Carry the last value of each variable forward within a sequence.

    Attributes
    ----------
    fill_ : ndarray of shape (n_features,)
        Means of the variables, for gaps before the first value.
    """

    def fit(self, values: np.ndarray, observed: np.ndarray, lengths: np.ndarray) -> Self:
        """Learn the mean of each variable."""
        self.fill_ = variable_means(values, observed)
        return self

    def prepare(
        self, values: np.ndarray, observed: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fill the gaps; afterwards every cell holds a value."""
        return last_values(values, observed, lengths, self.fill_), np.ones_like(observed)

    def layer(self, n_features: int) -> nn.Module:
        """Module that leaves the filled steps as they are."""
        from nanwise.nn.fill import Plain

        return Plain(n_features)
