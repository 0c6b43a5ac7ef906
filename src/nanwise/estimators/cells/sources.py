"""Cells as the training loop asks for them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from nanwise.nets.autoimpute import Cells


class CellSource:
    """Cells by number; all of them at once are handed out without a copy.

    Parameters
    ----------
    values, targets : ndarray of shape (N, genes)
        See :class:`nanwise.nets.autoimpute.Cells`.
    scale : ndarray of shape (N,)
    precision : {"float32", "float64"}
    """

    def __init__(
        self, values: np.ndarray, scale: np.ndarray, targets: np.ndarray, precision: str
    ) -> None:
        kind = getattr(torch, precision)
        inputs = torch.as_tensor(values, dtype=kind)
        # what should come out is what went in: one tensor is enough
        wanted = inputs if targets is values else torch.as_tensor(targets, dtype=kind)
        self.all = Cells(inputs, torch.as_tensor(scale, dtype=kind), wanted)

    def __len__(self) -> int:
        return len(self.all.values)

    def __getitem__(self, index: Tensor) -> Cells:
        if len(index) == len(self):  # a sum over all cells does not ask for their order
            return self.all
        return Cells(*(part[index] for part in self.all))
