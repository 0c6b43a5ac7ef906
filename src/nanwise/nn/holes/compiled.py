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
#: Stride up to which it is: every phase of it takes memory.
MOST_STRIDE = 16


def fits(scene: Scene) -> bool:
    """Whether compiled code is there and made for this.

    C checks nothing: whatever is no convolution is left to torch, which says so.
    """
    if _windows is None or not all(map(_plain, scene[:8])):
        return False
    values, kernel, bias, groups = scene.values, scene.kernel, scene.bias, scene.groups
    lies = (scene.stride, scene.padding, scene.dilation)
    if values.ndim != 4 or kernel.ndim != 4 or any(len(numbers) != 2 for numbers in lies):
        return False
    n, *picture = values.shape
    components, rank = scene.factors.shape[1:3]
    shapes = [(n, components, *picture)] * 2
    return (
        0 < min(scene.stride) <= max(scene.stride) <= MOST_STRIDE
        and min(groups, *scene.dilation, *picture, components, *kernel.shape) > 0
        and min(*scene.padding, *(number - 1 for number in _windows_of(scene))) >= 0
        and kernel.shape[1] * groups == picture[0]
        and len(kernel) % groups == 0
        and kernel[0].numel() <= MOST_TAPS
        and (bias is None or bias.shape == kernel.shape[:1])
        and scene.present.shape == values.shape
        and scene.weights.shape == (n, components)
        and [scene.means.shape, scene.noise.shape] == shapes
        and scene.factors.shape == (n, components, rank, *picture)
    )


def _plain(part: Tensor | None) -> bool:
    """Whether these are numbers in memory, as C wants them."""
    return part is None or (
        part.dtype == torch.float32
        and part.device.type == "cpu"
        and part.layout == torch.strided
        and not part.is_neg()
        and (part.data_ptr() != 0 or part.numel() == 0)
    )


def forward(scene: Scene) -> Tensor:
    """Activations (N, O, H', W')."""
    rows, columns = _windows_of(scene)
    out = scene.values.new_empty(len(scene.values), len(scene.kernel), rows, columns)
    _run(scene, out, None, ())
    return out


def backward(scene: Scene, grad: Tensor, out: Tensor, wanted: Wanted) -> list[Tensor]:
    """Gradients in values, weights, means, factors, noise, kernel, bias; empty if not wanted."""
    found = scene.room(wanted)
    # In order of memory, whatever that of the kernel is.
    found += [scene.kernel.new_zeros(scene.kernel.shape), scene.kernel.new_zeros(len(scene.kernel))]
    _run(scene, out.contiguous(), grad.contiguous(), found)
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
