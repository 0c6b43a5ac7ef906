"""Ratings as levels: a weight vector for every pair of column and level, read only where needed.

Cells travel as :class:`nanwise.nn.sparse.Rows` whose values are the *numbers* of levels (int64,
from 0). The pair (column j, level k) is column ``j * levels + k`` of a matrix that is ``levels``
times as wide; it is never stored.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from nanwise.nn.sparse import Pattern, Rows, sampled_mm, sparse_mm

#: columns whose weights are summed up at a time
_BLOCK = 64

NORMALIZE = (None, "sparsity", "rate", "batch", "layer")


def keep(rows: Rows, kept: Tensor) -> Rows:
    """The cells where ``kept`` (nnz,) is True; all rows stay."""
    before = F.pad(kept.cumsum(0), (1, 0))
    cells = kept.nonzero().squeeze(1)
    return Rows(rows.values[cells], rows.columns[cells], before[rows.offsets], rows.width)


class LevelEncoder(nn.Module):
    r"""Sum of the weight vectors of a row's ratings, normalised, plus a bias.

    Parameters
    ----------
    width : int
        Number of columns of the rating matrix.
    levels : int
        Number of levels of a rating.
    hidden : int
        Length of the code.
    shared : bool, default=False
        Whether a rating of level k adds the vectors of all levels up to k: neighbouring levels then
        share most of their code.
    normalize : {None, "sparsity", "rate", "batch", "layer"}, default=None
        ``sparsity`` scales the sum of n vectors by :math:`(K / \max(n, 1))^{power}`, ``rate`` by
        the constant width / K, the inverse of the mean rate of observation; ``batch`` and ``layer``
        put that normalisation behind the sum.
    mean_count : float, default=1.0
        K: how many ratings a row has on average when the network is trained.
    power : float, default=1.0

    Shapes
    ------
    Rows of N rows -> (N, hidden), before any activation.
    """

    mean_count: Tensor

    def __init__(
        self,
        width: int,
        levels: int,
        hidden: int,
        *,
        shared: bool = False,
        normalize: str | None = None,
        mean_count: float = 1.0,
        power: float = 1.0,
    ) -> None:
        super().__init__()
        if normalize not in NORMALIZE:
            raise ValueError(f"normalize must be one of {NORMALIZE}, got {normalize!r}")
        self.width, self.levels, self.shared = width, levels, shared
        self.normalize, self.power = normalize, power
        self.weight = nn.Parameter(torch.empty(width, levels, hidden))
        self.bias = nn.Parameter(torch.empty(hidden))
        kinds = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}
        self.norm = kinds[normalize](hidden) if normalize in kinds else None
        self.register_buffer("mean_count", torch.tensor(float(mean_count)))
        self.reset_parameters()

    @property
    def homes(self) -> dict[str, None]:
        """Parameters without weight decay: all but the weight."""
        return {name: None for name, _ in self.named_parameters() if name != "weight"}

    def reset_parameters(self) -> None:
        """Draw weights uniformly from ±√(6 / (width + hidden)), biases 0."""
        _glorot(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, rows: Rows) -> Tensor:
        """Codes (N, hidden) of rows whose values are level numbers."""
        weight = (_Cumulate.apply(self.weight) if self.shared else self.weight).flatten(0, 1)
        pairs = rows._replace(
            columns=rows.columns * self.levels + rows.values, width=self.width * self.levels
        )
        ones = weight.new_ones(rows.columns.shape[0])
        summed = sparse_mm(Pattern.of(pairs), ones, weight)
        return self._normalized(summed, rows.counts()) + self.bias

    def _normalized(self, summed: Tensor, counts: Tensor) -> Tensor:
        if self.norm is not None:
            return self.norm(summed)
        if self.normalize == "rate":
            return summed * (self.width / self.mean_count)
        if self.normalize == "sparsity":
            scale = (self.mean_count / counts.clamp(min=1)) ** self.power
            return summed * scale.to(summed).unsqueeze(1)
        return summed


class LevelDecoder(nn.Module):
    """Scores of all levels, at chosen cells only.

    Parameters
    ----------
    width, levels, hidden, shared
        As for :class:`LevelEncoder`; if ``shared``, the score of a level is the sum of the own
        scores of all levels up to it.

    Shapes
    ------
    code (N, hidden) and Rows of N rows with nnz cells -> (nnz, levels). The memory it takes grows
    with the cells, not with N times the width.
    """

    def __init__(self, width: int, levels: int, hidden: int, *, shared: bool = False) -> None:
        super().__init__()
        self.width, self.levels, self.shared = width, levels, shared
        self.weight = nn.Parameter(torch.empty(width, levels, hidden))
        self.bias = nn.Parameter(torch.empty(width, levels))
        #: parameters without weight decay
        self.homes = {"bias": None}
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights uniformly from ±√(6 / (width + hidden)), biases 0."""
        _glorot(self.weight)
        nn.init.zeros_(self.bias)

    @torch.no_grad()
    def start_at(self, frequency: Tensor) -> None:
        """Set the bias so that a code of 0 gives the frequencies (width, levels), all above 0."""
        log = frequency.log()
        self.bias.copy_(_unshared(log) if self.shared else log)

    def forward(self, code: Tensor, cells: Rows) -> Tensor:
        """Scores (nnz, levels) at the cells; their values are not read."""
        number = torch.arange(self.levels, device=code.device)
        columns = (cells.columns.unsqueeze(1) * self.levels + number).flatten()
        pairs = Rows(columns, columns, cells.offsets * self.levels, self.width * self.levels)
        scores = sampled_mm(Pattern.of(pairs), code, self.weight.flatten(0, 1))
        scores = scores.unflatten(0, (cells.columns.shape[0], self.levels))
        return self._cumulated(scores + self.bias.index_select(0, cells.columns))

    def across(self, code: Tensor, columns: Tensor) -> Tensor:
        """Scores (N, C, levels) of C columns for all rows: only for as many as fit into memory."""
        weight = self.weight.index_select(0, columns)
        scores = (code @ weight.flatten(0, 1).t()).unflatten(1, weight.shape[:2])
        return self._cumulated(scores + self.bias.index_select(0, columns))

    def average(self, code: Tensor, columns: Tensor) -> Tensor:
        """Scores (N, levels) with the mean weights and biases of some columns."""
        weight, bias = (x.index_select(0, columns).mean(0) for x in (self.weight, self.bias))
        return self._cumulated(code @ weight.t() + bias)

    def _cumulated(self, scores: Tensor) -> Tensor:
        return scores.cumsum(-1) if self.shared else scores


