"""Which rows this process takes, step by step."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor


def mix(seed: int, *parts: int) -> int:
    """One 63-bit seed from several numbers: same numbers, same seed, on every machine."""
    state = np.random.SeedSequence([seed, *parts]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


class Batches:
    """Shuffled rows of an epoch, cut into batches of nearly equal size.

    Equal sizes, instead of full batches and a small rest, let every row weigh the same and leave no
    batch of one row for a batch normalisation to fail on. All processes draw the same order; each
    takes every ``world``-th row of it. The order is wrapped around so that all get the same number
    of rows, hence of steps: a process with fewer steps would leave the others waiting for ever.

    The order depends on (seed, epoch) only, so that a resumed run needs no generator state.
    """

    def __init__(self, n_rows: int, batch: int | None, seed: int, rank: int, world: int) -> None:
        self.n_rows, self.seed, self.rank, self.world = n_rows, seed, rank, world
        self.share = math.ceil(n_rows / world)
        self.steps = min(self.share, math.ceil(n_rows / (batch or n_rows)))

    def epoch(self, epoch: int) -> tuple[Tensor, ...]:
        """Row numbers of every batch of this process."""
        generator = torch.Generator().manual_seed(mix(self.seed, epoch))
        order = torch.randperm(self.n_rows, generator=generator)
        if self.world > 1:
            wrapped = torch.arange(self.rank, self.share * self.world, self.world) % self.n_rows
            order = order[wrapped]
        return order.tensor_split(self.steps)


def every_nth(n_rows: int, size: int, rank: int, world: int) -> tuple[Tensor, ...]:
    """Every ``world``-th row in order, in blocks of ``size``; nothing if there is none for us."""
    return torch.arange(rank, n_rows, world).split(size) if rank < n_rows else ()
