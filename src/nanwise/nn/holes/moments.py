r"""The mathematics of one patch: moments of windows, their expected ReLU, and the way back.

A window of a picture whose hole is normal is normal too, with mean m and variance v, and

.. math:: E \max(0, z) = \tfrac12 [ m (1 + erf(u)) + t e^{-u^2} / \sqrt\pi ],
    \quad t = \sqrt{2 v}, \; u = m / t

with derivatives :math:`\tfrac12 (1 + erf(u))` in m and :math:`e^{-u^2} / (2 \sqrt\pi t)` in v. Both
are written for 2 v, twice the answer is computed and the half goes to the weights of the mixture:
every constant costs a pass over all windows otherwise. Powers of two and a power of -1/2 stand
where one expects exp and a root: torch leaves these to MKL, which takes three to five times as long
on some processors. Maps are (n, K, channels, h', w').
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from nanwise.nn.holes.conv import Conv

_LOG2_TWICE_OVER_ROOT_PI = math.log2(2 / math.sqrt(math.pi))
_LOG2_E = math.log2(math.e)


class Moments(NamedTuple):
    """Of the windows, for each component: m and 2 v."""

    mean: Tensor
    variance: Tensor


def moments(pixels: Tensor, conv: Conv) -> Moments:
    """Mean and variance of each window of boxes (l + 2, n, K, C, h, w).

    The maps of a box are the l factors in the hole, the picture with means in its hole, and the
    variances of the noise in the hole; no bias but in the mean.
    """
    *factors, mean, noise = pixels.unbind()
    variance = conv.answers(noise, conv.kernel.square().mul_(2))
    for factor in factors:
        # Always in the same place, which so stays in a cache.
        found = conv.answers(factor, conv.kernel)
        variance.addcmul_(found, found, value=2)
        del found
    shape = mean.shape[:2]
    m = conv.answers(mean, conv.kernel, conv.bias)
    return Moments(m.unflatten(0, shape), variance.unflatten(0, shape))


class Slopes(NamedTuple):
    """Of twice the expected ReLU of each window, (n, K, channels, h', w') each.

    Attributes
    ----------
    mean : Tensor
        Slope in m, less 1: erf(u).
    variance : Tensor
        Slope in v: 2 exp(-u²) / (√π t).
    """

    mean: Tensor
    variance: Tensor


def twice_expected_relu(found: Moments) -> tuple[Tensor, Slopes]:
    """2 E max(0, z) of each window and component."""
    mean, variance = found
    inverse = variance.clamp_min(torch.finfo(variance.dtype).tiny).pow_(-0.5)
    u = mean * inverse  # so large, where a window is certain, that the answer is max(0, m)
    bell = torch.addcmul(u.new_full((), _LOG2_TWICE_OVER_ROOT_PI), u, u, value=-_LOG2_E)
    slope = bell.clamp_min_(_lowest_exponent(u.dtype)).exp2_().mul_(inverse)
    erf = u.erf_()
    twice = torch.addcmul(mean, mean, erf, out=inverse).addcmul_(variance, slope, value=0.5)
    return twice, Slopes(erf, slope)


def mix(values: Tensor, weights: Tensor) -> Tensor:
    """Sum over the components of values (n, K, ...), weighted by (n, K); writes into the values."""
    values.mul_(weights[:, :, None, None, None])
    return values[:, 0] if values.shape[1] == 1 else values.sum(1)


def answer(pixels: Tensor, weights: Tensor, conv: Conv, keep: bool) -> tuple[Tensor, Slopes]:
    """Expected ReLU (n, channels, h', w'), and slopes, which are right if they are to be kept.

    1 + erf leaves rounding of either sign far below 0: the caller cuts at 0. erfc would not, but
    takes longer than all else per window together can spare; next to the other windows of a map
    that rounding is 0.
    """
    found = moments(pixels, conv)
    twice, slopes = twice_expected_relu(found)
    if keep:
        # A certain window is max(0, m), without a slope in v: it would be infinite if m = 0.
        slope = slopes.variance
        torch.ops.aten.threshold_backward(slope, found.variance, 0, grad_input=slope)
    return mix(twice, weights / 2), slopes


class Gradients(NamedTuple):
    """Of a patch: in kernel, bias and, if asked for, in its pixels."""

    kernel: Tensor
    bias: Tensor
    pixels: Tensor | None


def gradients(
    grad: Tensor, pixels: Tensor, weights: Tensor, slopes: Slopes, conv: Conv, inputs: bool
) -> Gradients:
    """The way back of :func:`answer` for a gradient (n, channels, h', w')."""
    half = grad[:, None] * (weights / 2)[:, :, None, None, None]
    for_mean = torch.addcmul(half, half, slopes.mean).flatten(0, 1)
    for_variance = half.mul_(slopes.variance).flatten(0, 1)
    *factors, mean, noise = pixels.unbind()
    # Half of the slope in v belongs to noise, and dv = 2 r dr for the answer r to a factor.
    kernel, _ = conv.for_weights(for_variance, noise, bias=False)
    from_mean, bias = conv.for_weights(for_mean, mean, bias=True)
    kernel.mul_(conv.kernel).add_(from_mean)
    into = torch.empty_like(pixels) if inputs else None
    for number, factor in enumerate(factors):
        for_factor = conv.answers(factor, conv.kernel).mul_(for_variance)
        kernel += conv.for_weights(for_factor, factor, bias=False)[0]
        if into is not None:
            conv.for_pixels(for_factor, conv.kernel, into[number])
        del for_factor
    if into is not None:
        conv.for_pixels(for_mean, conv.kernel, into[-2])
        conv.for_pixels(for_variance, conv.kernel.square().div_(2), into[-1])
    return Gradients(kernel, bias, into)


def for_weights(grad: Tensor, pixels: Tensor, conv: Conv) -> Tensor:
    """Gradient of :func:`answer` in the weights of the mixture, (n, K)."""
    twice, _ = twice_expected_relu(moments(pixels, conv))
    return twice.mul_(grad[:, None]).sum((2, 3, 4)).div_(2)


@lru_cache
def _lowest_exponent(dtype: torch.dtype) -> float:
    """An exponent of 2 that leaves next to nothing (1e-35, in double precision 1e-283).

    Below the smallest normal number arithmetic takes up to a hundred times as long.
    """
    return 0.92 * math.log2(torch.finfo(dtype).tiny)
