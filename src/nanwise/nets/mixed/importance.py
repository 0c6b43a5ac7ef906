"""Answers of a latent variable model by importance sampling, some particles at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from nanwise.nets.mixed.latent import normal_points, standard_log_prob
from nanwise.nn.gaps import as_number

#: numbers in one tensor of decoder outputs
CELLS = 2**21


class ImportanceNet(nn.Module):
    """Base of models whose answers are averages over weighted particles.

    A subclass fills in :meth:`propose` and :meth:`decode`; :meth:`weigh` if its latent variables
    are more than one Gaussian vector; :meth:`expect` and :meth:`realise` if its particles are not
    raw outputs of ``heads``.

    Parameters
    ----------
    noise_width : int
        Standard normal numbers that one particle is made of.
    state_width : int
        Width of one particle.
    particles : int
        Number of particles behind every answer.
    """

    points: Tensor
    heads: Any

    def __init__(self, noise_width: int, state_width: int, particles: int) -> None:
        super().__init__()
        self.particles = particles
        self.set_noise(noise_width, state_width)

    def set_noise(self, noise_width: int, state_width: int) -> None:
        """Say what a particle is made of and how wide it is."""
        self.noise_width, self.state_width = noise_width, state_width
        # the same for every row and every call, so that a row has one answer
        points = normal_points(self.particles, noise_width).unsqueeze(1)
        self.register_buffer("points", points, persistent=False)

    # -- what a model fills in -------------------------------------------------------------------

    def propose(self, features: Tensor, observed: Tensor) -> Any:
        """Where to look for the latent variables of these rows: q."""
        raise NotImplementedError(f"{type(self).__name__} does not propose")

    def decode(self, z: Tensor, observed: Tensor) -> Tensor:
        """Raw outputs (…, N, width) for the heads."""
        raise NotImplementedError(f"{type(self).__name__} does not decode")

    def weigh(
        self, proposal: Any, features: Tensor, observed: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Log weights (l, N) and particles (l, N, S) for noise (l, 1 or N, W).

        Here: log p(observed | z) p(z) / q(z), and what the decoder says at z.
        """
        z = proposal.at(noise)
        raw = self.decode(z, observed)
        ratio = standard_log_prob(z) - proposal.log_prob(z)
        return self.log_observed(raw, features, observed) + ratio, raw

    def expect(self, state: Tensor) -> Tensor:
        """Expected features of particles, (…, F)."""
        return self.heads.mean(state)

    def realise(self, state: Tensor, generator: torch.Generator | None) -> Tensor:
        """Random features of particles, (…, F)."""
        return self.heads.sample(state, generator)

    # -- answers ---------------------------------------------------------------------------------

    def fill(self, features: Tensor, observed: Tensor) -> Tensor:
        """Expected features (N, F), the self-normalised average over all particles."""
        total: Any = None
        proposal = self.propose(features, observed)
        for noise in self.points.split(self._at_once(len(features))):
            log_weight, state = self.weigh(proposal, features, observed, noise)
            found = log_weight.logsumexp(0)
            mean = torch.einsum("ln,lnf->nf", (log_weight - found).exp(), self.expect(state))
            if total is None:
                total, answer = found, mean
                continue
            share = torch.sigmoid(found - total).unsqueeze(1)
            total, answer = torch.logaddexp(total, found), torch.lerp(answer, mean, share)
        return answer

    def draw(
        self, features: Tensor, observed: Tensor, n: int, generator: torch.Generator
    ) -> Tensor:
        """Random completions (n, N, F): particles resampled by weight, then features of them."""
        total: Any = None
        proposal = self.propose(features, observed)
        for noise in self._fresh(features, generator):
            log_weight, state = self.weigh(proposal, features, observed, noise)
            found = log_weight.logsumexp(0)
            picked = _resample(log_weight, state, n, generator)
            if total is None:
                total, kept = found, picked
                continue
            total = torch.logaddexp(total, found)
            # each of the n draws moves to the new block with the share of that block in all so far
            chance = torch.rand(n, len(features), generator=generator, dtype=total.dtype)
            moves = (chance < (found - total).exp()).unsqueeze(-1)
            kept = torch.where(moves, picked, kept)
        return torch.stack([self.realise(each, generator) for each in kept])

    def log_prob(self, features: Tensor, observed: Tensor, n: int) -> Tensor:
        """Estimate (N,) of the log density of what is observed, from n particles."""
        points = normal_points(n, self.noise_width, seed=1).to(features).unsqueeze(1)
        proposal = self.propose(features, observed)
        found = [
            self.weigh(proposal, features, observed, noise)[0].logsumexp(0)
            for noise in points.split(self._at_once(len(features)))
        ]
        return torch.stack(found).logsumexp(0) - math.log(n)

    # -- parts -----------------------------------------------------------------------------------

    def validation_step(self, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Sum of minus the estimated log densities, and the number of rows; no randomness."""
        features, observed = batch
        bound = self.log_prob(features, observed, len(self.points))
        return -bound.sum(), torch.tensor(len(bound))

    def noise(self, k: int, features: Tensor) -> Tensor:
        """Fresh noise (k, N, W) for a step of training."""
        shape = (k, len(features), self.noise_width)
        return torch.randn(shape, dtype=features.dtype, device=features.device)

    def log_observed(self, raw: Tensor, features: Tensor, observed: Tensor) -> Tensor:
        """Log density of the observed attributes together, (…, N)."""
        density = self.heads.log_prob(raw, features)
        return (density * as_number(observed, density.dtype)).sum(-1)

    def _at_once(self, n_rows: int) -> int:
        return max(CELLS // max(n_rows * self.state_width, 1), 1)

    def _fresh(self, features: Tensor, generator: torch.Generator) -> Iterator[Tensor]:
        left, n_rows = len(self.points), len(features)
        while left:
            k = min(self._at_once(n_rows), left)
            shape = (k, n_rows, self.noise_width)
            yield torch.randn(shape, generator=generator, dtype=features.dtype)
            left -= k


def _resample(log_weight: Tensor, state: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """n of the particles (l, N, S) for each row, with probabilities as their weights, (n, N, S)."""
    chance = log_weight.softmax(0).t()
    which = torch.multinomial(chance, n, replacement=True, generator=generator).t()
    return state.gather(0, which.unsqueeze(-1).expand(-1, -1, state.shape[-1]))
