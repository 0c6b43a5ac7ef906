"""The layers as functions. The modules of this package call these; there is no second version."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from nanwise.missing import Observed
from nanwise.nn.gaps import as_number, counts, split
from nanwise.nn.holes import misconv2d
from nanwise.nn.sparse import Rows, rows_linear
from nanwise.nn.windows import Padding, Pair, add_bias, split_pictures, window_counts

__all__ = [
    "masked_linear",
    "misconv2d",
    "normalize_connections",
    "observed_counts",
    "partial_conv2d",
    "rows_linear",
    "sn_conv2d",
    "sn_dropout",
    "sn_linear",
    "sparsity_norm",
]


def sparsity_norm(
    x: Tensor | Observed | Rows,
    observed: Tensor | None = None,
    *,
    K: float | Tensor,
    power: float | Tensor = 1.0,
) -> Any:
    r"""Fill gaps with 0 and scale each vector by :math:`(K / \max(n, 1))^{power}`.

    ``n`` is the number of values observed in the vector, that is along the last axis.

    Parameters
    ----------
    x : Tensor, Observed or Rows
        Shape (..., D). NaN is missing.
    observed : Tensor of bool, optional
        True where there is a value.
    K : float or Tensor
        The count at which nothing is scaled. The paper takes its mean over the training rows.
    power : float or Tensor, default=1.0
        1 is the paper's scale, 0 none.

    Returns
    -------
    Tensor or Rows
        Same shape as ``x``; Rows give Rows.

    References
    ----------
    Yi, Lee, Kim, Hwang, Yang (2020). Why not to use zero imputation? ICLR.
    """
    if isinstance(x, Rows):
        number = x.counts().to(x.values.dtype)
        return x._replace(values=x.values * x.spread(_scale(number, K, power)))
    values, present = split(x, observed)
    scale = _scale(counts(present), K, power).to(values.dtype)
    return values * scale


def sn_linear(
    x: Tensor | Observed | Rows,
    weight: Tensor,
    bias: Tensor | None = None,
    observed: Tensor | None = None,
    *,
    K: float | Tensor,
    power: float | Tensor = 1.0,
) -> Tensor:
    """Affine map of the sparsity-normalised input; the bias is not scaled.

    Parameters
    ----------
    x, observed, K, power
        As in :func:`sparsity_norm`.
    weight : Tensor, shape (out, D)
    bias : Tensor, shape (out,), optional

    Returns
    -------
    Tensor, shape (..., out)
    """
    if isinstance(x, Rows):
        return rows_linear(sparsity_norm(x, K=K, power=power), weight, bias)
    return F.linear(sparsity_norm(x, observed, K=K, power=power), weight, bias)


def sn_conv2d(
    x: Tensor | Observed,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    observed: Tensor | None = None,
    *,
    K: float | Tensor,
    power: float | Tensor = 1.0,
) -> Tensor:
    r"""Convolution of pictures with holes, each window scaled by :math:`(K / \max(n, 1))^{power}`.

    ``n`` is the number of values that the window holds; zero padding holds none. The bias is not
    scaled.

    Parameters
    ----------
    x : Tensor or Observed, shape (N, C, H, W) or (C, H, W)
        NaN is missing.
    weight, bias, stride, padding, dilation, groups
        As in ``torch.nn.functional.conv2d``.
    observed, K, power
        As in :func:`sparsity_norm`.

    Returns
    -------
    Tensor, shape (N, out, H', W')
    """
    values, present = split_pictures(x, weight, groups, observed)
    number = window_counts(present, weight, stride, padding, dilation, groups)
    out = F.conv2d(values, weight, None, stride, padding, dilation, groups)
    return add_bias(out * _scale(number, K, power).to(out.dtype), bias)


def partial_conv2d(
    x: Tensor | Observed,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    observed: Tensor | None = None,
) -> Observed:
    """Convolution of the values in each window, scaled to a full window; empty windows are gaps.

    Parameters
    ----------
    x : Tensor or Observed, shape (N, C, H, W) or (C, H, W)
        NaN is missing.
    weight, bias, stride, padding, dilation, groups
        As in ``torch.nn.functional.conv2d``.
    observed : Tensor of bool, optional
        True where there is a value.

    Returns
    -------
    Observed
        Values and marks, both (N, out, H', W').

    References
    ----------
    Liu, Reda, Shih, Wang, Tao, Catanzaro (2018). Image inpainting for irregular holes using partial
    convolutions. ECCV.
    """
    values, present = split_pictures(x, weight, groups, observed)
    number = window_counts(present, weight, stride, padding, dilation, groups)
    out = F.conv2d(values, weight, None, stride, padding, dilation, groups)
    window = weight[0].numel()
    filled = (number > 0).expand_as(out)
    out = add_bias(out * (window / number.clamp_min(1)).to(out.dtype), bias)
    return Observed(out * as_number(filled, out.dtype), filled)


def observed_counts(x: Tensor | Observed | Rows, observed: Tensor | None = None) -> Tensor:
    """Number of values observed in each vector: shape of ``x`` without the last axis."""
    if isinstance(x, Rows):
        return x.counts()
    return counts(split(x, observed)[1]).squeeze(-1)


def sn_dropout(
    x: Tensor | Observed,
    p: float = 0.5,
    training: bool = True,
    generator: torch.Generator | None = None,
    observed: Tensor | None = None,
) -> Tensor:
    """Dropout whose survivors are scaled by n / (number that survived) instead of 1 / (1 - p).

    Parameters
    ----------
    x : Tensor, shape (..., n)
        Hidden activations. Here a NaN is no gap: it is passed on, so that a network that diverges
        is noticed.
    p : float, default=0.5
        Probability with which a unit is dropped, below 1.
    training : bool, default=True
        False drops nothing.
    generator : torch.Generator, optional
        Where the draws come from.
    observed : Tensor of bool, optional
        True where there is a value. Gaps become 0, and only observed units are counted.

    Returns
    -------
    Tensor
        Same shape. A vector of which nothing survives is 0.
    """
    check_drop_rate(p)
    n: Tensor | int
    if observed is None and isinstance(x, Tensor):
        if not x.is_floating_point():
            raise TypeError(f"dropout takes floating tensors, got {x.dtype}; use x.float()")
        values, present, n = x, None, x.shape[-1]
    else:
        values, present = split(x, observed)
        n = counts(present)
    if not training or p == 0:
        return values
    kept = torch.empty_like(values.detach()).bernoulli_(1 - p, generator=generator)
    kept = kept if present is None else kept * present
    return values * (kept * _scale(counts(kept), n, 1.0).to(values.dtype))


def check_drop_rate(p: float) -> None:
    """Refuse a rate at which dropout drops less than nothing, or everything."""
    if not 0 <= p < 1:
        raise ValueError(
            f"p must be at least 0 and below 1, got {p!r}; at 1 every unit is dropped and nothing "
            "is left to learn from"
        )


def masked_linear(x: Tensor, weight: Tensor, bias: Tensor | None, connections: Tensor) -> Tensor:
    """``x @ (weight * connections).T + bias``; ``connections`` (out, in) is 0 where none is."""
    return F.linear(x, weight * connections, bias)


def normalize_connections(connections: Tensor) -> Tensor:
    r"""Scale each row of a connection matrix (out, in) to the mean number of connections.

    .. math:: M_{SN}[i,:] = \bar n \, M[i,:] / n_i, \quad n_i = \sum_j M[i,j]

    with :math:`\bar n` the mean of :math:`n_i`. A row without connections stays 0.
    """
    number = connections.sum(-1, keepdim=True)
    return connections * (number.mean() / number.clamp_min(1))


def _scale(number: Tensor, K: float | Tensor, power: float | Tensor) -> Tensor:
    """``(K / max(number, 1)) ** power``; a vector without values is 0 whatever its scale."""
    ratio = K / number.clamp_min(1)
    if isinstance(power, Tensor):
        return ratio**power
    return ratio if power == 1 else ratio**power
