"""What estimators that train a network share: a plan that may be left out, fitting weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nanwise.train.plan import Plan


class Planned:
    """Mixin of scikit-learn estimators with a parameter ``plan``, a Plan or None."""

    plan: Any

    def _default_plan(self) -> Plan:
        """What ``plan=None`` stands for."""
        return Plan()

    def _plan(self) -> Plan:
        return self._default_plan() if self.plan is None else self.plan

    def _check_plan(self) -> None:
        if not (self.plan is None or isinstance(self.plan, Plan)):
            raise TypeError(f"plan must be a Plan, as in Plan(epochs=100), got {self.plan!r}")
        self._plan().validate()

    def set_params(self, **params: Any) -> Any:
        """As in scikit-learn; ``plan__lr=...`` also works while ``plan`` is None."""
        nested = any(key.startswith("plan__") for key in params)
        if nested and params.get("plan", self.plan) is None:
            params["plan"] = self._default_plan()
        return super().set_params(**params)  # type: ignore[misc]


def refuse_misfit(network: Callable[[], Any], weights: dict[str, Any]) -> None:
    """ValueError if weights of a file are not those of the network that ``network()`` makes.

    Only shapes are made: no memory is taken for a network that the file merely claims to hold.
    """
    import torch

    with torch.device("meta"):
        wanted = network().state_dict()
    if {k: v.shape for k, v in wanted.items()} != {k: v.shape for k, v in weights.items()}:
        raise ValueError("the weights do not fit the network that the parameters describe")
