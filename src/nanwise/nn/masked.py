"""Linear layer in which not everything is connected."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from nanwise.missing import Observed
from nanwise.nn import functional
from nanwise.nn.gaps import split


class Masked(nn.Linear):
    """``nn.Linear`` with fixed connections, as in MADE.

    Parameters
    ----------
    in_features, out_features : int
        Widths.
    connections : array-like of bool, shape (out_features, in_features)
        True where an input reaches an output.
    normalize : bool, default=False
        Sparsity normalisation of the connections: an output with few of them gets as large an
        activation as one with many, see :func:`nanwise.nn.functional.normalize_connections`.
    bias : bool, default=True
        Whether to add one.

    Attributes
    ----------
    connections : Tensor, shape (out_features, in_features)
        The factors of the weights, normalised if asked for; part of the ``state_dict``.

    References
    ----------
    Germain, Gregor, Murray, Larochelle (2015). MADE. ICML.
    Yi, Lee, Kim, Hwang, Yang (2020). Why not to use zero imputation? ICLR, appendix F.
    """

    connections: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        connections: Any,
        normalize: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        joined = torch.as_tensor(connections).bool().to(self.weight)
        if joined.shape != self.weight.shape:
            raise ValueError(
                f"connections has shape {tuple(joined.shape)}, expected (out_features, "
                f"in_features) = {tuple(self.weight.shape)}"
            )
        self.normalize = normalize
        factors = functional.normalize_connections(joined) if normalize else joined
        self.register_buffer("connections", factors)

    def forward(self, x: Tensor | Observed, observed: Tensor | None = None) -> Tensor:
        """Output (..., out_features); a gap counts as 0."""
        values, _ = split(x, observed)
        return functional.masked_linear(values, self.weight, self.bias, self.connections)

    def extra_repr(self) -> str:
        """Arguments, for ``repr``."""
        joined = int(self.connections.count_nonzero())
        return f"{super().extra_repr()}, connections={joined}, normalize={self.normalize}"
