"""Where windows meet holes: the box of each picture outside which nothing is random."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Grid(NamedTuple):
    """How windows lie on a picture; two numbers each, for rows and columns."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    size: tuple[int, int]  # of the picture
    out: tuple[int, int]  # number of windows
    channels: int

    def inputs(self, axis: int, windows: int) -> int:
        """Number of pixels along an axis that some neighbouring windows span."""
        return (windows - 1) * self.stride[axis] + self.dilation[axis] * (self.kernel[axis] - 1) + 1

    def touching(self, axis: int, hole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ranges of windows, ends not included, that span a True of ``hole`` (N, pixels)."""
        stride, pixels = self.stride[axis], hole.shape[1]
        any_hole = hole.any(1)
        first = hole.argmax(1) + self.padding[axis]
        last = pixels - 1 - hole[:, ::-1].argmax(1) + self.padding[axis]
        start = (first - self.dilation[axis] * (self.kernel[axis] - 1) + stride - 1) // stride
        end = np.where(any_hole, last // stride + 1, 0)
        return start.clip(0), end.clip(None, self.out[axis])

    def pixels(self, axis: int, first: np.ndarray, windows: int) -> tuple[np.ndarray, np.ndarray]:
        """Pixels (n, span) along an axis that the windows from ``first`` (n,) span; which exist."""
        offset = np.arange(self.inputs(axis, windows)) - self.padding[axis]
        pixel = first[:, None] * self.stride[axis] + offset
        return pixel.clip(0, self.size[axis] - 1), (pixel >= 0) & (pixel < self.size[axis])


@dataclass(frozen=True)
class Patch:
    """Boxes of equal size, one for each of some pictures.

    Attributes
    ----------
    numbers : list of int
        Which pictures of the batch.
    rows : slice or Tensor
        The same, to index with; a slice if they follow each other, because it does not copy.
    corners : list of (top, left)
        First window of each box.
    size : (height, width)
        In windows.
    index : Tensor, shape (n, 1, h * w * C)
        Where in its picture (C, H, W) each pixel stands that the windows span, channels of a pixel
        next to each other; anywhere if it lies beyond the border.
    inside : Tensor, shape (n, C, h, w)
        1 for these pixels, 0 for those beyond the border.
    """

    numbers: list[int]
    rows: slice | Tensor
    corners: list[tuple[int, int]]
    size: tuple[int, int]
    index: Tensor
    inside: Tensor

    def read(self, part: Tensor) -> Tensor:
        """The pixels that the windows span, (n, ..., C, h, w), of a part (N, ..., C, H, W).

        Channels lie next to each other in memory.
        """
        channels, height, width = self.inside.shape[1:]
        flat = part[self.rows].reshape(len(self.numbers), -1, part[0].shape[-3:].numel())
        got = flat.gather(2, self.index.expand(-1, flat.shape[1], -1))
        return got.reshape(len(got), *part.shape[1:-3], height, width, channels).movedim(-1, -3)

    def add(self, part: Tensor, pixels: Tensor) -> None:
        """Add pixels (n, ..., C, h, w), 0 beyond the border, to a part (N, ..., C, H, W)."""
        flat = pixels.movedim(-3, -1).reshape(len(pixels), -1, self.index.shape[-1])
        whole = flat.new_zeros(*flat.shape[:2], part.shape[-3:].numel())
        whole.scatter_add_(2, self.index.expand_as(flat), flat)
        part[self.rows] += whole.reshape(len(pixels), *part.shape[1:])

    def views(self, maps: Tensor, start: int = 0) -> list[Tensor]:
        """The boxes (..., height, width) in maps (n, ..., H', W') of pictures from ``start``."""
        size, strides = (*maps.shape[1:-2], *self.size), maps.stride()[1:]
        steps = (maps.stride(0), *maps.stride()[-2:])
        first, many = maps.storage_offset(), len(maps)
        return [
            # One call; indexing would be three, and there are many boxes.
            maps.as_strided(
                size, strides, first + number * steps[0] + top * steps[1] + left * steps[2]
            )
            for number, (top, left) in zip(
                (n - start for n in self.numbers), self.corners, strict=True
            )
            if 0 <= number < many
        ]


Box = tuple[int, int, int, int]  # first and last window of the rows, then of the columns


def boxes(present: Tensor, grid: Grid) -> dict[int, Box]:
    """The smallest box of windows that touch a hole, for each picture that has such windows.

    Parameters
    ----------
    present : Tensor, shape (N, C, H, W)
        1 where there is a value, 0 in holes.
    """
    whole = present.amin(1)
    # Small things from here on: numpy is quicker, and a GPU would only wait.
    rows = grid.touching(0, _zero(whole.amin(2)))
    columns = grid.touching(1, _zero(whole.amin(1)))
    found = np.stack([*rows, *columns], 1).tolist()
    return {
        number: (top, bottom, left, right)
        for number, (top, bottom, left, right) in enumerate(found)
        if top < bottom and left < right
    }


def patches(
    found: dict[int, Box], grid: Grid, maps: int, budget: int, like: Tensor
) -> Iterator[Patch]:
    """Cut a batch into patches whose ``maps`` maps of windows hold at most ``budget`` numbers."""
    if not found:
        return
    height, width = _size(list(found.values()), grid)
    pieces = max(1, math.ceil(len(found) * maps * height * width / budget))
    numbers, many = list(found), math.ceil(len(found) / pieces)
    for start in range(0, len(numbers), many):
        yield _patch({n: found[n] for n in numbers[start : start + many]}, grid, like)


def _patch(found: dict[int, Box], grid: Grid, like: Tensor) -> Patch:
    height, width = size = _size(list(found.values()), grid)
    corners = [
        (min(top, grid.out[0] - height), min(left, grid.out[1] - width))
        for top, _, left, _ in found.values()
    ]
    first = np.array(corners)
    rows, in_rows = grid.pixels(0, first[:, 0], height)
    columns, in_columns = grid.pixels(1, first[:, 1], width)
    # Channels join the columns first: numpy is slow on a last axis of length 1 or 3.
    along = columns[:, :, None] + np.arange(grid.channels) * grid.size[0] * grid.size[1]
    index = rows[:, :, None] * grid.size[1] + along.reshape(len(first), 1, -1)
    inside = in_rows[:, :, None] & in_columns.repeat(grid.channels, 1)[:, None]
    inside = inside.reshape(*rows.shape, columns.shape[1], grid.channels)
    numbers = list(found)
    return Patch(
        numbers,
        _rows(numbers, like.device),
        corners,
        size,
        torch.from_numpy(index.reshape(len(index), 1, -1)).to(like.device),
        torch.from_numpy(inside).to(like).movedim(-1, 1),
    )


def _rows(numbers: list[int], device: torch.device) -> slice | Tensor:
    """What to index a batch with to get these pictures, in order."""
    if numbers[-1] - numbers[0] + 1 == len(numbers):
        return slice(numbers[0], numbers[-1] + 1)
    return torch.tensor(numbers, device=device)


def _size(found: list[Box], grid: Grid) -> tuple[int, int]:
    """Height and width that hold each of the boxes; even, because every size costs a set-up."""
    height = max(bottom - top for top, bottom, _, _ in found)
    width = max(right - left for _, _, left, right in found)
    return min(height + height % 2, grid.out[0]), min(width + width % 2, grid.out[1])


def _zero(line: Tensor) -> np.ndarray:
    return (line == 0).cpu().numpy()
