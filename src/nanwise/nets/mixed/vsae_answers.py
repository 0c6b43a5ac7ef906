"""What a trained VSAE says about gaps, by importance sampling of latents.

A latent z drawn from the proposal q(z | x_o, m) has the weight p(x_o | m, z) p(m | z) p(z) /
q(z | x_o, m); for answers weights are flattened where few latents have them all. Rows are taken in
blocks, so that memory is bounded whatever their number is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nanwise.nets.mixed.vsae_decoders import log_pattern
from nanwise.nets.mixed.vsae_proposal import normal

if TYPE_CHECKING:
    from nanwise.nets.mixed.vsae import VSAENet

#: numbers in the largest tensor of a block
_CELLS = 2_000_000
#: noise for expected values: fixed and shared by all rows, so that a row's answer is its own
_FILL_SEED = 0
#: halvings in the search for the power that flattens weights
_STEPS = 50
#: times that the collective encoder sees a row, each with other noise in the gaps
_VIEWS = 10


def fill(net: VSAENet, features: Tensor, observed: Tensor) -> Tensor:
    """Expected features (N, F); observed ones as they are."""
    out = torch.empty_like(features)
    for rows in _blocks(net, len(features), net.importance):
        generator = torch.Generator().manual_seed(_FILL_SEED)
        part = _Weighted(net, features[rows], observed[rows], net.importance, generator, one=True)
        shares = part.log_shares().softmax(0)
        out[rows] = torch.einsum("kn,knf->nf", shares, net.decoders.mean(part.raws))
    return net.keep_observed(out, features, observed)


def draw(
    net: VSAENet, features: Tensor, observed: Tensor, n: int, generator: torch.Generator
) -> Tensor:
    """Random completions (n, N, F): a latent by its weight, then values given the latent."""
    out = features.new_empty((n, *features.shape))
    for rows in _blocks(net, len(features), max(net.importance, n)):
        part = _Weighted(net, features[rows], observed[rows], net.importance, generator)
        raws = resample(part.raws, part.log_shares(), n, generator)
        out[:, rows] = net.decoders.sample(raws, generator)
    return net.keep_observed(out, features, observed)


def log_prob(
    net: VSAENet, features: Tensor, observed: Tensor, n: int, generator: torch.Generator
) -> Tensor:
    """Log density (N,) of the observed features and of the pattern."""
    found = [
        _Weighted(net, features[rows], observed[rows], n, generator).log_mean()
        for rows in _blocks(net, len(features), n)
    ]
    return torch.cat(found) if found else features.new_empty(0)


def generate(net: VSAENet, n: int, generator: torch.Generator) -> Tensor:
    """Features (n, F) of new rows, from latents of the prior and patterns that belong to them."""
    like = next(net.decoders.parameters())
    z = normal((n, net.proposal.n_latents), like, generator)
    chance = net.decoders.pattern(z).sigmoid()
    uniform = torch.rand(chance.shape, generator=generator, dtype=like.dtype)
    _, raws = net.decoders(z, uniform < chance)
    return net.decoders.sample(raws, generator)


def resample(
    raws: list[Tensor], log_weights: Tensor, n: int, generator: torch.Generator | None = None
) -> list[Tensor]:
    """Of K outputs (K, N, …) of each row n by their weights (K, N), as (n, N, …)."""
    shares = log_weights.softmax(0).T
    chosen = torch.multinomial(shares, n, replacement=True, generator=generator).T.unsqueeze(-1)
    return [raw.gather(0, chosen.expand(-1, -1, raw.shape[-1])) for raw in raws]


def flatten(log_weights: Tensor, effective: float) -> Tensor:
    """Log weights (K, N) raised to the power at which enough latents share in an answer.

    Weights of many observed numbers differ so much that a single latent may have nearly all of it;
    an answer is then as uncertain as one draw. The effective number of latents is (Σ w)² / Σ w².
    Where it is at least ``effective`` (or half of K, if that is less), nothing changes; elsewhere
    the largest power between 0 and 1 at which it is reached is taken. A power of 0 is the average
    over the proposal.
    """
    enough = min(effective, len(log_weights) / 2)
    low = torch.zeros_like(log_weights[0])
    high = torch.ones_like(low)
    fine = _effective(log_weights) >= enough
    if bool(fine.all()):
        return log_weights
    for _ in range(_STEPS):
        power = (low + high) / 2
        reached = _effective(power * log_weights) >= enough
        low, high = torch.where(reached, power, low), torch.where(reached, high, power)
    return torch.where(fine, log_weights, low * log_weights)


def _effective(log_weights: Tensor) -> Tensor:
    """Effective number (N,) of latents."""
    return log_weights.softmax(0).square().sum(0).reciprocal()


class _Weighted:
    """Latents of some rows, decoded, and their weights.

    Parameters
    ----------
    net : VSAENet
    features, observed : Tensor
        The rows.
    k : int
        Latents of each row.
    generator : torch.Generator
    one : bool
        Whether all rows share the noise.
    """

    def __init__(
        self,
        net: VSAENet,
        features: Tensor,
        observed: Tensor,
        k: int,
        generator: torch.Generator,
        one: bool = False,
    ) -> None:
        views, each = _split(k)
        rows = 1 if one else len(features)

        instead = normal((views, rows, features.shape[1]), features, generator)
        proposal = net.proposal.views(features, observed, instead)
        noise = normal((each, views, rows, net.proposal.n_latents), features, generator)
        z = proposal.at(noise).flatten(0, 1)[:k]
        log_odds, self.raws = net.decoders(z, observed)
        seen = net.decoders.log_prob(self.raws, features) * observed
        ratio = proposal.log_ratio(noise).flatten(0, 1)[:k]
        self.effective = net.effective
        self.log_weights = seen.sum(-1) + log_pattern(log_odds, observed) + ratio

    def log_shares(self) -> Tensor:
        """Log weights (k, N) for answers, up to a constant: flattened where few latents count."""
        return flatten(self.log_weights, self.effective)

    def log_mean(self) -> Tensor:
        """Log of the mean weight, (N,)."""
        return torch.logsumexp(self.log_weights, 0) - torch.tensor(len(self.log_weights)).log()


def _split(k: int) -> tuple[int, int]:
    """Views of the collective encoder, and latents of each, at least k together."""
    views = min(_VIEWS, k)
    return views, -(-k // views)


def _blocks(net: VSAENet, n_rows: int, k: int) -> Iterator[slice]:
    step = max(1, _CELLS // (k * net.decoders.widest))
    for start in range(0, n_rows, step):
        yield slice(start, start + step)
