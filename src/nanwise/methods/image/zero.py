"""Zero filling of pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanwise.estimators.image.treatment import ImageTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "zero",
    kind="treatment",
    inputs="image",
    role="baseline",
    tasks=("classification",),
    summary="A hole is 0, black in most pictures.",
    paper="the baseline of Przewięźlikowski et al., WACV 2022",
    when="As the thing to beat, and where holes are rare.",
)
class ZeroPictures(ImageTreatment):
    """Replace holes by 0 and do nothing else."""

    def layer(self, channels: int, width: int) -> nn.Module:
        """Plain convolution and ReLU."""
        from nanwise.nets.image.first import Filled

        return Filled(channels, width)
