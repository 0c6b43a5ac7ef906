"""Any registered method on a mixed table: the object that ``compare`` ranks and ``fit`` saves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nanwise import registry
from nanwise.estimators.inputs import is_frame, read_features
from nanwise.estimators.targets import read_column
from nanwise.estimators.whole_fit import all_or_nothing

TASKS = ("auto", "classification", "regression")


def make_estimator(method: str, task: str, params: Any = None, random_state: Any = None) -> Any:
    """Estimator of a registered table method.

    ``params`` are the estimator's; ``gaps__NAME`` reaches the treatment or imputer, and ``plan``
    and an imputer's ``gaps__plan`` may be dicts of :class:`~nanwise.Plan` settings.
    """
    found = registry.find(method)
    params = dict(params or {})
    if task not in found.tasks:
        raise ValueError(f"method {method!r} is for {', '.join(found.tasks)}, not for {task}")
    if found.kind == "predictor":
        return found.make(task, random_state=random_state, **params)
    if found.kind not in ("treatment", "imputer"):
        raise ValueError(f"method {method!r} is a {found.kind}, which does not predict a target")
    return _network(found, task, params, random_state)


def _network(found: registry.Method, task: str, params: dict[str, Any], random_state: Any) -> Any:
    from nanwise.estimators.supervised import NanClassifier, NanRegressor
    from nanwise.train.plan import Plan

    own = {k.removeprefix("gaps__"): params.pop(k) for k in [*params] if k.startswith("gaps__")}
    if isinstance(params.get("plan"), dict):
        params["plan"] = Plan(**params["plan"])
    kind = NanClassifier if task == "classification" else NanRegressor
    return kind(gaps=_gaps(found, own), random_state=random_state, **params)


def _gaps(found: registry.Method, own: dict[str, Any]) -> Any:
    from nanwise.estimators.table_imputer import imputer_of

    if not own:
        return found.name
    return imputer_of(found.name, own) if found.kind == "imputer" else found.make(**own)


def _classifies(model: TableModel) -> bool:
    task = getattr(model, "task_", model.task)
    if task == "regression":
        raise AttributeError("a regression model has no predict_proba")
    return True


class TableModel(BaseEstimator):
    """One method of the registry, with everything between a table and its prediction.

    Parameters
    ----------
    method : str, default="sparsity_norm"
        Name of a registered table method.
    task : {"auto", "classification", "regression"}, default="auto"
        ``auto`` decides by the target.
    target : str, optional
        Name of the target; a column of that name is left out of the features.
    params : dict, optional
        Parameters of the method, see :func:`make_estimator`.
    schema : Schema, mapping or path, optional
        Kinds of the columns; what it does not say is inferred.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    estimator_ : the fitted estimator
    schema_ : Schema, or None when fitted on an array
    task_ : str
    classes_ : array, for classification
    history_ : list of dict, empty for methods without epochs
    """

    def __init__(
        self,
        method: str = "sparsity_norm",
        task: str = "auto",
        *,
        target: str | None = None,
        params: Any = None,
        schema: Any = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.task = task
        self.target = target
        self.params = params
        self.schema = schema
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> TableModel:
        """Learn the encoding of the columns and train the method."""
        if self.task not in TASKS:
            raise ValueError(f"task must be one of {TASKS}, got {self.task!r}")
        X, y = self._features_of(X), read_column(y, type(self).__name__)
        matrix = read_features(self, X, reset=True, schema=self._schema_for(X))
        self.schema_ = None if self.encoder_ is None else self.encoder_.schema
        self.task_ = self._decide_task(y)
        self.estimator_ = make_estimator(self.method, self.task_, self.params, self.random_state)
        self.estimator_.fit(matrix, y)
        self.history_ = getattr(self.estimator_, "history_", [])
        if self.task_ == "classification":
            self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predicted class or value of each row."""
        X = self._read(X)
        return self.estimator_.predict(X)

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``."""
        X = self._read(X)
        return self.estimator_.predict_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, or the coefficient of determination for regression."""
        metric = r2_score if self._kind() == "regression" else accuracy_score
        return float(metric(y, self.predict(X), sample_weight=sample_weight))

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        return read_features(self, self._features_of(X), reset=False)

    def _features_of(self, X: Any) -> Any:
        if self.target is not None and is_frame(X) and self.target in X.columns:
            return X[[name for name in X.columns if name != self.target]]
        return X

    def _schema_for(self, X: Any) -> Any:
        if not is_frame(X):
            return None
        from nanwise.data.schema import Schema

        given = self.schema
        if isinstance(given, Schema) and {*X.columns} <= {*given.names, *given.dropped}:
            return given
        return Schema.infer(X, given)

    def _decide_task(self, y: Any) -> str:
        if self.task != "auto":
            return self.task
        from nanwise.data.table import infer_task

        return infer_task(y)

    def _kind(self) -> str:
        return getattr(self, "task_", self.task)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, RegressorTags

        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        if self._kind() == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif self._kind() == "regression":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags
