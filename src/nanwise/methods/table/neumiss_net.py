"""NeuMiss network: completion by a learnt iteration, and a linear model."""

from __future__ import annotations

from typing import Any

from nanwise.registry import method


@method(
    "neumiss_net",
    kind="predictor",
    summary="Gaps are completed by a learnt Neumann iteration, then a linear or logistic model.",
    paper="Le Morvan, Josse, Moreau, Scornet, Varoquaux: NeuMiss networks: differentiable "
    "programming for supervised learning with missing values, NeurIPS 2020",
    when="Where a linear model would do if nothing were missing: correlated columns, many gaps, "
    "also gaps that depend on the missing value itself. It learns no other curves; the treatment "
    "neumiss does.",
    space={"depth": [1, 3, 5, 9]},
    tiny={"depth": 2, "plan": {"epochs": 10, "lr": 0.01}},
)
def neumiss_net(task: str, random_state: int | None = None, **params: Any) -> Any:
    """Estimator for ``task``, "classification" or "regression".

    Parameters
    ----------
    task : str
    random_state : int, optional
    **params
        Of :class:`~nanwise.NeuMissRegressor` or :class:`~nanwise.NeuMissClassifier`; ``plan`` may
        be a dict of settings.
    """
    from nanwise.estimators.neumiss import NeuMissClassifier, NeuMissRegressor

    kinds = {"classification": NeuMissClassifier, "regression": NeuMissRegressor}
    if task not in kinds:
        raise ValueError(f"task must be one of {', '.join(kinds)}, got {task!r}")
    plan = params.pop("plan", None)
    made = kinds[task](random_state=random_state, **params)
    if isinstance(plan, dict):
        return made.set_params(**{f"plan__{name}": value for name, value in plan.items()})
    return made.set_params(plan=plan)
