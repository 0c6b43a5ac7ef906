"""Affine layer on sparsity-normalised input."""

from __future__ import annotations

from typing import Any, Literal, Self

import torch
from torch import Tensor

from nanwise.missing import Observed
from nanwise.nn.sparse import Affine, Rows
from nanwise.nn.sparsity_norm import SparsityNorm


class SNLinear(Affine):
    """Sparsity normalisation and ``nn.Linear`` in one, at nearly the price of the latter.

    Computes ``Linear(SparsityNorm(x))``; the bias is added after the scaling.

    Parameters
    ----------
    in_features, out_features : int
        Widths.
    K : "mean" or float, default="mean"
        See :class:`SparsityNorm`; "mean" needs :meth:`fit`.
    power : float, default=1.0
        1 is the paper's scale, 0 none.
    bias : bool, default=True
        Whether to add one.

    Attributes
    ----------
    norm : SparsityNorm
        Holds K.

    Notes
    -----
    The product is the same as without gaps; what can cost is the counting and filling around it,
    see :mod:`nanwise.nn.gaps`. Scaling the input rather than the output leaves nothing to do in the
    backward pass. ``benchmarks/sn_linear.py`` measures it.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        K: float | Literal["mean"] = "mean",
        power: float = 1.0,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.norm = SparsityNorm(K, power).to(device=device, dtype=dtype)

    def fit(
        self,
        x: Tensor | Observed | Rows,
        observed: Tensor | None = None,
        weight: Tensor | None = None,
    ) -> Self:
        """Set K from training data, see :meth:`SparsityNorm.fit`."""
        self.norm.fit(x, observed, weight)
        return self

    def forward(self, x: Tensor | Observed | Rows, observed: Tensor | None = None) -> Tensor:
        """Output (..., out_features)."""
        return super().forward(self.norm(x, observed))
