"""Values and memory that fade while nothing is observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.series.statistics import variable_means
from nanwise.estimators.series.treatment import SeriesTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "decay",
    kind="treatment",
    inputs="series",
    role="rival",
    summary="GRU-D: the last value fades to the mean and the state to 0, both at learnt rates.",
    paper="Che, Purushotham, Cho, Sontag, Liu: Recurrent neural networks for multivariate time "
    "series with missing values, Scientific Reports 2018",
    when="Where the age of a value matters and there are enough sequences to learn how. It sees "
    "what is measured when, as observation_indicator does; an epoch takes longer.",
)
class Decay(SeriesTreatment):
    """Trainable decay of input and state, in a recurrent cell of its own.

    ``cell="gru"`` is GRU-D as published; ``cell="lstm"`` fades hidden and cell state alike.

    Attributes
    ----------
    fill_ : ndarray of shape (n_features,)
        Means of the variables, to which their last values fade.
    """

    def fit(self, values: np.ndarray, observed: np.ndarray, lengths: np.ndarray) -> Self:
        """Learn the mean of each variable."""
        self.fill_ = variable_means(values, observed)
        return self

    def encoder(self, n_features: int, units: int, cell: str) -> nn.Module:
        """Recurrent network with decay."""
        from nanwise.nets.series.decay import Decaying

        return Decaying(self.fill_, units, cell)
