"""The way through a batch in one call of compiled code, where there is such code.

``_windows.c`` is built when the package is installed, if there is a compiler for C; without it, and
for other numbers than single precision on the processor, torch computes the same, see
:mod:`nanwise.nn.holes.passes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from nanwise.nn.holes.passes import Scene, Wanted

try:
    from nanwise.nn.holes import _windows
except ImportError:  # no compiler when the package was installed
    _windows = None  # type: ignore[assignment]

#: Numbers in one instruction: 16, 8 or 4; 0: as many as the processor has.
LANES = 0
#: Weights of an output up to which this is the faster way, there and back.
MOST_TAPS = 192


def fits(scene: Scene) -> bool:
    """Whether compiled code is there and made for this; what is no convolution, torch refuses."""
    kernel, groups, bias = scene.kernel, scene.groups, scene.bias
    return (
        _windows is not None
        and kernel[:1].numel() <= MOST_TAPS
        and all(
            part.device.type == "cpu" and part.dtype == torch.float32
            for part in scene
            if isinstance(part, Tensor)
        )
        and min(groups, *scene.stride, *scene.dilation) > 0
        and min(*scene.padding, *(number - 1 for number in _windows_of(scene))) >= 0
        and len(kernel) % groups == 0
        and (bias is None or len(bias) == len(kernel))
    )


def forward(scene: Scene) -> Tensor:
    """Activations (N, O, H', W')."""
    rows, columns = _windows_of(scene)
    out = scene.values.new_empty(len(scene.values), len(scene.kernel), rows, columns)
    _run(scene, out, None, ())
    return out


def backward(scene: Scene, grad: Tensor, out: Tensor, wanted: Wanted) -> list[Tensor]:
    """Gradients in values, weights, means, factors, noise, kernel, bias; empty if not wanted."""
    found = [
        part.new_zeros(part.shape if want else 0)
        for part, want in zip(scene[:5], (*wanted, wanted.density, wanted.density), strict=True)
    ]
    found += [torch.zeros_like(scene.kernel), scene.kernel.new_zeros(len(scene.kernel))]
    _run(scene, out, grad.contiguous(), found)
    return found


def _windows_of(scene: Scene) -> tuple[int, int]:
    """Numbers of windows, down and across."""
    rows, columns = (
        (size + 2 * padding - apart * (taps - 1) - 1) // stride + 1
        for size, padding, apart, taps, stride in zip(
            scene.values.shape[2:],
            scene.padding,
            scene.dilation,
            scene.kernel.shape[2:],
            scene.stride,
            strict=True,
        )
    )
    return rows, columns


def _run(scene: Scene, out: Tensor, grad: Tensor | None, found: Sequence[Tensor]) -> None:
    n, _, height, width = scene.values.shape
    # One density for all pictures stays one: only within a picture must numbers lie in order.
    density = [part if part[:1].is_contiguous() else part.contiguous() for part in scene[1:5]]
    read = [
        scene.values.contiguous(),
        scene.present.contiguous(),
        *density,
        scene.kernel.contiguous(),
        scene.bias if scene.bias is None else scene.bias.contiguous(),
    ]
    components, rank, channels = scene.factors.shape[1:4]
    sizes = (
        n,
        components,
        rank,
        channels,
        height,
        width,
        len(scene.kernel),
        *scene.kernel.shape[2:],
        *out.shape[2:],
        scene.groups,
        *scene.stride,
        *scene.padding,
        *scene.dilation,
        torch.get_num_threads(),
        LANES,
        *(part.stride(0) for part in density),
    )
    back = grad is not None
    parts = [*read, out, grad, *(found if back else [None] * 7)]
    addresses = tuple(0 if part is None or not part.numel() else part.data_ptr() for part in parts)
    _windows.run(back, sizes, addresses)
