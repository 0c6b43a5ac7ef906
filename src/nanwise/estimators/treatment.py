"""What stands between the gaps and the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from torch import nn


class Treatment(BaseEstimator):
    """Base of all treatments: one file each in ``nanwise/methods/table``.

    A treatment works in two stages. ``fit`` and ``prepare`` see numpy arrays, once: statistics and
    imputation. ``layer`` gives the torch module that meets every batch, is trained together with
    the network, and leaves no gap.

    The arrays hold *scaled* features, shape (N, D); ``values`` is 0 in gaps, ``observed`` is True
    where there is a value. Every stage treats a row by itself: what ``prepare`` and the layer
    answer for a row depends on what was learnt in ``fit`` and on nothing else.

    What ``fit`` learns ends in ``_`` and consists of numbers, strings and arrays, so that a fitted
    treatment is saved as plain values (see :mod:`nanwise.saving`).
    """

    #: whether ``layer`` also takes :class:`nanwise.nn.Rows` (absent means missing) as ``values``
    sparse = False

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Learn from the training rows; ``weight`` (N,) counts a row several times."""
        return self

    def fit_counts(self, counts: np.ndarray, n_features: int, weight: np.ndarray | None) -> Self:
        """Learn from sparse rows, of which only the number of stored cells (N,) is known here."""
        return self

    def prepare(self, values: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What happens to rows once, before batches are drawn: an imputer fills its gaps here."""
        return values, observed

    def layer(self, n_features: int) -> nn.Module:
        """Module with ``forward(values, observed) -> (N, out_features)`` and ``out_features``."""
        raise NotImplementedError(f"{type(self).__name__} has no layer")

    def norm(self, width: int) -> nn.Module | None:
        """Module put after the first affine layer of the network, or None."""
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
