"""The selective proposal of VSAE: where the latents of a row may lie, given what is observed of it.

The latents of an observed attribute follow from that attribute alone (*attributive* encoders, one
each), those of a missing attribute from all that is observed (one *collective* encoder).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from nanwise.nets.mixed.layers import Bent, start_at_zero
from nanwise.nets.mlp import Affines
from nanwise.nn.likelihoods import AnyPart

#: log variances beyond this make exp() useless and gradients large
_FARTHEST = 12.0


class Gaussian(NamedTuple):
    """Independent normal distributions, (…, Z)."""

    mean: Tensor
    log_variance: Tensor

    def at(self, noise: Tensor) -> Tensor:
        """Latents from standard-normal noise."""
        return self.mean + (0.5 * self.log_variance).exp() * noise

    def divergence(self) -> Tensor:
        """Kullback-Leibler divergence from the standard normal distribution, (…)."""
        apart = self.mean.square() + self.log_variance.exp() - 1 - self.log_variance
        return 0.5 * apart.sum(-1)

    def log_ratio(self, noise: Tensor) -> Tensor:
        """Log of standard normal density over own density, at the latents of ``noise``, (…)."""
        found = noise.square() + self.log_variance - self.at(noise).square()
        return 0.5 * found.sum(-1)


class ObservedNorm(nn.Module):
    """Batch normalisation of several members at once, over the rows in which each is observed.

    Zeros stand in gaps; in the averages of a plain batch normalisation they would count as values.

    Parameters
    ----------
    members, width : int
        Input is (members, N, width).
    momentum, eps : float
        As in ``nn.BatchNorm1d``.
    """

    def __init__(self, members: int, width: int, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.weight = nn.Parameter(torch.ones(members, 1, width))
        self.bias = nn.Parameter(torch.zeros(members, 1, width))
        self.register_buffer("running_mean", torch.zeros(members, 1, width))
        self.register_buffer("running_var", torch.ones(members, 1, width))

    running_mean: Tensor
    running_var: Tensor

    def forward(self, x: Tensor, there: Tensor) -> Tensor:
        """Normalise (members, N, width) by the rows that ``there`` (members, N, 1) weighs 1."""
        mean, variance = self._moments(x, there)
        return (x - mean) * (self.weight * (variance + self.eps).rsqrt()) + self.bias

    def _moments(self, x: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        if not self.training:
            return self.running_mean, self.running_var
        count = there.sum(1, keepdim=True)
        share = there / count.clamp(min=1)
        mean = (share * x).sum(1, keepdim=True)
        variance = (share * (x - mean).square()).sum(1, keepdim=True)
        with torch.no_grad():
            # one row has no variance, and none says nothing at all
            step = self.momentum * (count > 1).to(x.dtype)
            self.running_mean.lerp_(mean, step)
            self.running_var.lerp_(variance * count / (count - 1).clamp(min=1), step)
        return mean, variance


class Encoders(nn.Module):
    """Attributive encoders of one shape, all at once.

    Parameters
    ----------
    columns : Tensor of shape (members, width)
        Which features each encoder reads; shorter ones are filled up with the number of features,
        which stands for a 0.
    hidden, layers, latent : int
        Width and number of hidden layers, and latents of each attribute.
    norm : bool
        Whether to normalise hidden layers over the batch.
    straight : bool
        Whether a linear map runs beside the hidden layers, which then start at 0.
    """

    def __init__(
        self,
        columns: Tensor,
        hidden: int,
        layers: int,
        latent: int,
        *,
        norm: bool,
        straight: bool,
    ) -> None:
        super().__init__()
        members, width = columns.shape
        self.latent = latent
        self.register_buffer("columns", columns, persistent=False)
        widths = [width, *[hidden] * layers]
        self.layers = nn.ModuleList(Affines(n_in, hidden, members) for n_in in widths[:-1])
        self.norms = nn.ModuleList(
            ObservedNorm(members, hidden) for _ in range(layers if norm else 0)
        )
        self.last = Affines(hidden, 2 * latent, members)
        self.straight = Affines(width, 2 * latent, members) if straight else None
        if straight:
            start_at_zero(self.last)

    columns: Tensor

    def forward(self, features: Tensor, there: Tensor) -> Tensor:
        """(N, 2, members · latent) from features (N, F + 1) and ``there`` (members, N, 1)."""
        x = cells = features[:, self.columns].transpose(0, 1)
        for i, layer in enumerate(self.layers):
            x = layer(x)
            x = self.norms[i](x, there) if len(self.norms) else x
            x = nn.functional.leaky_relu(x)
        found = self.last(x) if self.straight is None else self.last(x) + self.straight(cells)
        return found.unflatten(2, (2, self.latent)).permute(1, 2, 0, 3).flatten(2)


class Sizes(NamedTuple):
    """Widths of the networks.

    Attributes
    ----------
    latent, vector_latent : int
        Latents of an attribute, and of a vector.
    numbers, levels, vectors : int
        Hidden units of the attributive encoders of numbers, of levels and of vectors; those of
        vectors are also the decoders' of vectors.
    collective : int
        Hidden units of the collective encoder.
    decoder, pattern : int
        Hidden units of the decoder of a table and of that of the observed pattern.
    layers : int
        Hidden layers of every encoder.
    """

    latent: int = 2
    vector_latent: int = 256
    numbers: int = 16
    levels: int = 64
    vectors: int = 128
    collective: int = 128
    decoder: int = 64
    pattern: int = 16
    layers: int = 3


class Proposal(nn.Module):
    """Distribution of all latents of a row.

    Parameters
    ----------
    parts : sequence of Part
        The attributes.
    sizes : Sizes
    norm : bool
        Whether to normalise hidden layers over the batch; encoders of vectors never do.
    straight : bool
        Whether linear maps run beside the hidden layers of the encoders.

    Attributes
    ----------
    n_latents : int
    owner : Tensor of shape (n_latents,)
        The attribute to which each latent belongs.
    feature_owner : Tensor of shape (n_features,)
        The attribute to which each feature belongs.
    """

    def __init__(
        self,
        parts: Sequence[AnyPart],
        sizes: Sizes,
        *,
        norm: bool = True,
        straight: bool = False,
    ) -> None:
        super().__init__()
        groups = _groups(parts, sizes)
        self.attributive = nn.ModuleList()
        owner: list[int] = []
        for members, hidden, latent, plain in groups:
            columns = _columns(parts, members)
            shape = (columns, hidden, sizes.layers, latent)
            self.attributive.append(Encoders(*shape, norm=norm and not plain, straight=straight))
            owner += [a for a in members for _ in range(latent)]
        self.members = [members for members, *_ in groups]
        widths = torch.tensor([part.width for part in parts])
        self.register_buffer("owner", torch.tensor(owner), persistent=False)
        self.register_buffer(
            "feature_owner", torch.arange(len(parts)).repeat_interleave(widths), persistent=False
        )
        self.n_latents = len(owner)
        n_in = int(widths.sum()) + len(parts)
        net = _mlp(n_in, sizes.collective, sizes.layers, 2 * self.n_latents, norm)
        self.collective = Bent(n_in, 2 * self.n_latents, net) if straight else net

    owner: Tensor
    feature_owner: Tensor

    def forward(self, features: Tensor, observed: Tensor, noise: Tensor) -> Gaussian:
        """Latents (N, Z): of observed attributes by themselves, of missing ones from all others.

        ``noise`` (N, F), standard normal, takes the place of missing features in the collective
        encoder.
        """
        own, other = self.from_each(features, observed), self.from_all(features, observed, noise)
        chosen = observed[:, self.owner]
        return Gaussian(
            torch.where(chosen, own.mean, other.mean),
            torch.where(chosen, own.log_variance, other.log_variance),
        )

    def views(self, features: Tensor, observed: Tensor, noise: Tensor) -> Gaussian:
        """Latents (V, N, Z) for several noises, (V, N, F) or (V, 1, F)."""
        n = len(noise)
        noise = noise.expand(n, *features.shape).flatten(0, 1)
        own = self.from_each(features, observed)
        other = self.from_all(features.repeat(n, 1), observed.repeat(n, 1), noise)
        chosen = observed[:, self.owner]
        return Gaussian(
            *(
                torch.where(chosen, a, b.unflatten(0, (n, -1)))
                for a, b in zip(own, other, strict=True)
            )
        )

    def from_each(self, features: Tensor, observed: Tensor) -> Gaussian:
        """What the attributive encoders say; of use where an attribute is observed."""
        padded = nn.functional.pad(features, (0, 1))
        weights = observed.to(features.dtype).T.unsqueeze(2)
        found = [
            encoder(padded, weights[members])
            for encoder, members in zip(self.attributive, self.members, strict=True)
        ]
        return _gaussian(torch.cat(found, 2))

    def from_all(self, features: Tensor, observed: Tensor, noise: Tensor) -> Gaussian:
        """What the collective encoder says."""
        filled = torch.where(observed[:, self.feature_owner], features, noise)
        joined = torch.cat((filled, observed.to(features.dtype)), 1)
        return _gaussian(self.collective(joined).unflatten(1, (2, self.n_latents)))


class RowNorm(nn.Module):
    """``nn.BatchNorm1d`` that also takes a batch of one row, by the averages it has so far."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise (N, width)."""
        if not self.training or len(x) > 1:
            return self.norm(x)
        norm = self.norm
        return nn.functional.batch_norm(
            x, norm.running_mean, norm.running_var, norm.weight, norm.bias, False, 0.0, norm.eps
        )


