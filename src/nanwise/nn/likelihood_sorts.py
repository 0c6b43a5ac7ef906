"""One class for each sort of distribution, over all attributes of that sort and width at once."""

from __future__ import annotations

import math
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, one_hot, softplus

#: least degrees of freedom: variance and skewness of a Student-t with more exist
_LEAST_DEGREES = 3.0
#: least distance of two thresholds of an ordinal attribute
_LEAST_STEP = 1e-3
#: standard deviations of log(1 + count) that a rate may lie above its centre
_FARTHEST_RATE = 10.0


class AnyPart(Protocol):
    """What is asked of a part: see :class:`nanwise.estimators.impute.features.Part`."""

    @property
    def kind(self) -> str:
        """Of :data:`nanwise.data.attributes.KINDS`."""

    @property
    def width(self) -> int:
        """Number of features."""

    @property
    def shift(self) -> float:
        """What scaling has taken off."""

    @property
    def scale(self) -> float:
        """What scaling has divided by."""


class Noise:
    """Standard normal numbers (…, W), handed out from the left: samples that can be repeated."""

    def __init__(self, numbers: Tensor) -> None:
        self.numbers, self.used = numbers, 0

    def take(self, n: int, width: int) -> Tensor:
        """The next n · width of them, (…, n, width)."""
        taken = self.numbers[..., self.used : self.used + n * width]
        self.used += n * width
        return taken.unflatten(-1, (n, width))


#: where random numbers come from
Source = Noise | torch.Generator | None


