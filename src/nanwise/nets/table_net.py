"""A treatment's layer and a network behind it, trained together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

Loss = Callable[[Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor]]


class TableNet(nn.Module):
    """Gaps in, prediction out.

    Parameters
    ----------
    layer : Module
        ``layer(values, observed)`` leaves no gap (see ``Treatment.layer``).
    body : Module
        Takes what the layer gives.
    loss : callable
        ``loss(output, target, weight) -> (sum, count)``, see :mod:`nanwise.nets.losses`.

    Shapes
    ------
    values (N, D), observed (N, D) bool or None for sparse rows; output (N, K), or (M, N, K) for a
    body of M members.
    """

    def __init__(self, layer: nn.Module, body: nn.Module, loss: Loss) -> None:
        super().__init__()
        self.layer = layer
        self.body = body
        self.loss = loss

    def forward(self, values: Any, observed: Tensor | None = None) -> Tensor:
        """Prediction of the network, before any link function."""
        return self.body(self.layer(values, observed))

    def training_step(self, batch: tuple[Any, ...], phase: str = "main") -> Tensor:
        """Mean loss of a batch ``(values, observed, target, weight)``.

        Its value is the mean over members, too, but its gradient is that of their sum: each member
        then learns as it would alone, whatever the optimizer and however many there are.
        """
        total, count = self.validation_step(batch)
        loss = total / count.clamp(min=1)
        members = getattr(self.body, "members", 1)
        return loss if members == 1 else loss + (members - 1) * (loss - loss.detach())

    def validation_step(self, batch: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
        """Sum of the losses and their count."""
        values, observed, target, weight = batch
        return self.loss(self(values, observed), target, weight)
