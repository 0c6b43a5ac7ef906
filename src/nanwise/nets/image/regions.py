"""Regions that are hidden on purpose while a network learns to fill holes."""

from __future__ import annotations

import torch
from torch import Tensor

SORTS = ("square", "pixels", "others")


def hold_out(observed: Tensor, sort: str = "square", size: float = 0.5) -> Tensor:
    """Pixels to hide from a network in one step, a region of its own for each picture.

    Parameters
    ----------
    observed : Tensor of bool, shape (N, C, H, W)
        True where there is a value.
    sort : {"square", "pixels", "others"}
        ``square``: a rectangle of ``size`` times the sides, anywhere in the picture; ``pixels``:
        single pixels, a share of ``size``; ``others``: what is missing in another picture of the
        batch, a square where that has nothing missing.
    size : float
        Between 0 and 1.

    Returns
    -------
    Tensor of bool, shape (N, C, H, W)
        True where a pixel is to be hidden; may overlap with the holes. All channels of a pixel go
        together, but for ``others``, which copies holes as they are.
    """
    if sort == "pixels":
        return (_random(observed, *observed.shape[2:]) < size)[:, None].expand_as(observed)
    square = _squares(observed, size)
    if sort == "square":
        return square
    # One step on in the batch, which is shuffled: every hole is used once.
    holes = ~observed.roll(1, 0)
    return torch.where(holes.any((1, 2, 3), keepdim=True), holes, square)


def _squares(observed: Tensor, size: float) -> Tensor:
    rows = _span(observed, observed.shape[2], size)
    columns = _span(observed, observed.shape[3], size)
    return (rows[:, :, None] & columns[:, None, :])[:, None].expand_as(observed)


def _span(like: Tensor, length: int, size: float) -> Tensor:
    """True over a stretch of ``size`` times the length, at a random place in each row (N, L)."""
    width = min(max(round(size * length), 1), length)
    start = (_random(like, 1) * (length - width + 1)).floor()
    place = torch.arange(length, device=like.device)
    return (place >= start) & (place < start + width)


def _random(like: Tensor, *shape: int) -> Tensor:
    return torch.rand(len(like), *shape, device=like.device)
