"""The interface that all recommenders share, on the baselines, and its bad inputs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import nanwise
from nanwise import Biases, Popularity
from nanwise.data.ratings import Ratings, from_csr, split_ratings, synthetic_ratings
from nanwise.errors import DataError
from nanwise.estimators.recommend import axes, top

USERS = ["Ann", "Bo, Jr.", "Çelik", "new"]
ITEMS = ["m1", "m2", "m3", "unrated"]
CELLS = np.array([[5, 3, 0, 0], [4, 0, 2, 0], [0, 1, 1, 0], [0, 0, 0, 0]], dtype=float)


def small() -> Ratings:
    return from_csr(sparse.csr_array(CELLS), users=USERS, items=ITEMS)


@pytest.fixture(scope="module")
def made() -> Ratings:
    return synthetic_ratings(120, 60, 2400, random_state=3)


# -- baselines by hand ---------------------------------------------------------------------------


def test_popularity_is_the_damped_mean_and_the_count() -> None:
    model = Popularity(damping=2.0).fit(small())
    mean = (5 + 3 + 4 + 2 + 1 + 1) / 6
    assert model.predict(["Çelik"], ["m1"]) == pytest.approx((5 + 4 + 2 * mean) / 4)
    listed = model.recommend(["Ann"], n=3, exclude_seen=False)
    assert listed["score"].tolist() == [2, 2, 2]
    assert listed["item"].tolist() == ["m1", "m2", "m3"]


def test_biases_solve_the_ridge_regression(made: Ratings) -> None:
    model = Biases(user_penalty=3.0, item_penalty=7.0).fit(made)
    rows, columns = made.rows, made.matrix.indices
    n, (n_users, n_items) = len(made), made.matrix.shape
    design = np.zeros((n, n_users + n_items))
    design[np.arange(n), rows] = 1
    design[np.arange(n), n_users + columns] = 1
    penalty = np.diag(np.repeat([3.0, 7.0], [n_users, n_items]))
    target = made.matrix.data - made.matrix.data.mean(dtype=np.float64)
    exact = np.linalg.solve(design.T @ design + penalty, design.T @ target)
    assert np.allclose(np.concatenate([model.user_effect_, model.item_effect_]), exact, atol=1e-4)


def test_biases_of_a_new_person_are_those_of_the_formula() -> None:
    model = Biases(user_penalty=1.0).fit(small())
    found = model.recommend_for({"m1": 5.0}, n=5)
    effect = (5 - model.center_ - model.item_effect_[0]) / 2
    assert set(found["item"]) == {"m2", "m3"}
    for item, score in zip(found["item"], found["score"], strict=True):
        place = ITEMS.index(item)
        assert score == pytest.approx(model.center_ + effect + model.item_effect_[place])


# -- predictions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("cold", "expected"), [("mean", 16 / 6), (3.0, 3.0), (9.0, 5.0)])
def test_cold_and_unknown_ids_get_the_prior(cold: object, expected: float) -> None:
    model = Popularity(cold=cold).fit(small())
    users = ["new", "Ann", "nobody", "Ann", "nobody"]
    items = ["m1", "unrated", "m1", "nothing", "nothing"]
    assert model.predict(users, items) == pytest.approx([expected] * 5)


def test_biases_add_the_effect_that_is_known() -> None:
    model = Biases().fit(small())
    known = model.center_ + model.item_effect_[0]
    assert model.predict(["new", "nobody"], ["m1", "m1"]) == pytest.approx([known, known])
    assert model.predict(["nobody"], ["nothing"]) == pytest.approx([model.center_])


def test_predictions_stay_on_the_scale() -> None:
    ratings = from_csr(sparse.csr_array(np.array([[5.0, 5, 1], [5, 0, 1], [5, 5, 0]])))
    model = Biases(user_penalty=1e-6, item_penalty=1e-6).fit(ratings)
    everyone = model.predict([0, 1, 2] * 3, [0] * 3 + [1] * 3 + [2] * 3)
    assert everyone.min() >= 1
    assert everyone.max() <= 5


def test_cells_of_a_matrix_are_answered_in_its_order(made: Ratings) -> None:
    model = Biases().fit(made)
    cells = made.matrix[:, ::-1].tocsr()[:, ::-1].tocsr()
    pairs = model.predict(made.users[made.rows], made.items[made.matrix.indices])
    assert np.array_equal(model.predict_matrix_at(made), pairs)
    assert np.array_equal(model.predict_matrix_at(cells), pairs)
    with pytest.raises(ValueError, match="same axes"):
        model.predict_matrix_at(made.matrix[:5])


def test_score_is_minus_rmse_on_any_axes(made: Ratings) -> None:
    train, test = split_ratings(made, 0.2, random_state=0)
    model = Biases().fit(train)
    error = model.predict_matrix_at(test) - test.matrix.data
    assert model.score(test) == pytest.approx(-np.sqrt(np.mean(error**2)))
    shuffled = test.to_frame().sample(frac=1.0, random_state=1)
    assert model.score(shuffled) == pytest.approx(model.score(test), rel=1e-6)


def test_frames_matrices_and_ratings_give_the_same_model(made: Ratings) -> None:
    one = Biases().fit(made)
    frame = Biases().fit(made.to_frame())
    matrix = Biases().fit(made.matrix)
    users, items = made.users[[0, 5, 7]], made.items[[1, 2, 3]]
    assert frame.predict(users, items) == pytest.approx(one.predict(users, items))
    assert matrix.predict([0, 5, 7], [1, 2, 3]) == pytest.approx(one.predict(users, items))


# -- lists -----------------------------------------------------------------------------------------


def test_lists_leave_out_seen_and_unrated_items(made: Ratings) -> None:
    model = Biases().fit(made)
    frame = pd.DataFrame(model.recommend(n=5))
    seen = set(map(tuple, made.to_frame()[["user", "item"]].itertuples(index=False)))
    assert len(frame) == 5 * len(made.users)
    assert not seen & set(zip(frame["user"], frame["item"], strict=True))
    assert (frame.groupby("user")["score"].diff().dropna() <= 0).all()
    assert frame["rank"].tolist() == [1, 2, 3, 4, 5] * len(made.users)
    everything = Popularity().fit(small()).recommend(["Ann"], n=10, exclude_seen=False)
    assert everything["item"].tolist() == ["m1", "m2", "m3"]


def test_a_list_ends_where_items_end() -> None:
    found = Popularity().fit(small()).recommend(["Ann", "new"], n=10)
    assert found["user"].tolist() == ["Ann", "new", "new", "new"]
    assert found["item"].tolist() == ["m3", "m1", "m2", "m3"]


def test_chunks_do_not_change_lists(made: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Biases().fit(made)
    whole = model.recommend(n=4)
    monkeypatch.setattr("nanwise.estimators.recommender.CHUNK_CELLS", 7 * len(made.items))
    cut = model.recommend(n=4)
    assert all(np.array_equal(whole[name], cut[name]) for name in whole)


def test_nobody_asked_for_is_an_empty_table() -> None:
    model = Popularity().fit(small())
    for found in (model.recommend([]), model.recommend_for([]), model.similar_items([])):
        assert [len(column) for column in found.values()] == [0, 0, 0, 0]


def test_similar_items_by_their_ratings() -> None:
    cells = np.array([[5, 5, 1], [4, 4, 2], [1, 1, 5], [2, 2, 4.0]])
    found = Popularity().fit(from_csr(sparse.csr_array(cells))).similar_items([0], n=2)
    assert found["similar"].tolist() == [1, 2]
    assert found["score"] == pytest.approx([1.0, -1.0])


def test_best_prefers_the_left_of_equals() -> None:
    scores = np.array([[1.0, 3, 3, 3], [-np.inf, -np.inf, 2, -np.inf]])
    rows, columns, ranks = top.best(scores, 2)
    assert rows.tolist() == [0, 0, 1]
    assert columns.tolist() == [1, 2, 2]
    assert ranks.tolist() == [1, 2, 1]


# -- saving, copying -------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [Popularity(), Biases()], ids=lambda m: type(m).__name__)
def test_saved_and_loaded_answers_are_equal(model: object, tmp_path: object) -> None:
    model.fit(small())
    nanwise.save(model, tmp_path / "model")
    back = nanwise.load(tmp_path / "model")
    assert type(back) is type(model)
    assert back.scale_ == model.scale_
    users, items = [u for u in USERS for _ in ITEMS], ITEMS * len(USERS)
    assert np.array_equal(back.predict(users, items), model.predict(users, items))
    assert back.recommend()["item"].tolist() == model.recommend()["item"].tolist()


def test_a_second_fit_forgets_the_first() -> None:
    model = Popularity().fit(small())
    model.recommend(["Ann"])
    model.fit(from_csr(sparse.csr_array(CELLS[:3, :3])))
    assert model.recommend([0], n=1)["item"].tolist() == [2]


# -- bad input -------------------------------------------------------------------------------------


def test_bad_ratings_say_what_to_hand_over() -> None:
    with pytest.raises(TypeError, match="frame with the columns user, item and rating, got list"):
        Popularity().fit([[1, 2, 3]])
    with pytest.raises(DataError, match="no ratings"):
        Popularity().fit(from_csr(sparse.csr_array(CELLS)).select([]))


def test_bad_ids_are_named() -> None:
    model = Popularity().fit(small())
    with pytest.raises(ValueError, match="no user of the training ratings has the id 'Zoe'"):
        model.recommend(["Ann", "Zoe"])
    with pytest.raises(ValueError, match=r"no item .* 7 .int.; ids here are of type str"):
        model.similar_items([7])
    with pytest.raises(TypeError, match=r"write \['Ann'\]"):
        model.recommend("Ann")
    with pytest.raises(ValueError, match="2 users and 1 items"):
        model.predict(["Ann", "new"], ["m1"])
    with pytest.raises(ValueError, match="not a finite number"):
        model.recommend_for({"m1": float("nan")})


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (Popularity(cold="zero"), "cold"),
        (Popularity(cold=float("nan")), "cold"),
        (Popularity(damping=-1), "damping"),
        (Biases(user_penalty=0), "user_penalty"),
    ],
)
def test_bad_settings_are_named(model: object, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        model.fit(small())


def test_validation_of_strangers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no user .* 'Zoe'"):
        Popularity().fit(small(), pd.DataFrame({"user": ["Zoe"], "item": ["m1"], "rating": [5]}))


def test_align_moves_ratings_to_other_axes() -> None:
    frame = pd.DataFrame({"user": ["Çelik", "Ann"], "item": ["m3", "m2"], "rating": [2.0, 4.0]})
    moved = axes.align(axes.read(frame), small())
    assert moved.matrix.toarray()[[2, 0], [2, 1]].tolist() == [2.0, 4.0]
    assert moved.matrix.nnz == 2


def test_one_rating_is_enough_for_a_baseline() -> None:
    model = Biases().fit(pd.DataFrame({"user": ["a"], "item": ["x"], "rating": [4.0]}))
    assert model.predict(["a", "b"], ["x", "x"]) == pytest.approx([4.0, 4.0])
    assert len(model.recommend(["a"])["item"]) == 0
