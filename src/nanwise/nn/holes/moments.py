r"""The mathematics of one patch: moments of windows, their expected ReLU, and the way back.

A window of a picture whose hole is normal is normal too, with mean m and variance v, and

.. math:: E \max(0, z) = \tfrac12 [ m (1 + erf(u)) + t e^{-u^2} / \sqrt\pi ],
    \quad t = \sqrt{2 v}, \; u = m / t

with derivatives :math:`\tfrac12 (1 + erf(u))` in m and :math:`e^{-u^2} / (2 \sqrt\pi t)` in v. Both
are written for t, twice the answer is computed and the half goes to the weights of the mixture:
every constant costs a pass over all windows otherwise. Maps lie in memory as (..., h, w, O), which
convolutions of few channels prefer.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

_LOG_TWICE_OVER_ROOT_PI = math.log(2 / math.sqrt(math.pi))
_LEAST = 1e-30  # t below which a window counts as certain


class Conv(NamedTuple):
    """The convolution of a patch; its pixels are cut out with their padding already."""

    kernel: Tensor
    bias: Tensor | None
    stride: list[int]
    dilation: list[int]
    groups: int

    def __call__(self, pixels: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
        """Maps (..., O, h, w) of pixels (..., C, h, w)."""
        out = F.conv2d(flat(pixels), kernel, bias, self.stride, 0, self.dilation, self.groups)
        return out.unflatten(0, pixels.shape[:-3])

    def back(
        self, grad: Tensor, pixels: Tensor, kernel: Tensor, inputs: bool
    ) -> tuple[Tensor, Tensor]:
        """Gradients in pixels, if asked for, and kernel."""
        into, weight, _ = torch.ops.aten.convolution_backward(
            flat(grad),
            flat(pixels),
            kernel,
            None,
            self.stride,
            [0, 0],
            self.dilation,
            False,
            [0, 0],
            self.groups,
            [inputs, True, False],
        )
        return into.unflatten(0, pixels.shape[:-3]) if inputs else into, weight


class Pixels(NamedTuple):
    """What windows see.

    Attributes
    ----------
    filled : Tensor, shape (n, K, C, h, w)
        The picture with means in its hole.
    factors : Tensor, shape (n, K, l, C, h, w)
        Factors in the hole.
    noise : Tensor, shape (n, K, C, h, w)
        Variances in the hole.
    """

    filled: Tensor
    factors: Tensor
    noise: Tensor


class Moments(NamedTuple):
    """Of the windows, for each component.

    Attributes
    ----------
    mean : Tensor, shape (n, K, O, h, w)
        m.
    factors : Tensor, shape (n, K, l, O, h, w)
        Answers to the factors.
    spread : Tensor, shape (n, K, O, h, w)
        t, the root of twice the variance.
    """

    mean: Tensor
    factors: Tensor
    spread: Tensor


def moments(pixels: Pixels, conv: Conv) -> Moments:
    """Mean and spread of each window; no bias in the latter."""
    mean = conv(pixels.filled, conv.kernel, conv.bias)
    factors = conv(pixels.factors, conv.kernel)
    spread = conv(pixels.noise, conv.kernel.square() * 2)
    for factor in factors.unbind(2):
        spread.addcmul_(factor, factor, value=2)
    return Moments(mean, factors, spread.sqrt_())


class Slopes(NamedTuple):
    """Of twice the expected ReLU of each window, (n, K, O, h, w) each.

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
    """2 E max(0, z) of each window and component, (n, K, O, h, w)."""
    least = found.spread.clamp_min(_LEAST)
    u = found.mean / least  # so large, where a window is certain, that the answer is max(0, m)
    bell = torch.addcmul(u.new_tensor(_LOG_TWICE_OVER_ROOT_PI), u, u, value=-1).exp_()
    erf = u.erf_()
    twice = torch.addcmul(found.mean, found.mean, erf).addcmul_(found.spread, bell, value=0.5)
    return twice, Parts(erf, bell, found.spread, least)


def mix(values: Tensor, weights: Tensor) -> Tensor:
    """Sum over the components of values (n, K, ...), weighted by (n, K)."""
    total = values[:, 0] * weights[:, 0, None, None, None]
    for k in range(1, values.shape[1]):
        total.addcmul_(values[:, k], weights[:, k, None, None, None])
    return total


def answer(pixels: Pixels, weights: Tensor, conv: Conv) -> tuple[Tensor, Parts]:
    """Expected ReLU of each window, (n, O, h, w), and what the way back can use."""
    twice, parts = twice_expected_relu(moments(pixels, conv))
    # 1 + erf leaves rounding of either sign far below 0. erfc would not, but takes longer than all
    # else per window together can spare; next to the other windows of a map that rounding is 0
    return mix(twice, weights / 2).relu_(), parts


class Gradients(NamedTuple):
    """Of a patch: in kernel, bias and, if asked for, in its pixels."""

    kernel: Tensor
    bias: Tensor
    pixels: Pixels


def gradients(
    grad: Tensor, pixels: Pixels, weights: Tensor, slopes: Slopes, conv: Conv, inputs: bool
) -> Gradients:
    """The way back of :func:`answer` for a gradient (n, O, h, w)."""
    half = grad[:, None] * (weights / 2)[:, :, None, None, None]
    for_mean = torch.addcmul(half, half, slopes.mean)
    for_variance = half.mul_(slopes.variance)
    # dv = 2 r dr for the answer r to a factor, and half of the slope in v belongs to noise
    for_factors = conv(pixels.factors, conv.kernel).mul_(for_variance[:, :, None])
    squared = conv.kernel.square() / 2
    mean, kernel = conv.back(for_mean, pixels.filled, conv.kernel, inputs)
    factors, by_factors = conv.back(for_factors, pixels.factors, conv.kernel, inputs)
    noise, by_noise = conv.back(for_variance, pixels.noise, squared, inputs)
    kernel.add_(by_factors).addcmul_(by_noise, conv.kernel)
    return Gradients(kernel, for_mean.sum((0, 1, 3, 4)), Pixels(mean, factors, noise))


def for_weights(grad: Tensor, pixels: Pixels, conv: Conv) -> Tensor:
    """Gradient of :func:`answer` in the weights of the mixture, (n, K)."""
    twice, _ = twice_expected_relu(moments(pixels, conv))
    return twice.mul_(grad[:, None]).sum((2, 3, 4)).div_(2)


def flat(maps: Tensor) -> Tensor:
    """Maps (..., C, h, w), channels next to each other, as (N, C, h, w)."""
    lying = maps.movedim(-3, -1).flatten(0, -4).contiguous()
    n, h, w, c = lying.shape
    # Strides written out: torch reads the layout from them, and an axis of length 1 has any stride.
    return lying.as_strided((n, c, h, w), (h * w * c, 1, w * c, c))


def channels_last(maps: Tensor) -> Tensor:
    """Copy of maps (..., C, h, w) in which the channels lie next to each other in memory."""
    return maps.movedim(-3, -1).contiguous().movedim(-1, -3)
