"""Building blocks of the networks over attributes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from nanwise.nets.mlp import MLP
from nanwise.nn.likelihoods import AnyPart


class Bent(nn.Module):
    """A linear map plus an MLP that starts at 0.

    Columns of tables depend on each other almost linearly; what the map can say it says within a
    few hundred steps, and the MLP learns the rest.

    Parameters
    ----------
    n_in, n_out : int
    hidden : sequence of int
        Widths of the hidden layers of the MLP; ``()`` leaves the linear map alone.
    activation : str
        See :class:`nanwise.nets.mlp.MLP`.
    """

    def __init__(
        self, n_in: int, hidden: Sequence[int], n_out: int, activation: str = "relu"
    ) -> None:
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.rest = MLP(n_in, hidden, n_out, activation=activation) if hidden else None
        if self.rest is not None:
            last = self.rest.layers[-1]
            nn.init.zeros_(last.weight)  # type: ignore[arg-type]
            nn.init.zeros_(last.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        """(…, n_in) to (…, n_out)."""
        return self.linear(x) if self.rest is None else self.linear(x) + self.rest(x)


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
        self.first = nn.ModuleList(Affines(len(g), w, hidden) for w, g in members.items())
        self.last = Affines(len(parts), hidden, n_out)

    def forward(self, features: Tensor) -> Tensor:
        """(N, F) to (N, A, n_out)."""
        inner = [
            layer(features[:, columns])
            for layer, columns in zip(self.first, self.columns, strict=True)
        ]
        together = torch.cat(inner, 1).index_select(1, self.order)
        return self.last(torch.nn.functional.silu(together))


class Affines(nn.Module):
    """An affine map for each attribute: (N, n, n_in) to (N, n, n_out)."""

    def __init__(self, n: int, n_in: int, n_out: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(max(n_in, 1))
        self.weight = nn.Parameter(torch.empty(n, n_in, n_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(n, n_out).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """Apply every map to its own slice."""
        return torch.einsum("nai,aio->nao", x, self.weight) + self.bias


def hidden_part(observed: Tensor, share: float) -> Tensor:
    """What is left of the observed attributes when a random share of them is not shown."""
    if not share:
        return observed
    return observed & (torch.rand(observed.shape, device=observed.device) >= share)
