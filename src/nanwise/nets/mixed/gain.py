"""Generative adversarial imputation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from nanwise.nets.mixed.layers import Bent, hidden_part, start_at_zero
from nanwise.nets.mixed.outputs import Errors, Outputs
from nanwise.nets.mlp import MLP

#: least sum of weights that an error is divided by
EPS = 1e-8


class Game(NamedTuple):
    """One batch as both players see it; what is so or not is told by numbers, 1 and 0.

    Attributes
    ----------
    batch : tuple of Tensor
        ``(features (N, F), observed (N, A))``.
    known, shown : Tensor of shape (N, A)
        What is observed, and what of it the generator sees.
    told : Tensor of shape (N, A)
        Where the discriminator is told which it is.
    given : Tensor of shape (N, F)
        What the generator says.
    """

    batch: tuple[Tensor, Tensor]
    known: Tensor
    shown: Tensor
    told: Tensor
    given: Tensor


class GAINNet(nn.Module):
    """A generator fills gaps, a discriminator tells filled cells from observed ones.

    With observed cells m (1 = observed), noise z and a hint h, the generator gives
    ``g = G(m x + (1 - m) z, m)``, the completed row is ``m x + (1 - m) g``, and the discriminator
    sees it with h and gives per attribute the probability d that it was observed. Both play on the
    same z and h, as in the authors' code, so that the generator is asked once for each batch.

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
        self._game: Game | None = None

    @property
    def players(self) -> dict[str, list[nn.Parameter]]:
        """Who learns, in the order of the steps."""
        return {
            "discriminator": list(self.discriminator.parameters()),
            "generator": list(self.generator.parameters()),
        }

    # -- training --------------------------------------------------------------------------------

    def training_step(self, batch: Any, phase: str = "generator") -> Tensor:
        """Loss of the player ``phase``; the generator plays the game that the other has begun."""
        game = self._game
        if game is None or game.batch is not batch:
            game = self._deal(batch)
        self._game = game if phase == "discriminator" else None
        if phase == "discriminator":
            return self.discriminator_loss(game)
        return self.generator_loss(game)

    def _deal(self, batch: tuple[Tensor, Tensor]) -> Game:
        features, observed = batch
        shown = hidden_part(observed, self.hide).to(features.dtype)
        z = self.noise * torch.rand_like(features)
        told = (torch.rand_like(shown) < self.hint_rate).to(features.dtype)
        given = self.generate(features, shown, z)
        return Game(batch, observed.to(features.dtype), shown, told, given)

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Squared error of a fixed half of the observed attributes, filled from the others."""
        features, observed = batch
        every_other = torch.arange(observed.shape[1], device=observed.device) % 2 == 0
        asked = observed & every_other
        off = (self.fill(features, observed & ~every_other) - features) ** 2
        where = self.outputs.spread(asked)
        return (off * where).sum(), where.sum()

    def discriminator_loss(self, game: Game) -> Tensor:
        """Cross entropy of what is shown, of all attributes or of those not told."""
        judged = self.judge(game, game.given.detach())
        if self.hint == "code":
            return binary_cross_entropy_with_logits(judged, game.shown)
        asked = 1 - game.told
        total = binary_cross_entropy_with_logits(judged, game.shown, asked, reduction="sum")
        return total / asked.sum().clamp(min=1)

    def generator_loss(self, game: Game) -> Tensor:
        """How well the discriminator sees through it, and the error where the truth is known."""
        judged = self.judge(game, game.given)
        seen_through = binary_cross_entropy_with_logits(
            judged, torch.ones_like(judged), 1 - game.shown
        )
        squares = (game.batch[0] - game.given) ** 2
        hidden = game.known - game.shown
        self.errors.learn(squares, self.outputs.spread(hidden))
        weight = self.outputs.spread(hidden + self.repeat * game.shown)
        error = (weight * squares).sum() / weight.sum().clamp(min=EPS)
        return seen_through + self.alpha * error

    def generate(self, features: Tensor, shown: Tensor, z: Tensor) -> Tensor:
        """What the generator says of all features; ``shown`` by numbers."""
        seen = self.complete(features, shown, z)
        return self.outputs(self.generator(torch.cat([seen, shown], dim=-1)))

    def complete(self, features: Tensor, shown: Tensor, given: Tensor) -> Tensor:
        """Features as they are where they are shown, to the bit, and as given elsewhere."""
        return torch.lerp(given, features, self.outputs.spread(shown))

    def judge(self, game: Game, given: Tensor) -> Tensor:
        """Log odds of each attribute to have been shown, with gaps as ``given``."""
        hint = game.shown * game.told
        if self.hint == "paper":
            hint = hint + 0.5 * (1 - game.told)
        completed = self.complete(game.batch[0], game.shown, given)
        return self.discriminator(torch.cat([completed, hint], dim=-1))

    # -- answers ---------------------------------------------------------------------------------

    def fill(self, features: Tensor, observed: Tensor) -> Tensor:
        """Features given the mean noise."""
        z = torch.full_like(features, self.noise / 2)
        shown = observed.to(features.dtype)
        return self.complete(features, shown, self.generate(features, shown, z))

    def draw(
        self, features: Tensor, observed: Tensor, n: int, generator: torch.Generator | None
    ) -> Tensor:
        """Features given fresh noise, (n, N, F); levels drawn from their probabilities.

        A generator that was trained on hidden cells also knows how far off it is: numbers get a
        Gaussian error of that size.
        """
        shape = (n, *features.shape)
        z = self.noise * torch.rand(shape, dtype=features.dtype, generator=generator)
        shown = observed.to(features.dtype).expand(n, *observed.shape)
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
