"""Predictions averaged over random completions, and imputers as ``gaps=`` in general."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV

from nanwise import GaussianImputer, NanClassifier, NanRegressor, Plan, TableModel, load, save
from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.net import NetImputer
from nanwise.estimators.wrapped import Wrapped, resolve
from nanwise.missing import observe
from nanwise.registry import known

TINY = dict(hidden=(8,), plan=Plan(epochs=4), random_state=0)


class Noisy(Imputer):
    """Fills by a centre and draws with a width around it; counts on a seed of its own."""

    samples = True

    def __init__(self, width=1.0, kinds=None, random_state=None):
        self.width = width
        self.kinds = kinds
        self.random_state = random_state

    def _learn(self, codes, seed):
        self.seed_ = seed

    def _fill(self, codes):
        return np.where(np.isnan(codes), 0.0, codes)

    def _draw(self, codes, n, rng):
        noise = self.width * rng.normal(size=(n, *codes.shape))
        return np.where(np.isnan(codes), noise, codes)


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[rng.random(X.shape) < 0.3] = np.nan
    return X, y


@pytest.mark.parametrize("imputer", [Noisy(), GaussianImputer()], ids=["own", "gaussian"])
def test_a_row_gets_the_same_answer_in_any_company(imputer):
    X, y = rows()
    model = NanClassifier(gaps=imputer, draws=3, **TINY).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X[7:12]), p[7:12], atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X[::-1])[::-1], p, atol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(X), p)


def test_predictions_are_the_mean_over_completions():
    X, y = rows()
    model = NanClassifier(gaps=Noisy(), draws=4, **TINY).fit(X, y)
    assert model._outputs(X).shape == (4, 60, 1)
    scaled = observe(model.scaler_.transform(X))
    one_by_one = [
        expit(model._forward(model.net_.double().eval(), [part])[0, :, 0].detach().numpy())
        for part in model.treatment_.complete(*scaled)
    ]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], np.mean(one_by_one, axis=0))
    np.testing.assert_allclose(
        expit(model.decision_function(X)), model.predict_proba(X)[:, 1], rtol=1e-9
    )


def test_draws_and_members_go_together():
    X, y = rows()
    model = NanRegressor(gaps=Noisy(), draws=3, members=2, **TINY).fit(X, y)
    assert model._outputs(X).shape == (6, 60, 1)
    assert model.predict(X).shape == (60,)


def test_training_sees_every_completion_with_its_target_and_weight():
    X, y = rows()
    model = NanClassifier(gaps=Noisy(), draws=3, **TINY).fit(X, y)
    features = model._features(X, alone=False)
    source = model._source(features, y, np.arange(60.0))
    assert len(source) == 180
    np.testing.assert_array_equal(source.target.numpy(), np.tile(y, 3))
    np.testing.assert_array_equal(source.weight.numpy(), np.tile(np.arange(60), 3))
    drawn = np.stack([values for values, _ in features])
    gaps = np.isnan(X)
    assert len(np.unique(drawn[:, gaps])) == 3 * gaps.sum()  # no random number twice
    np.testing.assert_allclose(drawn[:, ~gaps], [model.scaler_.transform(X)[~gaps]] * 3)


def test_alone_all_rows_share_their_random_numbers():
    X = np.full((3, 2), np.nan)
    wrapped = Wrapped(Noisy(), draws=2, random_state=5).fit(*observe(np.eye(2)))
    drawn = np.stack([values for values, _ in wrapped.complete(*observe(X))])
    np.testing.assert_array_equal(drawn, drawn[:, [0, 0, 0]])
    assert len(np.unique(drawn[:, 0])) == 4


def test_more_draws_approach_the_expectation():
    X, y = rows()
    many = NanRegressor(gaps=Noisy(width=0.01), draws=2, **TINY).fit(X, y).predict(X)
    one = NanRegressor(gaps=Noisy(width=0.01), **TINY).fit(X, y)
    two = NanRegressor(gaps=Noisy(width=0.0), draws=2, **TINY).fit(X, y)
    assert np.abs(many - two.predict(X)).max() < 0.05
    np.testing.assert_allclose(
        one.treatment_.prepare(*observe(X))[0], two.treatment_.complete(*observe(X))[0][0]
    )


def test_the_seed_of_the_estimator_reaches_the_imputer_unless_it_has_its_own():
    X, y = rows()
    first, second = (NanClassifier(gaps=Noisy(), **TINY).fit(X, y) for _ in range(2))
    assert first.treatment_.transformer_.seed_ == second.treatment_.transformer_.seed_
    own = NanClassifier(gaps=Noisy(random_state=1), **TINY).fit(X, y).treatment_.transformer_
    assert own.seed_ == Noisy(random_state=1).fit(X).seed_ != first.treatment_.transformer_.seed_
    assert Noisy().random_state is None


def test_saved_and_loaded_it_answers_the_same(tmp_path):
    X, y = rows()
    model = NanClassifier(gaps=GaussianImputer(), draws=3, **TINY).fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert (again.draws, clone(model).draws) == (3, 3)


@pytest.mark.parametrize("gaps", ["sparsity_norm", "mean", SimpleImputer(), resolve("knn")])
def test_draws_without_an_imputer_that_samples_are_refused(gaps):
    X, y = rows()
    with pytest.raises(TypeError, match=r"one of .*gaussian.*; got gaps="):
        NanClassifier(gaps=gaps, draws=2).fit(X, y)


@pytest.mark.parametrize(("draws", "error"), [(0, ValueError), (1.5, TypeError)])
def test_draws_is_a_whole_number(draws, error):
    with pytest.raises(error, match="draws"):
        NanClassifier(gaps=GaussianImputer(), draws=draws).fit(*rows())


def test_settings_of_an_imputer_are_searched():
    X, y = rows()
    model = NanClassifier(gaps=Noisy(), draws=2, **TINY)
    search = GridSearchCV(model, {"gaps__width": [0.1, 1.0], "draws": [1, 2]}, cv=2).fit(X, y)
    assert set(search.best_params_) == {"gaps__width", "draws"}


@pytest.mark.parametrize("entry", known("imputer"), ids=lambda m: m.name)
def test_every_imputer_is_a_treatment_with_no_code_of_its_own(entry, tmp_path):
    X, y = rows(40)
    params = {f"gaps__{name}": value for name, value in entry.tiny.items()}
    if issubclass(entry.make, NetImputer):
        params["gaps__plan"] = Plan(epochs=2)
    model = NanClassifier(gaps=entry.name, **TINY).set_params(**params)
    assert type(model.gaps) is entry.make
    model.set_params(draws=2 if entry.make.samples else 1).fit(X, y)
    p = model.predict_proba(X)
    save(model, tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").predict_proba(X), p, atol=1e-12)
    np.testing.assert_allclose(clone(model).fit(X, y).predict_proba(X), p, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X[3:5]), p[3:5], atol=1e-7)
    params.update(hidden=(8,), plan={"epochs": 2})
    if "gaps__plan" in params:
        params["gaps__plan"] = {"epochs": 2}
    table = TableModel(entry.name, "regression", params=params, random_state=0).fit(X, y)
    assert np.isfinite(table.predict(X)).all()


def test_a_name_is_made_fresh():
    assert resolve("mean") is not resolve("mean")
