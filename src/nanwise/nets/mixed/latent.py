"""Gaussian latent variables: densities, divergences, products, and points to integrate with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

from nanwise.nn.likelihoods import AnyPart

#: scales of a proposal: an infinite density helps nobody, nor does one that is nowhere
_LEAST_SCALE, _LARGEST_SCALE = 1e-4, 1e4
#: where softplus is 1: a network that has learnt nothing proposes the prior
_ONE = math.log(math.e - 1)


class Gaussian(NamedTuple):
    """Independent Gaussians; the last dimension is that of one latent vector.

    Attributes
    ----------
    mean, scale : Tensor
        Of shapes that can be broadcast to each other.
    """

    mean: Tensor
    scale: Tensor

    @classmethod
    def of(cls, outputs: Tensor) -> Gaussian:
        """From raw outputs of a network: means, then scales before the softplus."""
        mean, raw = outputs.chunk(2, -1)
        return cls(mean, softplus(raw + _ONE).clamp(_LEAST_SCALE, _LARGEST_SCALE))

    def at(self, noise: Tensor) -> Tensor:
        """The vector that standard normal noise stands for."""
        return self.mean + self.scale * noise

    def log_prob(self, z: Tensor) -> Tensor:
        """Log density of vectors (…, width), shape (…)."""
        return standard_log_prob((z - self.mean) / self.scale) - self._log_volume(z.shape[-1])

    def divergence(self, mean: Tensor | float = 0.0) -> Tensor:
        """Kullback-Leibler divergence from Gaussians of variance 1 around ``mean``."""
        distance = (self.mean - mean).square() + self.scale.square()
        return (0.5 * (distance - 1) - self.scale.log()).sum(-1)

    def _log_volume(self, width: int) -> Tensor:
        return self.scale.log().expand((*self.scale.shape[:-1], width)).sum(-1)


def standard_log_prob(z: Tensor) -> Tensor:
    """Log density of standard normal vectors (…, width), shape (…)."""
    return -0.5 * (z.square().sum(-1) + z.shape[-1] * math.log(2 * math.pi))


def product_of_experts(mean: Tensor, scale: Tensor, present: Tensor) -> Gaussian:
    """The normalised product of some Gaussians and of the standard normal prior.

    Parameters
    ----------
    mean, scale : Tensor of shape (…, experts, width)
    present : Tensor of shape (…, experts)
        1 for experts that take part, 0 for those that are left out.
    """
    weight = present.unsqueeze(-1) / scale.square()
    precision = 1 + weight.sum(-2)
    return Gaussian((weight * mean).sum(-2) / precision, precision.rsqrt())


def normal_points(n: int, width: int, seed: int = 0) -> Tensor:
    """Points (n, width) that fill the standard normal distribution evenly, the same every time.

    Scrambled Sobol points: averages over them are closer to the expectation than those over random
    numbers.
    """
    engine = torch.quasirandom.SobolEngine(width, scramble=True, seed=seed)
    evenly = engine.draw(n, dtype=torch.float64)
    return torch.special.ndtri(evenly.clamp(1e-6, 1 - 1e-6)).to(torch.get_default_dtype())


def spread(observed: Tensor, parts: Sequence[AnyPart]) -> Tensor:
    """What is said of attributes (…, A), said of their features (…, F)."""
    widths = torch.tensor([part.width for part in parts], device=observed.device)
    return observed.repeat_interleave(widths, dim=-1, output_size=int(widths.sum()))
