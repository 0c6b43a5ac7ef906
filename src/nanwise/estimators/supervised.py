"""Classifier and regressor that take NaN."""

from __future__ import annotations

from typing import Any

from nanwise.estimators.nan_net import NanNet
from nanwise.estimators.tasks import NetClassifier, NetRegressor


class NanClassifier(NanNet, NetClassifier):
    """Neural network classifier trained directly on rows with gaps.

    Parameters
    ----------
    gaps : str, Treatment or transformer, default="sparsity_norm"
        What stands between the gaps and the network: the name of a registered treatment
        (``nanwise methods`` lists them), a :class:`~nanwise.Treatment`, or any scikit-learn
        transformer that leaves no gap. Imputers are among these (``gaps="mice"``,
        ``gaps=GaussianImputer()``).
    hidden : tuple of int, default=(256, 256)
        Widths of the hidden layers; ``()`` gives a linear model.
    activation : str, default="relu"
        relu, gelu, tanh, silu, elu or leaky_relu.
    dropout : float, default=0.2
        Share of hidden units dropped in training.
    dropout_kind : {"plain", "sn"}, default="plain"
        ``"plain"`` scales what survives by 1 / (1 - dropout), ``"sn"`` by 1 / (share of the units
        that did survive in the row): sparsity normalisation of the hidden layers.
    members : int, default=1
        Number of networks trained side by side on the same batches; predictions are averaged.
    scale : {"standard", "clipped", "minmax", "symmetric", "quantile", None}, default="standard"
        How columns are scaled before the treatment sees them.
    sparse : {None, "stored"}, default=None
        ``"stored"`` accepts SciPy CSR in which absent cells are missing; nothing is made dense.
    draws : int, default=1
        With an imputer that samples as ``gaps``: the number of random completions of every row. The
        network learns from all of them, and predictions are averaged over them. 1: one completion
        by ``transform``.
    class_weight : dict, "balanced" or None
        Weight of each class in the loss.
    plan : Plan, optional
        Training settings (epochs, batch, lr, patience, ...). None: ``Plan()``.
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
    treatment_ : Treatment
        The fitted treatment.
    net_ : torch Module
        The trained network, treatment layer included.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    classes_ : array
        The classes.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import NanClassifier, Plan
    >>> X = np.array([[0.0, np.nan], [1.0, 2.0], [np.nan, 0.1], [3.0, 2.5]] * 10)
    >>> y = np.array(["no", "yes", "no", "yes"] * 10)
    >>> model = NanClassifier(hidden=(16,), plan=Plan(epochs=60, lr=0.05), random_state=0).fit(X, y)
    >>> [str(label) for label in model.predict([[3.0, np.nan], [np.nan, 0.0]])]
    ['yes', 'no']
    """

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
        class_weight: Any = None,
        plan: Any = None,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            gaps,
            hidden,
            activation=activation,
            dropout=dropout,
            dropout_kind=dropout_kind,
            members=members,
            scale=scale,
            sparse=sparse,
            draws=draws,
            plan=plan,
            device=device,
            random_state=random_state,
        )
        self.class_weight = class_weight


class NanRegressor(NanNet, NetRegressor):
    """Neural network regressor trained directly on rows with gaps.

    Several outputs are allowed, and a NaN in a target of several outputs is simply not scored.
    Targets are standardised inside.

    Parameters
    ----------
    gaps : str, Treatment or transformer, default="sparsity_norm"
        What stands between the gaps and the network: the name of a registered treatment
        (``nanwise methods`` lists them), a :class:`~nanwise.Treatment`, or any scikit-learn
        transformer that leaves no gap. Imputers are among these (``gaps="mice"``,
        ``gaps=GaussianImputer()``).
    hidden : tuple of int, default=(256, 256)
        Widths of the hidden layers; ``()`` gives a linear model.
    activation : str, default="relu"
        relu, gelu, tanh, silu, elu or leaky_relu.
    dropout : float, default=0.2
        Share of hidden units dropped in training.
    dropout_kind : {"plain", "sn"}, default="plain"
        ``"plain"`` scales what survives by 1 / (1 - dropout), ``"sn"`` by 1 / (share of the units
        that did survive in the row): sparsity normalisation of the hidden layers.
    members : int, default=1
        Number of networks trained side by side on the same batches; predictions are averaged.
    scale : {"standard", "clipped", "minmax", "symmetric", "quantile", None}, default="standard"
        How columns are scaled before the treatment sees them.
    sparse : {None, "stored"}, default=None
        ``"stored"`` accepts SciPy CSR in which absent cells are missing; nothing is made dense.
    draws : int, default=1
        With an imputer that samples as ``gaps``: the number of random completions of every row. The
        network learns from all of them, and predictions are averaged over them. 1: one completion
        by ``transform``.
    scale_target : bool, default=True
        Whether the network learns the target at mean 0 and variance 1; predictions come back in
        its own unit either way. False makes it learn the level and the size of the target itself.
    plan : Plan, optional
        Training settings (epochs, batch, lr, patience, ...). None: ``Plan()``.
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
    treatment_ : Treatment
        The fitted treatment.
    net_ : torch Module
        The trained network, treatment layer included.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import NanRegressor, Plan
    >>> X = np.array([[0.0, np.nan], [1.0, 2.0], [np.nan, 0.1], [3.0, 2.5]] * 10)
    >>> y = np.array([0.0, 1.0, 0.0, 3.0] * 10)
    >>> model = NanRegressor(hidden=(16,), plan=Plan(epochs=60, lr=0.05), random_state=0).fit(X, y)
    >>> model.predict(X).shape
    (40,)
    """

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
        scale_target: bool = True,
        plan: Any = None,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            gaps,
            hidden,
            activation=activation,
            dropout=dropout,
            dropout_kind=dropout_kind,
            members=members,
            scale=scale,
            sparse=sparse,
            draws=draws,
            plan=plan,
            device=device,
            random_state=random_state,
        )
        self.scale_target = scale_target
