"""Optimizers and schedules by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    LRScheduler,
    MultiStepLR,
    OneCycleLR,
    ReduceLROnPlateau,
)

if TYPE_CHECKING:
    from nanwise.train.plan import Plan


def make_optimizer(
    plan: Plan, module: nn.Module, parameters: Iterable[nn.Parameter] | None = None
) -> torch.optim.Optimizer:
    """The plan's optimizer for all parameters of a module, or for those that are named.

    ``fused`` is the fastest form on CPU and GPU where it exists.

    Weight decay keeps weights small. Two kinds of parameters are spared: single numbers, such as a
    learnt exponent, and those that a submodule lists in its ``homes``, a dict from parameter name
    to a tensor or None. These have another home than 0: a tensor is where decay, decoupled from the
    gradient, pulls the parameter to instead; None leaves it free.
    """
    adam = {"fused": True, "eps": plan.eps, "betas": (plan.beta1, plan.beta2)}
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "adam": (torch.optim.Adam, adam),
        "adamw": (torch.optim.AdamW, adam),
        "sgd": (torch.optim.SGD, {"fused": True, "momentum": 0.9, "nesterov": True}),
        "rmsprop": (torch.optim.RMSprop, {"foreach": True, "eps": plan.eps}),
        "rprop": (Rprop, {"foreach": True}),
    }
    kind, own = kinds[plan.optimizer]
    homes = _homes(module)
    named = module.parameters() if parameters is None else parameters
    trained = [p for p in named if p.requires_grad]
    decays = [p for p in trained if p.ndim > 0 and p not in homes]
    spared = [p for p in trained if p.ndim == 0 or p in homes]
    groups: list[dict[str, Any]] = [{"params": decays}] if decays or not spared else []
    if spared:
        groups.append({"params": spared, "weight_decay": 0.0})
    decay = plan.weight_decay or 0.0
    optimizer = kind(groups, lr=plan.lr, weight_decay=decay, **own)
    pulled = {p: home for p in trained if (home := homes.get(p)) is not None}
    if pulled and decay:
        _pull(optimizer, pulled, decay)
    return optimizer


class Rprop(torch.optim.Rprop):
    """Resilient propagation with weight decay in the gradient; that of torch has none."""

    def __init__(self, params: Any, lr: float, weight_decay: float, **own: Any) -> None:
        super().__init__(params, lr=lr, **own)
        for group in self.param_groups:
            group.setdefault("weight_decay", weight_decay)
        self.register_step_pre_hook(_add_decay)


@torch.no_grad()
def _add_decay(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    """Add the gradient of the squared weights to that of the loss."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None and group["weight_decay"]:
                parameter.grad.add_(parameter, alpha=group["weight_decay"])


def _homes(module: nn.Module) -> dict[nn.Parameter, Tensor | None]:
    """Parameters that some submodule lists in its ``homes``."""
    return {
        part.get_parameter(name): home
        for part in module.modules()
        for name, home in getattr(part, "homes", {}).items()
    }


def has_homes(module: nn.Module) -> bool:
    """Whether weight decay pulls some parameter to another home than 0."""
    return any(home is not None for home in _homes(module).values())


def _pull(
    optimizer: torch.optim.Optimizer, pulled: dict[nn.Parameter, Tensor], decay: float
) -> None:
    """After every step, move parameters towards their homes by ``lr * decay`` of the way."""

    @torch.no_grad()
    def move(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        share = min(optimizer.param_groups[-1]["lr"] * decay, 1.0)
        for parameter, home in pulled.items():
            parameter.lerp_(home.to(parameter), share)

    optimizer.register_step_post_hook(move)


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


#: shares of the epochs after which ``steps`` divides the rate by ten
_STEPS = (0.45, 0.9)


class Schedule:
    """The plan's learning rate over time: ``step`` after a batch, ``epoch`` after an epoch.

    ``total`` is the number of batches in all epochs.
    """

    def __init__(self, plan: Plan, optimizer: torch.optim.Optimizer, total: int) -> None:
        self.each_step = plan.schedule == "onecycle"
        self._inner: LRScheduler | ReduceLROnPlateau | None = None
        if plan.schedule == "cosine":
            self._inner = CosineAnnealingLR(optimizer, T_max=plan.epochs)
        elif plan.schedule == "plateau":
            patience = 5 if plan.patience is None else max(plan.patience // 2, 1)
            self._inner = ReduceLROnPlateau(optimizer, factor=0.5, patience=patience)
        elif plan.schedule == "steps":
            ends = [max(1, round(share * plan.epochs)) for share in _STEPS]
            self._inner = MultiStepLR(optimizer, ends, gamma=0.1)
        elif plan.schedule == "onecycle":
            self._inner = OneCycleLR(
                optimizer,
                max_lr=plan.lr,
                total_steps=total,
                cycle_momentum=plan.optimizer not in ("rmsprop", "rprop"),
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
