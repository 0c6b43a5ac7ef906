"""What stands between the holes of a picture and the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from torch import nn

    from nanwise.completion.mfa import MFA


class ImageTreatment(BaseEstimator):
    """Base of all treatments of pictures: one file each in ``nanwise/methods/image``.

    The twin of :class:`nanwise.Treatment`, in three stages. ``fit`` and ``prepare`` see arrays
    (N, C, H, W) in which NaN is a hole, once: statistics and filling. ``complete`` says what the
    holes of some pictures may hold, for treatments that want to know. ``layer`` gives the torch
    module in the place of the first convolution and its ReLU; it is trained with the network.

    Every stage treats a picture by itself: what it answers depends on what ``fit`` learnt and on
    nothing else. What ``fit`` learns ends in ``_`` and can be saved (see :mod:`nanwise.saving`).
    """

    def fit(self, X: np.ndarray) -> Self:
        """Learn from the training pictures, which may all have holes."""
        return self

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """What happens to pictures once, before batches are drawn: filling happens here.

        Returns
        -------
        ndarray, shape (N, C, H, W)
            NaN where there is still a hole; known pixels as they were. ``X`` itself, if nothing
            is to be done; it is never written to.
        """
        return X

    def complete(self, X: np.ndarray) -> MFA | None:
        """What the holes of a batch may hold; None for a layer that does not ask."""
        return None

    def layer(self, channels: int, width: int) -> nn.Module:
        """First convolution and ReLU.

        Returns
        -------
        Module
            ``forward(values, observed, density=None) -> (N, width, H, W)``, without gaps and not
            negative; ``values`` is 0 in holes. A module with its own part in the loss has
            ``own_loss(values, observed) -> Tensor``, asked in training only.
        """
        raise NotImplementedError(f"{type(self).__name__} has no layer")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.two_d_array = False
        return tags
