"""Multi-layer perceptron, one network or several trained at once."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from nanwise.nn.sn_dropout import SNDropout
from nanwise.nn.sparse import Affine, Rows, rows_linear

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "silu": nn.SiLU,
    "elu": nn.ELU,
    "leaky_relu": nn.LeakyReLU,
}

#: how what survives dropout is scaled: by the rate, or by the number of units that did survive
DROPOUTS: dict[str, Callable[[float], nn.Module]] = {"plain": nn.Dropout, "sn": SNDropout}


class MLP(nn.Module):
    """Affine layers with an activation between them.

    Parameters
    ----------
    n_in, n_out : int
        Width of the input and of the output.
    hidden : sequence of int
        Widths of the hidden layers; ``()`` gives a linear model.
    activation : {"relu", "gelu", "tanh", "silu", "elu", "leaky_relu"}, default="relu"
        What follows every hidden affine layer.
    dropout : float, default=0.0
        Probability with which a hidden unit is dropped in training.
    dropout_kind : {"plain", "sn"}, default="plain"
        ``"plain"`` scales what survives by 1 / (1 - dropout), ``"sn"`` by 1 / (share of the units
        that did survive in this row), see :class:`nanwise.nn.SNDropout`.
    norm : nn.Module or None, default=None
        Put after the first affine layer, before its activation, if there is a hidden layer. Of
        several members each has its own copy.
    members : int, default=1
        Number of independent networks, trained at once on the same input.

    Notes
    -----
    ``forward`` takes a tensor (N, n_in) or :class:`nanwise.nn.Rows` and gives (N, n_out), or
    (members, N, n_out) if there are several members. The affine layers start as torch's
    ``nn.Linear`` does, every member by itself.
    """

    def __init__(
        self,
        n_in: int,
        hidden: Sequence[int],
        n_out: int,
        *,
        activation: str = "relu",
        dropout: float = 0.0,
        dropout_kind: str = "plain",
        norm: nn.Module | None = None,
        members: int = 1,
    ) -> None:
        super().__init__()
        _check(n_in, hidden, n_out, members)
        _check_choices(activation, dropout, dropout_kind)
        self.members = members
        widths = [n_in, *hidden, n_out]
        layers: list[nn.Module] = []
        for i, (wide_in, wide_out) in enumerate(pairwise(widths)):
            layers.append(_affine(wide_in, wide_out, members, first=i == 0))
            if i == len(hidden):
                break
            if i == 0 and norm is not None:
                layers.append(norm if members == 1 else Each(norm, members))
            layers.append(ACTIVATIONS[activation]())
            if dropout > 0:
                layers.append(DROPOUTS[dropout_kind](dropout))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor | Rows) -> Tensor:
        """Outputs (N, n_out), with several members (members, N, n_out)."""
        return self.layers(x)


class Affines(nn.Module):
    """Affine layers side by side: (N, n_in) or (members, N, n_in) -> (members, N, n_out).

    A shared input, dense or :class:`nanwise.nn.Rows`, meets all members in one product, with the
    member axis laid into the output.
    """

    def __init__(self, n_in: int, n_out: int, members: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, n_in, n_out))
        self.bias = nn.Parameter(torch.empty(members, 1, n_out))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and biases uniformly from ±1/√n_in, as ``nn.Linear`` does."""
        bound = 1 / math.sqrt(max(self.weight.shape[1], 1))
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor | Rows) -> Tensor:
        """Apply every member to the shared input or to its own slice."""
        if isinstance(x, Tensor) and x.ndim == 3:
            return torch.baddbmm(self.bias, x, self.weight)
        members, n_in, n_out = self.weight.shape
        flat = self.weight.permute(0, 2, 1).reshape(members * n_out, n_in)
        bias = self.bias.reshape(-1)
        apply: Any = nn.functional.linear if isinstance(x, Tensor) else rows_linear
        return apply(x, flat, bias).unflatten(1, (members, n_out)).transpose(0, 1)

    def extra_repr(self) -> str:
        """Shape, for ``repr``."""
        members, n_in, n_out = self.weight.shape
        return f"n_in={n_in}, n_out={n_out}, members={members}"


class Each(nn.Module):
    """A copy of a module for each member: (members, N, width) -> (members, N, width).

    Members stay independent, and a module that asks for (N, width), as batch normalisation does,
    gets it.
    """

    def __init__(self, module: nn.Module, members: int) -> None:
        super().__init__()
        self.copies = nn.ModuleList(copy.deepcopy(module) for _ in range(members))

    def forward(self, x: Tensor) -> Tensor:
        """Apply each copy to its member's slice."""
        return torch.stack([own(part) for own, part in zip(self.copies, x, strict=True)])


def _affine(n_in: int, n_out: int, members: int, first: bool) -> nn.Module:
    if members > 1:
        return Affines(n_in, n_out, members)
    # only the first layer can meet sparse rows; the memory layout made for them slows optimizers
    return Affine(n_in, n_out) if first else nn.Linear(n_in, n_out)


def _check(n_in: int, hidden: Sequence[int], n_out: int, members: int) -> None:
    if any(width < 1 for width in hidden):
        raise ValueError(f"hidden must hold widths of at least 1, got {tuple(hidden)!r}")
    if n_in < 0 or n_out < 1:
        raise ValueError(f"n_in must be at least 0 and n_out at least 1, got {n_in} and {n_out}")
    if members < 1:
        raise ValueError(f"members must be at least 1, got {members!r}")


def _check_choices(activation: str, dropout: float, dropout_kind: str) -> None:
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout!r}")
    if dropout_kind not in DROPOUTS:
        raise ValueError(f"dropout_kind must be one of {', '.join(DROPOUTS)}, got {dropout_kind!r}")
