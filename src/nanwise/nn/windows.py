"""What the convolutions for pictures with holes share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nanwise.missing import Observed
from nanwise.nn.gaps import split

#: Stride and dilation as ``conv2d`` takes them.
Pair = int | tuple[int, ...]
#: Padding as ``conv2d`` takes it: numbers, "same" or "valid".
Padding = int | tuple[int, ...] | str


class ZeroPaddedConv2d(nn.Conv2d):
    """``nn.Conv2d`` without other paddings than zeros, for layers that see holes."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            device=device,
            dtype=dtype,
        )

    def windows(self) -> tuple[Pair, Padding, Pair, int]:
        """How the windows lie, in the order in which ``conv2d`` takes it."""
        return self.stride, self.padding, self.dilation, self.groups


def split_pictures(
    x: Tensor | Observed, weight: Tensor, groups: int, observed: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Values and marks of pictures (N, C, H, W) or (C, H, W), see :func:`nanwise.nn.gaps.split`."""
    values, present = split(x, observed)
    channels = weight.shape[1] * groups
    if values.ndim not in (3, 4) or values.shape[-3] != channels:
        raise ValueError(
            f"x has the shape {tuple(values.shape)}; expected pictures (N, {channels}, H, W) or "
            f"one picture ({channels}, H, W): this convolution is made for {channels} channels"
        )
    if present.shape != values.shape:  # one mask for all channels, or for all pictures
        present = _expanded(present, values)
    return values, present


def _expanded(present: Tensor, values: Tensor) -> Tensor:
    try:
        return present.expand_as(values)
    except RuntimeError:
        raise ValueError(
            f"observed has shape {tuple(present.shape)}, the pictures {tuple(values.shape)}"
        ) from None


def window_counts(
    present: Tensor,
    weight: Tensor,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """Number of values in the window of each output of a convolution; padding has none.

    Parameters
    ----------
    present : Tensor, shape (N, C, H, W)
        1 where there is a value, 0 in gaps.
    weight : Tensor, shape (out, C / groups, rows, columns)
        Only its shape matters.
    stride, padding, dilation, groups
        As in ``torch.nn.functional.conv2d``.

    Returns
    -------
    Tensor, shape (N, 1, H', W'), or (N, out, H', W') with more than one group
        Low-precision types are counted in float32: bfloat16 has no 257.
    """
    if present.dtype in (torch.float16, torch.bfloat16):
        present = present.float()
    # Channels are added up first, so that the convolution has one channel per group.
    stacked = present.unflatten(-3, (groups, -1)).sum(-3)
    ones = present.new_ones(groups, 1, *weight.shape[-2:])
    number = F.conv2d(stacked, ones, None, stride, padding, dilation, groups)
    return number if groups == 1 else number.repeat_interleave(len(weight) // groups, -3)


def add_bias(values: Tensor, bias: Tensor | None) -> Tensor:
    """``values`` (..., out, H, W) plus one number per channel."""
    return values if bias is None else values + bias[:, None, None]
