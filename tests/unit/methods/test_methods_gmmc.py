"""Treatments with generalised neurons: start, training, saving, settings."""

import numpy as np
import pytest

import nanwise
from nanwise import NanClassifier, NanRegressor, Plan
from nanwise.gaussian.mixture import fit_mixture
from nanwise.missing import observe
from nanwise.registry import find

NAMES = ["gmmc", "gmmc_rbf"]


def rings(n=400, gaps=0.15, seed=0):
    """Inside or outside of a circle: no linear model tells the classes apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4).astype(int)
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y


def network(name, **settings):
    usual = {"hidden": (16,), "plan": Plan(epochs=30, lr=5e-3, batch=64), "random_state": 0}
    return NanClassifier(gaps=find(name).make(units=32, components=2), **usual | settings)


@pytest.mark.parametrize("name", NAMES)
def test_training_starts_from_the_mixture_of_the_rows(name):
    rows = observe(rings()[0])
    fitted = find(name).make(units=5, components=2).fit(*rows)
    expected = fit_mixture(*rows, components=2).parameters
    np.testing.assert_array_equal(fitted.means_, expected.means)
    mixture = fitted.layer(3).mixture
    np.testing.assert_allclose(mixture.means.detach(), expected.means, rtol=1e-6)
    np.testing.assert_allclose(mixture.variances.detach(), expected.variances, rtol=1e-6)
    np.testing.assert_allclose(mixture.logits.softmax(0).detach(), expected.weights, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_and_the_mixture_with_it(name):
    X, y = rings()
    model = network(name).fit(X, y)
    assert model.score(*rings(seed=1)) > 0.7
    start, end = model.treatment_.means_, model.net_.layer.mixture.means.detach().numpy()
    assert np.abs(end - start).max() > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_rows_without_gaps_leave_the_mixture_where_it_starts(name):
    X, y = rings(gaps=0.0)
    model = network(name, plan=Plan(epochs=2)).fit(X, y)
    mixture = model.net_.layer.mixture
    np.testing.assert_allclose(mixture.means.detach(), model.treatment_.means_, rtol=1e-6)
    np.testing.assert_allclose(mixture.gamma.item(), 1.0)
    gappy = X.copy()
    gappy[::2, 1] = np.nan
    assert np.isfinite(model.predict_proba(gappy)).all()


@pytest.mark.parametrize("name", NAMES)
def test_validation_rows_do_not_reach_the_mixture(name):
    X, y = rings(n=100)
    plan = Plan(epochs=1, validation=0.3)
    model = network(name, plan=plan, scale=None)
    _, valid = model._split(y, 0.3, int(np.random.RandomState(0).randint(2**31 - 1)))
    first = model.fit(X, y).treatment_.means_
    X[valid] = 100.0
    np.testing.assert_array_equal(model.fit(X, y).treatment_.means_, first)


@pytest.mark.parametrize("name", NAMES)
def test_random_state_decides_the_first_weights(name):
    X, y = rings(n=60)
    answers = [
        network(name, plan=Plan(epochs=1), random_state=seed).fit(X, y).predict_proba(X)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(answers[0], answers[1])
    assert np.abs(answers[0] - answers[2]).max() > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_it_is_saved(name, tmp_path):
    X, y = rings(n=60)
    model = NanRegressor(gaps=name, hidden=(8,), plan=Plan(epochs=1), random_state=0).fit(X, y)
    nanwise.save(model, tmp_path / "model")
    np.testing.assert_array_equal(nanwise.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"units": 0}, "units must be at least 1"),
        ({"units": 2.5}, "units must be a whole number"),
        ({"units": 10**9}, "units must be at most"),
        ({"components": 0}, "components must be at least 1"),
        ({"gamma": -0.1}, "gamma must be at least 0"),
    ],
)
def test_bad_settings_are_refused(name, settings, match):
    rows = observe(rings(n=20)[0])
    with pytest.raises((TypeError, ValueError), match=match):
        find(name).make(**settings).fit(*rows)
    # what a file says about a fitted treatment is checked before memory is taken for it
    fitted = find(name).make().fit(*rows).set_params(**settings)
    with pytest.raises((TypeError, ValueError), match=match):
        fitted.layer(3)
