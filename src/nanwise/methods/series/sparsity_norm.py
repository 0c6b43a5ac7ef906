"""Sparsity normalisation of every time step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.series.treatment import SeriesTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "sparsity_norm",
    kind="treatment",
    inputs="series",
    summary="Gaps are 0 and each time step is scaled by (K / its number of values)^power.",
    paper="Yi, Lee, Kim, Hwang, Yang: Why Not to Use Zero Imputation? Correcting Sparsity Bias in "
    "Training Neural Networks, ICLR 2020, App. C.2",
    when="The first thing to try where steps differ in how many values they have. It evens out how "
    "many values a step has, not how many steps have any.",
    space={"power": [1.0, 0.5]},
)
class SparsityNormSeries(SeriesTreatment):
    """Scale each zero-filled time step by ``(K / max(count, 1)) ** power``.

    Parameters
    ----------
    K : "mean" or float, default="mean"
        The count a step is brought to. "mean" is the mean count of the training steps *that have
        any value*: a step without one stays 0 whatever K is, and with most steps empty a mean over
        all would be far below 1 and make every input tiny.
    power : float, default=1.0
        1 is the paper, 0 no scaling.

    Attributes
    ----------
    K_ : float
    """

    def __init__(self, K: str | float = "mean", power: float = 1.0) -> None:
        self.K = K
        self.power = power

    def fit(self, values: np.ndarray, observed: np.ndarray, lengths: np.ndarray) -> Self:
        """Learn K."""
        if self.K == "mean":
            counts = observed.sum(axis=1)
            # without a single value every step is 0 whatever K is
            self.K_ = float(counts[counts > 0].mean()) if counts.any() else 1.0
        elif isinstance(self.K, str) or not self.K > 0:
            raise ValueError(f'K must be "mean" or a number above 0, got {self.K!r}')
        else:
            self.K_ = float(self.K)
        return self

    def layer(self, n_features: int) -> nn.Module:
        """Module that scales each step by its own count."""
        from nanwise.nn import SparsityNorm

        return SparsityNorm(self.K_, self.power, n_features=n_features)
