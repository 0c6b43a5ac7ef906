"""Where windows meet holes: the box of each picture outside which nothing is random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

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

    def inputs(self, axis: int, windows: int) -> int:
        """Number of pixels along an axis that some neighbouring windows span."""
        return (windows - 1) * self.stride[axis] + self.dilation[axis] * (self.kernel[axis] - 1) + 1

    def touching(self, axis: int, first: Tensor, last: Tensor) -> list[Tensor]:
        """Ranges of windows, ends not included, that span a pixel between two, (N,) each."""
        reach, stride = self.dilation[axis] * (self.kernel[axis] - 1), self.stride[axis]
        first, last = first + self.padding[axis], last + self.padding[axis]
        start = (first - reach + stride - 1).div(stride, rounding_mode="floor")
        end = last.div(stride, rounding_mode="floor") + 1
        return [start.clamp_min(0), end.clamp_max(self.out[axis])]


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
    index : Tensor, shape (n, 1, pixels)
        Where in its picture, of height times width pixels, each pixel stands that the windows span;
        anywhere if it lies beyond the border.
    inside : Tensor, shape (n, 1, height, width)
        1 for these pixels, 0 for those beyond the border.
    """

    numbers: list[int]
    rows: slice | Tensor
    corners: list[tuple[int, int]]
    size: tuple[int, int]
    index: Tensor
    inside: Tensor

    def read(self, part: Tensor) -> Tensor:
        """The pixels that the windows span, (n, ..., h, w), of a part (N, ..., H, W)."""
        flat = part[self.rows].flatten(-2)
        flat = flat.reshape(len(flat), -1, flat.shape[-1])
        got = flat.gather(2, self.index.expand(-1, flat.shape[1], -1))
        return got.reshape(len(got), *part.shape[1:-2], *self.inside.shape[-2:])

    def add(self, part: Tensor, pixels: Tensor) -> None:
        """Add pixels (n, ..., h, w), 0 beyond the border, to a part (N, ..., H, W)."""
        flat = pixels.reshape(len(pixels), -1, self.index.shape[-1])
        whole = flat.new_zeros(*flat.shape[:2], part.shape[-2] * part.shape[-1])
        whole.scatter_add_(2, self.index.expand_as(flat), flat)
        part[self.rows] += whole.reshape(len(pixels), *part.shape[1:])

    def views(self, maps: Tensor, start: int = 0) -> list[Tensor]:
        """The boxes (..., height, width) in maps (n, ..., H', W') of pictures from ``start``."""
        size, strides = (*maps.shape[1:-2], *self.size), maps.stride()[1:]
        steps = (maps.stride(0), *maps.stride()[-2:])
        first = maps.storage_offset()
        return [
            # One call; indexing would be three, and there are many boxes.
            maps.as_strided(
                size, strides, first + number * steps[0] + top * steps[1] + left * steps[2]
            )
            for number, (top, left) in zip(
                (n - start for n in self.numbers), self.corners, strict=True
            )
            if 0 <= number < len(maps)
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
    rows = grid.touching(0, *_span(whole.amin(2)))
    columns = grid.touching(1, *_span(whole.amin(1)))
    found = torch.stack([*rows, *columns], 1).tolist()
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
    largest = _size(list(found.values()), grid)
    many = max(1, budget // (maps * largest[0] * largest[1]))
    numbers = list(found)
    for start in range(0, len(numbers), many):
        yield _patch({n: found[n] for n in numbers[start : start + many]}, grid, like)


def _patch(found: dict[int, Box], grid: Grid, like: Tensor) -> Patch:
    height, width = size = _size(list(found.values()), grid)
    corners = [
        (min(top, grid.out[0] - height), min(left, grid.out[1] - width))
        for top, _, left, _ in found.values()
    ]
    first = torch.tensor(corners, device=like.device)
    rows, in_rows = _pixels(grid, 0, first[:, 0], height)
    columns, in_columns = _pixels(grid, 1, first[:, 1], width)
    index = rows[:, :, None] * grid.size[1] + columns[:, None]
    inside = in_rows[:, None, :, None] & in_columns[:, None, None]
    numbers = list(found)
    together = numbers[-1] - numbers[0] + 1 == len(numbers)
    where = slice(numbers[0], numbers[-1] + 1) if together else first.new_tensor(numbers)
    index, inside = index.flatten(1)[:, None], inside.to(like.dtype)
    return Patch(numbers, where, corners, size, index, inside)


def _pixels(grid: Grid, axis: int, first: Tensor, windows: int) -> tuple[Tensor, Tensor]:
    """Pixels (n, span) along an axis that the windows from ``first`` (n,) span; which exist."""
    offset = torch.arange(grid.inputs(axis, windows), device=first.device)
    pixel = first[:, None] * grid.stride[axis] - grid.padding[axis] + offset
    exists = (pixel >= 0) & (pixel < grid.size[axis])
    return pixel.clamp(0, grid.size[axis] - 1), exists


def _size(found: list[Box], grid: Grid) -> tuple[int, int]:
    """Height and width that hold each of the boxes; even, because every size costs a set-up."""
    height = max(bottom - top for top, bottom, _, _ in found)
    width = max(right - left for _, _, left, right in found)
    return min(height + height % 2, grid.out[0]), min(width + width % 2, grid.out[1])


def _span(line: Tensor) -> tuple[Tensor, Tensor]:
    """First and last 0 along each row of ``line`` (N, L); far behind and far before if none."""
    place = torch.arange(line.shape[1], device=line.device)
    hole, far = line == 0, 1 << 30
    return place.where(hole, far).amin(1), place.where(hole, -far).amax(1)
