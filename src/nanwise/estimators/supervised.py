"""Classifier and regressor that take NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nanwise.estimators.base import NanNet
from nanwise.estimators.scale import Scaler
from nanwise.estimators.targets import read_labels, read_numbers


class NanClassifier(ClassifierMixin, NanNet):
    """Neural network classifier trained directly on rows with gaps.

    Parameters
    ----------
    gaps : str, Treatment or transformer, default="sparsity_norm"
        What stands between the gaps and the network: the name of a registered treatment
        (``nanwise methods`` lists them), a :class:`~nanwise.Treatment`, or any scikit-learn
        transformer that leaves no gap.
    hidden : tuple of int, default=(256, 256)
        Widths of the hidden layers; ``()`` gives a linear model.
    activation : str, default="relu"
        relu, gelu, tanh, silu, elu or leaky_relu.
    dropout : float, default=0.2
        Share of hidden units dropped in training.
    members : int, default=1
        Number of networks trained side by side on the same batches; predictions are averaged.
    scale : {"standard", "minmax", "symmetric", "quantile", None}, default="standard"
        How columns are scaled before the treatment sees them.
    sparse : {None, "stored"}, default=None
        ``"stored"`` accepts SciPy CSR in which absent cells are missing; nothing is made dense.
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
        members: int = 1,
        scale: str | None = "standard",
        sparse: str | None = None,
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
            members=members,
            scale=scale,
            sparse=sparse,
            plan=plan,
            device=device,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each row."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, shape (n_rows, n_classes), in the order of ``classes_``."""
        out = self._outputs(X)
        if self._n_out() == 1:
            positive = expit(out[..., 0])
            p = np.stack([1 - positive, positive], axis=-1)
        else:
            p = softmax(out, axis=-1)
        return p.mean(axis=0) if p.ndim == 3 else p

    def decision_function(self, X: Any) -> np.ndarray:
        """What the network gives before it is turned into probabilities.

        Returns
        -------
        ndarray
            Two classes: log-odds of the second, shape (n_rows,). More: one number per class, shape
            (n_rows, n_classes), whose softmax is ``predict_proba``. With several members, the same
            of their mean probabilities.
        """
        out = self._outputs(X)
        if out.ndim == 3:
            out = self._pooled(out)
        return out[:, 0] if self._n_out() == 1 else out

    def _pooled(self, out: np.ndarray) -> np.ndarray:
        """Outputs (N, K) of which the probabilities are the mean of those of the members."""
        if self._n_out() > 1:
            return logsumexp(log_softmax(out, axis=-1), axis=0) - np.log(len(out))
        return logsumexp(log_expit(out), axis=0) - logsumexp(log_expit(-out), axis=0)

    def _read_target(self, X: Any, y: Any) -> np.ndarray:
        y = read_labels(y, type(self).__name__)
        check_consistent_length(X, y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._refuse_one_class(codes)
        return codes

    def _refuse_one_class(self, codes: np.ndarray) -> None:
        if len(np.unique(codes)) < 2:
            raise ValueError(
                "the target has only one class in the rows that count: "
                f"{self.classes_[codes[0]]!r}; a classifier needs at least two classes"
            )

    def _row_weight(self, y: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray | None:
        self._refuse_one_class(y)
        if self.class_weight is None:
            return sample_weight
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        if self.class_weight == "balanced":
            totals = np.bincount(y, weight, len(self.classes_))
            per_class = weight.sum() / (len(self.classes_) * np.maximum(totals, 1e-300))
        else:
            per_class = compute_class_weight(
                self.class_weight, classes=self.classes_, y=self.classes_[y]
            )
        return weight * per_class[y]

    def _spread(self, y: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        order = super()._spread(y, rng)
        order = order[np.argsort(y[order], kind="stable")]
        # A class with a single row is learnt from; nothing could be learnt if it were put aside.
        return order[np.bincount(y)[y[order]] > 1]

    def _target_tensor(self, y: np.ndarray) -> Any:
        import torch

        return torch.as_tensor(y, dtype=torch.int64)

    def _n_out(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _loss(self) -> Any:
        from nanwise.nets import losses

        return losses.binary if self._n_out() == 1 else losses.categorical


class NanRegressor(RegressorMixin, NanNet):
    """Neural network regressor trained directly on rows with gaps.

    Several outputs are allowed, and a NaN in a target of several outputs is simply not scored.
    Targets are standardised inside.

    Parameters
    ----------
    gaps : str, Treatment or transformer, default="sparsity_norm"
        What stands between the gaps and the network: the name of a registered treatment
        (``nanwise methods`` lists them), a :class:`~nanwise.Treatment`, or any scikit-learn
        transformer that leaves no gap.
    hidden : tuple of int, default=(256, 256)
        Widths of the hidden layers; ``()`` gives a linear model.
    activation : str, default="relu"
        relu, gelu, tanh, silu, elu or leaky_relu.
    dropout : float, default=0.2
        Share of hidden units dropped in training.
    members : int, default=1
        Number of networks trained side by side on the same batches; predictions are averaged.
    scale : {"standard", "minmax", "symmetric", "quantile", None}, default="standard"
        How columns are scaled before the treatment sees them.
    sparse : {None, "stored"}, default=None
        ``"stored"`` accepts SciPy CSR in which absent cells are missing; nothing is made dense.
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
        members: int = 1,
        scale: str | None = "standard",
        sparse: str | None = None,
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
            members=members,
            scale=scale,
            sparse=sparse,
            plan=plan,
            device=device,
            random_state=random_state,
        )
        self.scale_target = scale_target

    def predict(self, X: Any) -> np.ndarray:
        """Prediction, shape (n_rows,) or (n_rows, n_outputs)."""
        out = self._outputs(X)
        out = out.mean(axis=0) if out.ndim == 3 else out
        y = out * self.y_width_ + self.y_shift_
        return y[:, 0] if self.y_is_flat_ else y

    def _read_target(self, X: Any, y: Any) -> np.ndarray:
        y, self.y_is_flat_ = read_numbers(y, type(self).__name__)
        check_consistent_length(X, y)
        return y

    def _learn_target(self, y: np.ndarray, weight: np.ndarray | None) -> None:
        if self.scale_target:
            scaler = Scaler("standard").fit(y, weight)
            self.y_shift_, self.y_width_ = scaler.shift_, scaler.width_
        else:
            self.y_shift_, self.y_width_ = np.zeros(y.shape[1]), np.ones(y.shape[1])

    def _target_tensor(self, y: np.ndarray) -> Any:
        import torch

        return torch.as_tensor((y - self.y_shift_) / self.y_width_)

    def _n_out(self) -> int:
        return len(self.y_shift_)

    def _loss(self) -> Any:
        from nanwise.nets import losses

        return losses.squared

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
