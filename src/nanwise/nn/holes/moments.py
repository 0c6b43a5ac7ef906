r"""The mathematics of one patch: moments of windows, their expected ReLU, and the way back.

A window of a picture whose hole is normal is normal too, with mean m and variance v, and

.. math:: E \max(0, z) = \tfrac12 [ m (1 + erf(u)) + t e^{-u^2} / \sqrt\pi ],
    \quad t = \sqrt{2 v}, \; u = m / t

with derivatives :math:`\tfrac12 (1 + erf(u))` in m and :math:`e^{-u^2} / (2 \sqrt\pi t)` in v. Both
are written for t, twice the answer is computed and the half goes to the weights of the mixture:
every constant costs a pass over all windows otherwise. Maps are (groups, n, K, windows of a
picture, channels), see :mod:`nanwise.nn.holes.columns`; one factor has its map at a time.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from nanwise.nn.holes.columns import Columns, Conv, answers, product

_LOG_TWICE_OVER_ROOT_PI = math.log(2 / math.sqrt(math.pi))
_LEAST = 1e-30  # t below which a window counts as certain


class Moments(NamedTuple):
    """Of the windows, for each component: m, and t, the root of twice the variance."""

    mean: Tensor
    spread: Tensor


def moments(pixels: Tensor, conv: Conv) -> Moments:
    """Mean and spread of each window of boxes (n, K, l + 2, C, h, w).

    The maps of a box are the l factors in the hole, the picture with means in its hole, and the
    variances of the noise in the hole; no bias but in the mean.
    """
    n, components, maps = pixels.shape[:3]
    columns, matrix = Columns(pixels, conv), conv.matrix()
    kernel = matrix[:, :-1]
    spread = answers(columns.of(maps - 1), kernel.square().mul_(2))
    factor = torch.empty_like(spread)
    for number in range(maps - 2):
        answers(columns.of(number), kernel, out=factor)
        spread.addcmul_(factor, factor, value=2)
    mean = answers(columns.with_ones(maps - 2), matrix)
    shape = (conv.groups, n, components, -1, matrix.shape[-1])
    return Moments(mean.view(shape), spread.sqrt_().view(shape))


class Slopes(NamedTuple):
    """Of twice the expected ReLU of each window, (groups, n, K, windows, channels) each.

    Attributes
    ----------
    mean : Tensor
        Slope in m, less 1: erf(u).
    variance : Tensor
        Slope in v: 2 exp(-u²) / (√π t). A certain window is max(0, m), without a slope in v: it
        would be infinite if m = 0.
    """

    mean: Tensor
    variance: Tensor


class Parts(NamedTuple):
    """What answer and slopes are made of: erf(u), 2 exp(-u²) / √π, t, and t not below a least."""

    erf: Tensor
    bell: Tensor
    spread: Tensor
    least: Tensor

    def slopes(self) -> Slopes:
        """Writes into the parts."""
        return Slopes(self.erf, self.bell.div_(self.least).mul_(self.spread.sign_()))


def twice_expected_relu(found: Moments) -> tuple[Tensor, Parts]:
    """2 E max(0, z) of each window and component."""
    least = found.spread.clamp_min(_LEAST)
    u = found.mean / least  # so large, where a window is certain, that the answer is max(0, m)
    bell = torch.addcmul(u.new_full((), _LOG_TWICE_OVER_ROOT_PI), u, u, value=-1)
    bell.clamp_min_(_lowest_exponent(u.dtype)).exp_()
    erf = u.erf_()
    twice = torch.addcmul(found.mean, found.mean, erf).addcmul_(found.spread, bell, value=0.5)
    return twice, Parts(erf, bell, found.spread, least)


def mix(values: Tensor, weights: Tensor) -> Tensor:
    """Sum over the components of values (groups, n, K, ...), weighted by (n, K)."""
    scale = weights[None, :, :, None, None]
    total = values[:, :, 0] * scale[:, :, 0]
    for k in range(1, values.shape[2]):
        total.addcmul_(values[:, :, k], scale[:, :, k])
    return total


def answer(pixels: Tensor, weights: Tensor, conv: Conv) -> tuple[Tensor, Parts]:
    """Expected ReLU (groups, n, windows, channels), and what the way back can use.

    1 + erf leaves rounding of either sign far below 0: the caller cuts at 0. erfc would not, but
    takes longer than all else per window together can spare; next to the other windows of a map
    that rounding is 0.
    """
    twice, parts = twice_expected_relu(moments(pixels, conv))
    return mix(twice, weights / 2), parts


class Gradients(NamedTuple):
    """Of a patch: in kernel, bias and, if asked for, in its pixels."""

    kernel: Tensor
    bias: Tensor
    pixels: Tensor | None


def gradients(
    grad: Tensor, pixels: Tensor, weights: Tensor, slopes: Slopes, conv: Conv, inputs: bool
) -> Gradients:
    """The way back of :func:`answer` for a gradient (groups, n, windows, channels)."""
    half = grad[:, :, None] * (weights / 2)[None, :, :, None, None]
    for_mean = torch.addcmul(half, half, slopes.mean).flatten(1, 3)
    for_variance = half.mul_(slopes.variance).flatten(1, 3)
    columns, maps = Columns(pixels, conv), pixels.shape[2]
    matrix = conv.matrix()[:, :-1]
    # Half of the slope in v belongs to noise, and dv = 2 r dr for the answer r to a factor.
    kernel = product(columns.of(maps - 1), for_variance).mul_(matrix)
    with_bias = product(columns.with_ones(maps - 2), for_mean)
    kernel += with_bias[:, :-1]
    for_factor, back = torch.empty_like(for_variance), []
    for number in range(maps - 2):
        seen = columns.of(number)
        answers(seen, matrix, out=for_factor).mul_(for_variance)
        kernel += product(seen, for_factor)
        if inputs:
            back.append(product(matrix, for_factor.transpose(1, 2)))
    into = None
    if inputs:
        back.append(product(matrix, for_mean.transpose(1, 2)))
        back.append(product(matrix.square().div_(2), for_variance.transpose(1, 2)))
        into = conv.pixels(torch.stack(back, 2), pixels.shape)
    return Gradients(conv.kernel_of(kernel), with_bias[:, -1].flatten(), into)


def for_weights(grad: Tensor, pixels: Tensor, conv: Conv) -> Tensor:
    """Gradient of :func:`answer` in the weights of the mixture, (n, K)."""
    twice, _ = twice_expected_relu(moments(pixels, conv))
    return twice.mul_(grad[:, :, None]).sum((0, 3, 4)).div_(2)


@lru_cache
def _lowest_exponent(dtype: torch.dtype) -> float:
    """An exponent whose exp is next to nothing (1e-35, in double precision 1e-283).

    Where exp falls below the smallest normal number, torch takes up to a hundred times as long.
    """
    return 0.92 * math.log(torch.finfo(dtype).tiny)
