"""Ratings as the loop sees them: blocks of rows, cut once and used in every epoch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from nanwise.nn.sparse import Pattern, Rows, sampled_mm
from nanwise.train.engine import world_size

__all__ = ["Block", "Blocks", "cut_rows", "dot_pairs", "pattern_of", "world_size"]


class Block(NamedTuple):
    """Some rows of a matrix of ratings.

    Attributes
    ----------
    pattern : Pattern
        Their observed cells.
    inputs : Tensor, shape (nnz,)
        What the network sees at these cells: the ratings, scaled row by row.
    targets : Tensor, shape (nnz,)
        What it should answer: the ratings.
    asked, answers : Pattern and Tensor, optional
        Cells of the same rows that are only predicted, and their ratings (validation).
    columns : tuple of Tensor
        The columns of all cells, once more: the loop looks at the tensors of a batch to tell one
        training set from another, and does not look into patterns.
    """

    pattern: Pattern
    inputs: Tensor
    targets: Tensor
    asked: Pattern | None = None
    answers: Tensor | None = None
    columns: tuple[Tensor, ...] = ()


class Blocks:
    """Blocks by number; a batch is a tuple of them.

    The loop shuffles blocks, not rows. Which rows stand together is drawn once, so that the
    transposed pattern that the gradients need is found once and not in every step.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array
        The ratings.
    scale : ndarray of shape (n_rows,)
        Factor of each row's inputs.
    cuts : list of ndarray
        Numbers of the rows of each block.
    held : scipy.sparse.csr_array, optional
        Ratings that are only predicted, on the same axes.
    precision : {"float32", "float64"}
    """

    def __init__(
        self,
        matrix: sparse.csr_array,
        scale: np.ndarray,
        cuts: list[np.ndarray],
        held: sparse.csr_array | None = None,
        precision: str = "float32",
    ) -> None:
        dtype = getattr(torch, precision)
        self.blocks = [_block(matrix, scale, rows, held, dtype) for rows in cuts]

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, index: Tensor) -> tuple[Block, ...]:
        return tuple(self.blocks[i] for i in index.tolist())


def cut_rows(counts: np.ndarray, batch: int | None, world: int, seed: int) -> list[np.ndarray]:
    """Rows of each block: ``world`` blocks make a step, each process takes one.

    Parameters
    ----------
    counts : ndarray of shape (n_rows,)
        Observed cells of each row. Rows without any are left out: there is nothing to learn.
    batch : int or None
        Rows per step; None: all rows in one step.
    world : int
        Number of processes.
    seed : int
        Decides which rows stand together.
    """
    rows = np.flatnonzero(counts)
    if batch is None or batch >= len(rows):
        # Dealt out from the fullest row to the emptiest, to and fro: equal work for all.
        by_size = rows[np.argsort(-counts[rows], kind="stable")]
        turn = np.arange(len(rows)) % (2 * world)
        owner = np.minimum(turn, 2 * world - 1 - turn)
        return [np.sort(by_size[owner == rank]) for rank in range(min(world, len(rows)))]
    steps = -(-len(rows) // batch)
    order = np.random.RandomState(seed).permutation(rows)
    return [np.sort(part) for part in np.array_split(order, min(steps * world, len(rows)))]


def _block(
    matrix: sparse.csr_array,
    scale: np.ndarray,
    rows: np.ndarray,
    held: sparse.csr_array | None,
    dtype: torch.dtype,
) -> Block:
    pattern, targets = pattern_of(matrix[rows], dtype)
    inputs = targets
    if (scale[rows] != 1).any():
        factor = torch.as_tensor(scale[rows], dtype=dtype)
        inputs = targets * factor.repeat_interleave(pattern.offsets.diff(), output_size=pattern.nnz)
    if held is None:
        pattern = pattern.paired(*_by_column(pattern))
        return Block(pattern, inputs, targets, columns=(pattern.columns,))
    asked, answers = pattern_of(held[rows], dtype)
    return Block(pattern, inputs, targets, asked, answers, (pattern.columns, asked.columns))


def _by_column(pattern: Pattern) -> tuple[Tensor, Pattern]:
    """The numbers of the cells column after column, and the transposed pattern.

    SciPy counts cells into columns, with less memory than a sort takes.
    """
    columns, offsets = pattern.columns.numpy(), pattern.offsets.numpy()
    numbers = np.arange(pattern.nnz, dtype=columns.dtype)
    counted = sparse.csr_array((numbers, columns, offsets), shape=pattern.shape).tocsc()
    order, rows, ends = (
        torch.from_numpy(part.astype(columns.dtype, copy=False))
        for part in (counted.data, counted.indices, counted.indptr)
    )
    return order, Pattern(rows, ends, pattern.shape[0])


def pattern_of(csr: Any, dtype: torch.dtype) -> tuple[Pattern, Tensor]:
    """Where the cells of a CSR matrix are, and their values; shares memory where it can."""
    if not csr.has_canonical_format or np.isnan(csr.data).any():
        rows = Rows.from_scipy(csr, dtype=dtype)
        return Pattern.of(rows), rows.values
    columns, offsets = torch.from_numpy(csr.indices), torch.from_numpy(csr.indptr)
    return Pattern(columns, offsets, csr.shape[1]), torch.as_tensor(csr.data, dtype=dtype)


def dot_pairs(
    left: np.ndarray, right: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """``left[rows] · right[columns]``, pair by pair, without copies of the vectors."""
    order = np.argsort(rows, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(left)))])
    pattern = Pattern(torch.as_tensor(columns[order]), torch.as_tensor(ends), len(right))
    out = np.empty(len(rows))
    with torch.inference_mode():
        out[order] = sampled_mm(pattern, torch.as_tensor(left), torch.as_tensor(right)).numpy()
    return out
