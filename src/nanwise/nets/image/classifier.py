"""A treatment's first layer and a backbone behind it, trained together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from nanwise.completion.mfa import MFA

Loss = Callable[[Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor]]


class ImageNet(nn.Module):
    """Holes in, prediction out.

    Parameters
    ----------
    layer : Module
        See ``ImageTreatment.layer``.
    body : Module
        Takes the feature maps that the layer gives.
    loss : callable
        ``loss(output, target, weight) -> (sum, count)``, see :mod:`nanwise.nets.losses`.

    Shapes
    ------
    values (N, C, H, W), observed the same in bool; output (N, n_out).
    """

    def __init__(self, layer: nn.Module, body: nn.Module, loss: Loss) -> None:
        super().__init__()
        self.layer = layer
        self.body = body
        self.loss = loss

    def forward(self, values: Tensor, observed: Tensor, density: MFA | None = None) -> Tensor:
        """Prediction of the network, before any link function."""
        return self.body(self.layer(values, observed, density))

    def training_step(self, batch: tuple[Any, ...], phase: str = "main") -> Tensor:
        """Mean loss of a batch ``(values, observed, density, target, weight)``."""
        total, count = self.validation_step(batch)
        loss = total / count.clamp(min=1)
        own: Any = getattr(self.layer, "own_loss", None)
        return loss if own is None else loss + own(*batch[:2])

    def validation_step(self, batch: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
        """Sum of the classifier's losses and their count."""
        values, observed, density, target, weight = batch
        return self.loss(self(values, observed, density), target, weight)
