"""There and back through a batch of pictures with random holes.

The whole batch goes through an ordinary convolution and ReLU. Then the boxes around the holes are
cut out, some pictures at a time, and computed anew with means and variances. Maps of the l factors
exist for one patch at a time only; on the way back they are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from nanwise.nn.holes.boxes import Grid, Patch, boxes, patches
from nanwise.nn.holes.moments import (
    Conv,
    Pixels,
    Slopes,
    answer,
    channels_last,
    flat,
    for_weights,
    gradients,
)

#: Numbers that the maps of a patch may hold: enough to make the cost of a call small.
_BUDGET = 12_000_000


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

    @property
    def conv(self) -> Conv:
        """The convolution of a patch."""
        return Conv(self.kernel, self.bias, self.stride, self.dilation, self.groups)


class Kept(NamedTuple):
    """Of a patch: what it saw, which of its pixels (n, C, h, w) are missing, and the slopes."""

    patch: Patch
    pixels: Pixels
    missing: Tensor
    slopes: Slopes


def forward(scene: Scene, keep: bool) -> tuple[Tensor, list[Kept]]:
    """Activations (N, O, H', W') and, unless empty, what the way back needs."""
    out = F.conv2d(scene.values, *scene[6:]).relu_()
    kept = []
    for patch in _patches(scene, out):
        pixels, missing = _pixels(patch, scene)
        new, parts = answer(pixels, scene.weights[patch.rows], scene.conv)
        for box, one in zip(patch.views(out), new, strict=True):
            box.copy_(one)
        if keep:
            kept.append(Kept(patch, pixels, missing, parts.slopes()))
    return out, kept


class Wanted(NamedTuple):
    """Whether gradients are wanted in the pictures, mixture weights, and pixels of the density."""

    values: bool
    weights: bool
    density: bool


def backward(
    scene: Scene, grad: Tensor, out: Tensor, kept: list[Kept], wanted: Wanted
) -> list[Tensor]:
    """Gradients in values, weights, means, factors, noise, kernel, bias; empty if not wanted."""
    into = [
        part.new_zeros(part.shape if want else 0)
        for part, want in zip(scene[:5], (*wanted, wanted.density, wanted.density), strict=True)
    ]
    kernel, bias = _outside(scene, grad, out, [one.patch for one in kept], into[0])
    for patch, pixels, missing, slopes in kept:
        asked = torch.stack([box.movedim(0, -1) for box in patch.views(grad)]).movedim(-1, 1)
        weights = scene.weights[patch.rows]
        inputs = wanted.values or wanted.density
        got = gradients(asked, pixels, weights, slopes, scene.conv, inputs)
        kernel += got.kernel
        bias += got.bias
        if wanted.values:
            patch.add(into[0], got.pixels.filled.sum(1) * (patch.inside - missing))
        if wanted.weights:
            into[1][patch.rows] = for_weights(asked, pixels, scene.conv)
        if wanted.density:
            patch.add(into[2], got.pixels.filled * missing[:, None])
            patch.add(into[3], got.pixels.factors * missing[:, None, None])
            patch.add(into[4], got.pixels.noise * missing[:, None])
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
        scene.present.shape[1],
    )
    components, factors = scene.factors.shape[1:3]
    maps = components * (factors + 5) * out.shape[1]
    return patches(boxes(scene.present, grid), grid, maps, _BUDGET, out)


def _pixels(patch: Patch, scene: Scene) -> tuple[Pixels, Tensor]:
    """What the windows of a patch see, and which pixels (n, C, h, w) are missing."""
    known = patch.read(scene.present) * patch.inside
    missing = patch.inside - known
    # values are 0 in holes, but what was read beyond the border may be anything
    filled = patch.read(scene.values).mul_(known)[:, None]
    filled = torch.addcmul(filled, patch.read(scene.means), missing[:, None])
    factors = patch.read(scene.factors).mul_(missing[:, None, None])
    noise = patch.read(scene.noise).mul_(missing[:, None])
    return Pixels(filled, factors, noise), missing


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
        bias += part.sum((0, 2, 3))  # much faster than together with the others
        seen = scene.values[some]
        if seen.shape[1] == 1:  # the one case in which rearranging pays
            part, seen = flat(channels_last(part)), flat(channels_last(seen))
        inputs, weight, _ = torch.ops.aten.convolution_backward(
            part,
            seen,
            scene.kernel,
            None,
            scene.stride,
            scene.padding,
            scene.dilation,
            False,
            [0, 0],
            scene.groups,
            [into.numel() > 0, True, False],
        )
        kernel += weight
        if into.numel():
            into[some] = inputs
    return kernel, bias
