"""Rows of a sparse matrix as tensors: stored means observed, everything else is missing."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Rows(NamedTuple):
    """Rows of a CSR matrix. A stored cell is observed, also a stored 0; an absent one is missing.

    Attributes
    ----------
    values : Tensor, shape (nnz,)
        The stored cells, row after row, never NaN.
    columns : Tensor of int64, shape (nnz,)
        The column of each; no column twice in a row.
    offsets : Tensor of int64, shape (N + 1,)
        Row ``i`` owns the cells ``offsets[i]`` to ``offsets[i + 1]``.
    width : int
        Number of columns.
    """

    values: Tensor
    columns: Tensor
    offsets: Tensor
    width: int

    @classmethod
    def from_scipy(cls, matrix: Any, dtype: torch.dtype = torch.float32) -> Self:
        """Rows of a SciPy sparse matrix or array; a stored NaN counts as missing."""
        csr = matrix.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        data, indices, indptr = csr.data, csr.indices, csr.indptr
        gaps = np.isnan(data)
        if gaps.any():
            indptr = np.concatenate([[0], np.cumsum(~gaps)])[indptr]
            data, indices = data[~gaps], indices[~gaps]
        return cls(
            torch.as_tensor(data, dtype=dtype),
            torch.as_tensor(indices, dtype=torch.int64),
            torch.as_tensor(indptr, dtype=torch.int64),
            int(csr.shape[1]),
        )

    def counts(self) -> Tensor:
        """Number of observed cells of each row, shape (N,)."""
        return self.offsets.diff()

    def spread(self, per_row: Tensor) -> Tensor:
        """Repeat a number per row (N,) for each of the row's cells (nnz,)."""
        return per_row.repeat_interleave(self.counts(), output_size=self.values.shape[0])

    def take(self, index: Tensor) -> Rows:
        """The rows of these numbers, in this order."""
        sizes = self.counts()[index]
        offsets = F.pad(sizes.cumsum(0), (1, 0))
        shift = (self.offsets[:-1][index] - offsets[:-1]).repeat_interleave(sizes)
        cells = shift + torch.arange(shift.shape[0], device=shift.device)
        return Rows(self.values[cells], self.columns[cells], offsets, self.width)

    def to_nan(self) -> Tensor:
        """Dense tensor (N, width) with NaN for absent cells. Only where that fits into memory."""
        rows = self.spread(torch.arange(self.offsets.shape[0] - 1, device=self.values.device))
        dense = self.values.new_full((self.offsets.shape[0] - 1, self.width), float("nan"))
        return dense.index_put((rows, self.columns), self.values)

    def to(self, *args: Any, **kwargs: Any) -> Rows:
        """Move to a device or change the type of the values, as ``Tensor.to`` does."""
        values = self.values.to(*args, **kwargs)
        return self._replace(
            values=values,
            columns=self.columns.to(values.device),
            offsets=self.offsets.to(values.device),
        )


def rows_linear(rows: Rows, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``rows @ weight.T + bias`` with 0 for absent cells, without making anything dense.

    Parameters
    ----------
    rows : Rows
        N rows of ``width`` columns.
    weight : Tensor, shape (out, width)
        Fast if ``weight.T`` is contiguous, as in :class:`Affine`: each cell then reads one run of
        memory. Any other layout is copied first.
    bias : Tensor, shape (out,), optional

    Returns
    -------
    Tensor, shape (N, out)
        Differentiable once in ``rows.values``, ``weight`` and ``bias``.
    """
    if rows.width != weight.shape[1]:
        raise ValueError(
            f"rows have {rows.width} columns, the weight (out, width) has shape "
            f"{tuple(weight.shape)}; both widths must be equal"
        )
    out = F.embedding_bag(
        rows.columns,
        weight.t().contiguous(),
        rows.offsets,
        mode="sum",
        per_sample_weights=rows.values,
        include_last_offset=True,
    )
    return out if bias is None else out + bias


class Affine(nn.Linear):
    """``nn.Linear`` whose input may also be :class:`Rows`.

    Parameters, their shapes, their first draw and the ``state_dict`` are those of ``nn.Linear``. In
    memory the weight (out, in) lies column after column, which costs dense input nothing and saves
    sparse input a transposed copy of the whole matrix in every step. A file format that asks for
    contiguous tensors needs ``weight.contiguous()``.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.weight = nn.Parameter(self.weight.detach().t().contiguous().t())

    def forward(self, x: Tensor | Rows) -> Tensor:
        """``x @ weight.T + bias``."""
        if isinstance(x, Rows):
            return rows_linear(x, self.weight, self.bias)
        return super().forward(x)
