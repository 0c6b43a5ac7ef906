"""Where windows meet holes: the box of each picture outside which nothing is random."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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

    @property
    def padded(self) -> tuple[int, int]:
        """Size of a picture with its padding."""
        (height, width), (above, beside) = self.size, self.padding
        return height + 2 * above, width + 2 * beside

    def span(self, windows: tuple[int, int]) -> tuple[int, int]:
        """Numbers of pixels that some neighbouring windows span."""
        height, width = (
            (number - 1) * stride + apart * (kernel - 1) + 1
            for number, stride, apart, kernel in zip(
                windows, self.stride, self.dilation, self.kernel, strict=True
            )
        )
        return height, width

    def touching(self, axis: int, hole: np.ndarray) -> tuple[list[int], list[int]]:
        """Ranges of windows, ends not included, that span a True of ``hole`` (N, pixels).

        Anything where there is none.
        """
        stride, padding = self.stride[axis], self.padding[axis]
        reach = self.dilation[axis] * (self.kernel[axis] - 1)
        first = hole.argmax(1) + (padding - reach + stride - 1)
        last = hole.shape[1] - 1 + padding - hole[:, ::-1].argmax(1)
        start = np.maximum(first // stride, 0)
        end = np.minimum(last // stride + 1, self.out[axis])
        return start.tolist(), end.tolist()


@dataclass(frozen=True)
class Patch:
    """Boxes of equal size, one for each of some pictures.

    Attributes
    ----------
    grid : Grid
        How the windows lie.
    numbers : list of int
        Which pictures of the batch.
    rows : slice or Tensor
        The same, to index with; a slice if they follow each other, because it does not copy.
    corners : list of (top, left)
        First window of each box.
    size : (height, width)
        In windows.
    """

    grid: Grid
    numbers: list[int]
    rows: slice | Tensor
    corners: list[tuple[int, int]]
    size: tuple[int, int]

    def of(self, batch: Tensor) -> Tensor:
        """The rows of a batch that belong to the pictures."""
        return batch if len(self.numbers) == len(batch) else batch[self.rows]

    def pixels(self, pictures: Tensor) -> list[Tensor]:
        """What the boxes of windows span, (..., h, w), in padded pictures (n, ..., Hp, Wp)."""
        down, across = self.grid.stride
        corners = [(top * down, left * across) for top, left in self.corners]
        return _views(pictures, range(len(corners)), corners, self.grid.span(self.size))

    def views(self, maps: Tensor, start: int = 0) -> list[Tensor]:
        """The boxes (..., height, width) in maps (n, ..., H', W') of pictures from ``start``."""
        numbers = [number - start for number in self.numbers]
        return _views(maps, numbers, self.corners, self.size)


Box = tuple[int, int, int, int]  # first and last window of the rows, then of the columns


def boxes(present: Tensor, grid: Grid) -> dict[int, Box]:
    """The smallest box of windows that touch a hole, for each picture that has such windows.

    Parameters
    ----------
    present : Tensor, shape (N, C, H, W)
        1 where there is a value, 0 in holes.
    """
    # Sums are vectorised along every axis, smallest values are not, and single precision counts far
    # enough. Small things from here on: numpy is quicker, and a GPU would only wait.
    _, channels, height, width = present.shape
    counts = (present.sum(axis, dtype=torch.float32).sum(1) for axis in (3, 2))
    rows, columns = (
        count.cpu().numpy() < channels * most
        for count, most in zip(counts, (width, height), strict=True)
    )
    sides = (*grid.touching(0, rows), *grid.touching(1, columns))
    return {
        number: (top, bottom, left, right)
        for number, (hole, top, bottom, left, right) in enumerate(
            zip(np.logical_or.reduce(rows, 1), *sides, strict=True)
        )
        if hole and top < bottom and left < right
    }


def patches(
    found: dict[int, Box], grid: Grid, maps: tuple[int, int], budget: int, device: torch.device
) -> Iterator[Patch]:
    """Cut a batch into patches that need at most ``budget`` numbers.

    A picture needs so many ``maps`` of its windows, and so many of its padded pixels.
    """
    if not found:
        return
    each = maps[0] * math.prod(_size(list(found.values()))) + maps[1] * math.prod(grid.padded)
    pieces = max(1, math.ceil(len(found) * each / budget))
    numbers, many = list(found), math.ceil(len(found) / pieces)
    for start in range(0, len(numbers), many):
        yield _patch({n: found[n] for n in numbers[start : start + many]}, grid, device)


def _patch(found: dict[int, Box], grid: Grid, device: torch.device) -> Patch:
    height, width = size = _size(list(found.values()))
    corners = [
        (min(top, grid.out[0] - height), min(left, grid.out[1] - width))
        for top, _, left, _ in found.values()
    ]
    numbers = list(found)
    return Patch(grid, numbers, _rows(numbers, device), corners, size)


def _views(
    maps: Tensor, numbers: Sequence[int], corners: list[tuple[int, int]], size: tuple[int, int]
) -> list[Tensor]:
    """Boxes of some size in maps (n, ..., H, W) of given numbers, unless there is no such map."""
    shape, steps = (*maps.shape[1:-2], *size), maps.stride()
    many, first = maps.shape[0], maps.storage_offset()
    step, line, pixel = steps[0], steps[-2], steps[-1]
    return [
        # One call; indexing would be three, and there are many boxes.
        maps.as_strided(shape, steps[1:], first + number * step + top * line + left * pixel)
        for number, (top, left) in zip(numbers, corners, strict=True)
        if 0 <= number < many
    ]


def _rows(numbers: list[int], device: torch.device) -> slice | Tensor:
    """What to index a batch with to get these pictures, in order."""
    if numbers[-1] - numbers[0] + 1 == len(numbers):
        return slice(numbers[0], numbers[-1] + 1)
    return torch.tensor(numbers, device=device)


def _size(found: list[Box]) -> tuple[int, int]:
    """Height and width that hold each of the boxes."""
    height = max(bottom - top for top, bottom, _, _ in found)
    width = max(right - left for _, _, left, right in found)
    return height, width
