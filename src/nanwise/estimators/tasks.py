"""What a network is trained for: classes or numbers, from the target and back to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nanwise.estimators.base import NetEstimator
from nanwise.estimators.scale import Scaler
from nanwise.estimators.targets import read_labels, read_numbers


class NetClassifier(ClassifierMixin, NetEstimator):
    """Base of the classifiers; a subclass has the parameter ``class_weight``."""

    class_weight: Any

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
            only = self.classes_[codes[:1]].tolist()[0]
            raise ValueError(
                f"the target has only one class in the rows that count: {only!r}; a classifier "
                "needs at least two classes"
            )

    def _row_weight(self, y: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray | None:
        self._refuse_one_class(y)
        if self.class_weight is None:
            return sample_weight
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        return weight * self._per_class(y, weight)[y]

    def _per_class(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Weight of each class, from rows and their weights."""
        if self.class_weight == "balanced":
            totals = np.bincount(y, weight, len(self.classes_))
            return weight.sum() / (len(self.classes_) * np.maximum(totals, 1e-300))
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[y])
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(
                "class_weight must hold finite numbers, none below 0 and one above it; got "
                f"{self.class_weight!r}"
            )
        return weights

    def _held_weight(self, held: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        """Classes count as in training, whatever their shares here."""
        if self.class_weight is None:
            return None
        per_class = self._per_class(y, np.ones(len(y)))
        return per_class[held] / per_class[y].mean()

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


class NetRegressor(RegressorMixin, NetEstimator):
    """Base of the regressors; a subclass has the parameter ``scale_target``."""

    scale_target: bool

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
