"""What all estimators around a network share: from rows to a trained network and back."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nanwise.estimators.inputs import read_features, warn_about_gaps
from nanwise.estimators.planned import Planned
from nanwise.estimators.scale import SCALES, Scaler
from nanwise.estimators.targets import read_weight
from nanwise.estimators.whole_fit import all_or_nothing
from nanwise.missing import observe
from nanwise.train.checks import one_of
from nanwise.train.plan import Plan

PREDICT_ROWS = 4096


class NetEstimator(Planned, BaseEstimator):
    """Base of every estimator around a network; not used by itself.

    It reads rows and targets, scales, runs the training loop, answers, and gives and takes its
    state. A subclass stores ``scale``, ``plan``, ``device`` and ``random_state`` among its
    parameters and says what the network is (:meth:`_network`); one of the classes in
    :mod:`nanwise.estimators.tasks` says what the target is.
    """

    #: what ``scale`` may be
    _scales: tuple[str | None, ...] = SCALES

    scale: Any
    plan: Any
    device: Any
    random_state: Any

    # -- fitting ---------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on rows with gaps.

        Parameters
        ----------
        X : array, DataFrame or (``sparse="stored"``) CSR matrix of shape (n_rows, n_features)
            NaN, None, NA and null are gaps.
        y : array of shape (n_rows,) or, for regression, (n_rows, n_outputs)
            The target. In a multi-output target a NaN is simply not scored.
        sample_weight : array of shape (n_rows,), optional
            How much each row counts.

        Returns
        -------
        self
        """
        self._check_settings()
        X = read_features(self, X, reset=True)
        y = self._read_target(X, y)
        X, y, weight = self._weigh(X, y, sample_weight)
        warn_about_gaps(X, getattr(self, "feature_names_in_", None))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._train(X, y, weight, seed)
        return self

    def _check_settings(self) -> None:
        """Refuse what cannot be used before any data is looked at."""
        one_of("scale", self.scale, self._scales)
        self._check_plan()

    def _weigh(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, np.ndarray | None]:
        """Drop rows of weight 0 and bring the weights to a mean of 1 (None: all equal)."""
        if sample_weight is not None:
            sample_weight = read_weight(sample_weight, X.shape[0])
            keep = sample_weight > 0
            X, y, sample_weight = X[keep], y[keep], sample_weight[keep]
        if X.shape[0] < 2:
            raise ValueError("a network needs at least two rows to learn from, got n_samples = 1")
        weight = self._row_weight(y, sample_weight)
        return X, y, None if weight is None else weight / weight.mean()

    def _row_weight(self, y: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray | None:
        """Weight of each row in the loss."""
        return sample_weight

    def _held_weight(self, held: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        """Weight of each row that was given to validate on, beside training rows ``y``."""
        return None

    def _learn_target(self, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Learn from the targets of the training rows what the network needs to know of them."""

    def _train(self, X: Any, y: np.ndarray, weight: np.ndarray | None, seed: int) -> None:
        fit_rows, valid_rows = self._split(y, self._plan().validation, seed)
        self._run(*self._sources(X, y, weight, fit_rows, valid_rows), seed)

    def _run(self, source: Any, validation: Any, seed: int) -> None:
        """Build the network and train it."""
        import torch

        from nanwise.train.loop import train

        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self.net_ = self._build()
        self._start(self.net_, source, seed)
        self.history_ = train(
            self.net_,
            source,
            self._plan_for(len(source)),
            seed=seed,
            validation=validation,
            device=self.device,
            names=self._names(),
        )
        self.n_iter_ = len(self.history_)

    def _split(self, y: np.ndarray, share: float | None, seed: int) -> tuple[Any, Any]:
        """Rows to learn from and rows to validate on; too few rows are not split."""
        n = len(y)
        if not share:
            return np.arange(n), None
        order = self._spread(y, np.random.RandomState(seed))
        n_valid = round(len(order) * share)
        if n_valid < 1 or n - n_valid < 2:
            return np.arange(n), None
        # Every k-th row of an order that goes class by class is a stratified sample.
        places = np.linspace(0, len(order) - 1, n_valid) if n_valid > 1 else len(order) // 2
        valid = order[np.atleast_1d(places).round().astype(int)]
        return np.setdiff1d(np.arange(n), valid), np.sort(valid)

    def _spread(self, y: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Rows that may be put aside for validation, in the order in which they are dealt out."""
        return rng.permutation(len(y))

    def _sources(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, rows: Any, valid: Any
    ) -> tuple[Any, Any]:
        """Learn from the training rows what comes before the network; the loop's two sources."""
        part = None if weight is None else weight[rows]
        features = self._learn_features(X[rows], part)
        self._learn_target(y[rows], part)
        source = self._source(features, y[rows], part)
        if valid is None:
            return source, None
        part = None if weight is None else weight[valid]
        return source, self._source(self._features(X[valid]), y[valid], part)

    def _learn_features(self, X: Any, weight: np.ndarray | None) -> Any:
        """Learn how rows are prepared; the prepared training rows."""
        self.scaler_ = Scaler(self.scale).fit(X, weight)
        return self._features(X)

    def _features(self, X: Any) -> Any:
        """Rows as the network takes them: values and where they are."""
        return observe(self.scaler_.transform(X))

    def _source(self, features: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
        from nanwise.estimators.sources import DenseSource

        values, observed = features
        target = self._target_tensor(y)
        return DenseSource(values, observed, target, weight, self._plan().precision)

    def _build(self) -> Any:
        net = self._network()
        return net.double() if self._plan().precision == "float64" else net

    def _network(self) -> Any:
        """The untrained network: a :class:`nanwise.train.loop.Trainable`."""
        raise NotImplementedError(f"{type(self).__name__} has no network")

    def _start(self, net: Any, source: Any, seed: int) -> None:
        """Called once between building and training: set weights from the training rows.

        ``source`` is what the loop trains on; a dense one has ``values``, ``observed``, ``target``
        and ``weight`` (None: all equal), tensors in the precision of the plan.
        """

    def _plan_for(self, n_rows: int) -> Plan:
        """The plan for that many training rows."""
        return self._plan()

    def _names(self) -> list[str] | None:
        if self.encoder_ is not None:
            return list(self.encoder_.feature_names_)
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    # -- answering -------------------------------------------------------------------------------

    def _outputs(self, X: Any) -> np.ndarray:
        """Raw outputs (N, K), or (M, N, K) with members, from a float64 copy of the network."""
        import torch

        check_is_fitted(self)
        X = read_features(self, X, reset=False)
        # float64: scikit-learn asks that a row's answer is the same to 1e-7 in any company.
        net = copy.deepcopy(self.net_).double().eval()
        with torch.inference_mode():
            parts = [
                self._forward(net, self._features(X[i : i + PREDICT_ROWS]))
                for i in range(0, X.shape[0], PREDICT_ROWS)
            ]
        return torch.cat(parts, dim=-2).numpy()

    @staticmethod
    def _forward(net: Any, features: Any) -> Any:
        import torch

        values, observed = features
        return net(torch.as_tensor(values, dtype=torch.float64), torch.as_tensor(observed))

    # -- scikit-learn and saving -----------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __nanwise_state__(self) -> dict[str, Any]:
        check_is_fitted(self)
        learnt = {k: v for k, v in vars(self).items() if k.endswith("_") and k != "net_"}
        return {
            "params": self.get_params(deep=False) | {"device": None},
            "learnt": learnt,
            "weights": dict(self.net_.state_dict()),
        }

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Any:
        estimator = cls(**state["params"])
        for name, value in state["learnt"].items():
            setattr(estimator, name, value)
        estimator._check_learnt(state["weights"])
        estimator.net_ = estimator._build().eval()
        estimator.net_.load_state_dict(state["weights"])
        return estimator

    def _check_learnt(self, weights: dict[str, Any]) -> None:
        """Refuse a state whose parts do not belong together, before memory is taken for it."""
        if not isinstance(self.scaler_, Scaler):
            raise ValueError("scaler_ is not what its name says")
        if len(getattr(self, "classes_", (0, 1))) < 2:
            raise ValueError("classes_ has fewer than two classes")
