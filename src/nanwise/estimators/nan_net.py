"""Treatment and MLP: what the two estimators with ``gaps=`` share."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from scipy import sparse as sp

from nanwise.estimators.base import NetEstimator
from nanwise.estimators.scale import Scaler
from nanwise.estimators.treatment import Treatment
from nanwise.estimators.wrapped import Wrapped, resolve, unwrapped
from nanwise.missing import observe
from nanwise.train.checks import number, one_of, whole


class NanNet(NetEstimator):
    """Base of :class:`NanClassifier` and :class:`NanRegressor`; not used by itself."""

    def __init__(
        self,
        gaps: Any = "sparsity_norm",
        hidden: tuple[int, ...] = (256, 256),
        *,
        activation: str = "relu",
        dropout: float = 0.2,
        dropout_kind: str = "plain",
        members: int = 1,
        scale: str | None = "standard",
        sparse: str | None = None,
        draws: int = 1,
        plan: Any = None,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.gaps = gaps
        self.hidden = hidden
        self.activation = activation
        self.dropout = dropout
        self.dropout_kind = dropout_kind
        self.members = members
        self.scale = scale
        self.sparse = sparse
        self.draws = draws
        self.plan = plan
        self.device = device
        self.random_state = random_state

    def _check_settings(self) -> None:
        """Refuse what cannot be used before any data is looked at."""
        from nanwise.nets.mlp import ACTIVATIONS, DROPOUTS

        super()._check_settings()
        if isinstance(self.hidden, str) or not isinstance(self.hidden, Collection):
            raise TypeError(
                f"hidden must be a sequence of widths such as (256, 256), got {self.hidden!r}"
            )
        for width in self.hidden:
            whole("each width in hidden", width)
        one_of("activation", self.activation, ACTIVATIONS)
        number("dropout", self.dropout, least=0.0, below=1.0)
        one_of("dropout_kind", self.dropout_kind, DROPOUTS)
        whole("members", self.members)
        one_of("sparse", self.sparse, (None, "stored"))
        whole("draws", self.draws)

    def _train(self, X: Any, y: np.ndarray, weight: np.ndarray | None, seed: int) -> None:
        self.treatment_ = resolve(self.gaps, self.draws, seed)
        super()._train(X, y, weight, seed)

    def _learn_features(self, X: Any, weight: np.ndarray | None) -> Any:
        self.scaler_ = Scaler(self.scale)
        if sp.issparse(X):
            if not self.treatment_.sparse:
                raise ValueError(
                    f"gaps={self.gaps!r} cannot work on sparse rows; use one of the treatments "
                    "that `nanwise methods` marks as sparse, or pass dense rows with NaN"
                )
            self.scaler_.fit_sparse(X, weight)
            counts = np.diff(X.indptr)
            self.treatment_.fit_counts(counts, X.shape[1], weight)
        else:
            self.scaler_.fit(X, weight)
            self.treatment_.fit(*observe(self.scaler_.transform(X)), weight)
        features = self._features(X, alone=False)
        first = features[0] if isinstance(features, list) else features
        self.n_prepared_ = int((first if sp.issparse(first) else first[0]).shape[1])
        return features

    def _features(self, X: Any, alone: bool = True) -> Any:
        """Rows as the network takes them; a list of that, one for each of several draws."""
        if sp.issparse(X):
            return self.scaler_.transform_sparse(X)
        rows = observe(self.scaler_.transform(X))
        if self.draws > 1 and isinstance(self.treatment_, Wrapped):
            return self.treatment_.complete(*rows, alone=alone)
        return self.treatment_.prepare(*rows)

    def _source(self, features: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
        if isinstance(features, list):
            # Every completion of a row is a row to learn from.
            y = np.concatenate([y] * len(features))
            weight = None if weight is None else np.concatenate([weight] * len(features))
            features = tuple(map(np.concatenate, zip(*features, strict=True)))
        if not sp.issparse(features):
            return super()._source(features, y, weight)
        from nanwise.estimators.sources import SparseSource

        return SparseSource(features, self._target_tensor(y), weight, self._plan().precision)

    def _network(self) -> Any:
        from nanwise.nets.table_net import TableNet

        layer: Any = self.treatment_.layer(self.n_prepared_)
        body = self._body(layer.out_features)
        return TableNet(layer, body, self._loss())

    def _body(self, n_in: int) -> Any:
        from nanwise.nets.mlp import MLP

        hidden = tuple(self.hidden)
        return MLP(
            n_in,
            hidden,
            self._n_out(),
            activation=self.activation,
            dropout=self.dropout,
            dropout_kind=self.dropout_kind,
            norm=self.treatment_.norm(hidden[0]) if hidden else None,
            members=self.members,
        )

    @staticmethod
    def _forward(net: Any, features: Any) -> Any:
        import torch

        if isinstance(features, list):
            # Draws are averaged as members are, and with them: the first of three axes.
            outputs = [NetEstimator._forward(net, one) for one in features]
            return torch.cat([out if out.ndim == 3 else out[None] for out in outputs])
        if not sp.issparse(features):
            return NetEstimator._forward(net, features)
        from nanwise.nn.sparse import Rows

        return net(Rows.from_scipy(features, dtype=torch.float64), None)

    def set_params(self, **params: Any) -> Any:
        """As in scikit-learn.

        ``plan__lr=...`` also works while ``plan`` is None, ``gaps__power=...`` while ``gaps`` is
        the name of a treatment or imputer.
        """
        given = params.get("gaps", self.gaps)
        if isinstance(given, str) and any(key.startswith("gaps__") for key in params):
            params["gaps"] = unwrapped(given)
        return super().set_params(**params)

    # -- scikit-learn and saving -----------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.sparse == "stored"
        return tags

    def _check_learnt(self, weights: dict[str, Any]) -> None:
        import torch

        super()._check_learnt(weights)
        if not isinstance(self.treatment_, Treatment):
            raise ValueError("treatment_ is not what its name says")
        layer: Any = self.treatment_.layer(self.n_prepared_)
        n_in = layer.out_features
        with torch.device("meta"):
            expected = {f"body.{k}": v.shape for k, v in self._body(n_in).state_dict().items()}
        if expected != {k: v.shape for k, v in weights.items() if k.startswith("body.")}:
            raise ValueError("the weights do not fit the network that the parameters describe")
