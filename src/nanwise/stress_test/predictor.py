"""One view of any model: a function from a table to an array of outputs, (N, C)."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.errors import DataError


class Predictor:
    """Any object with ``predict_proba`` or ``predict``, or any callable, as one function.

    Parameters
    ----------
    model : object or callable
        ``predict_proba`` is preferred. A classifier that only knows ``predict`` votes: 1 for its
        class and 0 for the others, so that the mean is the share of rows given that class.
    output : object, optional
        The one output to follow: a class label, or the column of a multi-output answer. Without
        it: the second class of two, otherwise all.

    Attributes
    ----------
    names : list of str
        Names of the outputs, known after the first call.
    task : str
        ``"classification"`` or ``"regression"``, known after the first call.
    classes : list or None
        All class labels of a classifier, also those not followed.
    followed : list of int
        Columns of the answer that are reported.
    """

    def __init__(self, model: Any, output: Any = None):
        self.model = model
        self.name = model_name(model)
        self.output = output
        self.names: list[str] = []
        self.task = ""
        self.classes: list[Any] | None = None
        self.followed: list[int] = []
        self._call, self._votes = _choose(model, self.name)
        # `predict` alone answers with values, even if those of several targets add up to 1.
        self._may_give_probabilities = hasattr(model, "predict_proba") or not hasattr(
            model, "predict"
        )

    def first(self, X: Any, *, gaps: bool) -> np.ndarray:
        """Predict once at full information and learn what the outputs are."""
        answer = self(X, gaps=gaps)
        width = answer.shape[1]
        labels = getattr(self.model, "classes_", None)
        if labels is not None and np.ndim(labels) == 1 and len(labels) == width:
            self.task, self.classes = "classification", list(labels)
        elif width > 1 and self._may_give_probabilities and _are_probabilities(answer):
            self.task, self.classes = "classification", list(range(width))
        else:
            self.task = "regression"
        self._follow(width)
        return answer

    def __call__(self, X: Any, *, gaps: bool) -> np.ndarray:
        """Outputs (N, C) in float64; ``gaps``: whether a failure may be due to gaps in ``X``."""
        try:
            answer = self._call(X)
        except (ValueError, TypeError) as error:
            if not gaps:
                raise
            raise DataError(_no_gaps(self.name, str(error))) from error
        if self._votes:
            answer = np.asarray(answer)[:, None] == np.asarray(self.model.classes_)[None, :]
        answer = self._checked(answer, len(X))
        bad = ~np.isfinite(answer).all(axis=1)
        if bad.any():
            raise DataError(
                _no_gaps(self.name, f"{int(bad.sum())} of {len(bad)} predictions are not finite")
            )
        return answer

    def _checked(self, answer: Any, n_rows: int) -> np.ndarray:
        try:
            answer = np.asarray(answer, dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise DataError(
                f"the predictions of {self.name} are not numbers; stress follows numbers: give a "
                "model with predict_proba, or a callable that returns probabilities or values"
            ) from error
        answer = answer[:, None] if answer.ndim == 1 else answer
        if answer.ndim != 2 or len(answer) != n_rows:
            raise DataError(
                f"{self.name} must answer {n_rows} rows with shape ({n_rows},) or ({n_rows}, k), "
                f"got shape {answer.shape}"
            )
        return answer

    def _follow(self, width: int) -> None:
        labels = self.classes if self.classes is not None else list(range(width))
        if self.output is not None:
            if self.output not in labels:
                raise ValueError(f"output must be one of {labels}, got {self.output!r}")
            self.followed = [labels.index(self.output)]
        elif self.classes is not None and width == 2:
            self.followed = [1]
        else:
            self.followed = list(range(width))
        single = self.classes is None and width == 1
        self.names = ["prediction"] if single else [str(labels[j]) for j in self.followed]


def model_name(model: Any) -> str:
    """What to call the model in messages and reports."""
    own = getattr(model, "__name__", None)
    if own is not None:
        return str(own)
    kind = type(model).__name__
    # What sets our own models apart is one parameter: TableModel's method, NanClassifier's gaps.
    choice = getattr(model, "method", getattr(model, "gaps", None))
    return f"{kind}({choice!r})" if isinstance(choice, str) else kind


def _choose(model: Any, name: str) -> tuple[Any, bool]:
    if hasattr(model, "predict_proba"):
        return model.predict_proba, False
    if hasattr(model, "predict"):
        return model.predict, hasattr(model, "classes_")
    if callable(model):
        return model, False
    raise TypeError(f"{name} has neither predict_proba nor predict and is not callable")


def _are_probabilities(answer: np.ndarray) -> bool:
    return bool((answer >= 0).all() and np.allclose(answer.sum(axis=1), 1, atol=1e-3))


def _no_gaps(name: str, reason: str) -> str:
    line = (reason.strip().splitlines() or ["it gave no reason"])[0]
    return (
        f"{name} cannot predict rows with gaps ({line}). The stress test hides values, so the "
        "model must take NaN: put an imputer before it, for example "
        "make_pipeline(SimpleImputer(), model), or use a model that takes gaps, such as "
        "nanwise.NanClassifier"
    )
