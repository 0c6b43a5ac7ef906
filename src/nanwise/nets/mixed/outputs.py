"""Outputs of a generator as features of a row, without a likelihood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

LEVELS = ("binary", "categorical", "ordinal")

#: share of the old value in a running mean of squared errors
_KEEP = 0.95


class Outputs(nn.Module):
    """Raw outputs, one per feature, as features: numbers and probabilities of levels.

    Parameters
    ----------
    parts : sequence of Part
        The attributes; of each its kind and width.
    bounded : bool
        Whether numbers are scaled to [0, 1] and so are the answers.

    Attributes
    ----------
    n_features, n_attributes : int
    """

    attribute: Tensor
    number: Tensor

    def __init__(self, parts: Sequence[Any], bounded: bool) -> None:
        super().__init__()
        self.bounded = bounded
        self.kinds = tuple(part.kind for part in parts)
        self.widths = tuple(int(part.width) for part in parts)
        self.n_features, self.n_attributes = sum(self.widths), len(self.widths)
        self.plain = all(width == 1 for width in self.widths)
        widths = torch.tensor(self.widths, dtype=torch.long)
        attribute = torch.repeat_interleave(torch.arange(len(self.widths)), widths)
        number = torch.tensor([kind not in LEVELS for kind in self.kinds])[attribute]
        self.register_buffer("attribute", attribute, persistent=False)
        self.register_buffer("number", number, persistent=False)

    def forward(self, raw: Tensor) -> Tensor:
        """Features (…, F); of an ordinal attribute the probabilities to reach each level."""
        if not self.bounded and not any(kind in LEVELS for kind in self.kinds):
            return raw
        squeezed = raw.sigmoid()
        out = squeezed if self.bounded else torch.where(self.number, raw, squeezed)
        if "categorical" not in self.kinds:
            return out
        blocks = list(out.split(self.widths, dim=-1))
        for i, block in self._blocks(raw):
            if self.kinds[i] == "categorical":
                blocks[i] = block.softmax(dim=-1)
        return torch.cat(blocks, dim=-1)

    def spread(self, observed: Tensor) -> Tensor:
        """Per feature (…, F) what is given per attribute (…, A)."""
        return observed if self.plain else observed[..., self.attribute]

    def sample_levels(self, features: Tensor, generator: torch.Generator | None) -> Tensor:
        """Levels drawn as 0 and 1 from their probabilities; numbers stay."""
        blocks = list(features.split(self.widths, dim=-1))
        for i, block in self._blocks(features):
            if self.kinds[i] in LEVELS and block.shape[-1]:
                blocks[i] = _drawn(self.kinds[i], block, generator)
        return torch.cat(blocks, dim=-1)

    def _blocks(self, features: Tensor) -> Iterator[tuple[int, Tensor]]:
        yield from enumerate(features.split(self.widths, dim=-1))


class Errors(nn.Module):
    """Running mean, per feature, of the squared errors of cells that were hidden on purpose."""

    square: Tensor

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.register_buffer("square", torch.zeros(n_features))

    @torch.no_grad()
    def learn(self, squares: Tensor, hidden: Tensor) -> None:
        """Take in one batch (N, F); ``hidden`` says where the truth was not seen."""
        count = hidden.sum(dim=0)
        now = (squares * hidden).sum(dim=0) / count.clamp(min=1)
        mixed = torch.where(self.square == 0, now, _KEEP * self.square + (1 - _KEEP) * now)
        self.square.copy_(torch.where(count > 0, mixed, self.square))

    def scatter(self, given: Tensor, outputs: Outputs, generator: torch.Generator | None) -> Tensor:
        """Draws around answers (…, F): numbers get an error, levels come by their probabilities."""
        scattered = torch.where(outputs.number, given + self.draw(given, generator), given)
        return outputs.sample_levels(scattered, generator)

    def draw(self, like: Tensor, generator: torch.Generator | None) -> Tensor:
        """Gaussian errors of that size, of the shape of ``like`` (…, F)."""
        noise = torch.randn(like.shape, dtype=like.dtype, generator=generator)
        return noise * self.square.to(like.dtype).clamp(min=0).sqrt()


def _drawn(kind: str, block: Tensor, generator: torch.Generator | None) -> Tensor:
    uniform = torch.rand(
        (*block.shape[:-1], 1), dtype=block.dtype, device=block.device, generator=generator
    )
    if kind == "categorical":
        reached = block.cumsum(dim=-1)
        level = (reached < uniform * reached[..., -1:]).sum(dim=-1)
        level = level.clamp(max=block.shape[-1] - 1)
        return nn.functional.one_hot(level, block.shape[-1]).to(block.dtype)
    # the steps of a staircase fall: a higher level is reached at most as often as a lower one
    return (uniform < block.cummin(dim=-1).values).to(block.dtype)
