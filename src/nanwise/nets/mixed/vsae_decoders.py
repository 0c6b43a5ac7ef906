"""The generative side of VSAE: from latents to the observed pattern, and on to the data."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from nanwise.nets.mixed.layers import Bent
from nanwise.nets.mixed.vsae_proposal import RowNorm, Sizes
from nanwise.nn.likelihoods import AnyPart, Heads

CONDITIONS = ("decoded", "observed")
ACTIVATIONS = ("leaky", "printed")
#: kinds of single numbers whose places are in standard deviations
SCALED = ("real", "positive")


class Decoders(nn.Module):
    """p(observed | z) and p(x_i | observed, z) of all attributes.

    The pattern decoder comes first; what it gives, or the pattern itself, is an additional input
    of the data decoders: one for all attributes of a table together, one for each vector.

    Parameters
    ----------
    parts : sequence of Part
        The attributes.
    n_latents : int
        Length of z.
    sizes : Sizes
    condition : {"decoded", "observed"}
        Whether data decoders see decoded probabilities or the pattern itself.
    activation : {"leaky", "printed"}
        ``printed`` has no activation between the last three affine layers of a data decoder.
    norm : bool
        Whether to normalise the first hidden layer over the batch.
    straight : bool
        Whether a linear map runs beside the hidden layers of a data decoder.
    numbers, variance
        See :class:`nanwise.nn.likelihoods.Heads`.
    thin : sequence of int
        Attributes about whose places no latent says anything: they stay at 0.
    reach : float or None
        How far from 0 the mean of a real or positive number may lie; None: anywhere.
    """

    def __init__(
        self,
        parts: Sequence[AnyPart],
        n_latents: int,
        sizes: Sizes,
        *,
        condition: str = "decoded",
        activation: str = "leaky",
        norm: bool = True,
        straight: bool = False,
        numbers: str = "gaussian",
        variance: str | float = "own",
        thin: Sequence[int] = (),
        reach: float | None = None,
    ) -> None:
        super().__init__()
        self.condition = condition
        n_in = n_latents + len(parts)
        self.pattern = _pattern_decoder(n_latents, sizes.pattern, len(parts), norm)
        self.data, self.heads = nn.ModuleList(), nn.ModuleList()
        #: width of the widest layer
        self.widest = n_in
        groups = _groups(parts)
        for members in groups:
            own = [parts[a] for a in members]
            heads = Heads(own, numbers=numbers, variance=variance)
            hidden = sizes.vectors if own[0].kind == "vector" else sizes.decoder
            net = _data_decoder(n_in, hidden, heads.width, activation, norm)
            decoder = Bent(n_in, heads.width, net) if straight else net
            bounds = [0.0 if a in thin else _bound(parts[a], reach) for a in members]
            limits = _limits(heads, bounds)
            free = bool(limits.isinf().all())
            self.data.append(decoder if free else Limited(decoder, limits))
            self.heads.append(heads)
            self.widest = max(self.widest, hidden, heads.width)
        self._keep_order(parts, groups)

    attributes_at: Tensor | None
    features_at: Tensor | None

    def forward(self, z: Tensor, observed: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Log odds of the pattern (…, N, A) and raw outputs of the data decoders.

        ``z`` is (…, N, Z), ``observed`` (N, A).
        """
        rows = z.flatten(0, -2)
        log_odds = self.pattern(rows)
        if self.condition == "decoded":
            condition = log_odds.sigmoid()
        else:
            condition = observed.to(z.dtype).expand(*z.shape[:-1], -1).flatten(0, -2)
        joined = torch.cat((rows, condition), 1)
        raws = [decoder(joined).unflatten(0, z.shape[:-1]) for decoder in self.data]
        return log_odds.unflatten(0, z.shape[:-1]), raws

    def log_prob(self, raws: list[Tensor], features: Tensor) -> Tensor:
        """Log density of each attribute, (…, N, A)."""
        found = [
            heads.log_prob(raw, _take(features, own))  # type: ignore[operator]
            for heads, raw, own in zip(self.heads, raws, self._own(), strict=True)
        ]
        return _take(torch.cat(found, -1), self.attributes_at)

    def mean(self, raws: list[Tensor]) -> Tensor:
        """Expected features, (…, N, F)."""
        found = [
            heads.mean(raw)  # type: ignore[operator]
            for heads, raw in zip(self.heads, raws, strict=True)
        ]
        return _take(torch.cat(found, -1), self.features_at)

    def sample(self, raws: list[Tensor], generator: torch.Generator | None = None) -> Tensor:
        """Random features, (…, N, F)."""
        found = [
            heads.sample(raw, generator)  # type: ignore[operator]
            for heads, raw in zip(self.heads, raws, strict=True)
        ]
        return _take(torch.cat(found, -1), self.features_at)

    def _own(self) -> list[Tensor | None]:
        return [getattr(self, f"own_{i}") for i in range(len(self.heads))]

    def _keep_order(self, parts: Sequence[AnyPart], groups: list[list[int]]) -> None:
        """Which features each decoder answers for, and the way back to the order of the table."""
        ends = torch.tensor([part.width for part in parts]).cumsum(0).tolist()
        features: list[int] = []
        for i, members in enumerate(groups):
            own = [j for a in members for j in range(ends[a] - parts[a].width, ends[a])]
            self.register_buffer(f"own_{i}", _places(own, ends[-1]), persistent=False)
            features += own
        attributes = torch.tensor([a for members in groups for a in members])
        for name, order in (("attributes_at", attributes), ("features_at", torch.tensor(features))):
            back = _places(order.argsort().tolist(), len(order))
            self.register_buffer(name, back, persistent=False)


