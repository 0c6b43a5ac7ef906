"""not-MIWAE: MIWAE with a model of why values are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, logsigmoid, softplus

from nanwise.nets.mixed.latent import Gaussian, spread, standard_log_prob
from nanwise.nets.mixed.miwae import MIWAENet
from nanwise.nn.gaps import as_number
from nanwise.nn.likelihoods import AnyPart

KNOWN = (None, "high", "low")
MECHANISMS = ("self", "linear")
_NUMBERS = ("real", "positive", "vector")


class NotMIWAENet(MIWAENet):
    """Particles are completed rows, weighted also by how likely their gaps are.

    Parameters
    ----------
    parts : sequence of Part
    mechanism : {"self", "linear"}
        The log odds that an attribute is missing: linear in its own features, or in the whole row.
    known : {None, "high", "low"}
        With "self": whether it is known that high, or low, numbers go missing.
    **settings
        See :class:`nanwise.nets.mixed.miwae.MIWAENet`.
    """

    def __init__(
        self,
        parts: Sequence[AnyPart],
        *,
        mechanism: str = "self",
        known: str | None = None,
        latent: int,
        **settings: Any,
    ) -> None:
        super().__init__(parts, latent=latent, **settings)
        self.mechanism, self.known, self.latent = mechanism, known, latent
        heads = self.heads
        rows = heads.n_attributes
        shape = (heads.n_features,) if mechanism == "self" else (rows, heads.n_features)
        self.slope = nn.Parameter(torch.zeros(shape))
        self.offset = nn.Parameter(torch.zeros(rows))
        self.homes = {"offset": None}
        smooth = spread(torch.tensor([part.kind in _NUMBERS for part in parts]), parts)
        self.smooth: Tensor
        self.register_buffer("smooth", smooth, persistent=False)
        owner = torch.eye(rows)[spread(torch.arange(rows), parts)]
        self.owner: Tensor
        self.register_buffer("owner", owner, persistent=False)
        # what is missing is drawn as well
        self.set_noise(latent + heads.n_noise, max(heads.width, heads.n_features))

    def weigh(
        self, proposal: Gaussian, features: Tensor, observed: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Log of p(observed | z) p(pattern | row) p(z) / q(z), and the completed rows."""
        z = proposal.at(noise[..., : self.latent])
        raw = self.decode(z, observed)
        ratio = standard_log_prob(z) - proposal.log_prob(z)
        there = spread(as_number(observed, features.dtype), self.parts)
        rows = features * there + self._drawn(raw, noise) * (1 - there)
        found = self.log_observed(raw, features, observed) + ratio
        return found + self.log_pattern(rows, observed), rows

    def log_pattern(self, rows: Tensor, observed: Tensor) -> Tensor:
        """Log probability of what is observed and what is missing, given whole rows, (…)."""
        odds = self.log_odds(rows)
        sign = 1 - 2 * as_number(observed, odds.dtype)
        return logsigmoid(sign * odds).sum(-1)

    def log_odds(self, rows: Tensor) -> Tensor:
        """Log odds (…, A) that an attribute is missing."""
        if self.mechanism == "linear":
            return linear(rows, self.slope, self.offset)
        return (rows * self._slope()) @ self.owner + self.offset

    def expect(self, state: Tensor) -> Tensor:
        """Particles are rows already."""
        return state

    def realise(self, state: Tensor, generator: torch.Generator | None) -> Tensor:
        """Particles are rows already."""
        return state

    def _drawn(self, raw: Tensor, noise: Tensor) -> Tensor:
        drawn = self.heads.sample(raw, noise=noise[..., self.latent :])
        if not torch.is_grad_enabled() or bool(self.smooth.all()):
            return drawn
        # levels and counts have no gradient of their own: take that of their expectation
        mean = self.heads.mean(raw)
        return torch.where(self.smooth, drawn, drawn.detach() + mean - mean.detach())

    def _slope(self) -> Tensor:
        if self.known is None:
            return self.slope
        signed = softplus(self.slope) * (1 if self.known == "high" else -1)
        return torch.where(self.smooth, signed, self.slope)
