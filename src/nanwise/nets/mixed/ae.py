"""Autoencoder that learns to restore attributes it is not shown."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from nanwise.nets.mixed.latent import spread
from nanwise.nets.mixed.layers import Bent, hidden_part
from nanwise.nn.gaps import as_number
from nanwise.nn.likelihoods import AnyPart, Heads

#: seed of the attributes that are hidden in a validation step
_SEED = 0


class AENet(nn.Module):
    """Encoder with zeros in gaps and marks of what is observed, code, decoder.

    Parameters
    ----------
    parts : sequence of Part
    hidden : sequence of int
        Widths of the hidden layers of encoder and decoder.
    latent : int
        Width of the code.
    activation : str
    hide : float
        Share of the observed attributes that are not shown in training. Without it there is nothing
        to learn but to repeat what is there.
    variance
        See :class:`nanwise.nn.likelihoods.Heads`.
    """

    def __init__(
        self,
        parts: Sequence[AnyPart],
        *,
        hidden: Sequence[int],
        latent: int,
        activation: str = "relu",
        hide: float = 0.3,
        variance: str | float = "shared",
    ) -> None:
        super().__init__()
        self.parts, self.hide = tuple(parts), hide
        self.heads = Heads(parts, variance=variance)
        n_in = self.heads.n_features + self.heads.n_attributes
        self.encoder = Bent.over(n_in, hidden, latent, activation)
        self.decoder = Bent.over(latent, hidden, self.heads.width, activation)

    def training_step(self, batch: tuple[Tensor, Tensor], phase: str = "main") -> Tensor:
        """Minus the mean log density of an observed attribute."""
        losses, count = self._losses(*batch, hidden_part(batch[1], self.hide))
        return losses / count.clamp(min=1)

    def validation_step(self, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Sum and number of the losses, the same attributes hidden in every call."""
        generator = torch.Generator().manual_seed(_SEED)
        kept = torch.rand(batch[1].shape, generator=generator) >= self.hide
        return self._losses(*batch, batch[1] & kept.to(batch[1].device))

    def fill(self, features: Tensor, observed: Tensor) -> Tensor:
        """Expected features (N, F)."""
        return self.heads.mean(self(features, observed))

    def forward(self, features: Tensor, seen: Tensor) -> Tensor:
        """Raw outputs for the heads."""
        there = as_number(seen, features.dtype)
        shown = features * spread(there, self.parts)
        return self.decoder(self.encoder(torch.cat((shown, there), -1)))

    def _losses(self, features: Tensor, observed: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        density = self.heads.log_prob(self(features, seen), features)
        there = as_number(observed, density.dtype)
        return -(density * there).sum(), there.sum()
