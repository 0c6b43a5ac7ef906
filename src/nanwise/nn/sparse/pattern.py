"""Where the observed cells of a matrix are, row after row and column after column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from nanwise.nn.sparse.room import Room
from nanwise.nn.sparse.rows import Rows

_INT32 = torch.iinfo(torch.int32).max
_UNEVEN = 1.25  # work of the busiest thread, as a multiple of its fair share, that is still fine
_PIECES = 8
_CHUNK = 1 << 17


@dataclass(frozen=True, eq=False)
class Pattern:
    """The observed cells of a matrix (N, width), without their values.

    What the products need of a matrix apart from its numbers. Made once for a training set and used
    in every step; what the other direction needs is found on first use and kept. A batch, or the
    share of one process, is the pattern of its rows: gradients of the parts add up to the whole.

    Attributes
    ----------
    columns : Tensor of int32, shape (nnz,)
        The column of each cell, row after row (int64 where int32 does not reach).
    offsets : Tensor of the same type, shape (N + 1,)
        Row ``i`` owns the cells ``offsets[i]`` to ``offsets[i + 1]``.
    width : int
        Number of columns.
    """

    columns: Tensor
    offsets: Tensor
    width: int

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """The pattern of sparse rows; their ``values`` are then those of its cells."""
        largest = max(rows.width, rows.columns.shape[0])
        kind = torch.int32 if largest <= _INT32 else torch.int64
        return cls(rows.columns.to(kind), rows.offsets.to(kind), rows.width)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return self.offsets.shape[0] - 1, self.width

    @property
    def nnz(self) -> int:
        """Number of observed cells."""
        return self.columns.shape[0]

    @cached_property
    def order(self) -> Tensor:
        """The numbers of the cells, column after column."""
        # The sort of int32 is a radix sort, several times faster than that of wider numbers.
        return self.columns.argsort(stable=True).to(self.columns.dtype)

    @cached_property
    def T(self) -> Pattern:
        """The transposed pattern; its cells are those of this one in the order ``order``."""
        numbers = torch.arange(self.shape[0], dtype=self.columns.dtype, device=self.columns.device)
        row = numbers.repeat_interleave(self.offsets.diff(), output_size=self.nnz)
        sizes = torch.bincount(self.columns, minlength=self.width)
        offsets = F.pad(sizes.cumsum(0, dtype=self.offsets.dtype), (1, 0))
        return Pattern(row.index_select(0, self.order), offsets, self.shape[0])

    def across(self, values: Tensor) -> Tensor:
        """Numbers of the cells (nnz,), rearranged for the cells of ``T``."""
        return values.index_select(0, self.order)

    @cached_property
    def places(self) -> Tensor:
        """Where each cell stands in ``T``: ``across(x)[places]`` is ``x``."""
        places, begin = torch.empty_like(self.order), 0
        # in chunks: an index must be int64, and all of it would be twice the size of the result
        for chunk in self.order.split(_CHUNK):
            end = begin + chunk.shape[0]
            places[chunk.long()] = torch.arange(begin, end, dtype=places.dtype, device=chunk.device)
            begin = end
        return places

    def share(self, room: Room) -> None:
        """Let large results of products with this pattern, also transposed, come from a room."""
        vars(self)["room"] = vars(self.T)["room"] = room

    def empty(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Memory for a result."""
        room: Room | None = vars(self).get("room")
        return like.new_empty(shape) if room is None else room.empty(shape, like)

    def paired(self, order: Tensor, transposed: Pattern) -> Self:
        """The same pattern with ``order`` and ``T`` of a caller who has them cheaper."""
        made = type(self)(self.columns, self.offsets, self.width)
        vars(made).update(order=order, T=transposed)
        return made

    @cached_property
    def cuts(self) -> list[tuple[int, int, int, int]]:
        """Runs of rows to multiply one after the other: first row, end, first cell, end.

        Torch gives each thread the same number of rows. Where the rows are sorted by how full they
        are, that leaves all work to one thread; runs of equal work hold rows of like size.
        """
        n = self.shape[0]
        even = torch.linspace(0, n, min(torch.get_num_threads(), max(n, 1)) + 1).long()
        shares = self.offsets[even.to(self.offsets.device)].diff()
        if self.nnz == 0 or float(shares.max() * len(shares) / self.nnz) <= _UNEVEN:
            return [(0, n, 0, self.nnz)]
        steps = torch.arange(1, _PIECES, device=self.offsets.device) * self.nnz // _PIECES
        inner = torch.searchsorted(self.offsets, steps.to(self.offsets.dtype)).unique().tolist()
        rows = [0, *(row for row in inner if 0 < row < n), n]
        cells = self.offsets[rows].tolist()
        return list(zip(rows[:-1], rows[1:], cells[:-1], cells[1:], strict=True))

    def to(self, device: Any) -> Pattern:
        """The same pattern on another device."""
        return Pattern(self.columns.to(device), self.offsets.to(device), self.width)
