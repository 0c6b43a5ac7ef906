"""Where a number stopped being a number: the first input column, layer or parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from torch import Tensor, nn

from nanwise.train.players import phases


def tensors(batch: Any) -> Iterator[Tensor]:
    """All tensors of a batch (nested tuples, named tuples, lists, dicts), in order."""
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, dict):
        for part in batch.values():
            yield from tensors(part)
    elif isinstance(batch, (tuple, list)):
        for part in batch:
            yield from tensors(part)


def first_fault(
    module: nn.Module, batches: Callable[[], Iterable[Any]], names: Sequence[Any] | None
) -> str:
    """What is wrong, as the end of a sentence: input first, then parameters, then layers.

    ``batches()`` gives all that may have brought the fault: a bad row can pass the loss unseen,
    break the weights through its gradient, and show in a later batch only.

    A tensor whose last axis is as long as ``names`` is taken for the input. Other tensors of the
    batch may hold NaN by right (a target that is not scored) and are named last.
    """
    return (
        _first(_input_fault(t, names) for batch in batches() for t in tensors(batch))
        or _parameter_fault(module)
        or _first(_layer_fault(module, batch) for batch in batches())
        or _first(_other_fault(i, t) for batch in batches() for i, t in enumerate(tensors(batch)))
        or "all inputs, parameters and layer outputs are finite; the loss itself is not"
    )


def _first(faults: Iterable[str | None]) -> str | None:
    return next(filter(None, faults), None)


def _input_fault(x: Tensor, names: Sequence[Any] | None) -> str | None:
    if names is None or x.ndim < 2 or x.shape[-1] != len(names) or not x.is_floating_point():
        return None
    bad = ~x.isfinite()
    columns = bad.flatten(0, -2).any(0).nonzero()
    if not len(columns):
        return None
    column = int(columns[0])
    value = float(x.movedim(-1, 0)[column][bad.movedim(-1, 0)[column]][0])
    return f"input column {names[column]!r} holds {value}"


def _parameter_fault(module: nn.Module) -> str | None:
    for name, value in module.named_parameters():
        if not value.isfinite().all():
            return f"parameter {name!r} is not finite any more"
    return None


def _layer_fault(module: nn.Module, batch: Any) -> str | None:
    """Run the batch once more and watch the layers; leaves (no children) come first in a pass."""
    found: list[str] = []

    def watch(name: str) -> Any:
        def hook(layer: nn.Module, _: Any, output: Any) -> None:
            bad = any(t.is_floating_point() and not t.isfinite().all() for t in tensors(output))
            if bad and not found:
                found.append(f"layer {name!r} ({type(layer).__name__}) is the first not finite")

        return hook

    handles = [m.register_forward_hook(watch(n)) for n, m in module.named_modules() if n]
    try:
        # with gradients: the loss may be made of some, as a gradient penalty is
        for phase in phases(module):
            module.training_step(batch, phase)  # type: ignore[operator]
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else None


def _other_fault(position: int, x: Tensor) -> str | None:
    if not x.is_floating_point() or x.isfinite().all():
        return None
    return (
        f"tensor {position} of the batch (shape {tuple(x.shape)}) holds values that are not finite"
    )
