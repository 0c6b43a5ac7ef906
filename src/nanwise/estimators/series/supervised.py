"""Classifier and regressor of series with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.estimators.series.inputs import read_sequences
from nanwise.estimators.series.net import SeriesEstimator
from nanwise.estimators.targets import read_labels, read_numbers
from nanwise.estimators.tasks import NetClassifier, NetRegressor


class NanSeriesClassifier(SeriesEstimator, NetClassifier):
    """Recurrent network trained directly on series with gaps.

    The state of one recurrent layer at the end of each sequence goes into one affine layer. What
    stands in front, ``gaps``, differs; the network is the same for all choices.

    Parameters
    ----------
    gaps : str or SeriesTreatment, default="sparsity_norm"
        ``"sparsity_norm"`` (each time step scaled by its number of values), ``"zero"``, ``"mean"``,
        ``"forward_fill"``, ``"observation_indicator"``, ``"decay"`` (GRU-D), or an object of these
        classes.
    units : int, default=108
        Width of the recurrent state.
    cell : {"lstm", "gru"}, default="lstm"
        Kind of the recurrent layer.
    scale : {"standard", "clipped", "minmax", "symmetric", None}, default="standard"
        How variables are scaled before the treatment sees them, learnt from all values in the
        training sequences. ``"clipped"``: as ``"standard"``, but the lowest and the highest 0.5 %
        of the values of a variable are moved to where the others begin, as slips of the decimal
        point would otherwise widen the standard deviation.
    class_weight : dict, "balanced" or None
        Weight of each class in the loss.
    plan : Plan, optional
        Training settings. None: 30 epochs of Adam at a rate of 1e-3 that falls to 0 (cosine),
        batches of 64, gradients clipped at a norm of 1. ``Plan(validation=0.2, monitor="auroc")``
        stops early on the area under the ROC curve.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"auto"``. None: the CPU.
    random_state : int, RandomState or None
        Seed of everything random in ``fit``.

    Attributes
    ----------
    classes_ : array
        The classes.
    n_features_in_ : int
        Variables per time step.
    n_statics_ : int
        Static features of a sequence.
    feature_names_in_ : ndarray of str
        Names of the variables, if SeriesData or data frames came; later ones must have the same.
    reading_ : dict or None
        How the long table behind the sequences was cut into steps, if that is known.
    scaler_ : Scaler
        Scaling of the variables.
    treatment_ : SeriesTreatment
        The fitted treatment.
    net_ : torch Module
        The trained network, treatment layer included.
    history_ : list of dict
        One entry per epoch: ``epoch``, ``train_loss``, ``valid_loss``, ``lr``, ``seconds``, and
        ``valid_auroc`` if it is watched.
    n_iter_ : int
        Number of epochs.

    Notes
    -----
    Answers are computed in the precision of training, float32 by default; that of a sequence
    depends on its company by rounding only. Time is counted in steps: where steps are not equally
    long, put the time since the last step among the variables.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import NanSeriesClassifier, Plan
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = rng.normal(size=(60, 8, 2)) + y[:, None, None]
    >>> X[rng.random(X.shape) < 0.6] = np.nan
    >>> model = NanSeriesClassifier(units=8, plan=Plan(epochs=20, lr=0.02), random_state=0)
    >>> model.fit(X, y).predict_proba(X).shape
    (60, 2)
    """

    def __init__(
        self,
        gaps: Any = "sparsity_norm",
        units: int = 108,
        *,
        cell: str = "lstm",
        scale: str | None = "standard",
        class_weight: Any = None,
        plan: Any = None,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.gaps = gaps
        self.units = units
        self.cell = cell
        self.scale = scale
        self.class_weight = class_weight
        self.plan = plan
        self.device = device
        self.random_state = random_state

    def predict(self, X: Any, statics: Any = None) -> np.ndarray:
        """Most probable class of each sequence."""
        return super().predict(read_sequences(X, statics))

    def predict_proba(self, X: Any, statics: Any = None) -> np.ndarray:
        """Probability of each class, shape (N, n_classes), in the order of ``classes_``."""
        return super().predict_proba(read_sequences(X, statics))

    def decision_function(self, X: Any, statics: Any = None) -> np.ndarray:
        """Log-odds of the second of two classes (N,), or one number per class (N, n_classes)."""
        return super().decision_function(read_sequences(X, statics))

    def score(self, X: Any, y: Any, sample_weight: Any = None, statics: Any = None) -> float:
        """Share of the sequences whose class is right."""
        return super().score(read_sequences(X, statics), y, sample_weight)

    def _codes(self, y: Any) -> np.ndarray:
        labels = read_labels(y, type(self).__name__)
        strange = np.setdiff1d(labels, self.classes_)
        if len(strange):
            raise ValueError(
                f"the validation target has the class {strange.tolist()[0]!r}, which no training "
                "sequence has"
            )
        return np.searchsorted(self.classes_, labels)


class NanSeriesRegressor(SeriesEstimator, NetRegressor):
    """Recurrent network for numbers, trained directly on series with gaps.

    Several outputs are allowed, and a NaN in a target of several outputs is simply not scored.

    Parameters
    ----------
    gaps : str or SeriesTreatment, default="sparsity_norm"
        As in :class:`NanSeriesClassifier`.
    units : int, default=108
        Width of the recurrent state.
    cell : {"lstm", "gru"}, default="lstm"
        Kind of the recurrent layer.
    scale : {"standard", "clipped", "minmax", "symmetric", None}, default="standard"
        How variables are scaled before the treatment sees them, learnt from all values in the
        training sequences. ``"clipped"``: as ``"standard"``, but the lowest and the highest 0.5 %
        of the values of a variable are moved to where the others begin, as slips of the decimal
        point would otherwise widen the standard deviation.
    scale_target : bool, default=True
        Whether the network learns the target at mean 0 and variance 1; predictions come back in
        its own unit either way.
    plan : Plan, optional
        Training settings; None: as in :class:`NanSeriesClassifier`.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"auto"``. None: the CPU.
    random_state : int, RandomState or None
        Seed of everything random in ``fit``.

    Attributes
    ----------
    n_features_in_, n_statics_ : int
        Variables per time step, static features of a sequence.
    feature_names_in_, reading_
        As in :class:`NanSeriesClassifier`.
    scaler_, treatment_, net_, history_, n_iter_
        As in :class:`NanSeriesClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import NanSeriesRegressor, Plan
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.normal(size=(steps, 2)) for steps in rng.integers(1, 9, 40)]
    >>> y = [float(x[-1, 0]) for x in X]
    >>> model = NanSeriesRegressor("zero", units=8, plan=Plan(epochs=5), random_state=0)
    >>> model.fit(X, y).predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        gaps: Any = "sparsity_norm",
        units: int = 108,
        *,
        cell: str = "lstm",
        scale: str | None = "standard",
        scale_target: bool = True,
        plan: Any = None,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.gaps = gaps
        self.units = units
        self.cell = cell
        self.scale = scale
        self.scale_target = scale_target
        self.plan = plan
        self.device = device
        self.random_state = random_state

    def predict(self, X: Any, statics: Any = None) -> np.ndarray:
        """Prediction, shape (N,) or (N, n_outputs)."""
        return super().predict(read_sequences(X, statics))

    def score(self, X: Any, y: Any, sample_weight: Any = None, statics: Any = None) -> float:
        """Share of the variance that is explained, R²."""
        return super().score(read_sequences(X, statics), y, sample_weight)

    def _check_settings(self) -> None:
        super()._check_settings()
        if self._plan().monitor != "loss":
            raise ValueError("plan.monitor='auroc' is for classes; a regressor watches the loss")

    def _codes(self, y: Any) -> np.ndarray:
        return read_numbers(y, type(self).__name__)[0]
