"""Differentiable products with a sparse matrix, and products taken at its observed cells only.

All of them read runs of memory of the dense factors. They stand on two kernels of torch:
``sampled_addmm``, and ``embedding_bag``, which on CPUs multiplies sparse by dense two to three
times faster than a CSR tensor (``benchmarks/sparse_kernels.py``). Transposed products run over the
transposed pattern, so nothing is scattered and the result does not depend on the number of threads.

The cost is that of reading one dense factor in no order, once per cell. So it is read from a cache
where that can be had: a long product goes through the columns of the dense factor in slabs, and
products at the cells run along the side that leaves the smaller factor to be read in no order. A
kernel in C that reads each row once, for error and gradient, was hardly faster than the two.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from nanwise.nn.sparse.pattern import Pattern

#: Bytes of a dense row that are multiplied at once: rows of some thousand users or items then fit
#: into the second cache. Pays where a row is read much more often than it is moved.
_SLAB = 256
_READS = 24


def sparse_mm(pattern: Pattern, values: Tensor, dense: Tensor) -> Tensor:
    """Sparse matrix times dense matrix, 0 for cells that are not observed.

    Parameters
    ----------
    pattern : Pattern
        The observed cells of the sparse factor (N, width).
    values : Tensor, shape (nnz,)
        Their values.
    dense : Tensor, shape (width, K)

    Returns
    -------
    Tensor, shape (N, K)
        Differentiable, also twice, in ``values`` and ``dense``.
    """
    _check(pattern, "values", values, (pattern.nnz,))
    _check(pattern, "dense", dense, (pattern.width, None))
    return _SparseMM.apply(pattern, values, dense)


def sampled_mm(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """``left @ right.T`` at the observed cells only.

    Parameters
    ----------
    pattern : Pattern
        The cells (N, width) to compute.
    left : Tensor, shape (N, K)
    right : Tensor, shape (width, K)

    Returns
    -------
    Tensor, shape (nnz,)
        In the order of the pattern's cells. Differentiable, also twice, in ``left`` and ``right``.
    """
    _check_factors(pattern, left, right)
    return _SampledMM.apply(pattern, left, right)


def sampled_squared_error(
    pattern: Pattern,
    values: Tensor,
    left: Tensor,
    right: Tensor,
    bias: Tensor,
    sigmoid: bool = False,
) -> Tensor:
    """Sum over the observed cells of ``(left @ right.T + bias - values) ** 2``.

    The same as ``sampled_mm`` followed by the loss, with one array of errors in memory instead of
    one per operation.

    Parameters
    ----------
    pattern : Pattern
        The observed cells of the target (N, width).
    values : Tensor, shape (nnz,)
        The target at these cells; gets no gradient.
    left : Tensor, shape (N, K)
    right : Tensor, shape (width, K)
    bias : Tensor, shape (width,)
    sigmoid : bool, default=False
        Take ``sigmoid(left)``, which takes the place of ``left`` in memory, as its gradient does
        later: nobody else may need ``left``, and a graph can be gone through backwards only once.

    Returns
    -------
    Tensor, scalar
        Differentiable once in ``left``, ``right`` and ``bias``.
    """
    _check(pattern, "values", values, (pattern.nnz,))
    _check_factors(pattern, left, right)
    _check(pattern, "bias", bias, (pattern.width,))
    return _SampledSquaredError.apply(pattern, values, left, right, bias, sigmoid)[0]


class _SparseMM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, values: Tensor, dense: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(values, dense)
        return _multiply(pattern, values, dense)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,), pattern = grads, ctx.pattern
        values, dense = ctx.saved_tensors
        _, for_values, for_dense = ctx.needs_input_grad
        return (
            None,
            sampled_mm(pattern, grad, dense) if for_values else None,
            sparse_mm(pattern.T, pattern.across(values), grad) if for_dense else None,
        )


class _SampledMM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(left, right)
        return _sample(pattern, left, right, both=ctx.needs_input_grad[2])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,), pattern = grads, ctx.pattern
        left, right = ctx.saved_tensors
        _, for_left, for_right = ctx.needs_input_grad
        return (
            None,
            sparse_mm(pattern, grad, right) if for_left else None,
            sparse_mm(pattern.T, pattern.across(grad), left) if for_right else None,
        )


class _SampledSquaredError(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        pattern: Pattern,
        values: Tensor,
        left: Tensor,
        right: Tensor,
        bias: Tensor,
        sigmoid: bool,
    ) -> tuple[Tensor, Tensor | None]:
        if sigmoid:
            ctx.mark_dirty(left.sigmoid_())
        _, _, _, for_right, for_bias, _ = ctx.needs_input_grad
        errors = _sample(pattern, left, right, both=for_right or for_bias)
        errors += _take(pattern, bias, pattern.columns)
        errors -= values
        ctx.pattern, ctx.sigmoid = pattern, sigmoid
        ctx.save_for_backward(errors, left, right)
        # what was changed in place must be handed back
        return errors.dot(errors), left if sigmoid else None

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad, pattern = grads[0], ctx.pattern
        errors, left, right = ctx.saved_tensors
        _, _, for_left, for_right, for_bias, _ = ctx.needs_input_grad
        found: list[Tensor | None] = [None, None, None]
        # The factor 2 · grad comes last, in place: no second array of errors is made.
        factor = 2 * grad
        if for_right or for_bias:
            by_column = _take(pattern, errors, pattern.order)
            if for_right:
                found[1] = _multiply(pattern.T, by_column, left).mul_(factor)
            if for_bias:
                found[2] = _sums(pattern.T, by_column).mul_(factor)
            del by_column
        if for_left and ctx.sigmoid:  # last: nobody needs the sigmoids any more
            found[0] = _through_sigmoid(pattern, errors, right, left, factor)
        elif for_left:
            found[0] = _multiply(pattern, errors, right).mul_(factor)
        return None, None, *found, None


def _through_sigmoid(
    pattern: Pattern, errors: Tensor, right: Tensor, sigmoids: Tensor, factor: Tensor
) -> Tensor:
    """Gradient before the sigmoid, in the memory of the sigmoids."""
    for columns, product in _slabs(pattern, errors, right):
        part = sigmoids[:, columns]
        part.copy_(product.mul_(factor).mul_(1 - part).mul_(part))
    return sigmoids


def _multiply(pattern: Pattern, values: Tensor, dense: Tensor) -> Tensor:
    """``sparse_mm`` without a graph."""
    if _slab(pattern, dense) == dense.shape[1]:
        return _bags(pattern, values, dense)
    out = pattern.empty((pattern.shape[0], dense.shape[1]), dense)
    for columns, product in _slabs(pattern, values, dense):
        out[:, columns] = product
    return out


def _slabs(pattern: Pattern, values: Tensor, dense: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """The product, some columns at a time: which, and what stands there."""
    slab = _slab(pattern, dense)
    for begin in range(0, dense.shape[1], max(slab, 1)):
        columns = slice(begin, begin + slab)
        yield columns, _bags(pattern, values, dense[:, columns])


def _slab(pattern: Pattern, dense: Tensor) -> int:
    """How many columns to multiply at once; all, unless a row is read often."""
    slab, whole = _SLAB // dense.element_size(), dense.shape[1]
    rare = pattern.nnz < _READS * sum(pattern.shape)
    return whole if dense.is_cuda or rare else min(slab, whole)


def _bags(pattern: Pattern, values: Tensor, dense: Tensor) -> Tensor:
    """``sparse_mm`` by ``embedding_bag``: sums of weighted rows."""
    if pattern.nnz == 0:
        return dense.new_zeros(pattern.shape[0], dense.shape[1])
    dense = dense.contiguous()
    parts = [
        F.embedding_bag(
            pattern.columns[first:last],
            dense,
            pattern.offsets[begin : end + 1] - first,
            mode="sum",
            per_sample_weights=values[first:last],
            include_last_offset=True,
        )
        for begin, end, first, last in pattern.cuts
    ]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _sample(pattern: Pattern, left: Tensor, right: Tensor, both: bool) -> Tensor:
    """``left @ right.T`` at the observed cells, without a graph.

    ``both`` says that the transposed pattern will be needed anyhow, so it may be used here.
    """
    if both and left.shape[0] < right.shape[0]:
        return _take(pattern, _dots(pattern.T, right, left), pattern.places)
    return _dots(pattern, left, right)


def _dots(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """Products at the cells by ``sampled_addmm``, which reads ``right`` in no order."""
    start = pattern.empty((pattern.nnz,), left).zero_()
    if pattern.nnz == 0 or left.shape[1] == 0:
        return start
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        cells = torch.sparse_csr_tensor(
            pattern.offsets, pattern.columns, start, pattern.shape, check_invariants=False
        )
    # The kernel asks for right.T and undoes that itself: memory is read row after row.
    other = right.contiguous().t()
    return torch.sparse.sampled_addmm(cells, left.contiguous(), other, out=cells).values()


def _take(pattern: Pattern, values: Tensor, index: Tensor) -> Tensor:
    """``values[index]``, one number for each cell, without a graph."""
    return torch.index_select(values, 0, index, out=pattern.empty((pattern.nnz,), values))


def _sums(pattern: Pattern, values: Tensor) -> Tensor:
    """Sum of each row's values, 0 for a row without."""
    return torch.segment_reduce(values, "sum", offsets=pattern.offsets, initial=0)


def _check_factors(pattern: Pattern, left: Tensor, right: Tensor) -> None:
    _check(pattern, "left", left, (pattern.shape[0], None))
    _check(pattern, "right", right, (pattern.width, left.shape[1]))


def _check(pattern: Pattern, name: str, tensor: Tensor, shape: tuple[int | None, ...]) -> None:
    """Compare a shape; None stands for any size."""
    fits = tensor.dim() == len(shape) and all(
        want in (None, got) for want, got in zip(shape, tensor.shape, strict=True)
    )
    if not fits:
        wanted = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}, but the pattern of {pattern.nnz} cells in "
            f"{pattern.shape[0]} rows and {pattern.width} columns needs {wanted}"
        )
