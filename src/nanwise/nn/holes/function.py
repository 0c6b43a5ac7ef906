"""MisConv as a function, for all the arguments that a convolution takes."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from nanwise.completion.mfa import MFA
from nanwise.missing import Observed
from nanwise.nn.holes.op import expected_relu_conv2d
from nanwise.nn.holes.passes import Scene
from nanwise.nn.windows import Padding, Pair, split_pictures


def misconv2d(
    x: Tensor | Observed,
    density: MFA,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    observed: Tensor | None = None,
) -> Tensor:
    """Expected ReLU of a convolution of pictures whose holes have a density.

    Parameters
    ----------
    x : Tensor or Observed, shape (N, C, H, W) or (C, H, W)
        NaN is missing.
    density : MFA
        Of the missing pixels given the others. Of N pictures, or of one for all.
    weight, bias, stride, padding, dilation, groups
        As in ``torch.nn.functional.conv2d``.
    observed : Tensor of bool, optional
        True where there is a value.

    Returns
    -------
    Tensor, shape (N, out, H', W') or (out, H', W')
        See :class:`nanwise.nn.MisConv2d`.
    """
    values, present = split_pictures(x, weight, groups, observed)
    alone = values.ndim == 3
    if alone:
        values, present = values[None], present[None]
    parts: list[Tensor] = list(_for_each(density.check(values), values.shape[0])[:4])
    steps, apart = _pair(stride), _pair(dilation)
    before, more = _padding(padding, weight, apart)
    if any(more):
        wider = (0, more[1], 0, more[0])
        values, *parts[1:] = (F.pad(part, wider) for part in (values, *parts[1:]))
        present = F.pad(present, wider, value=1.0)
    weights, means, factors, noise = parts
    out = expected_relu_conv2d(
        Scene(
            values,
            weights,
            means,
            factors,
            noise,
            present,
            weight,
            bias,
            steps,
            before,
            apart,
            groups,
        )
    )
    return out[0] if alone else out


def _for_each(density: MFA, n: int) -> MFA:
    return density if density.weights.shape[0] == n else density.expand(n)


def _padding(padding: Padding, weight: Tensor, dilation: list[int]) -> tuple[list[int], list[int]]:
    """Rows and columns of zeros on every side, and those that the end gets beyond that."""
    if padding == "valid":
        return [0, 0], [0, 0]
    if padding != "same":
        return _pair(padding), [0, 0]
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[-2:], strict=True)]
    return [t // 2 for t in total], [t % 2 for t in total]


def _pair(number: Padding) -> list[int]:
    """Two numbers of one or two."""
    return [number, number] if isinstance(number, int) else [int(one) for one in number]
