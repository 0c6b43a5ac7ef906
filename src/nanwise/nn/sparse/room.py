"""Memory for large arrays that live for one step of training."""

from __future__ import annotations

import math
import mmap
from typing import Any

import torch
from torch import Tensor

#: bytes from which an array gets a mapping of its own
_LARGE = 1 << 20


def empty(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """What ``like.new_empty(shape)`` gives; on a CPU a large one has a mapping of its own.

    A step makes and drops arrays of a few large sizes, with small things that stay in between. On
    the heap these leave holes that the next array does not fit into, and a fit ends up with half
    as much memory again as it ever uses at once. A mapping goes back to the system as a whole.
    """
    size = math.prod(shape) * like.element_size()
    if size < _LARGE or like.device.type != "cpu":
        return like.new_empty(shape)
    # resize_, not view: a view that leaves an autograd function cannot be changed in place
    return torch.frombuffer(_mapping(size), dtype=like.dtype).resize_(shape)


def take(values: Tensor, index: Tensor) -> Tensor:
    """``values[index]`` for numbers (n,), without a graph."""
    return torch.index_select(values, 0, index, out=empty((index.shape[0],), values))


def _mapping(size: int) -> Any:
    found = mmap.mmap(-1, size)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # some pages to clear instead of thousands
        found.madvise(mmap.MADV_HUGEPAGE)
    return found
