"""AutoRec on rows whose gaps are filled, without making dense what is the same in all rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nanwise.nets.autorec import AutoRecNet
from nanwise.nn.sparse import Pattern, sparse_mm


class Deviations(NamedTuple):
    """Filled rows less the centre of each column.

    Attributes
    ----------
    observed : Tensor, shape (nnz,)
        At the observed cells, in the order of the pattern.
    gaps : Tensor, shape (N, c)
        In the gaps of the columns that an imputer works on, 0 at their observed cells. The gaps of
        all other columns hold the centre.
    """

    observed: Tensor
    gaps: Tensor


class FilledAutoRecNet(AutoRecNet):
    """:class:`AutoRecNet` that sees ``centre + deviations`` instead of zeros in the gaps.

    With ``D`` the deviations, ``encode' (centre + D) = encode' centre + encode' D``: what all rows
    share is one vector, the observed cells are a sparse product, and only what an imputer has put
    into single gaps is a dense one.

    Parameters
    ----------
    width, hidden : int
    centre : ndarray of shape (width,) or None
        None: the rows are handed over as deviations, and ``encode' centre`` is left to the bias.
    columns : ndarray of shape (c,)
        Columns of ``Deviations.gaps``.
    smallest, largest : float
        Ends of the scale.
    """

    centre: Tensor | None
    columns: Tensor

    def __init__(
        self,
        width: int,
        hidden: int,
        centre: np.ndarray | None,
        columns: np.ndarray,
        smallest: float = float("-inf"),
        largest: float = float("inf"),
    ) -> None:
        super().__init__(width, hidden, None, smallest, largest)
        held: Any = None if centre is None else torch.as_tensor(centre, dtype=self.bias.dtype)
        # Not weights: they follow from the ratings, and a warm start must not bring back old ones.
        self.register_buffer("centre", held, persistent=False)
        self.register_buffer("columns", torch.as_tensor(columns), persistent=False)

    def sums(self, pattern: Pattern, inputs: Tensor | Deviations) -> Tensor:
        """What goes into the sigmoid; a tensor stands for rows without an imputer."""
        gaps = None
        if isinstance(inputs, Deviations):
            inputs, gaps = inputs
        sums = sparse_mm(pattern, inputs, self.encode) + self.hidden_bias
        if gaps is not None:
            whole = len(self.columns) == len(self.encode)
            sums = sums + gaps @ (self.encode if whole else self.encode[self.columns])
        if self.centre is not None:
            sums = sums + self.centre @ self.encode
        return sums