class Columns(nn.Module):
    """Some columns of the last dimension, as (…, n, w); without a copy where they are a run."""

    def __init__(self, columns: Tensor, n: int) -> None:
        super().__init__()
        self.n, self.width = n, len(columns) // n
        self.columns: Any
        run = bool((columns.diff() == 1).all())
        self.start = (int(columns[0]) if len(columns) else 0) if run else None
        self.register_buffer("columns", None if run else columns, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Take them."""
        if self.start is None:
            taken = x[..., self.columns]
        else:
            taken = x[..., self.start : self.start + self.n * self.width]
        return taken.unflatten(-1, (self.n, self.width))


class Group(nn.Module):
    """Attributes of one sort and width. Columns are (…, n · w) outside and (…, n, w) inside."""

    def __init__(
        self, attributes: list[int], features: Tensor, places: Tensor, shapes: Tensor
    ) -> None:
        super().__init__()
        self.attributes, self.features = torch.tensor(attributes), features
        self.n = n = len(attributes)
        self.pick = Columns(features, n)
        self.pick_places = Columns(places, n)
        self.pick_shapes = Columns(shapes, n)

    @staticmethod
    def needs(part: AnyPart, numbers: str, fixed: float | None) -> tuple[int, int]:
        """Numbers of places and of shapes of one attribute."""
        return 1, 0

    def set_up(self, parts: list[AnyPart], numbers: str, fixed: float | None, least: float) -> None:
        """Take what the kind needs from settings and parts."""

    @property
    def n_noise(self) -> int:
        """Random numbers that a sample is made of."""
        return self.n

    def cut(self, places: Tensor, shapes: Tensor) -> tuple[Tensor, Tensor]:
        """Own places and shapes, (…, n, w)."""
        return self.pick_places(places), self.pick_shapes(shapes)

    def log_prob(self, places: Tensor, shapes: Tensor, features: Tensor) -> Tensor:
        """(…, n)."""
        raise NotImplementedError

    def mean(self, places: Tensor, shapes: Tensor) -> Tensor:
        """(…, n · w)."""
        raise NotImplementedError

    def sample(self, places: Tensor, shapes: Tensor, source: Source) -> Tensor:
        """(…, n · w)."""
        raise NotImplementedError


class _Numbers(Group):
    """Gaussian or Student-t, independent for the columns of a vector."""

    @staticmethod
    def needs(part: AnyPart, numbers: str, fixed: float | None) -> tuple[int, int]:
        shapes = int(fixed is None) + int(numbers == "student")
        return part.width, shapes * part.width

    def set_up(self, parts: list[AnyPart], numbers: str, fixed: float | None, least: float) -> None:
        self.student, self.fixed, self.least = numbers == "student", fixed, least

    @property
    def n_noise(self) -> int:
        return len(self.features) * (1 + self.student)

    def log_prob(self, places: Tensor, shapes: Tensor, features: Tensor) -> Tensor:
        scale, degrees = self._shapes(places, shapes)
        distance = (features - places) / scale
        if degrees is None:
            density = -0.5 * distance.square() - 0.5 * math.log(2 * math.pi)
        else:
            density = _log_student(distance, degrees)
        return (density - scale.log()).sum(-1)

    def mean(self, places: Tensor, shapes: Tensor) -> Tensor:
        return places.flatten(-2)

    def sample(self, places: Tensor, shapes: Tensor, source: Source) -> Tensor:
        scale, degrees = self._shapes(places, shapes)
        noise = _normal(places, source) if degrees is None else _student(degrees, source)
        return (places + scale * noise).flatten(-2)

    def _shapes(self, places: Tensor, shapes: Tensor) -> tuple[Tensor, Tensor | None]:
        """Scales, and degrees of freedom of a Student-t."""
        # one pass over memory as it lies; the two halves are far slower on their own
        positive, width = softplus(shapes), places.shape[-1]
        if self.fixed is None:
            scale = self.least + positive[..., :width]
        else:
            scale = places.new_full((1,), self.fixed)
        if not self.student:
            return scale, None
        degrees = _LEAST_DEGREES + positive[..., -width:]
        return scale, degrees.expand(torch.broadcast_shapes(degrees.shape, places.shape))


class _Counts(Group):
    """Poisson; its features are those of log(1 + count), scaled."""

    shift: Tensor
    scale: Tensor
    centre: Tensor
    slope: Tensor

    def set_up(self, parts: list[AnyPart], numbers: str, fixed: float | None, least: float) -> None:
        shift = torch.tensor([part.shift for part in parts])
        scale = torch.tensor([part.scale for part in parts])
        usual = shift.expm1().clamp(min=1e-2)
        # one unit of the raw output is one deviation of log(count), but not more than a factor of e
        # where counts are so small that log(1 + count) is no measure of log(rate)
        slope = (scale * (1 + usual) / usual).minimum(scale.clamp(min=1.0))
        for name, value in zip(
            ("shift", "scale", "centre", "slope"), (shift, scale, usual.log(), slope), strict=True
        ):
            self.register_buffer(name, value, persistent=False)

    def log_prob(self, places: Tensor, shapes: Tensor, features: Tensor) -> Tensor:
        count = (features.squeeze(-1) * self.scale + self.shift).expm1().round().clamp(min=0)
        log_rate = self._log_rate(places)
        return count * log_rate - log_rate.exp() - torch.lgamma(count + 1)

    def mean(self, places: Tensor, shapes: Tensor) -> Tensor:
        return self._feature(self._log_rate(places).exp())

    def sample(self, places: Tensor, shapes: Tensor, source: Source) -> Tensor:
        return self._feature(_poisson(self._log_rate(places).exp(), source))

    def _log_rate(self, places: Tensor) -> Tensor:
        return self.centre + self.slope * places.squeeze(-1).clamp(max=_FARTHEST_RATE)

    def _feature(self, count: Tensor) -> Tensor:
        return (count.log1p() - self.shift) / self.scale


class _Flags(Group):
    """Bernoulli."""

    def log_prob(self, places: Tensor, shapes: Tensor, features: Tensor) -> Tensor:
        sign = 2 * features - 1
        return logsigmoid(sign * places).squeeze(-1)

    def mean(self, places: Tensor, shapes: Tensor) -> Tensor:
        return places.sigmoid().flatten(-2)

    def sample(self, places: Tensor, shapes: Tensor, source: Source) -> Tensor:
        chance = places.sigmoid()
        return (_uniform(chance, source) < chance).to(places.dtype).flatten(-2)


class _Classes(Group):
    """Softmax over levels."""

    @staticmethod
    def needs(part: AnyPart, numbers: str, fixed: float | None) -> tuple[int, int]:
        return part.width, 0

    def log_prob(self, places: Tensor, shapes: Tensor, features: Tensor) -> Tensor:
        return (places.log_softmax(-1) * features).sum(-1)

    def mean(self, places: Tensor, shapes: Tensor) -> Tensor:
        return places.softmax(-1).flatten(-2)

    def sample(self, places: Tensor, shapes: Tensor, source: Source) -> Tensor:
        reached = places.softmax(-1).cumsum(-1)[..., :-1]
        level = (_uniform(places[..., :1], source) > reached).sum(-1)
        return one_hot(level, places.shape[-1]).to(places.dtype).flatten(-2)


class _Ranks(Group):
    """Cumulative logit: the odds to reach a level fall from level to level."""

    @staticmethod
    def needs(part: AnyPart, numbers: str, fixed: float | None) -> tuple[int, int]:
        return 1, max(part.width - 2, 0)

    def set_up(self, parts: list[AnyPart], numbers: str, fixed: float | None, least: float) -> None:
        self.levels = parts[0].width

    def log_prob(self, places: Tensor, shapes: Tensor, features: Tensor) -> Tensor:
        odds = self._log_odds(places, shapes)
        # sigmoid(a) - sigmoid(b) = sigmoid(a) sigmoid(-b) (1 - exp(b - a)), without cancellation
        up, down = logsigmoid(odds), logsigmoid(-odds)
        none = odds.new_zeros((*odds.shape[:-1], 1))
        gap = torch.log(-torch.expm1(odds[..., 1:] - odds[..., :-1]))
        between = torch.cat((none, gap, none), -1)[..., : self.levels]
        each = torch.cat((none, up), -1) + torch.cat((down, none), -1) + between
        exactly = features - torch.cat((features[..., 1:], torch.zeros_like(features[..., :1])), -1)
        return (each * exactly).sum(-1)

    def mean(self, places: Tensor, shapes: Tensor) -> Tensor:
        return self._reach(places, shapes).flatten(-2)

    def sample(self, places: Tensor, shapes: Tensor, source: Source) -> Tensor:
        reach = self._reach(places, shapes)
        drawn = _uniform(reach[..., :1], source) < reach
        return drawn.to(places.dtype).flatten(-2)

    def _reach(self, places: Tensor, shapes: Tensor) -> Tensor:
        """Probabilities to reach each level, the lowest included, (…, n, levels)."""
        odds = self._log_odds(places, shapes)
        return torch.cat((odds.new_ones((*odds.shape[:-1], 1)), odds.sigmoid()), -1)

    def _log_odds(self, places: Tensor, shapes: Tensor) -> Tensor:
        """Log odds to reach level 1, 2, …, (…, n, levels - 1)."""
        down = (softplus(shapes) + _LEAST_STEP).cumsum(-1)
        shape = torch.broadcast_shapes(down.shape[:-1], places.shape[:-1])
        first = places.expand((*shape, 1))
        return torch.cat((first, first - down), -1)[..., : self.levels - 1]


SORTS: dict[str, type[Group]] = {
    "real": _Numbers,
    "positive": _Numbers,
    "vector": _Numbers,
    "count": _Counts,
    "binary": _Flags,
    "categorical": _Classes,
    "ordinal": _Ranks,
}


def _log_student(distance: Tensor, degrees: Tensor) -> Tensor:
    half = 0.5 * degrees
    constant = torch.lgamma(half + 0.5) - torch.lgamma(half) - 0.5 * (math.pi * degrees).log()
    return constant - (half + 0.5) * torch.log1p(distance.square() / degrees)


def _student(degrees: Tensor, source: Source) -> Tensor:
    """Standard Student-t numbers from two uniform ones each, after Bailey (1994)."""
    radius = _uniform(degrees, source).clamp(min=1e-300 if degrees.dtype.itemsize > 4 else 1e-30)
    angle = 2 * math.pi * _uniform(degrees, source)
    return (degrees * torch.expm1(-2 / degrees * radius.log())).sqrt() * angle.cos()


def _poisson(rate: Tensor, source: Source) -> Tensor:
    if not isinstance(source, Noise):
        return torch.poisson(rate, source)
    # quantile by the first terms of Cornish and Fisher's expansion
    noise = source.take(rate.shape[-1], 1).squeeze(-1)
    return (rate + rate.sqrt() * noise + (noise.square() - 1) / 6).round().clamp(min=0)


def _normal(like: Tensor, source: Source) -> Tensor:
    if isinstance(source, Noise):
        return source.take(*like.shape[-2:])
    return torch.randn(like.shape, generator=source, dtype=like.dtype, device=like.device)


def _uniform(like: Tensor, source: Source) -> Tensor:
    if isinstance(source, Noise):
        return torch.special.ndtr(source.take(*like.shape[-2:]))
    return torch.rand(like.shape, generator=source, dtype=like.dtype, device=like.device)
