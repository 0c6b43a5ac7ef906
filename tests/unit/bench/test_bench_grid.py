"""Which methods a comparison takes: imputers when they are named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nanwise import compare
from nanwise.bench import grid
from nanwise.registry import find, known

IMPUTERS = known("imputer")


def test_imputers_are_compared_when_named_and_not_by_default():
    assert not {m.kind for m in grid.choose(None, "regression")} & {"imputer"}
    named = grid.choose([IMPUTERS[0].name, "zero"], "regression")
    assert [m.name for m in named] == ["zero", IMPUTERS[0].name]
    with pytest.raises(ValueError, match="does not predict"):
        grid.choose(["autorec"], "regression")


def test_settings_of_all_networks_reach_those_behind_imputers():
    given = {"*": {"hidden": (8,), "plan": {"epochs": 2}}}
    name = IMPUTERS[0].name
    assert grid.parameters(find(name), given) == {"hidden": (8,), "plan": {"epochs": 2}}
    own = {**given, name: {"draws": 3, "plan": {"lr": 0.1}}}
    assert grid.parameters(find(name), own)["plan"] == {"epochs": 2, "lr": 0.1}
    assert grid.parameters(find("hist_gradient_boosting"), given) == {}


def test_an_imputer_in_a_comparison():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "y"])
    frame.loc[::3, "a"] = np.nan
    entry = next(m for m in IMPUTERS if "plan" in m.tiny)
    tiny = {f"gaps__{name}": value for name, value in entry.tiny.items() if name != "plan"}
    small = {"*": {"hidden": (4,), "plan": {"epochs": 2}}, entry.name: tiny}
    methods = ["mean", entry.name]
    found = compare(frame, "y", methods=methods, folds=2, params=small, stress=False)
    assert {record.method for record in found.records} == set(methods)
    assert [record.reason for record in found.records] == [""] * 4
