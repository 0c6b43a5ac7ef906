"""Generative adversarial imputation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nanwise.nets.mixed.layers import Bent, start_at_zero
from nanwise.nets.mixed.outputs import Errors, Outputs
from nanwise.nets.mlp import MLP

HINTS = ("code", "paper")

#: added to what a logarithm is taken of, as in the authors' code
EPS = 1e-8


class GAINNet(nn.Module):
    """A generator fills gaps, a discriminator tells filled cells from observed ones.

    With observed cells m (1 = observed), noise z and a hint h, the generator gives
    ``g = G(m x + (1 - m) z, m)``, the completed row is ``m x + (1 - m) g``, and the discriminator
    sees it with h and gives per attribute the probability d that it was observed.

    - discriminator: ``-mean[m log d + (1 - m) log(1 - d)]``
    - generator: ``-mean[(1 - m) log d] + alpha mean[w (x - g)²] / mean[w]`` with w = m, or, of
      observed cells that were hidden from the generator, w = 1 and ``repeat`` of those it saw

    Parameters
    ----------
    parts : sequence of Part
        The attributes.
    hidden : sequence of int or None
        Widths of the hidden layers of the generator, which stand beside a linear map; those of the
        discriminator are a quarter as wide. None: two as wide as there are features in both, and no
        such map, as published.
    alpha : float
        Weight of the squared error.
    hint : {"code", "paper"}
        What the discriminator is told of m. With b drawn per attribute, 1 with probability
        ``hint_rate``: "code" tells ``b m`` and scores all attributes; "paper" tells
        ``b m + (1 - b) / 2`` and scores those of which nothing was told.
    hint_rate : float
    noise : float
        z is uniform between 0 and this.
    hide : float
        Share of the observed attributes that are hidden from the generator in every step, and that
        count as missing but for the squared error, which takes all that were observed. 0 as
        published: the generator then sees every value that it is asked to repeat.
    repeat : float
        Weight of the squared error where the generator sees the value, relative to where it does
        not. Without ``hide`` it says nothing.
    bounded : bool
        Whether numbers are scaled to [0, 1].
    """

    def __init__(
        self,
        parts: Sequence[Any],
        hidden: Sequence[int] | None = None,
        *,
        alpha: float = 100.0,
        hint: str = "code",
        hint_rate: float = 0.9,
        noise: float = 0.01,
        hide: float = 0.0,
        repeat: float = 1.0,
        bounded: bool = True,
    ) -> None:
        super().__init__()
        self.alpha, self.hint, self.hint_rate = alpha, hint, hint_rate
        self.noise, self.hide, self.repeat = noise, hide, repeat
        self.settings = (alpha, hint, hint_rate, noise, hide, repeat, bounded)
        self.outputs = Outputs(parts, bounded)
        n_features, n_attributes = self.outputs.n_features, self.outputs.n_attributes
        n_in = n_features + n_attributes
        self.generator = _network(n_in, hidden, n_features, n_features)
        judging = None if hidden is None else [math.ceil(width / 4) for width in hidden]
        self.discriminator = _network(n_in, judging, n_attributes, n_features)
        self.errors = Errors(n_features)

    @property
    def players(self) -> dict[str, list[nn.Parameter]]:
        """Who learns, in the order of the steps."""
        return {
            "discriminator": list(self.discriminator.parameters()),
            "generator": list(self.generator.parameters()),
        }

    # -- training --------------------------------------------------------------------------------

    def training_step(self, batch: Any, phase: str = "generator") -> Tensor:
        """Loss of the player ``phase``."""
        features, observed = batch
        shown = observed & (torch.rand(observed.shape, device=observed.device) >= self.hide)
        z = self.noise * torch.rand_like(features)
        told = torch.rand(observed.shape, device=observed.device) < self.hint_rate
        with torch.set_grad_enabled(phase == "generator"):
            given = self.generate(features, shown, z)
        judged = self.judge(self.complete(features, shown, given), shown, told)
        if phase == "discriminator":
            return self.discriminator_loss(judged, shown, told)
        self.errors.learn((features - given) ** 2, self.outputs.spread(observed & ~shown))
        return self.generator_loss(judged, features, given, shown, observed)

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Squared error of a fixed half of the observed attributes, filled from the others."""
        features, observed = batch
        every_other = torch.arange(observed.shape[1], device=observed.device) % 2 == 0
        asked = observed & every_other
        off = (self.fill(features, observed & ~every_other) - features) ** 2
        where = self.outputs.spread(asked)
        return (off * where).sum(), where.sum()

    def discriminator_loss(self, judged: Tensor, shown: Tensor, told: Tensor) -> Tensor:
        """Cross entropy of what was observed, of all attributes or of those not told."""
        m = shown.to(judged.dtype)
        each = m * (judged + EPS).log() + (1 - m) * (1 - judged + EPS).log()
        if self.hint == "code":
            return -each.mean()
        asked = (~told).to(judged.dtype)
        return -(each * asked).sum() / asked.sum().clamp(min=1)

    def generator_loss(
        self, judged: Tensor, features: Tensor, given: Tensor, shown: Tensor, observed: Tensor
    ) -> Tensor:
        """How well the discriminator sees through it, and the error where the truth is known."""
        m = shown.to(judged.dtype)
        seen_through = -((1 - m) * (judged + EPS).log()).mean()
        weight = (observed & ~shown).to(features.dtype) + self.repeat * m
        weight = self.outputs.spread(weight)
        error = (weight * (features - given) ** 2).mean() / weight.mean().clamp(min=EPS)
        return seen_through + self.alpha * error

    def generate(self, features: Tensor, shown: Tensor, z: Tensor) -> Tensor:
        """What the generator says of all features."""
        seen = torch.where(self.outputs.spread(shown), features, z)
        return self.outputs(self.generator(torch.cat([seen, shown.to(seen.dtype)], dim=-1)))

    def complete(self, features: Tensor, shown: Tensor, given: Tensor) -> Tensor:
        """Observed features as they are, the others as given."""
        return torch.where(self.outputs.spread(shown), features, given)

    def judge(self, completed: Tensor, shown: Tensor, told: Tensor) -> Tensor:
        """Probability of each attribute to have been observed."""
        m = shown.to(completed.dtype)
        unknown = 0.0 if self.hint == "code" else 0.5
        hint = torch.where(told, m, torch.full_like(m, unknown))
        return self.discriminator(torch.cat([completed, hint], dim=-1)).sigmoid()

    # -- answers ---------------------------------------------------------------------------------

    def fill(self, features: Tensor, observed: Tensor) -> Tensor:
        """Features given the mean noise."""
        z = torch.full_like(features, self.noise / 2)
        return self.complete(features, observed, self.generate(features, observed, z))

    def draw(
        self, features: Tensor, observed: Tensor, n: int, generator: torch.Generator | None
    ) -> Tensor:
        """Features given fresh noise, (n, N, F); levels drawn from their probabilities.

        A generator that was trained on hidden cells also knows how far off it is: numbers get a
        Gaussian error of that size.
        """
        shape = (n, *features.shape)
        z = self.noise * torch.rand(shape, dtype=features.dtype, generator=generator)
        shown = observed.expand(n, *observed.shape)
        given = self.generate(features.expand(shape), shown, z)
        given = self.errors.scatter(given, self.outputs, generator)
        return self.complete(features.expand(shape), shown, given)


def _network(n_in: int, hidden: Sequence[int] | None, n_out: int, width: int) -> nn.Module:
    """A linear map and what bends it, both 0 at first; ``hidden=None``: two layers of ``width``."""
    if hidden is None:
        return _published(n_in, width, n_out)
    made = Bent.over(n_in, tuple(hidden), n_out)
    start_at_zero(made.linear)
    return made


def _published(n_in: int, width: int, n_out: int) -> MLP:
    """Affine layers that start with Gaussian weights of variance 2 / n_in and without biases."""
    made = MLP(n_in, (width, width), n_out)
    for parameter in made.parameters():
        if parameter.ndim == 2:
            nn.init.kaiming_normal_(parameter)
        else:
            nn.init.zeros_(parameter)
    return made
