"""A normalising flow over the hole of a picture, given the rest of it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nanwise.nets.image.regions import choose, hold_out

#: logits of a picture stay this far from 0 and 1, as ACFlow squeezes them
_MARGIN = 0.05


class FlowNet(nn.Module):
    r"""Conditional affine couplings for :math:`p(x_T | x_O)`, T and O any sets of pixels.

    Pixels of T go through the logit, are shifted and scaled by what the context says of each, and
    then, in several couplings, one half of them after the other by what the context and the other
    half say. What comes out is standard normal. Pixels outside of T are never changed; those in
    neither set are not looked at, so the network can learn from pictures that have holes.

    Parameters
    ----------
    shape : (C, H, W)
        Of one picture.
    couplings : int
        Number of couplings; halves are the two colours of a chess board, even and odd rows, even
        and odd columns, in turn.
    width : int
        Channels of the context and of the couplings.
    levels : int or None
        Number of grey levels of the data: uniform noise of one level is added in training, without
        which a density of numbers that repeat has no bound. None: numbers are continuous.
    hide, hide_size
        What is hidden in a step, see :mod:`nanwise.nets.image.regions`.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        couplings: int = 4,
        width: int = 16,
        *,
        levels: int | None = 256,
        hide: str = "square",
        hide_size: float | None = 0.5,
    ) -> None:
        super().__init__()
        self.shape, self.levels, self.hide, self.hide_size = shape, levels, hide, hide_size
        channels = shape[0]
        self.context = _Context(2 * channels, width)
        self.first = _small(nn.Conv2d(width, 2 * channels, 3, padding=1))
        self.couplings = nn.ModuleList(_Coupling(channels, width) for _ in range(couplings))

    # -- density ---------------------------------------------------------------------------------

    def log_prob(self, values: Tensor, observed: Tensor, target: Tensor) -> Tensor:
        """Log density (N,) of the pixels in ``target``, given those in ``observed``.

        Parameters
        ----------
        values : Tensor, shape (N, C, H, W)
            Between 0 and 1.
        observed, target : Tensor of bool, shape (N, C, H, W)
            Without common pixels.
        """
        squeezed = _MARGIN + (1 - 2 * _MARGIN) * values
        slope = math.log(1 - 2 * _MARGIN) - squeezed.log() - (-squeezed).log1p()
        z, volume = self.normalise(squeezed.logit().where(target, 0.0), values, observed, target)
        base = -0.5 * (z.square() + math.log(2 * math.pi))
        return ((base + slope).where(target, 0.0)).flatten(1).sum(1) + volume

    def normalise(
        self, y: Tensor, values: Tensor, observed: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """From logits y of the target to z, 0 elsewhere, and the log volume (N,)."""
        known = self._know(values, observed)
        shift, scale = self._affine(known)
        z, volume = (y - shift) * (-scale).exp(), -_sum(scale, target)
        z = z.where(target, 0.0)
        for number, coupling in enumerate(self.couplings):
            still = target & self._half(number, y)
            shift, scale = coupling(known, z, still)
            moves = target & ~still
            z = torch.where(moves, (z - shift) * (-scale).exp(), z)
            volume = volume - _sum(scale, moves)
        return z, volume

    def generate(self, z: Tensor, values: Tensor, observed: Tensor, target: Tensor) -> Tensor:
        """The inverse of :meth:`normalise`: logits of the target, 0 elsewhere."""
        known = self._know(values, observed)
        z = z.where(target, 0.0)
        for number in reversed(range(len(self.couplings))):
            still = target & self._half(number, z)
            shift, scale = self.couplings[number](known, z, still)
            z = torch.where(target & ~still, z * scale.exp() + shift, z)
        shift, scale = self._affine(known)
        return (z * scale.exp() + shift).where(target, 0.0)

    def draw(self, values: Tensor, observed: Tensor, z: Tensor) -> Tensor:
        """Pictures (N, C, H, W) with holes filled from standard normal z, between 0 and 1."""
        y = self.generate(z, self.levelled(values), observed, ~observed)
        drawn = (y.sigmoid() - _MARGIN) / (1 - 2 * _MARGIN)
        if self.levels is not None:
            drawn = (drawn * self.levels - 0.5) / (self.levels - 1)
        return torch.where(observed, values, drawn.clamp(0, 1))

    def score(self, values: Tensor, observed: Tensor, target: Tensor) -> Tensor:
        """As :meth:`log_prob` for pictures as they are, each pixel in the middle of its level."""
        found = self.log_prob(self.levelled(values), observed, target)
        if self.levels is None:
            return found
        return found + target.flatten(1).sum(1) * math.log1p(-1 / self.levels)

    # -- training --------------------------------------------------------------------------------

    def begin(self, observed: Tensor) -> None:
        """Choose what is hidden by the holes of the training pictures."""
        self.hide, self.hide_size = choose(self.hide, self.hide_size, observed)

    def training_step(self, batch: Any, phase: str = "main") -> Tensor:
        """Mean negative log density of what is hidden and observed."""
        values, observed = batch
        held = hold_out(observed, *choose(self.hide, self.hide_size, observed))
        noise = torch.rand_like(values)
        return -self.log_prob(
            self.levelled(values, noise), observed & ~held, observed & held
        ).mean()

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        """The same in the middle of each level, every other column of pixels hidden."""
        values, observed = batch
        odd = torch.arange(values.shape[-1], device=values.device) % 2 == 1
        found = self.log_prob(self.levelled(values), observed & ~odd, observed & odd)
        return -found.sum(), torch.as_tensor(len(found))

    def levelled(self, values: Tensor, noise: Tensor | float = 0.5) -> Tensor:
        """Values within their grey level, at the place that ``noise`` (0 to 1) says."""
        if self.levels is None:
            return values
        return (values * (self.levels - 1) + noise) / self.levels

    # -- parts -----------------------------------------------------------------------------------

    def _know(self, values: Tensor, observed: Tensor) -> Tensor:
        return self.context(torch.cat([values.where(observed, 0.0), observed.to(values)], 1))

    def _affine(self, known: Tensor) -> tuple[Tensor, Tensor]:
        return _shift_and_scale(self.first(known), limit=3.0)

    @staticmethod
    def _half(number: int, like: Tensor) -> Tensor:
        """Which half of the pixels stands still in a coupling, (H, W)."""
        row = torch.arange(like.shape[-2], device=like.device)[:, None]
        column = torch.arange(like.shape[-1], device=like.device)
        pattern = (row + column, row.expand(-1, len(column)), column.expand(len(row), -1))
        return (pattern[number // 2 % 3] + number) % 2 == 0


class _Context(nn.Module):
    """What the observed pixels say of every place: down to a quarter of the sides and up again."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.fine = nn.Conv2d(channels, width, 3, padding=1)
        self.halved = nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.quartered = nn.Conv2d(2 * width, 2 * width, 3, 2, 1)
        self.wide = nn.Sequential(
            nn.Conv2d(2 * width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 3, padding=2, dilation=2),
            nn.ReLU(),
        )
        self.back = nn.Conv2d(4 * width, width, 3, padding=1)
        self.last = nn.Conv2d(2 * width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        fine = F.relu(self.fine(x))
        half = F.relu(self.halved(fine))
        deep = self.wide(F.relu(self.quartered(half)))
        y = F.relu(self.back(torch.cat([F.interpolate(deep, half.shape[2:]), half], 1)))
        return F.relu(self.last(torch.cat([F.interpolate(y, fine.shape[2:]), fine], 1)))


class _Coupling(nn.Module):
    """Shift and log scale of the pixels that move, from the context and those that stand still."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(width + 2 * channels, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=2, dilation=2),
            nn.ReLU(),
            _small(nn.Conv2d(width, 2 * channels, 3, padding=1)),
        )

    def forward(self, known: Tensor, z: Tensor, still: Tensor) -> tuple[Tensor, Tensor]:
        seen = torch.cat([known, z.where(still, 0.0), still.to(z)], 1)
        return _shift_and_scale(self.layers(seen))


def _shift_and_scale(raw: Tensor, limit: float = 1.5) -> tuple[Tensor, Tensor]:
    """Scales stay within bounds, so that no step of training makes them explode."""
    shift, scale = raw.chunk(2, 1)
    return shift, limit * torch.tanh(scale / limit)


def _small(layer: nn.Conv2d) -> nn.Conv2d:
    """Close to zero, so that the flow begins near the identity."""
    with torch.no_grad():
        layer.weight.mul_(0.01)
        layer.bias.zero_()  # type: ignore[union-attr]
    return layer


def _sum(scale: Tensor, where: Tensor) -> Tensor:
    return scale.where(where, 0.0).flatten(1).sum(1)


def moments(draws: Tensor, floor: float) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, factors and noise (for K = 1) whose covariance is that of the draws (n, N, C, H, W)."""
    mean = draws.mean(0)
    factors = (draws - mean).movedim(0, 1) / math.sqrt(len(draws))
    return mean[:, None], factors[:, None], torch.full_like(mean, floor)[:, None]