class Limited(nn.Module):
    """A network whose outputs are squeezed between bounds: l · tanh(output / l).

    Parameters
    ----------
    net : nn.Module
    limits : Tensor of shape (n_out,)
        The bounds l; an infinite one leaves the output as it is, one of 0 silences it.
    """

    limits: Tensor
    free: Tensor

    def __init__(self, net: nn.Module, limits: Tensor) -> None:
        super().__init__()
        self.net, free = net, limits.isinf()
        self.register_buffer("free", free, persistent=False)
        self.register_buffer("limits", limits.masked_fill(free, 1.0), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(…, n_in) to (…, n_out)."""
        raw = self.net(x)
        unit = self.limits.masked_fill(self.limits == 0, 1.0)
        return torch.where(self.free, raw, self.limits * torch.tanh(raw / unit))


def log_pattern(log_odds: Tensor, observed: Tensor) -> Tensor:
    """Log probability of the observed pattern, (…, N)."""
    sign = 2 * observed.to(log_odds.dtype) - 1
    return logsigmoid(sign * log_odds).sum(-1)


def _groups(parts: Sequence[AnyPart]) -> list[list[int]]:
    """Attributes that share a decoder."""
    table = [a for a, part in enumerate(parts) if part.kind != "vector"]
    vectors = [[a] for a, part in enumerate(parts) if part.kind == "vector"]
    return [table, *vectors] if table else vectors


def _bound(part: AnyPart, reach: float | None) -> float:
    return math.inf if reach is None or part.kind not in SCALED else reach


def _limits(heads: Heads, bounds: list[float]) -> Tensor:
    """Bounds of all raw outputs from those of the attributes' places; shapes have none."""
    places = torch.tensor(bounds).repeat_interleave(torch.tensor(heads.place_widths))
    return nn.functional.pad(places, (0, heads.width - heads.n_places), value=math.inf)


def _pattern_decoder(n_in: int, hidden: int, n_out: int, norm: bool) -> nn.Sequential:
    return nn.Sequential(
        *_first(n_in, hidden, norm),
        nn.Linear(hidden, hidden),
        nn.LeakyReLU(),
        nn.Linear(hidden, hidden),
        nn.LeakyReLU(),
        nn.Linear(hidden, n_out),
    )


def _data_decoder(n_in: int, hidden: int, n_out: int, activation: str, norm: bool) -> nn.Sequential:
    between = nn.LeakyReLU if activation == "leaky" else nn.Identity
    return nn.Sequential(
        *_first(n_in, hidden, norm),
        nn.Linear(hidden, hidden),
        between(),
        nn.Linear(hidden, hidden),
        between(),
        nn.Linear(hidden, n_out),
    )


def _first(n_in: int, hidden: int, norm: bool) -> list[nn.Module]:
    return [nn.Linear(n_in, hidden), *[RowNorm(hidden)] * norm, nn.LeakyReLU()]


def _places(columns: list[int], n: int) -> Tensor | None:
    """Columns to take of n; None: all of them as they are, which costs nothing."""
    return None if columns == list(range(n)) else torch.tensor(columns)


def _take(x: Tensor, columns: Tensor | None) -> Tensor:
    return x if columns is None else x.index_select(-1, columns)
