"""Partial convolution in front of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.image.treatment import ImageTreatment
from nanwise.registry import method
from nanwise.train.checks import whole

if TYPE_CHECKING:
    from torch import nn


@method(
    "partial_conv",
    kind="treatment",
    inputs="image",
    role="rival",
    tasks=("classification",),
    summary="Each window of the first convolution is scaled by how much of it is known.",
    paper="Liu, Reda, Shih, Wang, Tao, Catanzaro: Image Inpainting for Irregular Holes Using "
    "Partial Convolutions, ECCV 2018",
    when="Small scattered holes, such as noise. Inside a large hole nothing is known and the "
    "answer is 0.",
    space={"depth": [1, 2]},
)
class PartialConv(ImageTreatment):
    """First convolution over the known pixels of each window, then ReLU.

    Parameters
    ----------
    depth : int, default=1
        Number of partial convolutions, one after the other, each told by the one before it what is
        known now. 1: the first convolution only, as in the comparison of MisConv; more make the
        network deeper than that of other treatments.
    """

    def __init__(self, depth: int = 1) -> None:
        self.depth = depth

    def fit(self, X: np.ndarray) -> Self:
        """Check the settings; there is nothing to learn."""
        whole("depth", self.depth)
        return self

    def layer(self, channels: int, width: int) -> nn.Module:
        """Partial convolutions, each with a ReLU."""
        from nanwise.nets.image.first import Partial

        return Partial(channels, width, self.depth)
