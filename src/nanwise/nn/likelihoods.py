"""Distributions of attributes of every kind, from the raw outputs of a decoder.

=========== ============================================= ===================== ===================
kind        distribution of the features                  places                shapes
=========== ============================================= ===================== ===================
real        Gaussian or Student-t                         mean                  scale (and degrees)
positive    the same, so log(1 + x) is Gaussian           mean                  scale (and degrees)
vector      the same for each column, independent         means                 scales (and degrees)
count       Poisson                                       log of the rate
binary      Bernoulli                                     log odds
categorical softmax                                       one score per level
ordinal     cumulative logit                              location              steps of thresholds
=========== ============================================= ===================== ===================

Features are those of :class:`nanwise.estimators.impute.features.Features`: scaled numbers, a 0 or 1
for a binary attribute and for each level of a categorical one, ones up to its level for an ordinal
one. Torch only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nanwise.nn.likelihood_sorts import SORTS, AnyPart, Group, Noise

NUMBERS = ("gaussian", "student")
VARIANCES = ("own", "shared")


class Heads(nn.Module):
    """The distributions of all attributes of a row, given the raw outputs of a decoder.

    Parameters
    ----------
    parts : sequence of Part
        The attributes; kind, width, shift and scale of each.
    numbers : {"gaussian", "student"}, default="gaussian"
        Distribution of real and positive numbers and of vectors.
    variance : {"own", "shared"} or float, default="own"
        Where the shapes of the distributions (scales and degrees of freedom of numbers, steps of
        ordinal thresholds) come from: "own" of each row, by the decoder; "shared" by all rows, a
        learnt parameter of this module; a number fixes the variance of all numbers (steps are then
        shared).
    least : float, default=1e-3
        Least scale of a number that is not fixed. A likelihood without it is unbounded.

    Attributes
    ----------
    width : int
        Number of raw outputs that a decoder must give: places, then shapes if they are ``own``.
    n_places, n_shapes : int
        Of these; shapes are counted whether own or shared.
    place_widths, shape_widths : tuple of int
        The same for each attribute; places and shapes are in the order of the attributes.
    n_features, n_attributes : int
        Widths of the features and of the answers of :meth:`log_prob`.
    n_noise : int
        Random numbers that a sample of one row is made of.

    Notes
    -----
    ``raw`` may have any number of leading dimensions, those of ``features`` are broadcast to it.
    Densities are finite for any features, so also for the zeros that stand in gaps: multiply by
    ``observed`` afterwards.
    """

    def __init__(
        self,
        parts: Sequence[AnyPart],
        *,
        numbers: str = "gaussian",
        variance: str | float = "own",
        least: float = 1e-3,
    ) -> None:
        super().__init__()
        _check(numbers, variance, least)
        fixed = None if isinstance(variance, str) else math.sqrt(variance)
        kinds = [SORTS[part.kind] for part in parts]
        own = [kind.needs(part, numbers, fixed) for kind, part in zip(kinds, parts, strict=True)]
        self.place_widths = tuple(places for places, _ in own)
        self.shape_widths = tuple(shapes for _, shapes in own)
        self.n_places, self.n_shapes = sum(self.place_widths), sum(self.shape_widths)
        self.n_features = sum(part.width for part in parts)
        self.n_attributes = len(parts)
        self.shapes = None if variance == "own" else nn.Parameter(torch.zeros(self.n_shapes))
        # 0 means a scale of 0.69, no natural place to be pulled to
        self.homes = {} if self.shapes is None else {"shapes": None}
        self.width = self.n_places + (self.n_shapes if self.shapes is None else 0)
        groups = self._make_groups(parts, numbers, fixed, least)
        self.groups: Any = nn.ModuleList(groups)
        self.n_noise = sum(group.n_noise for group in groups)
        self._index("features_at", [group.features for group in groups])
        self._index("attributes_at", [group.attributes for group in groups])

    def log_prob(self, raw: Tensor, features: Tensor) -> Tensor:
        """Log density, or log probability, of the features of each attribute, (…, A)."""
        places, shapes = self.split(raw)
        found = [g.log_prob(*g.cut(places, shapes), g.pick(features)) for g in self.groups]
        return _in_order(found, self.attributes_at)

    def mean(self, raw: Tensor) -> Tensor:
        """Expected features, (…, F).

        Levels have their probabilities, an ordinal attribute those to reach each level, a count the
        feature of the expected count.
        """
        places, shapes = self.split(raw)
        return _in_order([g.mean(*g.cut(places, shapes)) for g in self.groups], self.features_at)

    def sample(
        self,
        raw: Tensor,
        generator: torch.Generator | None = None,
        noise: Tensor | None = None,
    ) -> Tensor:
        """Random features, (…, F).

        Standard normal ``noise`` (…, n_noise), broadcast to ``raw``, takes the place of a
        generator: the same noise gives the same features (counts by an approximate quantile).
        Numbers have gradients.
        """
        places, shapes = self.split(raw)
        source = generator if noise is None else Noise(noise)
        found = [g.sample(*g.cut(places, shapes), source) for g in self.groups]
        return _in_order(found, self.features_at)

    def split(self, raw: Tensor) -> tuple[Tensor, Tensor]:
        """Places and shapes."""
        if raw.shape[-1] != self.width:
            raise ValueError(f"raw must have {self.width} columns, got {raw.shape[-1]}")
        if self.shapes is None:
            return raw[..., : self.n_places], raw[..., self.n_places :]
        return raw, self.shapes

    def _make_groups(
        self, parts: Sequence[AnyPart], numbers: str, fixed: float | None, least: float
    ) -> list[Group]:
        """Attributes of the same sort and width together, so that no step goes one by one."""
        together: dict[tuple[Any, int], list[int]] = {}
        for a, part in enumerate(parts):
            together.setdefault((SORTS[part.kind], part.width), []).append(a)
        widths = ([part.width for part in parts], self.place_widths, self.shape_widths)
        starts = [_starts(each) for each in widths]
        groups = []
        for (kind, _), members in together.items():
            group = kind(
                members, *(_columns(s, w, members) for s, w in zip(starts, widths, strict=True))
            )
            group.set_up([parts[a] for a in members], numbers, fixed, least)
            groups.append(group)
        return groups

    def _index(self, name: str, pieces: list[Tensor]) -> None:
        """Keep where in the concatenation of all groups each column is; None: in order already."""
        order = torch.cat([torch.zeros(0, dtype=torch.long), *pieces]).argsort()
        in_order = torch.equal(order, torch.arange(len(order)))
        self.register_buffer(name, None if in_order else order, persistent=False)


def _check(numbers: str, variance: str | float, least: float) -> None:
    if numbers not in NUMBERS:
        raise ValueError(f"numbers must be one of {', '.join(NUMBERS)}, got {numbers!r}")
    known = variance in VARIANCES if isinstance(variance, str) else variance > 0
    if not known:
        raise ValueError(
            f"variance must be one of {', '.join(VARIANCES)}, or a number above 0; got {variance!r}"
        )
    if not least > 0:
        raise ValueError(f"least must be above 0, got {least!r}")


def _starts(widths: Sequence[int]) -> list[int]:
    return [sum(widths[:a]) for a in range(len(widths))]


def _columns(starts: list[int], widths: Sequence[int], members: list[int]) -> Tensor:
    """Numbers of the columns of some attributes, one after the other."""
    found = [starts[a] + k for a in members for k in range(widths[a])]
    return torch.tensor(found, dtype=torch.long)


def _in_order(pieces: list[Tensor], order: Any) -> Tensor:
    found = pieces[0] if len(pieces) == 1 else torch.cat(_alike(pieces), -1)
    return found if order is None else found.index_select(-1, order)


def _alike(pieces: list[Tensor]) -> list[Tensor]:
    """Leading dimensions broadcast to each other: shared shapes have none."""
    lead = torch.broadcast_shapes(*(piece.shape[:-1] for piece in pieces))
    return [piece.expand((*lead, piece.shape[-1])) for piece in pieces]
