"""The classical mixture: conditioning against full matrices, and pictures it should learn."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_normal

from nanwise import DMFAImputer, FlowImputer, MFAImputer, Plan
from nanwise.methods.image.mfa import _ROOM

SHAPE = (1, 4, 5)


def pictures(n=300, seed=0):
    """Two sorts of pictures, each of a random brightness; a hole of 2 x 3 anywhere."""
    rng = np.random.default_rng(seed)
    row, column = np.mgrid[:4, :5] / 4
    sort = rng.random(n) < 0.4
    base = np.where(sort[:, None, None], row, column)
    whole = 0.3 + 0.3 * base + 0.1 * rng.normal(size=(n, 1, 1)) + 0.01 * rng.normal(size=base.shape)
    whole = whole.clip(0, 1)[:, None]
    X = whole.copy()
    for i in range(n):
        top, left = rng.integers(3), rng.integers(3)
        X[i, :, top : top + 2, left : left + 3] = np.nan
    return X, whole


@pytest.fixture(scope="module")
def fitted():
    return MFAImputer(2, 1, steps=60, tolerance=1e-5, prior=0.0, random_state=0).fit(pictures()[0])


def by_full_matrices(model, picture):
    """Mean of each pixel given the observed ones."""
    x, there = picture.ravel(), ~np.isnan(picture).ravel()
    logs, answers = [], []
    for k in range(2):
        mean = model.means_[k].ravel()
        a = model.factors_[k].reshape(1, -1)
        cov = a.T @ a + np.diag(model.noise_[k].ravel())
        seen = cov[np.ix_(there, there)]
        gain = cov[:, there] @ np.linalg.inv(seen)
        answers.append(mean + gain @ (x - mean)[there])
        density = multivariate_normal.logpdf(x[there], mean[there], seen)
        logs.append(np.log(model.weights_[k]) + density)
    mixed = softmax(logs) @ np.array(answers)
    return np.where(there, x, mixed).reshape(SHAPE)


def test_holes_get_their_conditional_mean(fitted):
    X, _ = pictures(20, seed=1)
    want = np.stack([by_full_matrices(fitted, picture) for picture in X])
    np.testing.assert_allclose(fitted.transform(X), want, atol=2e-4)


def test_both_sorts_and_their_noise_are_found(fitted):
    X, whole = pictures(200, seed=1)
    hole = np.isnan(X)
    error = (fitted.transform(X) - whole)[hole]
    assert np.sqrt((error**2).mean()) == pytest.approx(0.01, rel=0.3)
    assert np.sort(fitted.weights_) == pytest.approx([0.4, 0.6], abs=0.08)


def test_draws_spread_as_the_truth_does(fitted):
    X, whole = pictures(200, seed=1)
    hole = np.isnan(X)
    drawn = fitted.sample(X, 20, random_state=0)
    off = (drawn - fitted.transform(X))[:, hole]
    truth = (whole - fitted.transform(X))[hole]
    assert off.std() == pytest.approx(truth.std(), rel=0.2)


def test_the_log_density_of_the_truth_is_high(fitted):
    X, whole = pictures(200, seed=1)
    # six pixels of noise 0.01, everything else known: the best there can be
    best = -6 * (np.log(0.01) + 0.5 * np.log(2 * np.pi * np.e))
    assert best - 2 < fitted.score(X, whole) < best + 0.5


def test_the_mixture_of_whole_pictures_can_be_drawn_from(fitted):
    new = fitted.density().sample(3)
    assert new.shape == (3, 1, *SHAPE)
    assert fitted.history_ == sorted(fitted.history_)
    assert fitted.n_iter_ == len(fitted.history_)


def test_few_large_densities_are_asked_for_at_once(fitted):
    assert fitted.at_once == 256
    large = MFAImputer(10, 8)
    large.shape_ = (3, 64, 64)
    assert large.at_once * 10 * 10 * 3 * 64 * 64 <= _ROOM
    large.shape_ = (3, 640, 640)
    assert large.at_once == 1


@pytest.mark.parametrize(
    ("imputer", "word"),
    [
        (MFAImputer(components=0), "components"),
        (MFAImputer(floor=0.0), "floor"),
        (DMFAImputer(net="deep"), "net"),
        (DMFAImputer(hide="circle"), "hide"),
        (DMFAImputer(hide_size=1.5), "hide_size"),
        (DMFAImputer(plan=Plan(lr=-1)), r"plan\.lr"),
        (FlowImputer(draws=0), "draws"),
        (FlowImputer(levels=0), "levels"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(imputer, word):
    with pytest.raises(ValueError, match=word):
        imputer.fit(pictures(5)[0])


def test_a_plan_may_put_pictures_aside_and_be_set_from_outside():
    X, _ = pictures(30)
    model = DMFAImputer(factors=1, width=4, random_state=0)
    model.set_params(plan__epochs=2, plan__validation=0.2)
    assert model.plan.lr == model._default_plan().lr
    model.fit(X)
    assert all(np.isfinite(epoch["valid_loss"]) for epoch in model.history_)
    flow = FlowImputer(2, 4, draws=2, plan=Plan(epochs=1, validation=0.2), random_state=0).fit(X)
    assert np.isfinite(flow.history_[0]["valid_loss"])


def test_double_precision_in_training_gives_single_precision_answers():
    X, _ = pictures(20)
    plan = Plan(epochs=1, batch=10, precision="float64")
    model = DMFAImputer(factors=1, width=4, plan=plan, random_state=0).fit(X)
    assert model.complete(X).means.dtype.is_floating_point
    assert next(model.net_.parameters()).element_size() == 4
