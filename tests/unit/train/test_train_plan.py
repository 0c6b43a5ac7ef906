from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.base import BaseEstimator, clone

from nanwise.train import Plan


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("epochs", 0, ValueError),
        ("epochs", 1.5, TypeError),
        ("epochs", True, TypeError),
        ("batch", 0, ValueError),
        ("batch", "all", TypeError),
        ("lr", 0.0, ValueError),
        ("lr", float("nan"), ValueError),
        ("lr", float("inf"), ValueError),
        ("lr", "fast", TypeError),
        ("optimizer", "lbfgs", ValueError),
        ("weight_decay", -1e-3, ValueError),
        ("schedule", "linear", ValueError),
        ("validation", 1.0, ValueError),
        ("validation", -0.1, ValueError),
        ("patience", 0, ValueError),
        ("clip", 0, ValueError),
        ("eps", 0.0, ValueError),
        ("eps", None, TypeError),
        ("beta2", 1.0, ValueError),
        ("checkpoint", 3, TypeError),
        ("checkpoint_every", None, TypeError),
    ],
)
def test_a_bad_setting_is_named_when_training_starts(name: str, value: object, error: type) -> None:
    plan = Plan(**{name: value})  # the constructor only stores
    with pytest.raises(error, match=rf"plan\.{name} .*got"):
        plan.validate()


@pytest.mark.parametrize("name", ["batch", "schedule", "validation", "patience", "clip"])
def test_none_is_allowed_where_it_means_something(name: str) -> None:
    Plan(**{name: None}).validate()


def test_defaults_are_valid_and_clone() -> None:
    Plan().validate()
    assert clone(Plan(lr=0.5)).lr == 0.5


def test_a_grid_search_reaches_the_plan() -> None:
    class Holder(BaseEstimator):
        def __init__(self, plan: Plan | None = None) -> None:
            self.plan = plan

    assert Holder(Plan()).set_params(plan__lr=0.25).plan.lr == 0.25


def test_a_plan_needs_no_torch() -> None:
    code = "import sys, nanwise.train; nanwise.train.Plan(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0
