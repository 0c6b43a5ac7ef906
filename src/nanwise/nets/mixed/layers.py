"""Building blocks of the networks over attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from nanwise.nets.mlp import MLP, Affines
from nanwise.nn.likelihoods import AnyPart


class Bent(nn.Module):
    """A linear map plus a network that starts at 0.

    Columns of tables depend on each other almost linearly; what the map can say it says within a
    few hundred steps, and the network learns the rest.

    Parameters
    ----------
    n_in, n_out : int
    rest : nn.Sequential or None
        The network; its last layer is affine. None leaves the linear map alone.
    """

    def __init__(self, n_in: int, n_out: int, rest: nn.Sequential | None = None) -> None:
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.rest: nn.Sequential | None = None
        if rest is not None:
            self.bend(rest)

    @classmethod
    def over(cls, n_in: int, hidden: Sequence[int], n_out: int, activation: str = "relu") -> Self:
        """Over an MLP (see :class:`nanwise.nets.mlp.MLP`) with these widths of hidden layers."""
        made = cls(n_in, n_out)
        if hidden:
            made.bend(MLP(n_in, hidden, n_out, activation=activation).layers)
        return made

    def bend(self, rest: nn.Sequential) -> None:
        """Add what ``rest`` says, from now 0."""
        start_at_zero(rest[-1])
        self.rest = rest

    def forward(self, x: Tensor) -> Tensor:
        """(…, n_in) to (…, n_out)."""
        return self.linear(x) if self.rest is None else self.linear(x) + self.rest(x)


def start_at_zero(layer: nn.Module) -> None:
    """Set weights and biases of an affine layer to 0."""
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)


class Apart(nn.Module):
    """One small network for each attribute, which sees nothing but that attribute.

    Networks of attributes of the same width run at once.

    Parameters
    ----------
    parts : sequence of Part
    hidden : int
        Width of the one hidden layer of each.
    n_out : int
        Outputs of each.
    """

    def __init__(self, parts: Sequence[AnyPart], hidden: int, n_out: int) -> None:
        super().__init__()
        starts = [sum(part.width for part in parts[:a]) for a in range(len(parts))]
        members: dict[int, list[int]] = {}
        for a, part in enumerate(parts):
            members.setdefault(part.width, []).append(a)
        order = torch.tensor([a for group in members.values() for a in group])
        self.order: Tensor
        self.register_buffer("order", order.argsort(), persistent=False)
        self.columns = [
            torch.tensor([[starts[a] + k for k in range(width)] for a in group])
            for width, group in members.items()
        ]
        self.first = nn.ModuleList(Affines(w, hidden, len(g)) for w, g in members.items())
        self.last = Affines(hidden, n_out, len(parts))

    def forward(self, features: Tensor) -> Tensor:
        """(N, F) to (N, A, n_out)."""
        inner = [
            layer(features[:, columns].transpose(0, 1))
            for layer, columns in zip(self.first, self.columns, strict=True)
        ]
        together = torch.cat(inner).index_select(0, self.order)
        return self.last(nn.functional.silu(together)).transpose(0, 1)


def hidden_part(observed: Tensor, share: float) -> Tensor:
    """What is left of the observed attributes when a random share of them is not shown."""
    if not share:
        return observed
    return observed & (torch.rand(observed.shape, device=observed.device) >= share)
