"""NeuMiss networks as estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from nanwise.estimators.base import NetEstimator
from nanwise.estimators.planned import refuse_misfit
from nanwise.estimators.tasks import NetClassifier, NetRegressor
from nanwise.train.checks import one_of
from nanwise.train.plan import Plan

STARTS = ("moments", "random")


class _NeuMissNet(NetEstimator):
    """What classifier and regressor share: the network and where its training starts."""

    depth: int
    residual: bool
    start: str

    def _check_settings(self) -> None:
        from nanwise.nn.neumiss import check_size

        super()._check_settings()
        check_size("depth", self.depth, 0)
        one_of("start", self.start, STARTS)
        if self.start == "moments" and self.depth > 1 and not self.residual:
            raise ValueError(
                f"start='moments' needs residual=True at depth {self.depth}: without the residual "
                "the layers cannot hold the iteration; set residual=True or start='random'"
            )

    def _learn_features(self, X: Any, weight: np.ndarray | None) -> Any:
        features = super()._learn_features(X, weight)
        self.n_prepared_ = int(features[0].shape[1])
        return features

    def _network(self) -> Any:
        from torch import nn

        from nanwise.nets.table_net import TableNet
        from nanwise.nn.neumiss import NeuMiss

        layer = NeuMiss(self.n_prepared_, int(self.depth), self._n_out(), bool(self.residual))
        return TableNet(layer, nn.Identity(), self._loss())

    def _default_plan(self) -> Plan:
        if self.start == "moments":
            return Plan(epochs=20, batch=256, lr=3e-3, weight_decay=None)
        return Plan(epochs=100, batch=64, lr=1e-2, weight_decay=0.0)

    def _plan_for(self, n_rows: int) -> Plan:
        from nanwise.estimators.neumiss_start import decay_for

        plan = self._plan()
        if plan.weight_decay is None and self.start == "moments":
            return clone(plan).set_params(weight_decay=decay_for(self.net_, n_rows))
        return plan

    def _check_learnt(self, weights: dict[str, Any]) -> None:
        super()._check_learnt(weights)
        self._check_settings()
        # before a network of the depth that the file claims is made
        if len(weights) != self.depth + 4:
            raise ValueError("the weights do not fit the network that the parameters describe")
        refuse_misfit(self._network, weights)


class NeuMissRegressor(_NeuMissNet, NetRegressor):
    """Linear model whose gaps are completed by a learnt Neumann iteration.

    The network of Le Morvan et al. (2020), see :class:`nanwise.nn.NeuMiss`: for Gaussian features
    and a linear target it can come close to the best prediction for every pattern of gaps, and it
    learns to under gaps that depend on the missing value itself. Several outputs are allowed, and
    a NaN in a target of several outputs is simply not scored. Targets are standardised inside.

    Parameters
    ----------
    depth : int, default=9
        Number of layers before the mixing one, at least 0.
    residual : bool, default=True
        Whether the centred values are added after every layer, as the Neumann series has it.
    start : {"moments", "random"}, default="moments"
        Weights at the start of training. ``"moments"``: the network is first fitted to the best
        predictions for the mean and covariance of the incomplete rows (EM), see
        ``nanwise/estimators/neumiss_start.py``; needs ``residual`` from depth 2 on. ``"random"``,
        as published.
    scale : {"standard", "clipped", "minmax", "symmetric", "quantile", None}, default="standard"
        How columns are scaled first.
    plan : Plan, optional
        Training settings (epochs, batch, lr, patience, ...). With ``start="moments"`` its
        ``weight_decay`` pulls the matrices to their start, not to 0; a decay of None is 40 times
        the number of parameters per row, at most 300. None: 20 epochs, batches of 256, lr 0.003 and
        a decay of None; from random weights 100 epochs, batches of 64, lr 0.01 and no decay.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"auto"``. None: the CPU.
    random_state : int, RandomState or None
        Seed of everything random in ``fit``.

    Attributes
    ----------
    history_ : list of dict
        One entry per epoch: ``epoch``, ``train_loss``, ``valid_loss``, ``lr``, ``seconds``.
    n_iter_ : int
        Number of epochs.
    encoder_ : Encoder or None
        For a data frame with columns that are not numbers: how they become numbers.
    scaler_ : Scaler
        Scaling of the columns, learnt on the training rows.
    net_ : torch Module
        The trained network; ``net_.layer`` is the :class:`nanwise.nn.NeuMiss`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Le Morvan, Josse, Moreau, Scornet, Varoquaux (2020). NeuMiss networks: differentiable
    programming for supervised learning with missing values. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import NeuMissRegressor
    >>> rng = np.random.default_rng(0)
    >>> common = rng.normal(size=(500, 1))
    >>> X = common + 0.3 * rng.normal(size=(500, 3))
    >>> y = X.sum(axis=1)
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = NeuMissRegressor(depth=3, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    scale_target = True

    def __init__(
        self,
        depth: int = 9,
        *,
        residual: bool = True,
        start: str = "moments",
        scale: str | None = "standard",
        plan: Any = None,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.depth = depth
        self.residual = residual
        self.start = start
        self.scale = scale
        self.plan = plan
        self.device = device
        self.random_state = random_state

    def _start(self, net: Any, source: Any, seed: int) -> None:
        from nanwise.estimators.neumiss_start import start_regression

        if self.start == "moments":
            start_regression(net.layer, source, seed, self.device)


class NeuMissClassifier(_NeuMissNet, NetClassifier):
    """Logistic model whose gaps are completed by a learnt Neumann iteration.

    The network of Le Morvan et al. (2020), see :class:`nanwise.nn.NeuMiss`, with one output for two
    classes and one per class for more.

    Parameters
    ----------
    depth : int, default=9
        Number of layers before the mixing one, at least 0.
    residual : bool, default=True
        Whether the centred values are added after every layer, as the Neumann series has it.
    start : {"moments", "random"}, default="moments"
        Weights at the start of training. ``"moments"``: the network is first fitted to the best
        predictions for the mean and covariance of the incomplete rows (EM), see
        ``nanwise/estimators/neumiss_start.py``; needs ``residual`` from depth 2 on. ``"random"``,
        as published.
    scale : {"standard", "clipped", "minmax", "symmetric", "quantile", None}, default="standard"
        How columns are scaled first.
    class_weight : dict, "balanced" or None
        Weight of each class in the loss.
    plan : Plan, optional
        Training settings (epochs, batch, lr, patience, ...). With ``start="moments"`` its
        ``weight_decay`` pulls the matrices to their start, not to 0; a decay of None is 40 times
        the number of parameters per row, at most 300. None: 20 epochs, batches of 256, lr 0.003 and
        a decay of None; from random weights 100 epochs, batches of 64, lr 0.01 and no decay.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"auto"``. None: the CPU.
    random_state : int, RandomState or None
        Seed of everything random in ``fit``.

    Attributes
    ----------
    history_ : list of dict
        One entry per epoch: ``epoch``, ``train_loss``, ``valid_loss``, ``lr``, ``seconds``.
    n_iter_ : int
        Number of epochs.
    encoder_ : Encoder or None
        For a data frame with columns that are not numbers: how they become numbers.
    scaler_ : Scaler
        Scaling of the columns, learnt on the training rows.
    net_ : torch Module
        The trained network; ``net_.layer`` is the :class:`nanwise.nn.NeuMiss`.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    classes_ : array
        The classes.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import NeuMissClassifier
    >>> X = np.array([[0.0, np.nan], [1.0, 2.0], [np.nan, 0.1], [3.0, 2.5]] * 10)
    >>> y = np.array(["no", "yes", "no", "yes"] * 10)
    >>> model = NeuMissClassifier(depth=2, random_state=0).fit(X, y)
    >>> [str(label) for label in model.predict([[3.0, np.nan], [np.nan, 0.0]])]
    ['yes', 'no']
    """

    def __init__(
        self,
        depth: int = 9,
        *,
        residual: bool = True,
        start: str = "moments",
        scale: str | None = "standard",
        class_weight: Any = None,
        plan: Any = None,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.depth = depth
        self.residual = residual
        self.start = start
        self.scale = scale
        self.class_weight = class_weight
        self.plan = plan
        self.device = device
        self.random_state = random_state

    def _start(self, net: Any, source: Any, seed: int) -> None:
        from nanwise.estimators.neumiss_start import start_classification

        if self.start == "moments":
            start_classification(net.layer, source, seed, self.device)
