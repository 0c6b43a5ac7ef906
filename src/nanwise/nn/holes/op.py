"""Expected ReLU of a convolution of pictures with random holes, as torch sees it.

Where the holes are decides the shapes of what is computed, and ``torch.compile`` cannot follow
that: it gets one operator, which on its way back computes again what it needs. Without
compilation an autograd function keeps some of it instead: two maps per component, for the boxes;
none where compiled code does the work.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from nanwise.nn.holes import compiled, passes
from nanwise.nn.holes.moments import Slopes
from nanwise.nn.holes.passes import Kept, Scene, Wanted


def expected_relu_conv2d(scene: Scene) -> Tensor:
    """Activations (N, O, H', W'), with gradients."""
    device = scene.kernel.device.type
    if torch.is_autocast_enabled(device):  # variances in half precision would be too rough
        with torch.autocast(device, enabled=False):
            return expected_relu_conv2d(scene.to(scene.kernel.dtype))
    tensors = _tensors(scene)
    if forward_ad._current_level >= 0 and any(map(_has_tangent, tensors)):
        raise NotImplementedError("MisConv2d has gradients by backward only, none in forward mode")
    if _is_watched(tensors):
        return operator(*scene)
    if torch.is_grad_enabled() and any(part.requires_grad for part in tensors):
        return _Keeping.apply(*scene)
    return _forward(scene, keep=False)[0]


def _is_watched(tensors: list[Tensor]) -> bool:
    """Whether torch wants to see operators, not numbers: it traces, or a type has its own way."""
    return (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or any(type(part) not in (Tensor, nn.Parameter) for part in tensors)
    )


def _has_tangent(part: Tensor) -> bool:
    return forward_ad.unpack_dual(part).tangent is not None


def _forward(scene: Scene, keep: bool) -> tuple[Tensor, list[Kept] | None]:
    """Activations, and what the way back needs; None: compiled code, which needs nothing."""
    if compiled.fits(scene):
        return compiled.forward(scene), None
    return passes.forward(scene, keep)


def _backward(
    scene: Scene, grad: Tensor, out: Tensor, kept: list[Kept] | None, wanted: Wanted
) -> list[Tensor]:
    """Gradients, see :func:`nanwise.nn.holes.passes.backward`; back the way that it came."""
    if kept is None:
        return compiled.backward(scene, grad, out, wanted)
    return passes.backward(scene, grad, out, kept, wanted)


class _Keeping(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *scene: Any) -> Tensor:
        out, kept = _forward(Scene(*scene), keep=True)
        ctx.windows = scene[8:]
        ctx.patches = None if kept is None else [one.patch for one in kept]
        maps = [part for one in kept or () for part in (one.pixels, *one.slopes)]
        ctx.save_for_backward(out, *scene[:8], *maps)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        out, *parts = ctx.saved_tensors
        scene, maps = Scene(*parts[:8], *ctx.windows), iter(parts[8:])
        kept = ctx.patches and [
            Kept(patch, pixels, Slopes(mean, variance))
            for patch, pixels, mean, variance in zip(ctx.patches, *[maps] * 3, strict=True)
        ]
        wants = ctx.needs_input_grad
        with torch.autocast(grad.device.type, enabled=False):
            return _in_place(_backward(scene, grad, out, kept, _wanted(wants)), wants)


@torch.library.custom_op("nanwise::expected_relu_conv2d", mutates_args=())
def operator(
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
    """Activations of a scene, see :class:`nanwise.nn.holes.passes.Scene`."""
    density = (weights, means, factors, noise, present)
    scene = Scene(values, *density, kernel, bias, stride, padding, dilation, groups)
    return _forward(scene, keep=False)[0].contiguous()


@torch.library.custom_op("nanwise::expected_relu_conv2d_backward", mutates_args=())
def operator_backward(
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
    wanted: list[bool],
) -> list[Tensor]:
    """Gradients of a scene, see :func:`nanwise.nn.holes.passes.backward`."""
    density = (weights, means, factors, noise, present)
    scene = Scene(values, *density, kernel, bias, stride, padding, dilation, groups)
    kept = None if compiled.fits(scene) else passes.forward(scene, keep=True)[1]
    *into, kernel_grad, bias_grad = _backward(scene, grad, out, kept, Wanted(*wanted))
    return [*into, kernel_grad.contiguous(), bias_grad]


@operator.register_fake
def _(values: Tensor, *rest: Any) -> Tensor:
    return F.conv2d(values, *rest[5:]).contiguous()


@operator_backward.register_fake
def _(grad: Tensor, out: Tensor, *rest: Any) -> list[Tensor]:
    *parts, wanted = rest
    scene = Scene(*parts)
    kernel = scene.kernel
    return [
        *scene.room(Wanted(*wanted)),
        kernel.new_empty(kernel.shape),
        kernel.new_empty(len(kernel)),
    ]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(output, *inputs[:8])
    ctx.windows = inputs[8:]


def _back(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    wants = ctx.needs_input_grad
    wanted = list(_wanted(wants))
    return _in_place(operator_backward(grad, *ctx.saved_tensors, *ctx.windows, wanted), wants)


def _one_by_one(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Tensor, int]:
    """The rule of ``torch.vmap``: a loop, because every batch has its own boxes."""

    def pick(arg: Any, dim: Any, number: int) -> Any:
        return arg.select(dim, number) if isinstance(dim, int) else arg

    every = [
        operator(*(pick(arg, dim, i) for arg, dim in zip(args, in_dims, strict=True)))
        for i in range(info.batch_size)
    ]
    return torch.stack(every), 0


operator.register_autograd(_back, setup_context=_keep)
operator.register_vmap(_one_by_one)


def _wanted(wants: tuple[bool, ...]) -> Wanted:
    return Wanted(wants[0], wants[1], any(wants[2:5]))


def _in_place(found: list[Tensor], wants: tuple[bool, ...]) -> tuple[Tensor | None, ...]:
    """Gradients where the arguments stand; none in ``present`` nor in how the windows lie."""
    *into, kernel, bias = found
    every = [*into, None, kernel, bias, None, None, None, None]
    return tuple(one if want else None for one, want in zip(every, wants, strict=True))


def _tensors(scene: Scene) -> list[Tensor]:
    return [part for part in scene if isinstance(part, Tensor)]
