"""Sparsity normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.impute_core.statistics import mean_count
from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "sparsity_norm",
    kind="treatment",
    summary="Gaps are 0 and each row is scaled by (K / its number of observed values)^power.",
    paper="Yi, Lee, Kim, Hwang, Yang: Why Not to Use Zero Imputation? Correcting Sparsity Bias in "
    "Training Neural Networks, ICLR 2020",
    when="The first thing to try where rows differ in how many values they have, and for wide "
    "sparse input. Weight decay acts differently after the scaling: tune it again.",
    space={"power": [1.0, 0.5], "learn_power": [False, True]},
    sparse=True,
)
class SparsityNorm(Treatment):
    """Scale each zero-filled row by ``(K / max(count, 1)) ** power``.

    ``count`` is the number of observed values of the row. For an affine network whose gaps come
    at random the mean output then does not depend on how many there are.

    Parameters
    ----------
    K : "mean" or float, default="mean"
        The count a row is brought to; "mean" is the mean count of the training rows.
    power : float, default=1.0
        1 is the paper, 0 no scaling.
    learn_power : bool, default=False
        Train ``power`` together with the network, from its given value.

    Attributes
    ----------
    K_ : float
    """

    sparse = True

    def __init__(self, K: str | float = "mean", power: float = 1.0, learn_power: bool = False):
        self.K = K
        self.power = power
        self.learn_power = learn_power

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Learn K, the mean number of observed values in a row."""
        return self.fit_counts(observed.sum(axis=1), observed.shape[1], weight)

    def fit_counts(self, counts: np.ndarray, n_features: int, weight: np.ndarray | None) -> Self:
        """Learn K from the number of stored cells of sparse rows."""
        if self.K == "mean":
            # without a single observed value every row is 0 whatever K is
            self.K_ = mean_count(counts, weight) or 1.0
        elif isinstance(self.K, str) or not self.K > 0:
            raise ValueError(f'K must be "mean" or a number above 0, got {self.K!r}')
        else:
            self.K_ = float(self.K)
        return self

    def layer(self, n_features: int) -> nn.Module:
        """Module that scales each row by its own count."""
        from nanwise.nn import SparsityNorm as Layer

        return Layer(self.K_, self.power, self.learn_power, n_features)