@torch.no_grad()
def set_unit(part: LevelEncoder | LevelDecoder, values: Tensor) -> None:
    """Give the first hidden unit chosen weights (width, levels), as they act after any sharing."""
    own = _unshared(values) if part.shared else values
    part.weight[:, :, 0] = own.to(part.weight)


def level_frequencies(rows: Rows, levels: int, prior: float = 5.0) -> Tensor:
    """How often each column has each level, (width, levels), all above 0, each row sums to 1.

    Every column starts from the frequencies over all columns, counted as ``prior`` ratings; these
    start from one rating of each level.
    """
    pairs = rows.columns * levels + rows.values
    counts = torch.bincount(pairs, minlength=rows.width * levels).double()
    counts = counts.unflatten(0, (rows.width, levels))
    overall = counts.sum(0) + 1
    counts = counts + prior * overall / overall.sum()
    return counts / counts.sum(1, keepdim=True)


def _unshared(values: Tensor) -> Tensor:
    """What adds up to the values (width, levels) from level to level."""
    return torch.diff(values, dim=1, prepend=torch.zeros_like(values[:, :1]))


class _Cumulate(torch.autograd.Function):
    """``x.cumsum(1)`` of three axes, several times as fast."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return _running_sum(x, range(x.shape[1]))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return _running_sum(grads[0], range(grads[0].shape[1] - 1, -1, -1))


def _running_sum(x: Tensor, order: range) -> Tensor:
    """Sums over the second axis, taken in this order: whole runs of memory, block by block.

    A block stays in the cache until its last sum, so memory is read and written once.
    """
    out = torch.empty_like(x)
    for summed, given in zip(out.split(_BLOCK), x.split(_BLOCK), strict=True):
        summed[:, order[0]] = given[:, order[0]]
        for before, k in pairwise(order):
            torch.add(summed[:, before], given[:, k], out=summed[:, k])
    return out


def _glorot(weight: nn.Parameter) -> None:
    # of one level: each level sees the same number of columns
    width, _, hidden = weight.shape
    bound = math.sqrt(6 / (width + hidden))
    nn.init.uniform_(weight, -bound, bound)
