"""Division by the global share of observed values, the paper's "Dropout" baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.impute_core.statistics import mean_count
from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "rate",
    kind="treatment",
    summary="Gaps are 0 and observed values are divided by the global share of observed values.",
    paper='"Dropout" in App. H of Yi et al., ICLR 2020, after Śmieja et al., NeurIPS 2018',
    when="To see what scaling alone does: it corrects the mean over all rows, not the differences "
    "between rows that sparsity_norm corrects.",
    sparse=True,
)
class Rate(Treatment):
    """Divide observed values by one rate, the same for every row.

    Attributes
    ----------
    rate_ : float
        Mean number of observed values in a training row over the number of features.
    """

    sparse = True

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Learn the share of observed values."""
        return self.fit_counts(observed.sum(axis=1), observed.shape[1], weight)

    def fit_counts(self, counts: np.ndarray, n_features: int, weight: np.ndarray | None) -> Self:
        """Learn the rate from the number of stored cells of sparse rows."""
        # without a single observed value every row is 0 whatever it is divided by
        share = mean_count(counts, weight) / max(n_features, 1) or 1.0
        self.rate_ = min(share, 1.0)  # weights may round a complete table to a little above 1
        return self

    def layer(self, n_features: int) -> nn.Module:
        """Module that divides by the rate."""
        from nanwise.nn.fill import Rate as Layer

        return Layer(self.rate_, n_features)
