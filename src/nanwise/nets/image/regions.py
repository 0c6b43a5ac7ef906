"""Regions that are hidden on purpose while a network learns to fill holes."""

from __future__ import annotations

import torch
from torch import Tensor

SORTS = ("auto", "square", "pixels", "others")
#: pictures that are looked at to tell what sort of holes there are
SOME = 1000
#: a hole of another picture that hides less of what can be seen teaches too little
_LEAST = 0.1


def choose(sort: str, size: float | None, observed: Tensor) -> tuple[str, float]:
    """What to hide from a network that is to fill holes like those of these pictures.

    Parameters
    ----------
    sort : {"auto", "square", "pixels", "others"}
        ``auto``: ``pixels`` if most missing pixels have an observed neighbour to the right or
        below, more than holes of one piece would have; else ``square``.
    size : float or None
        None: 0.5 for a square; 0.25 for single pixels, so that not too few are left to see.
    observed : Tensor of bool, shape (N, C, H, W)
    """
    if sort == "auto":
        sort = "pixels" if _are_scattered(~observed[:SOME]) else "square"
    return sort, (0.25 if sort == "pixels" else 0.5) if size is None else size


def _are_scattered(missing: Tensor) -> bool:
    below = missing[..., :-1, :], missing[..., 1:, :]
    right = missing[..., :-1], missing[..., 1:]
    together = sum(int((one & other).sum()) for one, other in (below, right))
    number = sum(int(one.sum()) for one, _ in (below, right))
    # Of pixels that are missing independently, a share p, a share p of the neighbours is missing.
    return together < number * (1 + missing.float().mean().item()) / 2


def hold_out(observed: Tensor, sort: str = "square", size: float = 0.5) -> Tensor:
    """Pixels to hide from a network in one step, a region of its own for each picture.

    Parameters
    ----------
    observed : Tensor of bool, shape (N, C, H, W)
        True where there is a value.
    sort : {"square", "pixels", "others"}
        ``square``: a rectangle of ``size`` times the sides, anywhere in the picture; ``pixels``:
        single pixels, a share of ``size``; ``others``: what is missing in another picture of the
        batch, a square where that hides next to nothing of what can be seen. See :func:`choose` for
        ``auto``.
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
    hidden, seen = ((part & observed).sum((1, 2, 3), keepdim=True) for part in (holes, observed))
    return torch.where(hidden > _LEAST * seen, holes, square)


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
