"""Expected ReLU of a convolution of pictures with random holes, as one operator of torch.

The whole batch goes through an ordinary convolution and ReLU. Then the boxes around the holes are
cut out, some pictures at a time, and computed anew with means and variances; the maps of l factors
exist for these boxes only, and are computed again on the way back rather than kept. What a box
needs stays in the cache, so that the elementwise part is not slowed down by memory.

An operator, rather than Python that autograd sees, because where the holes are decides the shapes:
``torch.compile`` takes it as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from nanwise.nn.holes.boxes import Grid, Patch, boxes, patches
from nanwise.nn.holes.moments import Conv, Pixels, answer, channels_last, flat, gradients

#: Numbers that the maps of a patch may hold: enough to make the cost of a call small.
_BUDGET = 6_000_000


class Density(NamedTuple):
    """Parameters of the holes, see :class:`nanwise.completion.MFA`, and where the values are."""

    weights: Tensor
    means: Tensor
    factors: Tensor
    noise: Tensor
    present: Tensor


@torch.library.custom_op("nanwise::expected_relu_conv2d", mutates_args=())
def expected_relu_conv2d(
    values: Tensor,
    weights: Tensor,
    means: Tensor,
    factors: Tensor,
    noise: Tensor,
    present: Tensor,
    kernel: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> Tensor:
    """Activations (N, O, H', W'); values (N, C, H, W) are 0 in holes, ``present`` is 0 there."""
    density = Density(weights, means, factors, noise, present)
    conv = Conv(kernel, bias, stride, dilation, groups)
    out = F.conv2d(values, kernel, bias, stride, padding, dilation, groups).relu_()
    for patch in _patches(density, conv, padding, out):
        new = answer(_pixels(patch, values, density)[0], weights[patch.rows], conv)
        for box, one in zip(patch.views(out), new, strict=True):
            box.copy_(one)
    return out


@torch.library.custom_op("nanwise::expected_relu_conv2d_backward", mutates_args=())
def expected_relu_conv2d_backward(
    grad: Tensor,
    out: Tensor,
    values: Tensor,
    weights: Tensor,
    means: Tensor,
    factors: Tensor,
    noise: Tensor,
    present: Tensor,
    kernel: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    for_values: bool,
    for_density: bool,
) -> list[Tensor]:
    """Gradients in values, weights, means, factors, noise, kernel, bias; empty if not wanted."""
    density = Density(weights, means, factors, noise, present)
    conv = Conv(kernel, bias, stride, dilation, groups)
    found = list(_patches(density, conv, padding, out))
    into = [part.new_zeros(part.shape if for_density else 0) for part in density[:4]]
    into_values, for_kernel, for_bias = _outside(
        grad, out, values, conv, padding, found, for_values
    )
    for patch in found:
        pixels, missing = _pixels(patch, values, density)
        asked = torch.stack([box.movedim(0, -1) for box in patch.views(grad)]).movedim(-1, 1)
        got = gradients(asked, pixels, weights[patch.rows], conv, for_values or for_density)
        for_kernel += got.kernel
        for_bias += got.bias
        if for_values:
            patch.add(into_values, got.pixels.filled.sum(1) * (patch.inside - missing))
        if for_density:
            into[0][patch.rows] = got.weights
            patch.add(into[1], got.pixels.filled * missing[:, None])
            patch.add(into[2], got.pixels.factors * missing[:, None, None])
            patch.add(into[3], got.pixels.noise * missing[:, None])
    return [into_values, *into, for_kernel, for_bias]


def _patches(density: Density, conv: Conv, padding: list[int], out: Tensor) -> Iterator[Patch]:
    """The boxes around the holes, in patches that fit into the budget."""
    (height, width), (down, across) = density.present.shape[-2:], out.shape[-2:]
    rows, columns = conv.kernel.shape[-2:]
    grid = Grid(
        (rows, columns),
        (conv.stride[0], conv.stride[1]),
        (padding[0], padding[1]),
        (conv.dilation[0], conv.dilation[1]),
        (height, width),
        (down, across),
    )
    components, factors = density.factors.shape[1:3]
    maps = components * (factors + 5) * out.shape[1]
    return patches(boxes(density.present, grid), grid, maps, _BUDGET, out)


def _pixels(patch: Patch, values: Tensor, density: Density) -> tuple[Pixels, Tensor]:
    """What the windows of a patch see, and which pixels (n, C, h, w) are missing."""
    known = patch.read(density.present) * patch.inside
    missing = patch.inside - known
    # values are 0 in holes, but what was read beyond the border may be anything
    filled = patch.read(values).mul_(known)[:, None]
    filled = torch.addcmul(filled, patch.read(density.means), missing[:, None])
    factors = patch.read(density.factors).mul_(missing[:, None, None])
    noise = patch.read(density.noise).mul_(missing[:, None])
    return Pixels(channels_last(filled), channels_last(factors), channels_last(noise)), missing


def _outside(
    grad: Tensor,
    out: Tensor,
    values: Tensor,
    conv: Conv,
    padding: list[int],
    found: list[Patch],
    for_values: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the ordinary part in values, kernel and bias; some pictures at a time."""
    into = torch.zeros_like(values) if for_values else values.new_zeros(0)
    kernel, bias = torch.zeros_like(conv.kernel), conv.kernel.new_zeros(len(conv.kernel))
    many = max(1, _BUDGET // max(1, out[0].numel()))
    for start in range(0, len(out), many):
        some = slice(start, start + many)
        part = torch.ops.aten.threshold_backward(grad[some], out[some], 0)
        for box in (box for patch in found for box in patch.views(part, start)):
            box.zero_()
        bias += part.sum((0, 2, 3))  # much faster than together with the others
        seen = values[some]
        if seen.shape[1] == 1:  # the one case in which rearranging pays
            part, seen = flat(channels_last(part)), flat(channels_last(seen))
        inputs, weight, _ = torch.ops.aten.convolution_backward(
            part,
            seen,
            conv.kernel,
            None,
            conv.stride,
            padding,
            conv.dilation,
            False,
            [0, 0],
            conv.groups,
            [for_values, True, False],
        )
        kernel += weight
        if for_values:
            into[some] = inputs
    return into, kernel, bias


@expected_relu_conv2d.register_fake
def _(
    values: Tensor,
    weights: Tensor,
    means: Tensor,
    factors: Tensor,
    noise: Tensor,
    present: Tensor,
    kernel: Tensor,
    bias: Tensor | None,
    *windows: Any,
) -> Tensor:
    return F.conv2d(values, kernel, bias, *windows)


@expected_relu_conv2d_backward.register_fake
def _(grad: Tensor, out: Tensor, values: Tensor, *rest: Any) -> list[Tensor]:
    *density, _, kernel, _, _, _, _, _, for_values, for_density = rest
    into = [part.new_empty(part.shape if for_density else 0) for part in density]
    first = values.new_empty(values.shape if for_values else 0)
    return [first, *into, torch.empty_like(kernel), kernel.new_empty(len(kernel))]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(output, *inputs[:8])
    ctx.windows = inputs[8:]


def _back(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad
    values, weights, means, factors, noise, kernel, bias = expected_relu_conv2d_backward(
        grad, *ctx.saved_tensors, *ctx.windows, wanted[0], any(wanted[1:5])
    )
    # No gradient in which pixels are there, nor in how the windows lie.
    found = (values, weights, means, factors, noise, None, kernel, bias, None, None, None, None)
    return tuple(one if want else None for one, want in zip(found, wanted, strict=True))


def _one_by_one(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Tensor, int]:
    """The rule of ``torch.vmap``: a loop, because every batch has its own boxes."""

    def pick(arg: Any, dim: Any, number: int) -> Any:
        return arg.select(dim, number) if isinstance(dim, int) else arg

    every = [
        expected_relu_conv2d(*(pick(arg, dim, i) for arg, dim in zip(args, in_dims, strict=True)))
        for i in range(info.batch_size)
    ]
    return torch.stack(every), 0


expected_relu_conv2d.register_autograd(_back, setup_context=_keep)
expected_relu_conv2d.register_vmap(_one_by_one)
