"""Recurrent cells whose inputs and state fade while nothing is observed (GRU-D)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nanwise.nn.gaps import as_number

#: decay per step that training starts from: half is left after 69 steps
FIRST_RATE = 0.01
_GATES = {"lstm": 4, "gru": 3}


class Decaying(nn.Module):
    r"""GRU-D, and the same with an LSTM cell.

    A gap is filled with a mixture of the last value of its variable and the variable's mean, in
    which the last value counts by :math:`\gamma = e^{-\max(0, w \delta + b)}`; :math:`\delta` is
    the number of steps since the variable was last observed. Before every step the state is
    multiplied by such a factor, too, each unit by one that depends on all :math:`\delta`. The cell
    also sees which values are there.

    Parameters
    ----------
    centre : array-like, shape (D,)
        Mean of each variable, to which it fades.
    units : int
        Width of the state.
    cell : {"gru", "lstm"}
        ``gru`` is published. ``lstm`` fades hidden and cell state by the same factor.

    References
    ----------
    Che, Purushotham, Cho, Sontag, Liu (2018). Recurrent neural networks for multivariate time
    series with missing values. Scientific Reports 8.
    """

    centre: Tensor

    def __init__(self, centre: Any, units: int, cell: str = "gru") -> None:
        super().__init__()
        self.register_buffer("centre", torch.as_tensor(centre, dtype=torch.get_default_dtype()))
        width, gates = len(self.centre), _GATES[cell]
        self.units, self.cell = units, cell
        self.rate = nn.Parameter(torch.full((width,), FIRST_RATE))
        self.rate_bias = nn.Parameter(torch.zeros(width))
        self.fade = nn.Linear(width, units)
        self.inward = nn.Linear(2 * width, gates * units)
        self.across = nn.Parameter(torch.empty(gates * units, units))
        bound = 1 / math.sqrt(units)
        for parameter in (*self.inward.parameters(), self.across):
            nn.init.uniform_(parameter, -bound, bound)
        nn.init.uniform_(self.fade.weight, 0, 2 * FIRST_RATE / width)
        nn.init.zeros_(self.fade.bias)

    def forward(self, values: Tensor, observed: Tensor, lengths: Tensor | None = None) -> Tensor:
        """State (N, units) after the last step; shapes as in :class:`Recurrent`."""
        last, since = carried(values, observed, self.centre)
        present = as_number(observed, values.dtype)
        kept = torch.exp(-F.relu(since * self.rate + self.rate_bias))
        faded = self.centre + kept * (last - self.centre)
        filled = values + (1 - present) * faded
        # What does not depend on the state is computed for all steps at once; steps first.
        pushed = self.inward(torch.cat([filled, present], dim=-1)).transpose(0, 1)
        left = torch.exp(-F.relu(self.fade(since))).transpose(0, 1)
        state = values.new_zeros(2 if self.cell == "lstm" else 1, len(values), self.units)
        step = self._lstm if self.cell == "lstm" else self._gru
        for t, (push, keep) in enumerate(zip(pushed.unbind(0), left.unbind(0), strict=True)):
            new = step(push, state * keep)
            state = new if lengths is None else torch.where(_runs(lengths, t), new, state)
        return state[0]

    def _gru(self, push: Tensor, state: Tensor) -> Tensor:
        h, n = state[0], 2 * self.units
        update, reset = torch.sigmoid(push[:, :n] + h @ self.across[:n].T).chunk(2, dim=1)
        new = torch.tanh(push[:, n:] + (reset * h) @ self.across[n:].T)
        return torch.lerp(h, new, update)[None]

    def _lstm(self, push: Tensor, state: Tensor) -> Tensor:
        h, c = state
        gates = push + h @ self.across.T
        n = 3 * self.units
        take, forget, show = torch.sigmoid(gates[:, :n]).chunk(3, dim=1)
        c = forget * c + take * torch.tanh(gates[:, n:])
        return torch.stack([show * torch.tanh(c), c])


def carried(values: Tensor, observed: Tensor, centre: Tensor) -> tuple[Tensor, Tensor]:
    """The last value of each variable, and how many steps ago it was observed before.

    Parameters
    ----------
    values, observed : Tensor, shape (N, T, D)
    centre : Tensor, shape (D,)
        Stands for the last value where there was none.

    Returns
    -------
    last : Tensor, shape (N, T, D)
        A value that is there is the last one itself.
    since : Tensor, shape (N, T, D)
        At a step, the steps since the variable was observed *before* it; since the first step
        where it never was.
    """
    number = torch.arange(values.shape[1], device=values.device)[None, :, None]
    place = torch.where(observed, number, -1).cummax(dim=1).values
    last = torch.where(place >= 0, values.gather(1, place.clamp(min=0)), centre)
    before = F.pad(place[:, :-1], (0, 0, 1, 0), value=0).clamp(min=0)
    return last, (number - before).to(values.dtype)


def _runs(lengths: Tensor, t: int) -> Tensor:
    """Which sequences still have a step ``t``, (1, N, 1)."""
    return (lengths > t)[None, :, None]
