"""There and back through a batch of pictures with random holes, by torch alone.

The whole batch goes through an ordinary convolution and ReLU. Then the boxes around the holes are
cut out, some pictures at a time, and computed anew with means and variances. The map of a factor
exists for one patch at a time only; on the way back it is computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from nanwise.nn.holes.boxes import Grid, Patch, boxes, patches
from nanwise.nn.holes.conv import Conv
from nanwise.nn.holes.moments import Slopes, answer, for_weights, gradients

#: Numbers that the maps of a patch may hold: enough to make the cost of a call small; more is no
#: faster.
_BUDGET = 6_000_000


class Scene(NamedTuple):
    """All that decides the answer.

    Attributes
    ----------
    values : Tensor, shape (N, C, H, W)
        Pictures, 0 in holes.
    weights, means, factors, noise : Tensor
        Density of the holes, see :class:`nanwise.completion.MFA`.
    present : Tensor, shape (N, C, H, W)
        1 where there is a value, 0 in holes.
    kernel, bias, stride, padding, dilation, groups
        The convolution.
    """

    values: Tensor
    weights: Tensor
    means: Tensor
    factors: Tensor
    noise: Tensor
    present: Tensor
    kernel: Tensor
    bias: Tensor | None
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    groups: int

    def to(self, dtype: torch.dtype) -> Scene:
        """The same with all numbers of one type."""
        return Scene._make(part.to(dtype) if isinstance(part, Tensor) else part for part in self)

    def room(self, wanted: Wanted) -> list[Tensor]:
        """Zeros for the gradients of values and density; empty if not wanted."""
        wants = (*wanted, wanted.density, wanted.density)
        return [
            part.new_zeros(part.shape if want else 0)
            for part, want in zip(self[:5], wants, strict=True)
        ]

    @property
    def conv(self) -> Conv:
        """The convolution of a patch."""
        return Conv(self.kernel, self.bias, self.stride, self.dilation, self.groups)


class Kept(NamedTuple):
    """Of a patch: what its windows saw, see :func:`_pixels`, and the slopes."""

    patch: Patch
    pixels: Tensor
    slopes: Slopes


def forward(scene: Scene, keep: bool) -> tuple[Tensor, list[Kept]]:
    """Activations (N, O, H', W') and, unless empty, what the way back needs."""
    out = F.conv2d(scene.values, *scene[6:])
    kept = []
    for patch in _patches(scene, out):
        pixels = _pixels(patch, scene)
        new, slopes = answer(pixels, patch.of(scene.weights), scene.conv, keep)
        for box, one in zip(patch.views(out), new, strict=True):
            box.copy_(one)
        if keep:
            kept.append(Kept(patch, pixels, slopes))
    return out.relu_(), kept


class Wanted(NamedTuple):
    """Whether gradients are wanted in the pictures, mixture weights, and pixels of the density."""

    values: bool
    weights: bool
    density: bool


def backward(
    scene: Scene, grad: Tensor, out: Tensor, kept: list[Kept], wanted: Wanted
) -> list[Tensor]:
    """Gradients in values, weights, means, factors, noise, kernel, bias; empty if not wanted."""
    into = scene.room(wanted)
    kernel, bias = _outside(scene, grad, out, [one.patch for one in kept], into[0])
    for patch, pixels, slopes in kept:
        asked = torch.stack(patch.views(grad))
        weights = patch.of(scene.weights)
        inputs = wanted.values or wanted.density
        got = gradients(asked, pixels, weights, slopes, scene.conv, inputs)
        kernel += got.kernel
        bias += got.bias
        if wanted.weights:
            into[1][patch.rows] = for_weights(asked, pixels, scene.conv)
        if got.pixels is None:
            continue
        _pass_on(patch, scene, got.pixels, into)
    return [*into, kernel, bias]


def _patches(scene: Scene, out: Tensor) -> Iterator[Patch]:
    """The boxes around the holes, in patches that fit into the budget."""

    def pair(numbers: torch.Size | list[int]) -> tuple[int, int]:
        return numbers[-2], numbers[-1]

    grid = Grid(
        pair(scene.kernel.shape),
        pair(scene.stride),
        pair(scene.padding),
        pair(scene.dilation),
        pair(scene.present.shape),
        pair(out.shape),
    )
    components, rank, channels = scene.factors.shape[1:4]
    # On the way back about seven maps of answers are there at a time, and one of columns if pixels
    # get a gradient.
    windows = components * (7 * out.shape[1] + scene.kernel[0].numel() * scene.groups)
    maps = (windows, components * (rank + 2) * channels)
    return patches(boxes(scene.present, grid), grid, maps, _BUDGET, out.device)


def _pixels(patch: Patch, scene: Scene) -> Tensor:
    """What the windows of a patch see, (l + 2, n, K, C, h, w).

    Factors in the hole, the picture with means in its hole, and variances in the hole. Made of
    whole pictures: that takes less time than to cut boxes out of each part first.
    """
    factors = patch.of(scene.factors)
    rank = factors.shape[2]
    whole, inner = _padded(patch, factors)
    missing = (1 - patch.of(scene.present))[:, None]
    torch.mul(factors, missing[:, None], out=inner[:, :, :rank])
    filled = patch.of(scene.values)[:, None]
    torch.addcmul(filled, patch.of(scene.means), missing, out=inner[:, :, rank])
    torch.mul(patch.of(scene.noise), missing, out=inner[:, :, rank + 1])
    return torch.stack(patch.pixels(whole.transpose(1, 2)), 1)


def _padded(patch: Patch, factors: Tensor) -> tuple[Tensor, Tensor]:
    """Zeros (n, K, l + 2, C, Hp, Wp), and of them those that are not padding."""
    n, components, rank, channels, height, width = factors.shape
    above, beside = patch.grid.padding
    whole = factors.new_zeros(n, components, rank + 2, channels, *patch.grid.padded)
    return whole, whole[..., above : above + height, beside : beside + width]


def _pass_on(patch: Patch, scene: Scene, pixels: Tensor, into: list[Tensor]) -> None:
    """Add the gradient of :func:`_pixels` to those that are wanted; the others are empty."""
    values, _, means, factors, noise = into
    rows, rank = patch.rows, len(pixels) - 2
    whole, grad = _padded(patch, patch.of(scene.factors))
    for box, one in zip(patch.pixels(whole.transpose(1, 2)), pixels.unbind(1), strict=True):
        box.copy_(one)
    present = patch.of(scene.present)
    missing = (1 - present)[:, None]
    if values.numel():
        values[rows] += grad[:, :, rank].sum(1) * present
    if means.numel():
        means[rows] = grad[:, :, rank] * missing
        noise[rows] = grad[:, :, rank + 1] * missing
    if factors.numel():
        factors[rows] = grad[:, :, :rank] * missing[:, None]


def _outside(
    scene: Scene, grad: Tensor, out: Tensor, found: list[Patch], into: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of the ordinary part in kernel and bias, and, unless empty, into the values.

    Some pictures at a time: the gradient before the ReLU is never held for all.
    """
    kernel, bias = torch.zeros_like(scene.kernel), scene.kernel.new_zeros(len(scene.kernel))
    many = max(1, _BUDGET // max(1, out.shape[1:].numel()))
    for start in range(0, len(out), many):
        some = slice(start, start + many)
        part = torch.ops.aten.threshold_backward(grad[some], out[some], 0)
        for box in (box for patch in found for box in patch.views(part, start)):
            box.zero_()
        inputs, for_kernel, for_bias = torch.ops.aten.convolution_backward(
            part,
            scene.values[some],
            scene.kernel,
            [len(bias)],
            scene.stride,
            scene.padding,
            scene.dilation,
            False,
            [0, 0],
            scene.groups,
            [into.numel() > 0, True, True],
        )
        kernel += for_kernel
        bias += for_bias
        if into.numel():
            into[some] = inputs
    return kernel, bias
