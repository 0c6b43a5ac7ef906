"""What most people rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nanwise.data.ratings import Ratings
from nanwise.estimators.recommender import Recommender
from nanwise.registry import method


@method(
    "popularity",
    kind="recommender",
    inputs="rating",
    role="baseline",
    summary="Recommends what is rated most often; predicts the item's mean rating.",
    when="The least a recommender must beat; the same list for everyone.",
    space={"damping": [2.0, 5.0, 10.0]},
    sparse=True,
)
class Popularity(Recommender):
    """Items by how often they are rated.

    Lists are ordered by the number of ratings, the same for everyone. ``predict`` answers with the
    mean rating of the item, pulled to the mean of all ratings.

    Parameters
    ----------
    damping : float, default=5.0
        So many ratings of average height are added to those of each item.
    cold : "mean" or float, default="mean"
        Prediction for users and items without ratings.
    random_state : int or None
        Not used; every recommender has it.

    Attributes
    ----------
    count_ : ndarray of shape (n_items,)
    item_mean_ : ndarray of shape (n_items,)
        The damped means.
    """

    def __init__(
        self, damping: float = 5.0, cold: str | float = "mean", random_state: Any = None
    ) -> None:
        self.damping = damping
        self.cold = cold
        self.random_state = random_state

    def _check_settings(self) -> None:
        super()._check_settings()
        if not self.damping >= 0:
            raise ValueError(f"damping must be at least 0, got {self.damping!r}")

    def _learn(self, train: Ratings, validation: Ratings | None, seed: int) -> None:
        matrix = train.matrix
        values = matrix.data.astype(np.float64)
        n_items = matrix.shape[1]
        total = np.bincount(matrix.indices, weights=values, minlength=n_items)
        self.count_ = np.bincount(matrix.indices, minlength=n_items)
        weight = np.maximum(self.count_ + self.damping, np.finfo(float).tiny)
        self.item_mean_ = (total + self.damping * values.mean()) / weight

    def _at(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        return self.item_mean_[items]

    def _scores(self, users: np.ndarray) -> np.ndarray:
        return np.tile(self.count_.astype(np.float64), (len(users), 1))

    def _scores_for(self, rows: sparse.csr_array) -> np.ndarray:
        return self._scores(np.arange(rows.shape[0]))
