from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nanwise
from nanwise import Plan, TableModel
from nanwise.estimators.table_model import make_estimator

PARAMS = dict(hidden=(8,), plan=dict(epochs=5))


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 10, 80), "when": "2024-01-05"})
    frame["sex"] = np.where(rng.random(80) < 0.5, "f", "m")
    frame["smokes"] = rng.random(80) < 0.3
    frame.loc[::5, "age"] = np.nan
    frame.loc[::6, "sex"] = None
    frame["ill"] = np.where(frame["age"].fillna(50) > 50, "yes", "no")
    return frame


@pytest.mark.parametrize("method", ["sparsity_norm", "linear", "hist_gradient_boosting"])
def test_any_method_on_a_mixed_table(table, tmp_path, method):
    params = PARAMS if method == "sparsity_norm" else None
    model = TableModel(method, target="ill", params=params, random_state=0)
    model.fit(table, table["ill"])
    assert model.task_ == "classification"
    assert set(model.classes_) == {"no", "yes"}
    assert [column.name for column in model.schema_.columns] == ["age", "when", "sex", "smokes"]
    p = model.predict_proba(table)
    nanwise.save(model, tmp_path / "model")
    back = nanwise.load(tmp_path / "model")
    assert np.array_equal(back.predict_proba(table.drop(columns="ill")), p)


def test_regression_has_no_probabilities(table):
    model = TableModel("linear", "regression").fit(table[["sex"]], table["age"].fillna(0))
    assert not hasattr(model, "predict_proba")
    assert model.predict(table[["sex"]]).shape == (80,)


def test_missing_column_is_named(table):
    model = TableModel("linear").fit(table[["age", "sex"]], table["ill"])
    with pytest.raises(ValueError, match="sex"):
        model.predict(table[["age"]])


def test_a_row_without_target_is_told(table):
    for y in (table["ill"].where(table["age"].notna(), None), table["age"]):
        with pytest.raises(ValueError, match=r"16 of 80 rows have no target, first row 0"):
            TableModel("linear").fit(table[["sex"]], y)


def test_parameters_reach_treatment_and_plan():
    made = make_estimator("sparsity_norm", "regression", {"gaps__power": 0.5, "plan": {"lr": 0.1}})
    assert made.gaps.power == 0.5
    assert made.plan.lr == 0.1
    assert isinstance(made.plan, Plan)
    with pytest.raises(ValueError, match="did you mean"):
        make_estimator("linea", "regression")
    with pytest.raises(ValueError, match="task must be"):
        TableModel("linear", "clustering").fit(np.eye(3), [0, 1, 0])
