"""What estimators that train a network on pictures share: batches, training and state."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from nanwise.estimators.planned import Planned, refuse_misfit
from nanwise.train.plan import Plan


def check_device(device: Any) -> None:
    """ValueError for a device that is not there, before a density is trained for an hour."""
    from nanwise.train.engine import read_device

    read_device(device)


class PictureNet(Planned):
    """Mixin of estimators over pictures that train a network; not used by itself.

    A subclass has ``plan``, ``device`` and ``verbose`` among its parameters and says what the
    network is (``_network(shape)``), a :class:`nanwise.train.loop.Trainable` over batches
    ``(values, observed)``, both (N, C, H, W), with 0 in holes.
    """

    device: Any
    verbose: Any
    shape_: tuple[int, ...]

    def _network(self, shape: tuple[int, ...]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no network")

    def _plan(self) -> Plan:
        plan = super()._plan()
        return clone(plan).set_params(progress=True) if self.verbose else plan

    def _check_settings(self) -> None:
        self._check_plan()
        check_device(self.device)

    def _build(self) -> Any:
        net = self._network(self.shape_)
        return net.double() if self._plan().precision == "float64" else net

    def _learn(self, values: np.ndarray, observed: np.ndarray, seed: int) -> None:
        self._train(*self._sources(values, observed, seed), seed)

    def _train(self, source: Any, validation: Any, seed: int) -> None:
        import torch

        from nanwise.train.loop import train

        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self.net_ = self._build()
        self._start(source)
        plan = self._plan()
        self.history_ = train(
            self.net_, source, plan, seed=seed, validation=validation, device=self.device
        )
        self.net_.float()
        self.n_iter_ = len(self.history_)

    def _start(self, source: Any) -> None:
        """Called once between building and training: set weights from the training pictures."""

    def _sources(self, values: np.ndarray, observed: np.ndarray, seed: int) -> tuple[Any, Any]:
        """What to train on and what to validate on (None: nothing); too few are not split."""
        kept, held = self._split(len(values), seed)
        precision = self._plan().precision
        if held is None:
            return PictureBatches(values, observed, precision), None
        both = (PictureBatches(values[rows], observed[rows], precision) for rows in (kept, held))
        return next(both), next(both)

    def _split(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Pictures to train on and those put aside by the plan, if any."""
        n_held = round(n * (self._plan().validation or 0.0))
        if n_held < 1 or n - n_held < 2:
            return np.arange(n), None
        order = np.random.default_rng(seed).permutation(n)
        return np.sort(order[n_held:]), np.sort(order[:n_held])

    def __nanwise_state__(self) -> dict[str, Any]:
        # An unfitted one may be a parameter of a fitted estimator.
        fitted = hasattr(self, "net_")
        learnt = {k: v for k, v in vars(self).items() if k.endswith("_") and k != "net_"}
        return {
            "params": self.get_params(deep=False) | {"device": None},  # type: ignore[attr-defined]
            "learnt": learnt,
            "weights": dict(self.net_.state_dict()) if fitted else None,
        }

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Any:
        made = cls(**state["params"])
        for name, value in state["learnt"].items():
            setattr(made, name, value)
        if state["weights"] is not None:
            made._check_shape()
            refuse_misfit(lambda: made._network(made.shape_), state["weights"])
            made.net_ = made._network(made.shape_).eval()
            made.net_.load_state_dict(state["weights"])
        return made

    def _check_shape(self) -> None:
        if len(self.shape_) != 3 or not all(type(n) is int and n > 0 for n in self.shape_):
            raise ValueError(f"shape_ must be three whole numbers above 0, got {self.shape_!r}")


class PictureBatches:
    """Batches ``(values, observed)`` from arrays in memory."""

    def __init__(self, values: np.ndarray, observed: np.ndarray, precision: str) -> None:
        import torch

        self.values = torch.as_tensor(values, dtype=getattr(torch, precision))
        self.observed = torch.as_tensor(observed)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        return self.values.index_select(0, index), self.observed.index_select(0, index)
