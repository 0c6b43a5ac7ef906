"""Filling with the mean of the nearest training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.impute_core.neighbours import Donors
from nanwise.estimators.impute_core.statistics import positive_rows, weighted_mean
from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "knn",
    kind="treatment",
    summary="A gap is the mean of its column in the k nearest training rows that have it.",
    paper="Troyanskaya et al., Bioinformatics 2001; k = 5 as in App. H of Yi et al., ICLR 2020",
    when="Tables of few columns and some ten thousand rows at most, whose rows fall into groups. "
    "Prediction searches the training rows, and the saved model contains them.",
    space={"k": [5, 15]},
    tiny={"k": 3, "max_donors": 500},
    fills=True,
)
class KNN(Treatment):
    """Nearest neighbours by Euclidean distance over common coordinates.

    The distance of two rows is the root of the mean squared difference over the columns that both
    have. A donor must have the value, and one column in common with the row. Donors as far away as
    the k-th share its place, so that the order of the rows does not matter. Where there is no donor
    at all the fill is the mean of the column, or 0 if it was never observed.

    Parameters
    ----------
    k : int, default=5
        Number of neighbours; a training row of weight w counts as w of them.
    max_donors : int or None, default=20000
        Most training rows that are kept, drawn without replacement. One row is searched in a time
        proportional to it.
    seed : int, default=0
        For that draw.

    Attributes
    ----------
    donors_, donors_observed_, donors_weight_ : ndarray
        The training rows kept.
    fill_ : ndarray of shape (n_features,)
        Means of the columns.
    """

    def __init__(self, k: int = 5, max_donors: int | None = 20_000, seed: int = 0):
        self.k = k
        self.max_donors = max_donors
        self.seed = seed

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Keep the training rows."""
        if not self.k >= 1:
            raise ValueError(f"k must be at least 1, got {self.k!r}")
        values, observed, weight = positive_rows(values, observed, weight)
        self.fill_ = weighted_mean(values, observed, weight)
        kept = np.arange(len(values))
        if self.max_donors is not None and len(values) > self.max_donors:
            draw = np.random.default_rng(self.seed)
            kept = np.sort(draw.choice(len(values), self.max_donors, replace=False))
        self.donors_, self.donors_observed_ = values[kept], observed[kept]
        self.donors_weight_ = weight[kept]
        return self

    def prepare(self, values: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fill the gaps."""
        donors = Donors(self.donors_, self.donors_observed_, self.donors_weight_)
        filled = np.where(observed, values, self.fill_.astype(values.dtype))
        rows = np.flatnonzero(~observed.all(axis=1))
        lent = donors.estimate_all(values[rows], observed[rows], self.k)
        filled[rows] = np.where(np.isnan(lent), filled[rows], lent)
        return filled, np.ones_like(observed)

    def layer(self, n_features: int) -> nn.Module:
        """Module that passes the filled values on."""
        from nanwise.nn.fill import Plain as Layer

        return Layer(n_features)
