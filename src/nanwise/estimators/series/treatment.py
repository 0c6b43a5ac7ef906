"""What stands between the gaps of a series and the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from torch import nn


class SeriesTreatment(BaseEstimator):
    """Base of all treatments of series: one file each in ``nanwise/methods/series``.

    The twin of :class:`nanwise.Treatment`. ``fit`` and ``prepare`` see numpy arrays, once: the
    steps of all sequences below each other, shape (S, D), *scaled*; ``values`` is 0 in gaps,
    ``observed`` is True where there is a value, ``lengths`` (N,) says how many steps each sequence
    has. ``layer`` gives the torch module that meets every batch and leaves no gap; a treatment
    that changes the recurrent cell itself replaces ``encoder``.

    Every stage treats a sequence by itself and never looks ahead in it: a step depends on the
    steps before it, and on what ``fit`` learnt. What ``fit`` learns ends in ``_`` and can be saved
    (see :mod:`nanwise.saving`).
    """

    def fit(self, values: np.ndarray, observed: np.ndarray, lengths: np.ndarray) -> Self:
        """Learn from the training sequences."""
        return self

    def prepare(
        self, values: np.ndarray, observed: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What happens to sequences once, before batches are drawn; nothing is written to."""
        return values, observed

    def layer(self, n_features: int) -> nn.Module:
        """Module from ``Observed`` (N, T, D) to (N, T, ``out_features``)."""
        raise NotImplementedError(f"{type(self).__name__} has no layer")

    def encoder(self, n_features: int, units: int, cell: str) -> nn.Module:
        """Module ``forward(values, observed, lengths) -> (N, units)``: the state at the end."""
        from nanwise.nets.series.recurrent import Recurrent

        return Recurrent(self.layer(n_features), units, cell)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
