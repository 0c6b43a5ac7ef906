"""Perceptron on pictures whose dark pixels are missing; sparsity normalisation at any layer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from nanwise.nets import losses


class SNMLP(nn.Module):
    r"""Affine layers with ReLU; what enters some of them is divided by how much of it is not 0.

    .. math:: h \mapsto W \, \frac{K}{\max(\|h\|_0, 1)} \, h + b

    In a hidden layer, what is 0 is what ReLU cut off. The count is a constant for the gradient.

    Parameters
    ----------
    n_in, n_out : int
        Width of the input and of the output.
    hidden : sequence of int
        Widths of the hidden layers.
    normalised : collection of int
        Which affine layers, counted from 0, take normalised input.
    K : float, default=1.0
        1 is the draft's division by the count.

    References
    ----------
    Yi, Lee, Hwang, Yang (2019). Sparsity normalization: stabilizing the expected outputs of deep
    networks, section 5 and appendix C.3 (draft of the ICLR 2020 paper).
    """

    def __init__(
        self,
        n_in: int,
        hidden: Sequence[int],
        n_out: int,
        normalised: Collection[int] = (),
        K: float = 1.0,
    ) -> None:
        super().__init__()
        widths = [n_in, *hidden, n_out]
        strange = sorted(set(normalised) - set(range(len(widths) - 1)))
        if strange:
            raise ValueError(
                f"normalised must name layers from 0 to {len(hidden)}, got {strange[0]!r}"
            )
        self.normalised, self.K = frozenset(normalised), K
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        for layer in self.layers:
            # the start of the draft: with biases of 0, scaling does not change which units are on
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (N, n_out) of rows (N, n_in)."""
        for place in range(len(self.layers) - 1):
            x = self._affine(place, x).relu()
        return self._affine(len(self.layers) - 1, x)

    def active(self, x: Tensor) -> Tensor:
        """Number of units of the first hidden layer that are not 0, (N,)."""
        return (self._affine(0, x) > 0).sum(-1)

    def _affine(self, place: int, x: Tensor) -> Tensor:
        if place in self.normalised:
            # not by functional.sparsity_norm, to which NaN is a gap: a network that diverges must
            # be noticed
            x = x * (self.K / (x != 0).sum(-1, keepdim=True).clamp_min(1))
        return self.layers[place](x)

    def training_step(self, batch: tuple[Any, ...], phase: str = "main") -> Tensor:
        """Mean loss of a batch ``(rows, classes)``."""
        total, count = self.validation_step(batch)
        return total / count

    def validation_step(self, batch: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
        """Sum of the losses and their count."""
        rows, classes = batch
        return losses.categorical(self(rows), classes, None)

    @torch.inference_mode()
    def predict(self, x: Tensor) -> Tensor:
        """Most probable classes (N,)."""
        return self(x).argmax(-1)
