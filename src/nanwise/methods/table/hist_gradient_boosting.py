"""scikit-learn's histogram gradient boosting on raw gaps."""

from __future__ import annotations

from typing import Any

from nanwise.registry import method


@method(
    "hist_gradient_boosting",
    kind="predictor",
    role="rival",
    summary="Boosted trees that send gaps to the better side of each split; no filling at all.",
    paper="scikit-learn, after Ke et al.: LightGBM, NeurIPS 2017",
    when="What one would take instead of a network on a table of moderate width. It needs no "
    "scaling and uses gaps that carry information; it does not extrapolate and takes no "
    "sparse input.",
    space={"learning_rate": [0.1, 0.03], "max_leaf_nodes": [31, 15]},
    tiny={"max_iter": 10},
)
def hist_gradient_boosting(task: str, random_state: int | None = None, **params: Any) -> Any:
    """Boosted trees for ``task``, "classification" or "regression"; params go to scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kinds = {
        "classification": HistGradientBoostingClassifier,
        "regression": HistGradientBoostingRegressor,
    }
    if task not in kinds:
        raise ValueError(f"task must be one of {', '.join(kinds)}, got {task!r}")
    return kinds[task](random_state=random_state, **params)
