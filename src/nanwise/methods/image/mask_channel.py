"""Zero filling, and what is known as one more channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanwise.estimators.image.treatment import ImageTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "mask_channel",
    kind="treatment",
    inputs="image",
    role="rival",
    tasks=("classification",),
    summary="A hole is 0, and one more channel says which pixels are known.",
    paper="a baseline of Przewięźlikowski et al., WACV 2022",
    when="Many labelled pictures: simple, quick, and hard to beat.",
)
class MaskChannel(ImageTreatment):
    """Replace holes by 0; one more channel is 1 at known pixels and 0 in holes."""

    def layer(self, channels: int, width: int) -> nn.Module:
        """Plain convolution over one more channel, and ReLU."""
        from nanwise.nets.image.first import Filled

        return Filled(channels, width, marks=True)
