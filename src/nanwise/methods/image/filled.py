"""Holes filled once by an imputer of pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nanwise.estimators.image.choice import ready
from nanwise.estimators.image.treatment import ImageTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "filled",
    kind="treatment",
    inputs="image",
    tasks=("classification",),
    summary="Holes are filled once with the mean that an imputer of pictures expects.",
    paper="mean filling by DMFA: Przewięźlikowski et al., WACV 2022",
    when="To see what an imputer brings without MisConv. gaps='dmfa', 'mfa' or 'flow' is this with "
    "the imputer of that name.",
    tiny={"imputer": "mfa"},
    fills=True,
)
class FilledPictures(ImageTreatment):
    """Fill with ``imputer.transform``, then convolve.

    Parameters
    ----------
    imputer : str or imputer of pictures, default="dmfa"
        One that was fitted before is used as it is; else a clone learns from the training pictures.
    random_state : int or None, default=None
        For an imputer without a seed of its own.

    Attributes
    ----------
    imputer_ : imputer
        The fitted one.
    """

    def __init__(self, imputer: Any = "dmfa", random_state: int | None = None) -> None:
        self.imputer = imputer
        self.random_state = random_state

    def fit(self, X: np.ndarray) -> Self:
        """Fit the imputer on the same incomplete pictures."""
        self.imputer_ = ready(self.imputer, X, self.random_state)
        return self

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Fill the holes."""
        return self.imputer_.transform(X)

    def layer(self, channels: int, width: int) -> nn.Module:
        """Plain convolution and ReLU."""
        from nanwise.nets.image.first import Filled

        return Filled(channels, width)
