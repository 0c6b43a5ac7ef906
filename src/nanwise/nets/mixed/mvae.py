"""MVAE: one encoder per attribute, joined by a product of experts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nanwise.nets.mixed.importance import ImportanceNet
from nanwise.nets.mixed.latent import Gaussian, product_of_experts
from nanwise.nets.mixed.layers import Apart, Bent
from nanwise.nn.gaps import as_number
from nanwise.nn.likelihoods import AnyPart, Heads


class MVAENet(ImportanceNet):
    """Variational autoencoder whose proposal is the product of the prior and of the experts there.

    Parameters
    ----------
    parts : sequence of Part
    hidden : sequence of int
        Widths of the hidden layers of the decoder; the first is that of each encoder.
    latent : int
    activation : str
        Of the decoder.
    warm_up : float
        Share of the epochs over which the weight of the divergence rises from 0 to 1.
    singles : int
        Most attributes per step whose own bound joins that of the row.
    particles : int
    numbers, variance
        See :class:`nanwise.nn.likelihoods.Heads`.
    """

    def __init__(
        self,
        parts: Sequence[AnyPart],
        *,
        hidden: Sequence[int],
        latent: int,
        activation: str = "relu",
        warm_up: float = 0.4,
        singles: int = 4,
        particles: int = 100,
        numbers: str = "gaussian",
        variance: str | float = "own",
    ) -> None:
        heads = Heads(parts, numbers=numbers, variance=variance)
        super().__init__(latent, heads.width, particles)
        self.heads, self.warm_up, self.singles = heads, warm_up, singles
        self.weight = 1.0
        self.experts = Apart(parts, hidden[0] if hidden else latent, 2 * latent)
        self.decoder = Bent.over(latent, hidden, heads.width, activation)

    def begin_epoch(self, epoch: int, epochs: int) -> None:
        """Set the weight of the divergence for this epoch."""
        ramp = self.warm_up * epochs
        self.weight = min((epoch - 1) / ramp, 1.0) if ramp else 1.0

    def training_step(self, batch: tuple[Tensor, Tensor], phase: str = "main") -> Tensor:
        """Minus the mean of the bound of a row and the bounds of its single attributes."""
        features, observed = batch
        experts = Gaussian.of(self.experts(features))
        there = as_number(observed, features.dtype)
        joint = self._bound(product_of_experts(*experts, there), features, there)
        return -(joint + self._single_bounds(experts, features, there)).mean()

    def propose(self, features: Tensor, observed: Tensor) -> Gaussian:
        """Proposal for the latent vectors of rows."""
        there = as_number(observed, features.dtype)
        return product_of_experts(*Gaussian.of(self.experts(features)), there)

    def decode(self, z: Tensor, observed: Tensor) -> Tensor:
        """Raw outputs (…, N, width) for the heads."""
        return self.decoder(z)

    def _bound(self, posterior: Gaussian, features: Tensor, scored: Tensor) -> Tensor:
        noise = torch.randn_like(posterior.mean)
        density = self.heads.log_prob(self.decoder(posterior.at(noise)), features)
        return (density * scored).sum(-1) - self.weight * posterior.divergence()

    def _single_bounds(self, experts: Gaussian, features: Tensor, there: Tensor) -> Tensor:
        """Sum over attributes of the bound of each alone, (N,); from some of them, scaled up."""
        n = there.shape[-1]
        chosen = torch.randperm(n)[: self.singles].tolist()
        total = there.new_zeros(len(there))
        for a in chosen:
            alone = torch.zeros_like(there)
            alone[:, a] = there[:, a]
            posterior = product_of_experts(
                experts.mean[:, a : a + 1], experts.scale[:, a : a + 1], there[:, a : a + 1]
            )
            # without the attribute there is nothing to say: posterior and prior are the same
            total = total + self._bound(posterior, features, alone)
        return total * (n / len(chosen))
