"""Linear model on rows completed by chained equations."""

from __future__ import annotations

from typing import Any

from nanwise.registry import method


@method(
    "mice_linear",
    kind="predictor",
    role="baseline",
    summary="scikit-learn's IterativeImputer without the target, then a linear model.",
    paper="baseline of Le Morvan et al., NeurIPS 2020",
    when="As the thing to beat where values are missing at random. Gaps that depend on the missing "
    "value itself mislead it, and a hundred columns take minutes.",
    space={"max_iter": [5, 10]},
    tiny={"max_iter": 2},
)
def mice_linear(task: str, random_state: int | None = None, *, max_iter: int = 10) -> Any:
    """Pipeline for ``task``, "classification" or "regression".

    Parameters
    ----------
    task : str
        Least squares without a penalty, or logistic regression on scaled columns.
    random_state : int, optional
        For the solver's sake; the solution does not depend on it.
    max_iter : int, default=10
        Most rounds of the imputer.
    """
    # scikit-learn shows its iterative imputer only to those who ask for it like this
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fill = IterativeImputer(max_iter=max_iter, random_state=0, keep_empty_features=True)
    if task == "classification":
        model = LogisticRegression(max_iter=1000, random_state=random_state)
        return make_pipeline(fill, StandardScaler(), model)
    if task == "regression":
        return make_pipeline(fill, LinearRegression())
    raise ValueError(f"task must be classification or regression, got {task!r}")
