"""Who learns: one optimizer for all parameters, or several players that learn in turns.

A module whose parts work against each other names them in ``players``, an ordered dict from a
player's name to the parameters that are its own. On a batch each player in turn gets the loss
``training_step(batch, phase=name)`` and moves its own parameters, and these only. A player that
``every`` lists, a dict from name to number, plays on the first and then on every n-th batch, so
that the others play n times for its once. One that ``rates`` lists, a dict from name to number,
learns at that many times the rate of the plan.

A module with large parameters may set ``one_by_one = True``: each of them then moves, and drops its
gradient, as soon as that is there. The result is the same to the last bit, and never more than one
large gradient is in memory. Such a module must not read a parameter in the backward pass otherwise
than as an operation that it has a gradient from (detached copies of it, for example).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from nanwise.train.optim import Schedule, has_homes, load_optimizer, make_optimizer

if TYPE_CHECKING:
    from nanwise.train.plan import Plan

#: numbers in a parameter that does not wait for the others
_LARGE = 1 << 16


class Player:
    """A loss, the parameters that make it smaller, their optimizer and its schedule.

    Parameters
    ----------
    loss : callable
        ``loss(batch) -> Tensor``.
    backward : callable
        ``backward(loss)`` leaves the gradient, averaged over the processes, in the parameters.
    """

    def __init__(
        self,
        loss: Callable[[Any], Tensor],
        backward: Callable[[Tensor], None],
        parameters: list[nn.Parameter],
        optimizer: Any,
        schedule: Schedule,
        clip: float | None,
        every: int = 1,
    ) -> None:
        self.loss, self.backward, self.parameters = loss, backward, parameters
        self.optimizer, self.schedule, self.clip, self.every = optimizer, schedule, clip, every

    @property
    def rate(self) -> float:
        """Learning rate now."""
        return self.optimizer.param_groups[0]["lr"]

    def update(self, loss: Tensor) -> None:
        """One step down the gradient of the loss."""
        for parameter in self.parameters:  # what zero_grad does, without its hooks for profilers
            parameter.grad = None
        self.backward(loss)
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()
        self.schedule.step()

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs besides the weights."""
        return {"optimizer": self.optimizer.state_dict(), "schedule": self.schedule.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from ``state_dict``."""
        load_optimizer(getattr(self.optimizer, "optimizer", self.optimizer), state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])


class OneByOne(Player):
    """A player whose large parameters do not wait for each other."""

    def update(self, loss: Tensor) -> None:
        """One step down the gradient of the loss, which is not kept."""
        large = [p for p in self.parameters if p.numel() >= _LARGE]
        hooks = [p.register_post_accumulate_grad_hook(self._move) for p in large]
        try:
            self.backward(loss)
        finally:
            for hook in hooks:
                hook.remove()
        self._move()
        self.schedule.step()

    def _move(self, _: Tensor | None = None) -> None:
        """Move what has a gradient: optimizers look at each parameter alone and pass by others."""
        self.optimizer.step()
        self.optimizer.zero_grad()


def make_players(fabric: Any, module: nn.Module, plan: Plan, steps: int) -> dict[str, Player]:
    """The players of a module, in the order in which they play.

    Parameters
    ----------
    fabric : Fabric
    module : nn.Module
        Moved to the device.
    plan : Plan
        One for all: each player has the same kind of optimizer and schedule.
    steps : int
        Batches of an epoch.
    """
    if not hasattr(module, "players"):
        return {"main": _the_only(fabric, module, plan, steps)}
    own: dict[str, list[nn.Parameter]] = {k: list(v) for k, v in module.players.items()}  # type: ignore[union-attr,operator]
    every: dict[str, int] = dict(getattr(module, "every", {}))
    rates: dict[str, float] = dict(getattr(module, "rates", {}))
    _check(own, every, rates)
    fabric.to_device(module)
    _start_alike(fabric, module)
    batches = plan.epochs * steps
    return {
        name: _one_of(
            fabric, module, _at_rate(plan, rates.get(name)), name, mine, every.get(name, 1), batches
        )
        for name, mine in own.items()
    }


def phases(module: nn.Module) -> tuple[str, ...]:
    """Names of the players."""
    return tuple(getattr(module, "players", ("main",)))


def _the_only(fabric: Any, module: nn.Module, plan: Plan, steps: int) -> Player:
    optimizer = make_optimizer(plan, module)
    schedule = Schedule(plan, optimizer, plan.epochs * steps)
    # Fabric answers `training_step` with the bare method on one device and with a detour
    # through DDP's forward on several. Bound once: looking it up costs more than a small layer.
    wrapped, stepper = fabric.setup(module, optimizer)
    parameters = list(module.parameters())
    kind = OneByOne if _may_move_alone(fabric, module, plan) else Player
    return kind(wrapped.training_step, fabric.backward, parameters, stepper, schedule, plan.clip)


def _may_move_alone(fabric: Any, module: nn.Module, plan: Plan) -> bool:
    """Whether a step can be taken parameter by parameter.

    Several processes average gradients first, clipping looks at all of them, and the pull to homes
    follows every step of the optimizer.
    """
    wanted = bool(getattr(module, "one_by_one", False))
    return wanted and fabric.world_size == 1 and plan.clip is None and not has_homes(module)


def _one_of(
    fabric: Any,
    module: nn.Module,
    plan: Plan,
    name: str,
    own: list[nn.Parameter],
    every: int,
    batches: int,
) -> Player:
    optimizer = make_optimizer(plan, module, own)
    schedule = Schedule(plan, optimizer, math.ceil(batches / every))

    # Without DDP: it waits for gradients of all parameters, of which a player has only some.
    def backward(loss: Tensor) -> None:
        loss.backward(inputs=own)
        if fabric.world_size > 1:
            _average(own, fabric.world_size)

    step: Any = module.training_step
    return Player(partial(step, phase=name), backward, own, optimizer, schedule, plan.clip, every)


def _at_rate(plan: Plan, rate: float | None) -> Plan:
    if rate is None:
        return plan
    own = copy.copy(plan)
    own.lr = plan.lr * rate
    return own


def _average(parameters: list[nn.Parameter], world: int) -> None:
    """Mean gradient over the processes, in one message; all take part, whatever they have."""
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients]) / world
    torch.distributed.all_reduce(flat)
    parts = flat.split([p.numel() for p in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.grad = torch.empty_like(parameter).copy_(part.view_as(parameter))


def _start_alike(fabric: Any, module: nn.Module) -> None:
    if fabric.world_size > 1:
        for value in (*module.parameters(), *module.buffers()):
            torch.distributed.broadcast(value.detach(), 0)


def _check(
    own: dict[str, list[nn.Parameter]], every: dict[str, int], rates: dict[str, float]
) -> None:
    if not own or not all(own.values()):
        empty = [name for name, mine in own.items() if not mine]
        raise ValueError(f"module.players must give every player parameters; none: {empty}")
    strange = sorted(set(every) - set(own))
    if strange or any(n < 1 for n in every.values()):
        raise ValueError(
            f"module.every must give players ({', '.join(own)}) numbers of at least 1, got {every}"
        )
    strange = sorted(set(rates) - set(own))
    if strange or not all(rate > 0 for rate in rates.values()):
        raise ValueError(
            f"module.rates must give players ({', '.join(own)}) numbers above 0, got {rates}"
        )
    shared = sum(map(len, own.values())) - len({p for mine in own.values() for p in mine})
    if shared:
        raise ValueError(f"module.players: {shared} parameters belong to more than one player")
