"""Convolutions of a patch and their ways back.

Answers and the gradient of the kernel are left to torch's convolutions, all maps in one call. The
gradient of the pixels is not: with one or three channels it takes them four times as long as a
product of matrices and sums of shifted columns.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


class Conv(NamedTuple):
    """The convolution of a patch; its pixels are cut out with their padding already."""

    kernel: Tensor
    bias: Tensor | None
    stride: list[int]
    dilation: list[int]
    groups: int

    def answers(self, pixels: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
        """Answers (N, O, h', w') to pixels (..., C, h, w)."""
        places = (self.stride, 0, self.dilation, self.groups)
        return F.conv2d(pixels.flatten(0, -4), kernel, bias, *places)

    def for_weights(self, grad: Tensor, pixels: Tensor, bias: bool) -> tuple[Tensor, Tensor]:
        """Gradients in kernel and, if asked for, bias, for one in the answers to pixels."""
        _, for_kernel, for_bias = torch.ops.aten.convolution_backward(
            grad,
            pixels.flatten(0, -4),
            self.kernel,
            [len(self.kernel)],
            self.stride,
            [0, 0],
            self.dilation,
            False,
            [0, 0],
            self.groups,
            [False, True, bias],
        )
        return for_kernel, for_bias

    def for_pixels(self, grad: Tensor, kernel: Tensor, into: Tensor) -> None:
        """Write the gradient in pixels (..., C, h, w) for one in their answers."""
        rows = kernel.reshape(self.groups, -1, kernel[0].numel()).transpose(1, 2)
        columns = rows @ grad.flatten(2).unflatten(1, (self.groups, -1))
        windows = self._windows(into.zero_().flatten(0, -4))
        parts = columns.view(windows.shape)
        for row in range(windows.shape[2]):
            for column in range(windows.shape[3]):  # in itself without overlap
                windows[:, :, row, column] += parts[:, :, row, column]

    def _windows(self, pixels: Tensor) -> Tensor:
        """A view (N, C, rows, columns, h', w') of pixels (N, C, h, w)."""
        n, channels, height, width = pixels.shape
        picture, channel, line, pixel = pixels.stride()
        rows, columns = self.kernel.shape[2:]
        (down, across), (below, beside) = self.stride, self.dilation
        return pixels.as_strided(
            (
                n,
                channels,
                rows,
                columns,
                (height - below * (rows - 1) - 1) // down + 1,
                (width - beside * (columns - 1) - 1) // across + 1,
            ),
            (picture, channel, below * line, beside * pixel, down * line, across * pixel),
            pixels.storage_offset(),
        )
