"""Convolutions of a patch as products of matrices.

With one channel it takes half of the time of oneDNN's convolutions to write every window out as a
column and multiply; with three about the same, more for large batches, but less on the way back. A
matrix of columns is (groups, rows, windows), so that what is copied is whole lines of pixels;
answers are (groups, windows, channels), because products over windows are much faster that way
round.
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

    def matrix(self) -> Tensor:
        """The kernel, (groups, rows, channels out of a group), and the bias as last row."""
        rows = self.kernel.reshape(self.groups, -1, self.kernel[0].numel()).transpose(1, 2)
        if self.bias is None:
            return F.pad(rows, (0, 0, 0, 1))
        return torch.cat([rows, self.bias.reshape(self.groups, 1, -1)], 1)

    def kernel_of(self, matrix: Tensor) -> Tensor:
        """A matrix without bias in the shape of the kernel."""
        return matrix.transpose(1, 2).reshape(self.kernel.shape)

    def pixels(self, columns: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Sums over columns (groups, rows, maps, windows), in pixels (n, K, maps, C, h, w)."""
        pixels = columns.new_zeros(shape)
        windows = self.windows(pixels)
        parts = columns.view(windows.shape)
        for row in range(windows.shape[2]):
            for column in range(windows.shape[3]):  # in itself without overlap
                windows[:, :, row, column] += parts[:, :, row, column]
        return pixels

    def windows(self, pixels: Tensor) -> Tensor:
        """A view (groups, C / groups, rows, columns, maps, n, K, h', w') of pixels."""
        n, components, maps, _, height, width = pixels.shape
        picture, component, one, channel, line, pixel = pixels.stride()
        _, channels, rows, columns = self.kernel.shape
        (down, across), (below, beside) = self.stride, self.dilation
        return pixels.as_strided(
            (
                self.groups,
                channels,
                rows,
                columns,
                maps,
                n,
                components,
                (height - below * (rows - 1) - 1) // down + 1,
                (width - beside * (columns - 1) - 1) // across + 1,
            ),
            (
                channels * channel,
                channel,
                below * line,
                beside * pixel,
                one,
                picture,
                component,
                down * line,
                across * pixel,
            ),
            pixels.storage_offset(),
        )


class Columns:
    """Windows of pixels (n, K, maps, C, h, w) as columns, in the order (n, K, h', w').

    Of one map at a time, always in the same place, which so stays in a cache: for all maps of some
    pictures the columns would be larger than any.
    """

    def __init__(self, pixels: Tensor, conv: Conv) -> None:
        windows = conv.windows(pixels)
        self._windows = windows.unbind(4)
        shape = self._windows[0].shape
        rows = shape[1:4].numel()
        self._all = pixels.new_empty(conv.groups, rows + 1, shape[4:].numel())
        self._all[:, rows] = 1
        self._rows = self._all[:, :rows]
        self._parts = self._rows.view(shape)

    def of(self, number: int) -> Tensor:
        """Columns (groups, rows, windows) of a map."""
        self._parts.copy_(self._windows[number])
        return self._rows

    def with_ones(self, number: int) -> Tensor:
        """Columns of a map with a row of ones more, for the bias."""
        self.of(number)
        return self._all


def product(left: Tensor, right: Tensor, out: Tensor | None = None) -> Tensor:
    """Products of matrices (groups, a, b) and (groups, b, c)."""
    if left.shape[0] == 1:  # a batch of one takes a tenth longer than a product
        return torch.mm(left[0], right[0], out=None if out is None else out[0])[None]
    return torch.bmm(left, right, out=out)


def answers(columns: Tensor, matrix: Tensor, out: Tensor | None = None) -> Tensor:
    """Answers (groups, windows, channels) to columns."""
    return product(columns.transpose(1, 2), matrix, out)
