"""Variational autoencoder over incomplete rows: the likelihood is that of what is observed."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nanwise.nets.mixed.importance import ImportanceNet
from nanwise.nets.mixed.latent import Gaussian, spread, standard_log_prob
from nanwise.nets.mlp import MLP
from nanwise.nn.gaps import as_number
from nanwise.nn.likelihoods import AnyPart, Heads


class VAENet(ImportanceNet):
    """Encoder with zeros in gaps, standard normal latent vector, decoder with a head per kind.

    Parameters
    ----------
    parts : sequence of Part
        The attributes.
    hidden : sequence of int
        Widths of the hidden layers of encoder and decoder.
    latent : int
        Width of the latent vector.
    activation : str
        See :class:`nanwise.nets.mlp.MLP`.
    hide : float
        Share of the observed attributes that the encoder does not see in training. They stay in the
        loss; the bound is one of the same likelihood, only by another proposal.
    particles : int
        Importance samples behind every answer.
    numbers, variance
        See :class:`nanwise.nn.likelihoods.Heads`.
    flags : bool
        Whether encoder and decoder are told which attributes are observed.
    """

    def __init__(
        self,
        parts: Sequence[AnyPart],
        *,
        hidden: Sequence[int],
        latent: int,
        activation: str = "relu",
        hide: float = 0.0,
        particles: int = 100,
        numbers: str = "gaussian",
        variance: str | float = "own",
        flags: bool = False,
    ) -> None:
        heads = Heads(parts, numbers=numbers, variance=variance)
        super().__init__(latent, heads.width, particles)
        self.parts, self.hide, self.flags, self.heads = tuple(parts), hide, flags, heads
        told = heads.n_attributes if flags else 0
        self.encoder = MLP(heads.n_features + told, hidden, 2 * latent, activation=activation)
        self.decoder = MLP(latent + told, hidden, heads.width, activation=activation)

    def training_step(self, batch: tuple[Tensor, Tensor], phase: str = "main") -> Tensor:
        """Minus the mean evidence lower bound of a row."""
        features, observed = batch
        posterior = self.encode(features, self.seen(observed))
        raw = self.decode(posterior.at(self.noise(1, features)[0]), observed)
        bound = self.log_observed(raw, features, observed) - posterior.divergence()
        return -bound.mean()

    def weigh(self, features: Tensor, observed: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Log of p(observed | z) p(z) / q(z), and the raw outputs of the decoder at z."""
        return self.weigh_by(self.encode(features, observed), features, observed, noise)

    def weigh_by(
        self, posterior: Gaussian, features: Tensor, observed: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The same for a given proposal."""
        z = posterior.at(noise)
        raw = self.decode(z, observed)
        ratio = standard_log_prob(z) - posterior.log_prob(z)
        return self.log_observed(raw, features, observed) + ratio, raw

    def encode(self, features: Tensor, observed: Tensor) -> Gaussian:
        """Proposal for the latent vectors of rows that show the observed attributes."""
        there = as_number(observed, features.dtype)
        shown = features * spread(there, self.parts)
        return Gaussian.of(self.encoder(torch.cat((shown, there), -1) if self.flags else shown))

    def decode(self, z: Tensor, observed: Tensor) -> Tensor:
        """Raw outputs (…, N, width) for the heads."""
        if self.flags:
            there = as_number(observed, z.dtype).expand((*z.shape[:-1], -1))
            z = torch.cat((z, there), -1)
        return self.decoder(z)

    def seen(self, observed: Tensor) -> Tensor:
        """What the encoder sees of the observed attributes in training."""
        if not self.hide:
            return observed
        return observed & (torch.rand(observed.shape, device=observed.device) >= self.hide)
