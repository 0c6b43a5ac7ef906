"""Linear model on zero-filled values and indicators."""

from __future__ import annotations

from typing import Any

from nanwise.registry import method


@method(
    "zero_linear",
    kind="predictor",
    role="baseline",
    summary="A gap is 0, one more column per column says where gaps are, then a linear model.",
    paper="baseline of Le Morvan et al., NeurIPS 2020",
    when="As the thing to beat where a linear model would do if nothing were missing. One "
    "coefficient per gap corrects for its mean, not for what the other columns say about it.",
)
def zero_linear(task: str, random_state: int | None = None) -> Any:
    """Pipeline for ``task``, "classification" or "regression".

    Parameters
    ----------
    task : str
        Least squares without a penalty, or logistic regression on scaled columns.
    random_state : int, optional
        For the solver's sake; the solution does not depend on it.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fill = SimpleImputer(
        strategy="constant", fill_value=0.0, add_indicator=True, keep_empty_features=True
    )
    if task == "classification":
        model = LogisticRegression(max_iter=1000, random_state=random_state)
        return make_pipeline(fill, StandardScaler(), model)
    if task == "regression":
        return make_pipeline(fill, LinearRegression())
    raise ValueError(f"task must be classification or regression, got {task!r}")
