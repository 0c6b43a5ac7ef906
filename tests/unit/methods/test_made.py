"""The MADE estimator: learning, answers, bad input, files."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import nanwise
from nanwise import MADE, Plan
from nanwise.errors import DataError, ModelFileError
from nanwise.registry import find

PLAN = Plan(epochs=30, batch=50, lr=0.03, optimizer="adam", weight_decay=0.0)
ALL = np.array(list(itertools.product([0, 1], repeat=4)))


def chain(n: int = 600, seed: int = 0) -> np.ndarray:
    """Four columns, each mostly like the one before."""
    rng = np.random.default_rng(seed)
    rows = [rng.random(n) < 0.6]
    for _ in range(3):
        rows.append(np.where(rng.random(n) < 0.9, rows[-1], ~rows[-1]))
    return np.stack(rows, axis=1).astype(int)


def small(**settings) -> MADE:
    return MADE(**{"hidden": (16,), "plan": PLAN, "random_state": 0} | settings)


X = chain()


@pytest.mark.parametrize("order", ["natural", "random"])
@pytest.mark.parametrize(
    "variant",
    [{}, {"normalize": "causal"}, {"normalize": "causal", "normalize_connections": True}],
    ids=str,
)
def test_it_learns_a_distribution(variant, order):
    # of few units, one mask may let hardly any see a single column only
    model = small(hidden=(40,), order=order, n_masks=2, **variant).fit(X)
    p = np.exp(model.log_prob(ALL))
    assert p.sum() == pytest.approx(1, abs=1e-9)
    like = (ALL[:, 1:] == ALL[:, :-1]).sum(1)
    truth = np.where(ALL[:, 0] == 1, 0.6, 0.4) * 0.9**like * 0.1 ** (3 - like)
    assert np.abs(p - truth).sum() / 2 < 0.08  # 600 rows alone leave about 0.04
    share = X.mean(0)
    independent = np.log(np.where(X == 1, share, 1 - share)).sum(1).mean()
    assert model.score(X) > independent + 0.5


def test_drawn_rows_are_like_the_training_rows():
    model = small(normalize="causal", n_masks=2, order="random").fit(X)
    drawn = model.sample(4000, random_state=1)
    assert drawn.dtype == np.uint8
    assert drawn.shape == (4000, 4)
    p = np.exp(model.log_prob(ALL))
    found = np.bincount(drawn @ [8, 4, 2, 1], minlength=16) / 4000
    assert (np.abs(found - p) < 5 * np.sqrt(p * (1 - p) / 4000) + 1e-3).all()
    np.testing.assert_array_equal(drawn, model.sample(4000, random_state=1))
    assert not np.array_equal(drawn, model.sample(4000, random_state=2))


def test_names_of_scikit_learn():
    model = small(plan=Plan(epochs=1)).fit(X)
    np.testing.assert_array_equal(model.score_samples(X), model.log_prob(X))
    assert model.score(X) == pytest.approx(model.log_prob(X).mean())
    assert model.n_features_in_ == 4
    assert clone(model).get_params()["hidden"] == (16,)
    assert find("made").make is MADE
    with pytest.raises(NotFittedError):
        small().log_prob(X)
    with pytest.raises(NotFittedError):
        small().sample()


def test_a_row_does_not_depend_on_its_company_and_a_seed_repeats_a_fit():
    settings = {"n_masks": 3, "order": "random", "normalize": "causal", "plan": Plan(epochs=2)}
    model = small(**settings).fit(X)
    np.testing.assert_allclose(model.log_prob(X[:5]), model.log_prob(X)[:5], rtol=0, atol=1e-12)
    again = small(**settings).fit(X)
    np.testing.assert_array_equal(model.log_prob(X), again.log_prob(X))
    other = small(**settings, random_state=1).fit(X)
    assert not np.allclose(model.log_prob(X), other.log_prob(X))


def test_frames_and_truth_values():
    frame = pd.DataFrame(X.astype(bool), columns=list("abcd"))
    short = {"plan": Plan(epochs=2)}
    model = small(**short).fit(frame)
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(model.log_prob(frame), small(**short).fit(X).log_prob(X))
    with pytest.raises(ValueError, match="feature names"):
        model.log_prob(frame[["b", "a", "c", "d"]])


def test_rows_to_validate_on_are_those_given_or_a_share():
    plan = clone(PLAN).set_params(patience=3)
    given = small(plan=plan).fit(X[:100], validation=chain(seed=5))
    assert all(step["valid_loss"] is not None for step in given.history_)
    best = min(step["valid_loss"] for step in given.history_)
    assert -given.score(chain(seed=5)) == pytest.approx(best, rel=1e-4)
    shared = small(plan=clone(plan).set_params(validation=0.2)).fit(X[:100])
    assert shared.history_[0]["valid_loss"] is not None
    assert small(plan=PLAN).fit(X[:100]).history_[0]["valid_loss"] is None
    assert MADE().set_params(plan__lr=0.5).plan.validation == 0.1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.nan, r"row 2, column 1 is missing; fill the gaps first"),
        (0.5, r"got 0\.5 in row 2, column 1; make rows binary"),
        (np.inf, r"0 and 1 only, got .*inf"),
        (-1, r"0 and 1 only"),
    ],
)
def test_values_other_than_0_and_1_are_named(value, said):
    bad = X[:6].astype(float)
    bad[2, 1] = value
    with pytest.raises(DataError, match=said):
        small().fit(bad)
    with pytest.raises(DataError, match=said):
        small(plan=Plan(epochs=1)).fit(X).log_prob(bad)
    with pytest.raises(DataError, match="column 'b'"):
        small().fit(pd.DataFrame(bad, columns=list("abcd")))


def test_none_is_a_gap():
    with pytest.raises(DataError, match="row 0, column 1 is missing"):
        small().fit([[0, None], [1, 0]])


def test_other_bad_input():
    model = small(plan=Plan(epochs=1)).fit(X)
    with pytest.raises(ValueError, match="4 features"):
        model.log_prob(X[:, :3])
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.log_prob(X[:0])
    with pytest.raises(ValueError, match="2D"):
        small().fit(X[0])
    with pytest.raises(ValueError, match="n must be at least 1"):
        model.sample(0)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hidden": 500}, "sequence of widths"),
        ({"hidden": {500, 200}}, "sequence of widths"),
        ({"normalize_connections": "no"}, "must be True or False, got 'no'"),
        ({"hidden": (0,)}, "each width in hidden must be at least 1"),
        ({"n_masks": 0}, "n_masks must be at least 1"),
        ({"mask_steps": 0}, "mask_steps must be at least 1"),
        ({"order": "reverse"}, "order must be one of"),
        ({"normalize": True}, "normalize must be one of None, 'input', 'causal'"),
        ({"activation": "sine"}, "activation must be one of"),
        ({"plan": 5}, "plan must be a Plan"),
    ],
)
def test_settings_that_cannot_be_used_are_named(settings, said):
    with pytest.raises((TypeError, ValueError), match=said):
        small(**settings).fit(X)


def test_the_published_normalisation_answers_but_is_not_sampled_from():
    model = small(normalize="input", plan=Plan(epochs=2)).fit(X)
    assert np.isfinite(model.log_prob(ALL)).all()
    with pytest.raises(ValueError, match='fit with normalize="causal" or None'):
        model.sample(3)
    # what counts is how it was fitted
    with pytest.raises(ValueError, match='fit with normalize="causal" or None'):
        model.set_params(normalize=None).sample(3)
    model = small(plan=Plan(epochs=1)).fit(X).set_params(n_masks=9, normalize="input")
    assert model.sample(3).shape == (3, 4)


def test_extreme_tables():
    plan = Plan(epochs=2)
    for rows in (np.zeros((3, 2)), np.ones((3, 2)), X[:1], X[:, :1]):
        for normalize in (None, "input", "causal"):
            model = small(plan=plan, normalize=normalize).fit(rows)
            assert np.isfinite(model.log_prob(1 - rows)).all()


@pytest.mark.parametrize("normalize", [None, "input", "causal"])
def test_a_saved_model_answers_the_same(normalize, tmp_path):
    model = small(normalize=normalize, n_masks=2, order="random", plan=Plan(epochs=2)).fit(X)
    nanwise.save(model, tmp_path / "model")
    again = nanwise.load(tmp_path / "model")
    np.testing.assert_array_equal(again.log_prob(X), model.log_prob(X))
    if normalize != "input":
        np.testing.assert_array_equal(again.sample(9, 0), model.sample(9, 0))


def test_a_state_that_does_not_fit_is_refused():
    state = small(plan=Plan(epochs=1)).fit(X).__nanwise_state__()
    wider = {**state, "params": state["params"] | {"hidden": (17,)}}
    with pytest.raises(ValueError, match="do not fit the network"):
        MADE.__from_nanwise_state__(wider)
    state["weights"]["places"] = state["weights"]["places"] * 0
    with pytest.raises(ValueError, match="not an order"):
        MADE.__from_nanwise_state__(state)


def test_a_changed_file_is_refused(tmp_path):
    model = small(plan=Plan(epochs=1)).fit(X)
    model.net_.places[0, 0] = 4
    nanwise.save(model, tmp_path / "model")
    with pytest.raises(ModelFileError, match="not an order"):
        nanwise.load(tmp_path / "model")
