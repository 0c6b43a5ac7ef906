"""Contracts of all registered recommenders, and what else may be asked of them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import nanwise
from nanwise import AutoRec, Biases, Plan, Popularity, Recommender
from nanwise.data.ratings import Ratings, from_csr, synthetic_ratings
from nanwise.errors import GapWarning
from nanwise.registry import Method, known

METHODS = known("recommender")


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """With a user and an item that have no ratings."""
    cells = synthetic_ratings(40, 25, 500, random_state=4).matrix.toarray()
    cells[7], cells[:, 3] = 0, 0
    return from_csr(sparse.csr_array(cells), users=[f"u{k}" for k in range(40)])


def made(found: Method, **settings: object) -> Recommender:
    model = found.make(**found.tiny, random_state=0)
    if "plan" in model.get_params(deep=False):
        settings = {"plan": Plan(epochs=3, batch=None, optimizer="adam")} | settings
    return model.set_params(**settings)


@pytest.fixture(scope="module", params=METHODS, ids=lambda m: m.name)
def fitted(request: pytest.FixtureRequest, ratings: Ratings) -> Recommender:
    return made(request.param).fit(ratings)


# -- contracts -----------------------------------------------------------------------------------


def test_answers_are_finite_on_the_scale_and_the_same_again(
    fitted: Recommender, ratings: Ratings
) -> None:
    users, items = np.repeat(ratings.users, 25), np.tile(ratings.items, 40)
    found = fitted.predict(users, items)
    assert ((found >= ratings.scale.smallest) & (found <= ratings.scale.largest)).all()
    assert np.array_equal(clone(fitted).fit(ratings).predict(users, items), found)
    order = np.random.default_rng(0).permutation(len(users))
    assert np.allclose(fitted.predict(users[order[:50]], items[order[:50]]), found[order[:50]])


def test_saved_and_loaded_answers_are_equal(fitted: Recommender, tmp_path: Path) -> None:
    nanwise.save(fitted, tmp_path / "model")
    back = nanwise.load(tmp_path / "model")
    assert type(back) is type(fitted)
    one, two = back.recommend(n=4), fitted.recommend(n=4)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    person = {0: 4.0, 9: 1.5}
    one, two = back.recommend_for([person, {}], n=4), fitted.recommend_for([person, {}], n=4)
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_what_is_fitted_is_not_changed(fitted: Recommender, ratings: Ratings) -> None:
    before = ratings.matrix.copy()
    clone(fitted).fit(ratings)
    assert np.array_equal(ratings.matrix.toarray(), before.toarray())
    assert fitted.matrix_.nnz == before.nnz


def test_lists_hold_what_has_the_highest_scores(fitted: Recommender, ratings: Ratings) -> None:
    scores = fitted.scores(ratings.users[:6])
    assert scores.shape == (6, 25)
    listed = fitted.recommend(ratings.users[:6], n=25)
    seen = ratings.matrix[:6].toarray() > 0
    rated = ratings.matrix.toarray().any(axis=0)
    place = {user: k for k, user in enumerate(ratings.users[:6])}
    for user, item, score in zip(*(listed[k] for k in ("user", "item", "score")), strict=True):
        assert score == pytest.approx(scores[place[user], item])
    assert len(listed["item"]) == (~seen & rated).sum()


def test_users_and_items_with_a_single_rating_get_answers() -> None:
    """Every user one rating of an item of their own: nothing to learn but the mean."""
    alone = sparse.csr_array(np.diag([1.0, 2, 3, 4, 5]))
    for found in METHODS:
        model = made(found).fit(alone)
        assert np.isfinite(model.predict([0, 1, 9], [1, 1, 1])).all(), found.name
        assert len(model.recommend([2], n=9)["item"]) == 4, found.name


# -- seeing --------------------------------------------------------------------------------------


def test_the_same_ratings_give_the_same_answers(fitted: Recommender, ratings: Ratings) -> None:
    other = fitted.seeing(ratings)
    assert np.array_equal(other.predict_matrix_at(ratings), fitted.predict_matrix_at(ratings))


@pytest.mark.parametrize("by", ["item", "user"])
def test_networks_predict_from_what_they_see_with_the_weights_they_had(
    by: str, ratings: Ratings
) -> None:
    model = AutoRec(by=by, hidden=8, plan=Plan(epochs=3), random_state=0).fit(ratings)
    before = model.predict_matrix_at(ratings)
    half = ratings.matrix.copy()
    half.data[::2] = 0
    half.eliminate_zeros()
    other = model.seeing(half)
    assert other.net_ is model.net_
    assert not np.allclose(other.predict_matrix_at(ratings), before)
    assert np.array_equal(model.predict_matrix_at(ratings), before)
    # known from training, although nothing of it is seen any more
    assert other._warm is model._warm
    as_frame = Ratings(ratings.users, ratings.items, half, ratings.scale).to_frame()
    assert np.array_equal(
        model.seeing(as_frame.sample(frac=1.0, random_state=0)).predict_matrix_at(ratings),
        other.predict_matrix_at(ratings),
    )


def test_lists_leave_out_what_is_seen_now(ratings: Ratings) -> None:
    model = Biases().fit(ratings)
    nothing = model.seeing(sparse.csr_array(ratings.matrix.shape, dtype=np.float32))
    assert len(nothing.recommend(["u0"], n=99)["item"]) == 24


def test_ratings_on_other_axes_cannot_be_seen(ratings: Ratings) -> None:
    model = Biases().fit(ratings)
    with pytest.raises(ValueError, match=r"shape \(40, 24\).*same axes"):
        model.seeing(ratings.matrix[:, 1:])
    with pytest.raises(ValueError, match="no user of the training ratings has the id 'Zoe'"):
        model.seeing(pd.DataFrame({"user": ["Zoe"], "item": [1], "rating": [3.0]}))


# -- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("found", METHODS, ids=lambda m: m.name)
def test_the_default_plan_is_what_fit_uses(found: Method, ratings: Ratings) -> None:
    model = made(found)
    if "plan" not in model.get_params(deep=False):
        assert not hasattr(model, "default_plan")
        return
    plan = model.default_plan(ratings).set_params(epochs=2)
    assert plan is not model.default_plan(ratings)
    plan.validate()
    assert model.set_params(plan=plan).fit(ratings).n_iter_ == 2


def test_settings_are_checked_without_data() -> None:
    Popularity().validate()
    with pytest.raises(ValueError, match="damping"):
        Popularity(damping=-1).validate()
    with pytest.raises(TypeError, match="plan must be a Plan"):
        AutoRec(plan={"epochs": 3}).validate()


# -- ids of another type -------------------------------------------------------------------------


def test_ids_that_became_texts_or_numbers_are_told() -> None:
    frame = pd.DataFrame({"user": [1, 2, 2], "item": ["10", "10", "x"], "rating": [1.0, 5, 3]})
    model = Popularity().fit(frame)
    with pytest.warns(GapWarning, match=r"no user is known: .* int .* such as 1, .* str now.*'1'"):
        model.predict(["1", "b"], ["10", "10"])
    with pytest.warns(GapWarning, match=r"no item is known: .* str .* such as '10', .* int now"):
        model.predict([1, 2], np.array([10, 11]))
    with pytest.warns(GapWarning, match="no user"):
        model.score(frame.assign(user=frame["user"].astype(str)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # one is known, or it would be a stranger in any spelling
        model.predict([1, 77], ["10", "10"])
        model.predict(["new"], ["x"])
        model.predict([], [])
