"""AutoImpute: an autoencoder of cells whose zeros are gaps."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Cells(NamedTuple):
    """Some cells.

    Attributes
    ----------
    values : Tensor of shape (N, genes)
        What goes in; 0 is a gap.
    scale : Tensor of shape (N,)
        What the input of a cell is multiplied by.
    targets : Tensor of shape (N, genes)
        What should come out; 0 is not asked for.
    """

    values: Tensor
    scale: Tensor
    targets: Tensor


class AutoImputeNet(nn.Module):
    """``decode · sigmoid(scale · encode · values + hidden_bias) + bias``.

    Parameters
    ----------
    genes, hidden : int

    Attributes
    ----------
    weight : float
        Cells over entries that are asked for, in all of the data; set before training.

    Notes
    -----
    Published is the *sum* S of squared errors over the n entries that are not 0, plus
    ``λ/2 (‖encode‖² + ‖decode‖²)``. Both are divided by n here: ``training_step`` is S / n, and the
    penalty is the optimizer's weight decay, from which ``homes`` spares the biases.
    """

    def __init__(self, genes: int, hidden: int) -> None:
        super().__init__()
        self.encode = nn.Parameter(torch.empty(genes, hidden))
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))
        self.decode = nn.Parameter(torch.empty(hidden, genes))
        self.bias = nn.Parameter(torch.zeros(genes))
        self.weight = 1.0

    @property
    def homes(self) -> dict[str, None]:
        """Parameters without weight decay."""
        return dict.fromkeys(("hidden_bias", "bias"))

    def forward(self, values: Tensor, scale: Tensor) -> Tensor:
        """Answers for all genes (N, genes)."""
        # scaled behind the product: no second copy of the values
        sums = (values @ self.encode) * scale[:, None] + self.hidden_bias
        return torch.addmm(self.bias, sums.sigmoid(), self.decode)

    def training_step(self, batch: Cells, phase: str = "main") -> Tensor:
        """Mean squared error of the entries asked for, estimated from some cells."""
        return self._squares(batch) / len(batch.values) * self.weight

    def validation_step(self, batch: Cells) -> tuple[Tensor, Tensor]:
        """Sum of squared errors, and of how many entries."""
        return self._squares(batch), batch.targets.count_nonzero()

    def _squares(self, batch: Cells) -> Tensor:
        asked = (batch.targets != 0).to(batch.targets.dtype)
        return ((self(batch.values, batch.scale) - batch.targets) * asked).square().sum()
