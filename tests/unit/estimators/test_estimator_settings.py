"""Every setting is checked when fitting starts, before any data is looked at."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from nanwise import NanClassifier, NanRegressor, Plan
from nanwise.methods.table.sparsity_norm import SparsityNorm

X = np.random.default_rng(0).normal(size=(40, 3))
X[::5, 1] = np.nan
Y = np.arange(40) % 2
TINY = dict(hidden=(4,), plan=Plan(epochs=2), random_state=0)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("hidden", 8, TypeError),
        ("hidden", None, TypeError),
        ("hidden", "88", TypeError),
        ("hidden", (8.5,), TypeError),
        ("hidden", (8, 0), ValueError),
        ("activation", "rel", ValueError),
        ("activation", ["relu"], ValueError),
        ("dropout", -0.1, ValueError),
        ("dropout", 1.0, ValueError),
        ("dropout", float("nan"), ValueError),
        ("dropout", "0.2", TypeError),
        ("members", 0, ValueError),
        ("members", 2.0, TypeError),
        ("scale", "standrd", ValueError),
        ("sparse", True, ValueError),
        ("plan", {"lr": 0.1}, TypeError),
        ("plan", Plan(lr=-1), ValueError),
        ("device", "gpu", ValueError),
        ("gaps", 3, TypeError),
        ("gaps", "zeroo", ValueError),
    ],
)
@pytest.mark.parametrize("kind_of_model", [NanClassifier, NanRegressor])
def test_what_cannot_be_used_is_named(kind_of_model, name, value, kind):
    model = kind_of_model(**(TINY | {name: value}))
    with pytest.raises(kind, match=r"zeroo" if value == "zeroo" else name):
        model.fit(X, Y)


@pytest.mark.parametrize("hidden", [[4], (4,), np.array([4]), ()])
def test_widths_in_any_sequence(hidden):
    model = NanClassifier(**(TINY | {"hidden": hidden})).fit(X, Y)
    assert model.hidden is hidden
    assert model.predict_proba(X).shape == (40, 2)


def test_a_grid_reaches_the_treatment_by_name_or_object():
    grid = {"gaps__power": [0.0, 0.5]}
    by_name = GridSearchCV(NanClassifier("sparsity_norm", **TINY), grid, cv=2).fit(X, Y)
    by_object = GridSearchCV(NanClassifier(SparsityNorm(), **TINY), grid, cv=2).fit(X, Y)
    for name in ("split0_test_score", "mean_test_score"):
        np.testing.assert_array_equal(by_name.cv_results_[name], by_object.cv_results_[name])
    assert by_name.best_estimator_.gaps.power == by_name.best_params_["gaps__power"]
    both = NanClassifier("zero").set_params(gaps="sparsity_norm", gaps__power=0.25)
    assert both.gaps.power == 0.25
    objects = {"gaps": [SparsityNorm(power=0.5), "zero"]}
    assert GridSearchCV(NanClassifier(**TINY), objects, cv=2).fit(X, Y).best_params_["gaps"]


def test_nested_settings_leave_the_original_alone():
    plan, treatment = Plan(epochs=2), SparsityNorm()
    model = NanClassifier(treatment, hidden=(4,), plan=plan)
    clone(model).set_params(plan__lr=0.5, gaps__power=0.0)
    model.fit(X, Y)
    assert (plan.lr, treatment.power) == (1e-3, 1.0)
    assert not hasattr(treatment, "K_")


def test_pickle_answers_the_same():
    model = NanClassifier(**TINY).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_are_the_logits_of_the_probabilities(members, n_classes):
    y = np.arange(40) % n_classes
    model = NanClassifier(members=members, **TINY).fit(X, y)
    decision, p = model.decision_function(X), model.predict_proba(X)
    if n_classes == 2:
        np.testing.assert_allclose(decision, np.log(p[:, 1] / p[:, 0]), atol=1e-12)
    else:
        odds = np.exp(decision)
        np.testing.assert_allclose(odds / odds.sum(axis=1, keepdims=True), p, atol=1e-12)


def test_an_unscaled_target_has_to_be_found_by_the_network():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.normal(500, 100, 40)
    raw = NanRegressor(scale_target=False, **TINY).fit(x, y)
    # After two small epochs the output is still near the start, far from the level of the target.
    assert abs(raw.predict(x)).max() < 50
    assert abs(NanRegressor(**TINY).fit(x, y).predict(x) - 500).max() < 400


@pytest.mark.parametrize("gaps", ["batch_norm", "layer_norm"])
def test_members_and_norms_go_together(gaps):
    model = NanClassifier(gaps, members=2, **TINY).fit(X, Y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X[3:5]), p[3:5], atol=1e-12)
