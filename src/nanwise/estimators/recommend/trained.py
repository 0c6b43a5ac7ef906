"""What recommenders around a network share: validation, training, refitting, weights."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from nanwise.data.ratings import Ratings, split_ratings
from nanwise.estimators.planned import refuse_misfit
from nanwise.estimators.recommend.axes import read
from nanwise.estimators.recommender import Recommender
from nanwise.train.plan import Plan

#: parameters that a checkpoint knows otherwise, or that do not change the result
_NO_SETTING = ("plan", "device", "random_state", "refit", "warm_start", "cold")


class NetRecommender(Recommender):
    """Base of recommenders around a network; not used by itself.

    A subclass stores ``plan``, ``refit``, ``warm_start``, ``device``, ``cold`` and
    ``random_state`` among its parameters and fills in, beside what :class:`Recommender` asks for:

    ``_network(n_users, n_items) -> nn.Module``
        The untrained :class:`nanwise.train.loop.Trainable`, from parameters and what was learnt
        before (``..._``). Drawn under a seed; also called when a model is loaded.
    ``_prepare(train)``
        Learn from the ratings what the network needs to be built (sets ``..._`` attributes).
    ``_start(net, train)``
        Set first weights from the ratings, for example output biases.
    ``_sources(net, train, held, seed) -> (source, source or None)``
        What the loop trains and validates on.
    ``_loop_plan(plan, train, source) -> Plan``
        The plan as the loop gets it.
    ``_sides() -> dict of str to "user" or "item"``
        Which axis runs along the first dimension of which weights; a warm start keeps the weights
        of ids that were there before, wherever they stand now, and gives new ones their mean.
        Other weights are kept whole.

    Attributes
    ----------
    net_ : nn.Module
    history_ : list of dict
        Per epoch ``epoch``, ``train_loss``, ``valid_loss``, ``lr``, ``seconds``; of the first
        training if there were two (``refit``).
    n_iter_ : int
        Epochs in ``history_``.
    best_epoch_ : int
        The epoch whose weights count.
    """

    plan: Any
    refit: Any
    warm_start: Any
    device: Any

    # -- fitting ---------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        if not (self.plan is None or isinstance(self.plan, Plan)):
            raise TypeError(f"plan must be a Plan, as in Plan(epochs=100), got {self.plan!r}")
        if self.plan is not None:
            self.plan.validate()

    def _learn(self, train: Ratings, validation: Ratings | None, seed: int) -> None:
        plan = self._default_plan(train) if self.plan is None else self.plan
        part, held = _split(train, validation, plan.validation, seed)
        before = self._before(train)
        self.net_, self.history_ = self._train(part, held, plan, seed, before)
        self.n_iter_ = len(self.history_)
        self.best_epoch_ = _best_epoch(self.history_)
        if self.refit and part is not train:
            again = clone(plan).set_params(epochs=self.best_epoch_)
            self.net_, _ = self._train(train, None, again, seed, before)

    def _train(
        self, part: Ratings, held: Ratings | None, plan: Plan, seed: int, before: Any
    ) -> tuple[Any, list[dict[str, Any]]]:
        import torch

        from nanwise.train.loop import train

        self._prepare(part)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            net = self._build(plan, *part.matrix.shape)
            self._start(net, part)
        net.settings = sorted(
            (k, repr(v)) for k, v in self.get_params(deep=False).items() if k not in _NO_SETTING
        )
        if before is not None:
            _carry(net, self._sides(), *before)
        source, validation = self._sources(net, part, held, plan, seed)
        plan = self._loop_plan(plan, part, source)
        history = train(net, source, plan, seed=seed, validation=validation, device=self.device)
        return net, history

    def _before(self, train: Ratings) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Weights to start from, and where each id of the new axes stood (-1: nowhere)."""
        if not self.warm_start or not hasattr(self, "net_"):
            return None
        users, items = self._axes
        places = {"user": users.places(train.users), "item": items.places(train.items)}
        return dict(self.net_.state_dict()), places

    def _build(self, plan: Plan | None, n_users: int, n_items: int) -> Any:
        net = self._network(n_users, n_items)
        return net.double() if plan is not None and plan.precision == "float64" else net

    def default_plan(self, R: Any) -> Plan:
        """What ``plan=None`` stands for with these ratings (as in ``fit``): a new Plan."""
        return self._default_plan(read(R))

    def _default_plan(self, train: Ratings) -> Plan:
        """What ``plan=None`` stands for."""
        return Plan()

    def _prepare(self, train: Ratings) -> None:
        """Learn what the network is built from."""

    def _network(self, n_users: int, n_items: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no network")

    def _start(self, net: Any, train: Ratings) -> None:
        """Set first weights from the ratings."""

    def _sources(
        self, net: Any, train: Ratings, held: Ratings | None, plan: Plan, seed: int
    ) -> tuple[Any, Any]:
        raise NotImplementedError(f"{type(self).__name__} has no source of batches")

    def _loop_plan(self, plan: Plan, train: Ratings, source: Any) -> Plan:
        return plan

    def _sides(self) -> dict[str, str]:
        return {}

    def set_params(self, **params: Any) -> Self:
        """As in scikit-learn; ``plan__lr=...`` needs a plan to be set first."""
        nested = any(key.startswith("plan__") for key in params)
        if nested and params.get("plan", self.plan) is None:
            raise ValueError(
                "plan is None: its settings depend on the ratings; pass a Plan to change one"
            )
        return super().set_params(**params)

    # -- saving ----------------------------------------------------------------------------------

    def __nanwise_state__(self) -> dict[str, Any]:
        check_is_fitted(self)
        state = super().__nanwise_state__()
        state["params"] |= {"device": None}
        state["learnt"].pop("net_")
        return state | {"weights": dict(self.net_.state_dict())}

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Self:
        made = super().__from_nanwise_state__(state)
        weights = state["weights"]
        refuse_misfit(lambda: made._network(*made.matrix_.shape), weights)
        made.net_ = made._build(made.plan, *made.matrix_.shape).eval()
        made.net_.load_state_dict(weights)
        return made


def _split(
    train: Ratings, validation: Ratings | None, share: float | None, seed: int
) -> tuple[Ratings, Ratings | None]:
    """Ratings to learn from and ratings to stop on; too few are not split."""
    if validation is not None or not share or round(len(train) * share) < 1 or len(train) < 3:
        return train, validation
    return split_ratings(train, share, random_state=seed)


def _best_epoch(history: list[dict[str, Any]]) -> int:
    losses = [epoch["valid_loss"] for epoch in history]
    return len(losses) if losses[-1] is None else int(np.argmin(losses)) + 1


def _carry(
    net: Any, sides: dict[str, str], weights: dict[str, Any], places: dict[str, np.ndarray]
) -> None:
    """Weights of an earlier training into a network whose axes may be longer or reordered."""
    learnt = {name for name, _ in net.named_parameters()}
    now = net.state_dict()
    for name, value in now.items():
        if name not in learnt and ".running_" not in name:  # such as K, which the ratings decide
            continue
        old = weights.get(name)
        if old is None or (name not in sides and old.shape != value.shape):
            continue
        if name not in sides:
            value.copy_(old)
        elif old.shape[1:] == value.shape[1:]:
            _place(value, old, places[sides[name]])


def _place(value: Any, old: Any, at: np.ndarray) -> None:
    """Rows of known ids; new ones are like the average, which the trained rest can work with."""
    known = at >= 0
    if known.any():
        value[known] = old[at[known]].to(value)
        value[~known] = value[known].mean(dim=0)
