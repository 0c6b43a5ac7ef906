"""Adversarial learning from incomplete rows: data, patterns of gaps and fills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nanwise.nets.mixed.outputs import Errors, Outputs
from nanwise.nets.mlp import MLP


class MisGANNet(nn.Module):
    """Three generators, each with a critic (Wasserstein distance with gradient penalty).

    Masking is ``f(x, m) = x m``. Of noise, ``G_x`` makes whole rows and ``G_m`` patterns; the
    critic D_x compares observed rows ``f(x, m)`` with ``f(G_x, G_m)``, D_m patterns m with G_m. The
    imputer fills ``x m + ω (1 - m)``, ω uniform; the critic D_i compares rows of G_x with filled
    rows. With L_x, L_m, L_i the distances that the critics find, and e the squared error of the
    imputer where the truth is known,

    - G_m lowers ``L_m + alpha L_x``, G_x lowers ``L_x + beta L_i``;
    - the imputer lowers ``L_i + gamma e``.

    Parameters
    ----------
    parts : sequence of Part
        The attributes; numbers scaled to [0, 1].
    hidden : sequence of int
        Widths of the hidden layers of generators and critics (of critics in reverse).
    latent : int
        Width of the noise behind a row or a pattern.
    alpha, beta, gamma : float
    penalty : float
        Weight of the gradient penalty.
    critics : int
        Steps of the critics for one of the generators, and of the imputer if ``gamma`` is 0.
    hide : float
        Share of the observed attributes that the imputer does not see in a step and that count in
        its squared error.
    points : int
        Number of ω that a fill is the mean of, the same for all rows.
    """

    points: Tensor

    def __init__(
        self,
        parts: Sequence[Any],
        hidden: Sequence[int] = (128, 256),
        latent: int = 32,
        *,
        alpha: float = 0.1,
        beta: float = 0.1,
        gamma: float = 0.0,
        penalty: float = 10.0,
        critics: int = 5,
        hide: float = 0.0,
        points: int = 16,
    ) -> None:
        super().__init__()
        self.latent, self.hide, self.penalty = latent, hide, penalty
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        self.settings = (latent, alpha, beta, gamma, penalty, critics, hide)
        # an imputer that also has a squared error to lower need not wait for its critic
        self.every = {"generators": critics, "imputer": 1 if gamma else critics}
        self.outputs = Outputs(parts, bounded=True)
        f, a = self.outputs.n_features, self.outputs.n_attributes
        back = tuple(hidden)[::-1]
        self.make_row, self.make_pattern = MLP(latent, hidden, f), MLP(latent, hidden, a)
        self.imputer = MLP(f + a, hidden, f)
        self.row_critic, self.fill_critic = MLP(f, back, 1), MLP(f, back, 1)
        self.pattern_critic = MLP(a, back, 1)
        self.errors = Errors(f)
        noise = torch.rand(points, f, generator=torch.Generator().manual_seed(0))
        self.register_buffer("points", noise, persistent=False)

    @property
    def players(self) -> dict[str, list[nn.Parameter]]:
        """Who learns, in the order of the steps."""
        sides = {
            "critics": (self.row_critic, self.pattern_critic, self.fill_critic),
            "generators": (self.make_row, self.make_pattern),
            "imputer": (self.imputer,),
        }
        return {name: [p for m in side for p in m.parameters()] for name, side in sides.items()}

    # -- training --------------------------------------------------------------------------------

    def training_step(self, batch: Any, phase: str = "imputer") -> Tensor:
        """Loss of the player ``phase``."""
        features, observed = batch
        if phase == "critics":
            return self._critics_loss(features, observed)
        if phase == "generators":
            return self._generators_loss(len(features), features)
        return self._imputer_loss(features, observed)

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Squared error of a fixed half of the observed attributes, filled from the others."""
        features, observed = batch
        every_other = torch.arange(observed.shape[1], device=observed.device) % 2 == 0
        off = (self.fill(features, observed & ~every_other) - features) ** 2
        where = self.outputs.spread(observed & every_other)
        return (off * where).sum(), where.sum()

    def _critics_loss(self, features: Tensor, observed: Tensor) -> Tensor:
        m = self.outputs.spread(observed).to(features.dtype)
        with torch.no_grad():
            row, pattern = self.rows(*self._noise(len(features), features))
            filled = self._complete(features, observed, torch.rand_like(features))
            seen = row * self.outputs.spread(pattern)
        return (
            self._distance(self.row_critic, features * m, seen)
            + self._distance(self.pattern_critic, observed.to(features.dtype), pattern)
            + self._distance(self.fill_critic, row, filled)
        )

    def _generators_loss(self, n: int, like: Tensor) -> Tensor:
        row, pattern = self.rows(*self._noise(n, like))
        # the pattern learns from the rows' critic at a share of alpha, the rows at full weight
        soft = self.alpha * pattern + (1 - self.alpha) * pattern.detach()
        seen = self.row_critic(row * self.outputs.spread(soft)).mean()
        return self.beta * self.fill_critic(row).mean() - seen - self.pattern_critic(pattern).mean()

    def _imputer_loss(self, features: Tensor, observed: Tensor) -> Tensor:
        shown = observed & (torch.rand(observed.shape, device=observed.device) >= self.hide)
        given = self.impute(features, shown, torch.rand_like(features))
        filled = torch.where(self.outputs.spread(shown), features, given)
        known = self.outputs.spread(observed)
        if self.hide:
            self._learn_errors(features, given, shown, known & ~self.outputs.spread(shown))
        error = ((features - given) ** 2 * known).sum() / known.sum().clamp(min=1)
        return self.gamma * error - self.fill_critic(filled).mean()

    @torch.no_grad()
    def _learn_errors(self, features: Tensor, given: Tensor, shown: Tensor, where: Tensor) -> None:
        """What draws lack: the squared error of the mean over ω, less the variance that ω brings.

        Two answers from independent ω tell both without bias.
        """
        other = self.impute(features, shown, torch.rand_like(features))
        of_mean = (features - given) * (features - other)
        self.errors.learn(of_mean - (given - other) ** 2 / 2, where)

    def _distance(self, critic: nn.Module, real: Tensor, made: Tensor) -> Tensor:
        """What a critic lowers: its score of the made less that of the real, and the penalty."""
        share = torch.rand(len(real), 1, dtype=real.dtype, device=real.device)
        between = torch.lerp(made, real, share).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
        return critic(made).mean() - critic(real).mean() + self.penalty * penalty

    # -- parts -----------------------------------------------------------------------------------

    def rows(self, z: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        """Rows (N, F) and patterns (N, A), these within 0 and 1 and at both ends reachable."""
        pattern = (1.2 * (self.make_pattern(w) / 0.66).sigmoid() - 0.1).clamp(0, 1)
        return self.outputs(self.make_row(z)), pattern

    def impute(self, features: Tensor, shown: Tensor, noise: Tensor) -> Tensor:
        """What the imputer says of all features, given noise in gaps."""
        seen = torch.where(self.outputs.spread(shown), features, noise)
        return self.outputs(self.imputer(torch.cat([seen, shown.to(seen.dtype)], dim=-1)))

    def _complete(self, features: Tensor, shown: Tensor, noise: Tensor) -> Tensor:
        given = self.impute(features, shown, noise)
        return torch.where(self.outputs.spread(shown), features, given)

    def _noise(
        self, n: int, like: Tensor, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        both = torch.randn(
            2, n, self.latent, dtype=like.dtype, device=like.device, generator=generator
        )
        return both[0], both[1]

    # -- answers ---------------------------------------------------------------------------------

    def fill(self, features: Tensor, observed: Tensor) -> Tensor:
        """Features, the mean over the fixed noises."""
        total = torch.zeros_like(features)
        for point in self.points.to(features.dtype):
            total += self.impute(features, observed, point.expand_as(features))
        given = total / len(self.points)
        return torch.where(self.outputs.spread(observed), features, given)

    def draw(
        self, features: Tensor, observed: Tensor, n: int, generator: torch.Generator | None
    ) -> Tensor:
        """Features given fresh noise, (n, N, F); levels drawn from their probabilities.

        An imputer that was trained on hidden cells also knows how far off it is: numbers get a
        Gaussian error of that size.
        """
        shape = (n, *features.shape)
        noise = torch.rand(shape, dtype=features.dtype, generator=generator)
        shown = observed.expand(n, *observed.shape)
        given = self.impute(features.expand(shape), shown, noise)
        given = self.errors.scatter(given, self.outputs, generator)
        return torch.where(self.outputs.spread(shown), features.expand(shape), given)

    def generate(self, n: int, generator: torch.Generator | None) -> Tensor:
        """New rows (n, F); levels as 0 and 1."""
        row, _ = self.rows(*self._noise(n, next(self.make_row.parameters()), generator))
        return self.outputs.sample_levels(row, generator)
