"""Variational autoencoder over incomplete rows: the likelihood is that of what is observed."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nanwise.nets.mixed.importance import ImportanceNet
from nanwise.nets.mixed.latent import Gaussian, spread
from nanwise.nets.mixed.layers import Bent, hidden_part
from nanwise.nn.gaps import as_number
from nanwise.nn.likelihoods import AnyPart, Heads


class VAENet(ImportanceNet):
    """Encoder with zeros in gaps, standard normal latent vector, decoder with a head per kind.

    Encoder and decoder are :class:`nanwise.nets.mixed.layers.Bent`.

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
        Share of the observed attributes that are shown as missing in training. They stay in the
        loss; without ``flags`` the bound is one of the same likelihood, only by another proposal.
    particles : int
        Importance samples behind every answer.
    numbers, variance
        See :class:`nanwise.nn.likelihoods.Heads`.
    """

    #: whether encoder and decoder are told which attributes are observed
    flags = False

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
    ) -> None:
        heads = Heads(parts, numbers=numbers, variance=variance)
        super().__init__(latent, heads.width, particles)
        self.parts, self.hide, self.heads = tuple(parts), hide, heads
        told = heads.n_attributes if self.flags else 0
        self.encoder = Bent.over(heads.n_features + told, hidden, 2 * latent, activation)
        self.decoder = Bent.over(latent + told, hidden, heads.width, activation)

    def training_step(self, batch: tuple[Tensor, Tensor], phase: str = "main") -> Tensor:
        """Minus the mean evidence lower bound of a row."""
        features, observed = batch
        shown = hidden_part(observed, self.hide)
        posterior = self.propose(features, shown)
        raw = self.decode(posterior.at(self.noise(1, features)[0]), shown)
        bound = self.log_observed(raw, features, observed) - posterior.divergence()
        return -bound.mean()

    def propose(self, features: Tensor, observed: Tensor) -> Gaussian:
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
