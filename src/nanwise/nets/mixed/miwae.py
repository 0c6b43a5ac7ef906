"""MIWAE: the importance-weighted bound of the likelihood of what is observed."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from nanwise.nets.mixed.layers import hidden_part
from nanwise.nets.mixed.vae import VAENet


class MIWAENet(VAENet):
    """As :class:`nanwise.nets.mixed.vae.VAENet`, trained by the bound with ``k`` samples.

    The bound is log (1/k) Σ p(observed | z) p(z) / q(z) over z drawn from q; it rises to the
    likelihood as k grows.
    """

    def __init__(self, *args: Any, k: int = 20, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.k = k

    def training_step(self, batch: tuple[Tensor, Tensor], phase: str = "main") -> Tensor:
        """Minus the mean bound of a row."""
        return -self.bound(*batch, self.noise(self.k, batch[0])).mean()

    def bound(self, features: Tensor, observed: Tensor, noise: Tensor) -> Tensor:
        """The bound of each row (N,) with noise (k, N, W)."""
        proposal = self.propose(features, hidden_part(observed, self.hide))
        log_weight, _ = self.weigh(proposal, features, observed, noise)
        return log_weight.logsumexp(0) - math.log(len(noise))