def normal(shape: Sequence[int], like: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Standard-normal numbers."""
    return torch.randn(*shape, generator=generator, dtype=like.dtype, device=like.device)


def _mlp(n_in: int, hidden: int, layers: int, n_out: int, norm: bool) -> nn.Sequential:
    parts: list[nn.Module] = []
    for _ in range(layers):
        parts += [nn.Linear(n_in, hidden), *[RowNorm(hidden)] * norm, nn.LeakyReLU()]
        n_in = hidden
    return nn.Sequential(*parts, nn.Linear(n_in, n_out))


def _gaussian(found: Tensor) -> Gaussian:
    """From (N, 2, Z)."""
    mean, log_variance = found.unbind(1)
    return Gaussian(mean, log_variance.clamp(-_FARTHEST, _FARTHEST))


def _groups(parts: Sequence[AnyPart], sizes: Sizes) -> list[tuple[list[int], int, int, bool]]:
    """Attributes whose encoders have one shape: numbers, hidden units, latents, whether vectors."""
    found: dict[tuple[str, int], list[int]] = {}
    for a, part in enumerate(parts):
        sort = "vectors" if part.kind == "vector" else _sort(part)
        found.setdefault((sort, part.width if sort == "vectors" else 0), []).append(a)
    return [
        (
            members,
            getattr(sizes, sort),
            sizes.vector_latent if sort == "vectors" else sizes.latent,
            sort == "vectors",
        )
        for (sort, _), members in found.items()
    ]


def _sort(part: AnyPart) -> str:
    return "levels" if part.kind in ("binary", "categorical", "ordinal") else "numbers"


def _columns(parts: Sequence[AnyPart], members: list[int]) -> Tensor:
    """Features of some attributes, (members, widest), filled up with the number of features."""
    ends = torch.tensor([part.width for part in parts]).cumsum(0)
    widest = max(parts[a].width for a in members)
    columns = torch.full((len(members), max(widest, 1)), int(ends[-1]))
    for row, a in enumerate(members):
        width = parts[a].width
        columns[row, :width] = torch.arange(int(ends[a]) - width, int(ends[a]))
    return columns
