"""Sparsity-normalised convolution in front of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.image.pictures import blocks
from nanwise.estimators.image.treatment import ImageTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "sn_conv",
    kind="treatment",
    inputs="image",
    tasks=("classification",),
    summary="Windows of the first convolution are scaled by (K / number of known values)^power.",
    paper="Yi, Lee, Hwang, Yang: Sparsity Normalization: Stabilizing the Expected Outputs of Deep "
    "Networks, 2019 (draft), appendix B",
    when="Pictures that differ in how much of them is known.",
    space={"power": [1.0, 0.5]},
)
class SNConv(ImageTreatment):
    """First convolution with sparsity normalisation, then ReLU.

    Parameters
    ----------
    K : "mean" or float, default="mean"
        The count at which a window is not scaled; "mean" is the mean count of the windows of the
        training pictures.
    power : float, default=1.0
        1 is published, 0 no scaling.

    Attributes
    ----------
    K_ : float
    """

    def __init__(self, K: str | float = "mean", power: float = 1.0) -> None:
        self.K = K
        self.power = power

    def fit(self, X: np.ndarray) -> Self:
        """Learn K, the mean number of known values in a window."""
        if self.K == "mean":
            # without a single known value every window is 0 whatever K is
            self.K_ = _mean_count(X) or 1.0
        elif isinstance(self.K, str) or not self.K > 0:
            raise ValueError(f'K must be "mean" or a number above 0, got {self.K!r}')
        else:
            self.K_ = float(self.K)
        return self

    def layer(self, channels: int, width: int) -> nn.Module:
        """Normalised convolution and ReLU."""
        from nanwise.nets.image.first import Normalised

        return Normalised(channels, width, self.K_, self.power)


def _mean_count(X: np.ndarray) -> float:
    """Mean number of known values in a 3 x 3 window; what lies outside a picture is not known.

    A pixel is in as many windows as there are pixels around it, itself included.
    """
    height, width = X.shape[2:]
    seen = np.zeros((height, width))
    for part in blocks(len(X)):
        seen += (~np.isnan(X[part])).sum(axis=(0, 1))
    windows = np.outer(_around(height), _around(width))
    return float((seen * windows).sum() / (max(len(X), 1) * height * width))


def _around(length: int) -> np.ndarray:
    """How many of the places i - 1, i, i + 1 there are, for each i."""
    place = np.arange(length)
    return 1 + (place > 0) + (place < length - 1)
