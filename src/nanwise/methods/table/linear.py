"""Linear model on mean-filled values and indicators."""

from __future__ import annotations

from typing import Any

from nanwise.registry import method


@method(
    "linear",
    kind="predictor",
    role="rival",
    summary="Mean filling, missingness indicators, scaling, then logistic or ridge regression.",
    paper="scikit-learn",
    when="With few rows, or where the effect of each column is close to linear. If it is not "
    "beaten, nothing larger is needed.",
    space={"strength": [0.1, 1.0, 10.0]},
)
def linear(task: str, random_state: int | None = None, *, strength: float = 1.0) -> Any:
    """Pipeline for ``task``, "classification" or "regression".

    Parameters
    ----------
    task : str
    random_state : int, optional
        For the solver's sake; the solution does not depend on it.
    strength : float, default=1.0
        Strength of the ridge penalty: ``alpha`` of ``Ridge``, ``1 / C`` of ``LogisticRegression``.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if task == "classification":
        model = LogisticRegression(C=1 / strength, max_iter=1000, random_state=random_state)
    elif task == "regression":
        model = Ridge(alpha=strength, random_state=random_state)
    else:
        raise ValueError(f"task must be classification or regression, got {task!r}")
    fill = SimpleImputer(strategy="mean", add_indicator=True, keep_empty_features=True)
    return make_pipeline(fill, StandardScaler(), model)
