"""Memory for large arrays that live for one step of training."""

from __future__ import annotations

import math
import weakref

import numpy as np
import torch
from torch import Tensor

#: bytes from which an array is kept for the next step
_LARGE = 1 << 20


class Room:
    """Large arrays that were dropped, for the next one of the same size.

    A step makes and drops arrays of a few large sizes, with small things that stay in between. Left
    to the heap, these leave holes that the next array does not fit into, and a fit ends up with
    half as much memory again as it ever uses at once. Here as many arrays of a size exist as were
    in use at once; they go with the room.
    """

    def __init__(self) -> None:
        self._free: dict[int, list[np.ndarray]] = {}

    def empty(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """What ``like.new_empty(shape)`` gives; memory of the room on a CPU, if it is large."""
        size = math.prod(shape) * like.element_size()
        if size < _LARGE or like.device.type != "cpu":
            return like.new_empty(shape)
        free = self._free.setdefault(size, [])
        memory = free.pop() if free else torch.empty(size, dtype=torch.uint8).numpy()
        # The tensor, and whoever shares its storage, holds `lent`: its end is the end of them all.
        lent = memory.view()
        weakref.finalize(lent, free.append, memory).atexit = False
        # resize_, not view: a view that leaves an autograd function cannot be changed in place
        return torch.frombuffer(lent, dtype=like.dtype).resize_(shape)
