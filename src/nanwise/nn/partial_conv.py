"""Partial convolution: each window is as large as what was observed in it."""

from __future__ import annotations

from torch import Tensor

from nanwise.missing import Observed
from nanwise.nn import functional
from nanwise.nn.windows import ZeroPaddedConv2d


class PartialConv2d(ZeroPaddedConv2d):
    r"""``nn.Conv2d`` over the values of each window; holes shrink from layer to layer.

    With the n values of a window of size s (pixels times channels of the group):

    .. math:: y = \frac{s}{n} \sum w x + b \text{ if } n > 0, \text{ else a gap}

    A passing layer: gaps in, gaps out. What comes out is :class:`nanwise.missing.Observed`, which
    the next ``PartialConv2d`` takes; ``.values`` ends the chain.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        As in ``nn.Conv2d``. Padding is with zeros, which count as missing.

    Notes
    -----
    An elementwise function that keeps 0 at 0, such as ReLU, may be applied to ``.values`` between
    two layers.

    References
    ----------
    Liu, Reda, Shih, Wang, Tao, Catanzaro (2018). Image inpainting for irregular holes using partial
    convolutions. ECCV.
    """

    def forward(self, x: Tensor | Observed, observed: Tensor | None = None) -> Observed:  # type: ignore[override]
        """Values and marks (N, out_channels, H', W')."""
        return functional.partial_conv2d(
            x,
            self.weight,
            self.bias,
            *self.windows(),
            observed,
        )
