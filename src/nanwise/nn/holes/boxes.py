"""Where windows meet holes: the box of each picture outside which nothing is random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

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

    def touching(self, axis: int, first: int, last: int) -> tuple[int, int]:
        """Range of windows, end not included, that span a pixel between ``first`` and ``last``."""
        reach = self.dilation[axis] * (self.kernel[axis] - 1)
        start = -((reach - first - self.padding[axis]) // self.stride[axis])
        end = (last + self.padding[axis]) // self.stride[axis] + 1
        return max(start, 0), min(end, self.out[axis])


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

    def views(self, maps: Tensor) -> list[Tensor]:
        """The boxes (..., height, width) in maps (N, ..., H', W') of windows."""
        return [
            maps[number][place] for number, place in zip(self.numbers, self.places(), strict=True)
        ]

    def places(self) -> list[tuple[Any, ...]]:
        """What to index the maps (..., H', W') of one picture with, for each picture."""
        height, width = self.size
        return [
            (..., slice(top, top + height), slice(left, left + width)) for top, left in self.corners
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
    rows, columns = _span(whole.amin(2)), _span(whole.amin(1))
    found = {}
    for number, ((top, bottom), (left, right)) in enumerate(zip(rows, columns, strict=True)):
        if bottom < 0:
            continue
        box = (*grid.touching(0, top, bottom), *grid.touching(1, left, right))
        if box[0] < box[1] and box[2] < box[3]:
            found[number] = box
    return found


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


def _span(line: Tensor) -> list[tuple[int, int]]:
    """First and last 0 along each row of ``line`` (N, L); (0, -1) if there is none."""
    hole = line == 0
    length = line.shape[1]
    place = torch.arange(length, device=line.device)
    last = place.where(hole, -1).amax(1)
    first = place.where(hole, length).amin(1).clamp_max(length - 1)
    return list(zip(first.tolist(), last.tolist(), strict=True))
