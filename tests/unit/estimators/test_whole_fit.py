"""A fit that fails leaves the estimator as it was: fitted on the old data, or unfitted."""

import inspect

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from nanwise import (
    EMRegressor,
    NanClassifier,
    NanImageClassifier,
    NanRegressor,
    NanSeriesClassifier,
    NanSeriesRegressor,
    Plan,
)
from nanwise.data.ratings import synthetic_ratings
from nanwise.estimators.whole_fit import all_or_nothing
from nanwise.registry import find
from nanwise.train.loop import train

PLAN = Plan(epochs=1, batch=16)
NET = {"plan": PLAN, "random_state": 0}


def pictures(n, side, classes, seed):
    draw = np.random.default_rng(seed)
    x = draw.random((n, 1, side, side))
    x[draw.random(x.shape) < 0.2] = np.nan
    return x, np.arange(n) % classes


def series(n, width, classes, seed):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n, 5, width))
    x[draw.random(x.shape) < 0.2] = np.nan
    return x, np.arange(n) % classes


def rows(n, width, classes, seed):
    x, y = series(n, width, classes, seed)
    return x[:, 0], y


def made(key):
    entry = find(key)
    return entry.make(**entry.tiny, random_state=0)


#: how to make it, its data, how it answers
CASES = {
    "NanImageClassifier": (
        lambda: NanImageClassifier("zero", width=2, **NET),
        pictures,
        "predict_proba",
    ),
    "NanImageClassifier, knn": (
        lambda: NanImageClassifier("knn", width=2, **NET),
        pictures,
        "predict_proba",
    ),
    "dmfa": (lambda: made("image/dmfa"), pictures, "transform"),
    "flow": (lambda: made("image/flow"), pictures, "transform"),
    "wae": (lambda: made("image/wae"), pictures, "transform"),
    "NanSeriesClassifier": (
        lambda: NanSeriesClassifier("mean", 3, **NET),
        series,
        "predict_proba",
    ),
    "NanSeriesRegressor": (lambda: NanSeriesRegressor("decay", 3, **NET), series, "predict"),
    "NanClassifier": (lambda: NanClassifier("mean", (4,), **NET), rows, "predict_proba"),
    "NanRegressor": (lambda: NanRegressor("mean", (4,), **NET), rows, "predict"),
    "gain": (lambda: made("gain"), rows, "transform"),
}
each = pytest.mark.parametrize(("make", "data", "answer"), CASES.values(), ids=CASES)


@pytest.fixture
def interrupted(monkeypatch):
    """From here on a user interrupts every training."""

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("nanwise.train.loop.train", interrupt)


@each
def test_an_interrupted_refit_leaves_the_old_model(make, data, answer, request):
    x, y = data(30, 8, 2, seed=0)
    model = make().fit(x, y)
    before, kept = getattr(model, answer)(x), dict(vars(model))
    request.getfixturevalue("interrupted")
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data(24, 9, 3, seed=1))
    assert vars(model) == kept
    np.testing.assert_array_equal(getattr(model, answer)(x), before)


@each
@pytest.mark.usefixtures("interrupted")
def test_an_interrupted_first_fit_leaves_it_unfitted(make, data, answer):
    x, y = data(30, 8, 2, seed=0)
    model = make()
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        getattr(model, answer)(x)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (NanImageClassifier("zero", width=2, **NET), pictures),
        (NanSeriesClassifier("zero", 3, **NET), series),
        (NanClassifier("zero", (4,), **NET), rows),
    ],
    ids=["pictures", "series", "rows"],
)
def test_bad_data_leave_the_old_model(model, data):
    x, y = data(30, 8, 2, seed=0)
    before = model.fit(x, y).predict_proba(x)
    strange, _ = data(24, 9, 2, seed=1)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(strange, np.full(24, "one"))
    np.testing.assert_array_equal(model.predict_proba(x), before)
    assert model.classes_.tolist() == [0, 1]


def test_moments_too():
    x, y = rows(30, 4, 2, seed=0)
    model = EMRegressor().fit(x, y)
    before = model.predict(x)
    with pytest.raises(ValueError, match="weight"):
        model.fit(x[:, :3], y, sample_weight=-np.ones(30))
    np.testing.assert_array_equal(model.predict(x), before)


def test_a_recommender_interrupted_between_training_and_refit(monkeypatch):
    first, other = (synthetic_ratings(n, 10, 6 * n, random_state=0) for n in (30, 20))
    plan = Plan(epochs=1, validation=0.2)
    model = made("autorec").set_params(plan=plan, refit=True).fit(first)
    before = model.predict(first.users, first.items[:1].repeat(30))
    parts = iter([train])

    def once(*args, **kwargs):
        for real in parts:
            return real(*args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr("nanwise.train.loop.train", once)
    with pytest.raises(KeyboardInterrupt):
        model.fit(other)
    np.testing.assert_array_equal(model.predict(first.users, first.items[:1].repeat(30)), before)


def test_the_signature_of_fit_stays_and_what_it_gives_back():
    assert list(inspect.signature(NanClassifier.fit).parameters) == [
        "self",
        "X",
        "y",
        "sample_weight",
    ]
    assert NanClassifier.fit.__doc__.startswith("Train on rows")

    class Kept:
        @all_or_nothing
        def fit(self, value):
            self.value_ = value
            if value < 0:
                del self.value_
                self.other_ = 1
                raise ValueError("negative")
            return self

    kept = Kept().fit(3)
    with pytest.raises(ValueError, match="negative"):
        kept.fit(-1)
    assert vars(kept) == {"value_": 3}
