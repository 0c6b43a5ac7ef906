"""What recommenders that predict the probability of each level of a rating share."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from nanwise.data.ratings import Ratings
from nanwise.errors import DataError
from nanwise.estimators.recommend.trained import NetRecommender
from nanwise.train.checks import number, one_of, whole
from nanwise.train.plan import Plan

NORMALIZE = (None, "sparsity", "rate", "batch", "layer")


class LevelRecommender(NetRecommender):
    """Base of recommenders whose network knows levels, not numbers; not used by itself.

    A subclass stores ``hidden``, ``ordinal``, ``shared``, ``normalize``, ``power`` and ``penalty``
    among its parameters.

    Attributes
    ----------
    levels_ : list of float
        The ratings there are, ascending.
    """

    hidden: Any
    ordinal: Any
    shared: Any
    normalize: Any
    power: Any
    penalty: Any
    levels_: list[float]

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("normalize", self.normalize, NORMALIZE)
        whole("hidden", self.hidden)
        number("ordinal", self.ordinal, least=0.0)
        if self.ordinal > 1:
            raise ValueError(f"ordinal must be a share of at most 1, got {self.ordinal!r}")
        number("power", self.power, least=0.0)
        number("penalty", self.penalty, least=0.0)

    def _prepare(self, train: Ratings) -> None:
        if not train.scale.levels:
            raise DataError(
                f"{type(self).__name__} predicts the probability of each level of a rating, but "
                f"these ratings ({train.scale}) have no levels: they differ in too many values. "
                "Round them, read them with scale=(smallest, largest, step), or use AutoRec."
            )
        levels = list(train.scale.levels)
        if self.warm_start and hasattr(self, "net_") and levels != self.levels_:
            raise DataError(
                f"warm_start: these ratings have the levels {levels}, those of the last training "
                f"{self.levels_}, and the weights belong to these; fit with warm_start=False"
            )
        self.levels_ = levels

    def _decayed(self, plan: Plan, count: int) -> Plan:
        """The plan with the penalty as weight decay: that of Adam is the penalty's gradient.

        ``count`` is how many costs the loss is the mean of, when it sees all of them.
        """
        return clone(plan).set_params(
            optimizer="adam" if plan.optimizer == "adamw" else plan.optimizer,
            weight_decay=2 * self.penalty / count,
        )

    def _rows_of(self, matrix: sparse.csr_array) -> Any:
        """Ratings as level numbers."""
        from nanwise.estimators.recommend.levels import level_rows

        return level_rows(matrix, self.levels_)

    @cached_property
    def _net64(self) -> Any:
        return copy.deepcopy(self.net_).double().eval()

    def _noise(self) -> float:
        """Variance of a rating around its prediction; without validation, that of all ratings."""
        found = self.history_[self.best_epoch_ - 1]["valid_loss"]
        return float(np.var(self.matrix_.data)) if found is None else found
