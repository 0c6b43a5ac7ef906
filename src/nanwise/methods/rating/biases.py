"""Global mean plus an effect of the user plus an effect of the item."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nanwise.data.ratings import Ratings
from nanwise.estimators.recommender import Recommender
from nanwise.registry import method

_TOLERANCE = 1e-6
_MOST_ROUNDS = 200


@method(
    "biases",
    kind="recommender",
    inputs="rating",
    role="baseline",
    summary="Mean rating plus an effect of the user plus an effect of the item (ridge).",
    paper="Koren: Factor in the neighbors, ACM TKDD 2010 (baseline predictors)",
    when="What a model of tastes must beat; no taste, so everyone's list has the same order.",
    space={"user_penalty": [2.0, 5.0, 10.0], "item_penalty": [1.0, 2.0, 5.0]},
    sparse=True,
)
class Biases(Recommender):
    """``mean + user effect + item effect``, both effects by ridge regression, exactly.

    Parameters
    ----------
    user_penalty, item_penalty : float, default=5.0, 2.0
        Weight of the squared effects beside the sum of squared errors: so many ratings without any
        effect are added to each user and item.
    cold : "mean" or float, default="mean"
        Where the prediction starts if the user, the item or both have no ratings; the effect of
        the one that has is added to "mean", but not to a number.
    random_state : int or None
        Not used; every recommender has it.

    Attributes
    ----------
    center_ : float
    user_effect_ : ndarray of shape (n_users,)
    item_effect_ : ndarray of shape (n_items,)
    """

    def __init__(
        self,
        user_penalty: float = 5.0,
        item_penalty: float = 2.0,
        cold: str | float = "mean",
        random_state: Any = None,
    ) -> None:
        self.user_penalty = user_penalty
        self.item_penalty = item_penalty
        self.cold = cold
        self.random_state = random_state

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("user_penalty", "item_penalty"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)!r}")

    def _learn(self, train: Ratings, validation: Ratings | None, seed: int) -> None:
        users, items = train.rows, train.matrix.indices
        values = train.matrix.data.astype(np.float64)
        self.center_ = float(values.mean())
        values -= self.center_
        by_user = np.zeros(train.matrix.shape[0])
        by_item = np.zeros(train.matrix.shape[1])
        # Each half is the exact minimum given the other half: the sum falls until it stands.
        for _ in range(_MOST_ROUNDS):
            before = by_user
            by_item = _ridge(items, values - by_user[users], self.item_penalty, len(by_item))
            by_user = _ridge(users, values - by_item[items], self.user_penalty, len(by_user))
            if np.abs(by_user - before).max() < _TOLERANCE:
                break
        self.user_effect_, self.item_effect_ = by_user, by_item

    def _at(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        return self.center_ + self.user_effect_[users] + self.item_effect_[items]

    def _cold_at(self, users: np.ndarray, items: np.ndarray) -> Any:
        if self.cold != "mean":
            return float(self.cold)
        # the effect of whatever has no ratings is 0, the effect of an unknown id (-1) made so
        of_user = np.where(users >= 0, self.user_effect_[users], 0.0)
        of_item = np.where(items >= 0, self.item_effect_[items], 0.0)
        return self.center_ + of_user + of_item

    def _scores(self, users: np.ndarray) -> np.ndarray:
        return self.center_ + self.user_effect_[users, None] + self.item_effect_

    def _scores_for(self, rows: sparse.csr_array) -> np.ndarray:
        person = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        rest = rows.data - self.center_ - self.item_effect_[rows.indices]
        effect = _ridge(person, rest, self.user_penalty, rows.shape[0])
        return self.center_ + effect[:, None] + self.item_effect_


def _ridge(group: np.ndarray, values: np.ndarray, penalty: float, n: int) -> np.ndarray:
    """Effect of each group: the sum of its values over its size plus the penalty."""
    sums = np.bincount(group, weights=values, minlength=n)
    return sums / (np.bincount(group, minlength=n) + penalty)
