"""What imputers around a network share: features, training, answers and state."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.features import Features
from nanwise.estimators.planned import Planned


class NetImputer(Planned, Imputer):
    """Base of imputers that train a network; not used by itself.

    A subclass has ``plan``, ``device``, ``kinds`` and ``random_state`` among its parameters and
    fills in :meth:`_network`. The network is a :class:`nanwise.train.loop.Trainable` over batches
    ``(features (N, F), observed (N, A))`` with

    - ``fill(features, observed) -> (N, F)``: expected features; levels as probabilities (an ordinal
      attribute: to reach each level);
    - ``draw(features, observed, n, generator) -> (n, N, F)``: random completions, levels as 0 / 1.

    Both treat a row by itself and see 0 in gaps.
    """

    plan: Any
    device: Any

    #: how numbers are scaled
    scale = "standard"

    def _check_settings(self) -> None:
        self._check_plan()

    def _network(self, parts: tuple[Any, ...]) -> Any:
        """The untrained network for attributes of these kinds and widths."""
        raise NotImplementedError(f"{type(self).__name__} has no network")

    # -- learning --------------------------------------------------------------------------------

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        import torch

        from nanwise.train.loop import train

        self.features_ = Features(self.layout_, self.scale).fit(codes)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self.net_ = self._build()
        source, validation = self._sources(*self.features_.encode(codes), seed)
        self.history_ = train(
            self.net_,
            source,
            self._plan(),
            seed=seed,
            validation=validation,
            device=self.device,
            names=self.table_layout_.column_names,
        )
        self.n_iter_ = len(self.history_)

    def _build(self) -> Any:
        net = self._network(tuple(self.features_.parts_))
        return net.double() if self._plan().precision == "float64" else net

    def _sources(self, features: np.ndarray, observed: np.ndarray, seed: int) -> tuple[Any, Any]:
        """What to train on and what to validate on (None: nothing); too few rows are not split."""
        n, plan = len(features), self._plan()
        n_held = round(n * (plan.validation or 0.0))
        if n_held < 1 or n - n_held < 2:
            return _Batches(features, observed, plan.precision), None
        order = np.random.default_rng(seed).permutation(n)
        kept, held = np.sort(order[n_held:]), order[:n_held]
        train, valid = (
            _Batches(features[rows], observed[rows], plan.precision) for rows in (kept, held)
        )
        return train, valid

    # -- answering -------------------------------------------------------------------------------

    def _fill(self, codes: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            found = self._answering().fill(*self._tensors(codes)).numpy()
        return np.where(np.isnan(codes), self.features_.decode(found), codes)

    def _draw(self, codes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        return self._draw_by(self._answering(), codes, n, rng)

    def _draw_each(self, codes: np.ndarray, n: int, seed: int) -> np.ndarray:
        net, rows = self._answering(), (row[None] for row in codes)
        drawn = [self._draw_by(net, row, n, np.random.default_rng(seed)) for row in rows]
        return np.concatenate(drawn, axis=1)

    def _draw_by(self, net: Any, codes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        import torch

        generator = torch.Generator().manual_seed(int(rng.integers(2**63 - 1)))
        with torch.inference_mode():
            found = net.draw(*self._tensors(codes), n, generator).numpy()
        decoded = np.stack([self.features_.decode(draw) for draw in found])
        return np.where(np.isnan(codes), decoded, codes)

    def _tensors(self, codes: np.ndarray) -> tuple[Any, Any]:
        import torch

        features, observed = self.features_.encode(codes)
        return torch.as_tensor(features), torch.as_tensor(observed)

    def _answering(self) -> Any:
        """A float64 copy: a row's answer is the same to 1e-7 in any company."""
        return copy.deepcopy(self.net_).double().eval()

    # -- saving ----------------------------------------------------------------------------------

    def __nanwise_state__(self) -> dict[str, Any]:
        # An unfitted imputer may be a parameter of a fitted estimator.
        fitted = hasattr(self, "net_")
        learnt = {k: v for k, v in vars(self).items() if k.endswith("_") and k != "net_"}
        return {
            "params": self.get_params(deep=False) | {"device": None},
            "learnt": learnt,
            "weights": dict(self.net_.state_dict()) if fitted else None,
        }

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Any:
        imputer = cls(**state["params"])
        for name, value in state["learnt"].items():
            setattr(imputer, name, value)
        if state["weights"] is not None:
            imputer.net_ = imputer._build().eval()
            imputer.net_.load_state_dict(state["weights"])
        return imputer


class _Batches:
    """Batches ``(features, observed)`` from arrays in memory."""

    def __init__(self, features: np.ndarray, observed: np.ndarray, precision: str) -> None:
        import torch

        self.features = torch.as_tensor(features, dtype=getattr(torch, precision))
        self.observed = torch.as_tensor(observed)

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        return self.features.index_select(0, index), self.observed.index_select(0, index)
