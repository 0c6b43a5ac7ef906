"""Optimizers and schedules by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    LRScheduler,
    OneCycleLR,
    ReduceLROnPlateau,
)

if TYPE_CHECKING:
    from nanwise.train.plan import Plan


def make_optimizer(plan: Plan, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """The plan's optimizer; ``fused`` is the fastest form on CPU and GPU where it exists.

    Single numbers, such as a learnt exponent, are spared the weight decay: it keeps weights small,
    and would pull a number towards 0 that has another home.
    """
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "adam": (torch.optim.Adam, {"fused": True}),
        "adamw": (torch.optim.AdamW, {"fused": True}),
        "sgd": (torch.optim.SGD, {"fused": True, "momentum": 0.9, "nesterov": True}),
        "rmsprop": (torch.optim.RMSprop, {"foreach": True}),
    }
    kind, own = kinds[plan.optimizer]
    trained = [p for p in parameters if p.requires_grad]
    groups: list[dict[str, Any]] = [{"params": [p for p in trained if p.ndim > 0]}]
    numbers = [p for p in trained if p.ndim == 0]
    if numbers:
        groups.append({"params": numbers, "weight_decay": 0.0})
    return kind(groups, lr=plan.lr, weight_decay=plan.weight_decay, **own)


def load_optimizer(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Load a state whose tensors are contiguous.

    Fused kernels walk a parameter and its moments through memory side by side, so a moment must
    have the strides of its parameter, which need not be contiguous.
    """
    optimizer.load_state_dict(state)
    for parameter, moments in optimizer.state.items():
        for name, value in moments.items():
            if isinstance(value, torch.Tensor) and value.shape == parameter.shape:
                moments[name] = torch.empty_like(parameter).copy_(value).detach()


class Schedule:
    """The plan's learning rate over time: ``step`` after a batch, ``epoch`` after an epoch."""

    def __init__(self, plan: Plan, optimizer: torch.optim.Optimizer, steps: int) -> None:
        self.each_step = plan.schedule == "onecycle"
        self._inner: LRScheduler | ReduceLROnPlateau | None = None
        if plan.schedule == "cosine":
            self._inner = CosineAnnealingLR(optimizer, T_max=plan.epochs)
        elif plan.schedule == "plateau":
            patience = 5 if plan.patience is None else max(plan.patience // 2, 1)
            self._inner = ReduceLROnPlateau(optimizer, factor=0.5, patience=patience)
        elif plan.schedule == "onecycle":
            self._inner = OneCycleLR(
                optimizer,
                max_lr=plan.lr,
                total_steps=plan.epochs * steps,
                cycle_momentum=plan.optimizer != "rmsprop",
            )

    def step(self) -> None:
        """Call after every optimizer step if ``each_step``."""
        if isinstance(self._inner, OneCycleLR):
            self._inner.step()

    def epoch(self, loss: float) -> None:
        """Call after every epoch, with the loss that decides about a plateau."""
        if isinstance(self._inner, ReduceLROnPlateau):
            self._inner.step(loss)
        elif self._inner is not None and not self.each_step:
            self._inner.step()

    def state_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {} if self._inner is None else self._inner.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from ``state_dict``."""
        if self._inner is not None:
            self._inner.load_state_dict(state)
