"""Linear regression through the joint Gaussian of target and features."""

from __future__ import annotations

from typing import Any

from nanwise.registry import method


@method(
    "em_regression",
    kind="predictor",
    role="baseline",
    tasks=("regression",),
    summary="Expectation of the target given what is observed, in a joint Gaussian found by EM.",
    paper="the EM baseline of Le Morvan et al.: NeuMiss networks, NeurIPS 2020",
    when="A target about linear in columns that are about Gaussian, with gaps at random: there it "
    "is nearly the best possible. Where values hide themselves it is misled.",
    space={"shrinkage": [None, 0.0, 0.1]},
    tiny={"max_iter": 20},
)
def em_regression(task: str, random_state: int | None = None, **params: Any) -> Any:
    """:class:`nanwise.EMRegressor`; ``params`` are its own, and nothing in it is random."""
    from nanwise.estimators.gaussian import EMRegressor

    if task != "regression":
        raise ValueError(f"task must be regression, got {task!r}")
    return EMRegressor(**params)
