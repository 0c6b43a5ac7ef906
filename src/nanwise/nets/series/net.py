"""A recurrent encoder, statics, and one affine layer, trained together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Loss = Callable[[Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor]]


class SeriesNet(nn.Module):
    """Gaps in, prediction out.

    Parameters
    ----------
    encoder : Module
        ``encoder(values, observed, lengths) -> (N, units)``, see ``SeriesTreatment.encoder``.
    units : int
        Width of what the encoder gives.
    n_statics : int
        Number of static features.
    n_out : int
    loss : callable
        ``loss(output, target, weight) -> (sum, count)``, see :mod:`nanwise.nets.losses`.

    Shapes
    ------
    values (N, T, D), observed the same in bool, lengths (N,) or None (all T), statics (N, S) with 0
    in gaps, or None; output (N, n_out).
    """

    def __init__(
        self, encoder: nn.Module, units: int, n_statics: int, n_out: int, loss: Loss
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(units + n_statics, n_out)
        self.loss = loss

    def forward(
        self,
        values: Tensor,
        observed: Tensor,
        lengths: Tensor | None = None,
        statics: Tensor | None = None,
    ) -> Tensor:
        """Prediction of the network, before any link function."""
        state = self.encoder(values, observed, lengths)
        return self.head(state if statics is None else torch.cat([state, statics], dim=1))

    def training_step(self, batch: tuple[Any, ...], phase: str = "main") -> Tensor:
        """Mean loss of a batch ``(values, observed, lengths, statics, target, weight)``."""
        total, count = self.validation_step(batch)
        return total / count.clamp(min=1)

    def validation_step(self, batch: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
        """Sum of the losses and their count."""
        return self.scored_step(batch)[:2]

    def scored_step(self, batch: tuple[Any, ...]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sum of the losses, their count, outputs and targets."""
        *inputs, target, weight = batch
        output = self(*inputs)
        return *self.loss(output, target, weight), output, target
