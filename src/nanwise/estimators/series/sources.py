"""Sequences as the training loop sees them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

#: sequences answered or validated at once: the gates of all steps of these are in memory together
BLOCK = 256


class Prepared(NamedTuple):
    """Scaled and treated sequences: steps (S, D) below each other, 0 in gaps.

    Attributes
    ----------
    values, observed : ndarray, shape (S, D)
    lengths : ndarray of int, shape (N,)
    statics : ndarray, shape (N, P), or None
    """

    values: np.ndarray
    observed: np.ndarray
    lengths: np.ndarray
    statics: np.ndarray | None


class SeriesInputs:
    """What the network takes, by the numbers of sequences: values, observed, lengths, statics.

    Parameters
    ----------
    data : Prepared
    precision : str
        Numbers to compute with.
    """

    block = BLOCK

    def __init__(self, data: Prepared, precision: str = "float32") -> None:
        dtype = getattr(torch, precision)
        self.values = torch.as_tensor(data.values, dtype=dtype)
        self.observed = torch.as_tensor(data.observed)
        self.lengths = torch.as_tensor(data.lengths)
        self.first = self.lengths.cumsum(0) - self.lengths
        self.equal = bool((self.lengths == self.lengths[0]).all())
        self.statics = None if data.statics is None else torch.as_tensor(data.statics, dtype=dtype)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: Tensor) -> tuple[Any, ...]:
        statics = None if self.statics is None else self.statics.index_select(0, index)
        if self.equal:
            shape = (len(self), -1, self.values.shape[1])
            parts = (part.view(shape).index_select(0, index) for part in self._parts)
            return *parts, None, statics
        lengths = self.lengths.index_select(0, index)
        return *self._padded(self.first.index_select(0, index), lengths), lengths, statics

    @property
    def _parts(self) -> tuple[Tensor, Tensor]:
        return self.values, self.observed

    def _padded(self, first: Tensor, lengths: Tensor) -> list[Tensor]:
        """Sequences side by side, as long as the longest, with gaps behind their ends."""
        step = torch.arange(int(lengths.max()))
        within = step < lengths[:, None]
        places = (first[:, None] + step)[within]
        out = []
        for part in self._parts:
            padded = part.new_zeros(*within.shape, part.shape[1])
            padded[within] = part.index_select(0, places)
            out.append(padded)
        return out


class SeriesSource(SeriesInputs):
    """Batches ``(values, observed, lengths, statics, target, weight)`` for the training loop."""

    def __init__(
        self, data: Prepared, target: Tensor, weight: np.ndarray | None, precision: str
    ) -> None:
        super().__init__(data, precision)
        dtype = self.values.dtype
        self.target = target.to(dtype) if target.is_floating_point() else target
        self.weight = None if weight is None else torch.as_tensor(weight, dtype=dtype)

    def __getitem__(self, index: Tensor) -> tuple[Any, ...]:
        weight = None if self.weight is None else self.weight.index_select(0, index)
        return *super().__getitem__(index), self.target.index_select(0, index), weight
