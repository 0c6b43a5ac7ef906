"""The job behind ``nanwise recommend``: split, scores, stress test, refit, facts."""

import json

import numpy as np
import pytest
from scipy import sparse

from nanwise.bench.ranking import relevant_cells
from nanwise.bench.rating_facts import notes_of
from nanwise.bench.rating_stress import SHARES, rating_stress
from nanwise.bench.recommend import best_epoch, check_params, recommend, top_lists
from nanwise.data.ratings import from_csr, from_frame, split_ratings, synthetic_ratings
from nanwise.errors import DataError
from nanwise.registry import find, known

SMALL = {"hidden": 6, "penalty": 5.0, "plan": {"epochs": 12, "lr": 0.05}}


@pytest.fixture(scope="module")
def ratings():
    return synthetic_ratings(80, 50, 1500, random_state=0)


@pytest.fixture(scope="module")
def found(ratings):
    return recommend(ratings, "autorec", SMALL, k=5, seed=3)


def row_of(found, name):
    return next(row for row in found.facts["scores"] if row["method"] == name)


def test_facts_are_plain_values(found):
    assert json.loads(json.dumps(found.facts, allow_nan=False)) == found.facts


def test_the_method_stands_beside_its_contrast_and_the_baselines(found):
    roles = {row["method"]: row["role"] for row in found.facts["scores"]}
    assert roles == {
        "autorec": "method",
        "autorec, not normalised": "contrast",
        "biases": "baseline",
        "popularity": "baseline",
    }


def test_scores_are_those_of_the_fitted_baseline(ratings, found):
    train, held = split_ratings(ratings, 0.1, random_state=3)
    model = find("biases").make(random_state=3).fit(train)
    row = row_of(found, "biases")
    assert row["rmse"] == pytest.approx(-model.score(held))
    places = np.concatenate([part["item"] for part in top_lists(model, 5)])
    assert row["coverage"] == pytest.approx(len(set(places.tolist())) / 50)
    protocol = found.facts["protocol"]
    assert (protocol["train"], protocol["held"], protocol["k"]) == (1350, 150, 5)


def test_ranking_scores_agree_with_the_lists_that_users_get(ratings):
    """Without ties, recall and precision of the scores are those of the lists themselves."""
    train, held = split_ratings(ratings, 0.2, random_state=0)
    done = recommend(ratings, "biases", test=0.2, k=7, seed=0)
    liked = relevant_cells(held.matrix, done.facts["protocol"]["liked_from"]).toarray() > 0
    lists = find("biases").make(random_state=0).fit(train).recommend(n=7)
    hits = np.zeros(len(ratings.users))
    np.add.at(hits, lists["user"] - 1, liked[lists["user"] - 1, lists["item"] - 1])
    some = liked.any(axis=1)
    row = row_of(done, "biases")
    assert row["precision"] == pytest.approx((hits[some] / 7).mean())
    assert row["recall"] == pytest.approx((hits[some] / liked[some].sum(axis=1)).mean())
    assert done.facts["protocol"]["ranked_users"] == some.sum()
    assert done.facts["protocol"]["left_out"] == (~some).sum()


def test_liked_is_the_first_level_not_below_the_mean():
    matrix = sparse.csr_array(np.array([[1.0, 2, 5], [5, 4, 5], [5, 4, 4]]))
    facts = recommend(from_csr(matrix), "biases").facts
    assert facts["protocol"]["liked_from"] in (4.0, 5.0)
    mean = matrix.sum() / 9
    assert 4.0 >= mean > 2.0


def test_the_model_is_trained_again_on_all_ratings(ratings, found):
    assert found.model.matrix_.nnz == len(ratings)
    epochs = found.facts["best_epoch"]
    assert len(found.model.history_) == epochs
    assert f"for {epochs} epoch" in found.facts["model"]["how"]
    assert all(entry["valid_loss"] is None for entry in found.model.history_)
    assert found.facts["model"]["params"]["hidden"] == 6
    assert found.facts["model"]["params"]["plan.epochs"] == epochs


def test_same_seed_same_facts(ratings, found):
    def timeless(tree):
        if isinstance(tree, dict):
            return {k: timeless(v) for k, v in tree.items() if "second" not in k and k != "created"}
        return [timeless(v) for v in tree] if isinstance(tree, list) else tree

    again = recommend(ratings, "autorec", SMALL, k=5, seed=3)
    assert timeless(again.facts) == timeless(found.facts)


def test_without_stress_and_contrast(ratings):
    facts = recommend(ratings, "autorec", SMALL, stress=False, contrast=False).facts
    assert facts["stress"] == {}
    assert facts["contrast"] is None
    assert [row["method"] for row in facts["scores"]] == ["autorec", "biases", "popularity"]


def test_a_baseline_stands_once_and_is_not_stressed(ratings):
    facts = recommend(ratings, "popularity").facts
    assert [row["method"] for row in facts["scores"]] == ["popularity", "biases"]
    assert facts["stress"] == {}
    assert facts["best_epoch"] is None


@pytest.mark.parametrize("method", [m.name for m in known("recommender")])
def test_every_registered_recommender_can_be_asked(ratings, method):
    params = dict(find(method).tiny)
    is_net = "plan" in find(method).make().get_params(deep=False)
    if is_net:
        params["plan"] = {"epochs": 2}
    done = recommend(ratings, method, params, contrast=False)
    row = row_of(done, method)
    assert all(np.isfinite(row[score]) for score in ("rmse", "mae", "ndcg", "recall", "coverage"))
    assert set(done.facts["stress"]) == ({method} if is_net else set())
    for facts in done.facts["stress"].values():
        assert facts["scores"]["RMSE"]["mean"][0] == pytest.approx(row["rmse"], abs=1e-6)
        # Predictions follow what the model is shown, not what it kept of its training.
        assert all(np.ptp(sample["prediction"]) > 0 for sample in facts["samples"])


def test_lists_hold_nothing_a_user_has_rated(found):
    model = found.model
    lists = list(top_lists(model, 4, chunk=30))
    assert len(lists) == 3
    seen = model.matrix_.toarray() > 0
    for part in lists:
        assert not seen[part["user"] - 1, part["item"] - 1].any()
    users = np.concatenate([part["user"] for part in lists])
    assert np.unique(users).tolist() == sorted(model.users_.tolist())


def test_cold_users_and_items_are_counted():
    frame = {
        "user": [1, 1, 1, 2, 2, 2, 3],
        "item": list("abcabcz"),
        "rating": [1, 2, 3, 3, 4, 5, 4],
    }
    ratings = from_frame({**frame, "time": [1, 2, 3, 4, 5, 6, 7]})
    found = recommend(ratings, "biases", split="time", test=0.1)
    assert found.facts["protocol"]["cold_ratings"] == 1
    # Lists never hold an item that nobody rated, whatever score a model would give it.
    assert row_of(found, "biases")["recall"] == 0.0


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_ratings_are_a_clear_error(n):
    frame = {"user": [1, 2][:n], "item": [1, 2][:n], "rating": [3, 4][:n]}
    with pytest.raises(DataError, match=r"too few|at least 2"):
        recommend(from_frame(frame), "biases")


@pytest.mark.parametrize("method", ["biases", "autorec"])
def test_few_and_constant_ratings_give_finite_answers(method):
    frame = {"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 3, 3], "rating": [4] * 5}
    params = SMALL if method == "autorec" else None
    done = recommend(from_frame(frame), method, params)
    assert row_of(done, method)["rmse"] == pytest.approx(0, abs=1e-6)
    assert np.isfinite(done.model.predict([1, 2, 99], [3, 2, 1])).all()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"hiden": 3}, "hidden"),
        ({"plan": {"epoch": 3}}, "epochs"),
        ({"plan": 3}, "epochs"),
        ({"plan": {"epochs": 0}}, "plan.epochs"),
        ({"hidden": "many"}, "hidden"),
        ({"by": "film"}, "by"),
        ({"random_state": 1}, "random_state"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_early(params, words):
    with pytest.raises(ValueError, match=words):
        check_params("autorec", params)


def test_a_baseline_has_no_plan():
    with pytest.raises(ValueError, match="no plan"):
        check_params("popularity", {"plan": {"epochs": 3}})


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="did you mean 'autorec'"):
        check_params("autorek", None)


def test_best_epoch_is_the_first_of_the_smallest_losses():
    history = [{"epoch": e, "valid_loss": v} for e, v in enumerate([3.0, 1.0, 1.0, 2.0], 1)]
    assert best_epoch(history) == 2
    assert best_epoch([{"epoch": 1, "valid_loss": None}]) is None
    assert best_epoch([]) is None


def test_notes_tell_what_was_merged_and_left_out():
    frame = {"user": [1, 1, None], "item": [1, 1, 2], "rating": [3, 4, 5]}
    notes = notes_of(from_frame(frame, missing="drop", duplicates="first"))
    assert any("1 rows repeat" in note and "first" in note for note in notes)
    assert any("1 rows without" in note for note in notes)


# -- stress ---------------------------------------------------------------------------------------


class Sum:
    """A network-like stand-in: the prediction is the sum or the mean of what its row sees."""

    def __init__(self, how="sum", by="item"):
        self.how, self.by = how, by

    def fit(self, matrix):
        self.matrix_ = matrix
        self.users_, self.items_ = (np.arange(n) for n in matrix.shape)
        return self

    def seeing(self, matrix):
        return Sum(self.how, self.by).fit(matrix)

    def predict_matrix_at(self, cells):
        axis = 0 if self.by == "item" else 1
        sums = np.asarray(self.matrix_.sum(axis=axis)).ravel()
        counts = np.asarray((self.matrix_ != 0).sum(axis=axis)).ravel()
        value = sums if self.how == "sum" else sums / np.maximum(counts, 1)
        rows = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
        return value[cells.indices if self.by == "item" else rows]


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(0)
    full = rng.integers(1, 6, size=(40, 30)).astype(np.float32)
    held = np.zeros(full.size, dtype=bool)
    held[rng.choice(full.size, 120, replace=False)] = True
    held = held.reshape(full.shape)
    return sparse.csr_array(np.where(held, 0, full)), sparse.csr_array(np.where(held, full, 0))


@pytest.mark.parametrize("by", ["item", "user"])
def test_a_sum_drifts_with_what_is_kept(halves, by):
    """All ratings 3: the sum is 3 times the number kept, exactly."""
    train, held = halves
    threes = train.copy()
    threes.data[:] = 3
    facts = rating_stress(Sum("sum", by).fit(threes), held)
    output = facts["outputs"][0]
    counts = np.diff((train if by == "user" else train.T.tocsr()).indptr)
    asked = np.unique(held.nonzero()[0 if by == "user" else 1])
    expected = [3 * np.rint(share * counts[asked]).mean() for share in SHARES]
    np.testing.assert_allclose(output["mean"], expected)
    assert facts["slope"] == pytest.approx(0.1 * output["full_mean"], rel=0.03)
    assert facts["sparsity_bias"] > 3


@pytest.mark.parametrize("by", ["item", "user"])
def test_a_mean_does_not_drift(halves, by):
    train, held = halves
    facts = rating_stress(Sum("mean", by).fit(train), held)
    assert facts["slope_low"] < 0 < facts["slope_high"]
    assert facts["slope_high"] - facts["slope_low"] < 0.1


def test_each_row_keeps_its_share_and_rows_are_the_units(halves):
    train, held = halves
    facts = rating_stress(Sum("sum", "user").fit(train), held)
    assert facts["shares"] == list(SHARES)
    assert facts["rows_are"] == "user"
    assert facts["rows"] == len(np.unique(held.nonzero()[0]))
    np.testing.assert_allclose(facts["kept"], SHARES, atol=0.02)
    counts = np.diff(train.indptr)
    sample = facts["samples"][0]
    count = counts[int(sample["row"].removeprefix("user "))]
    assert sample["mean_observed"] == [np.rint(share * count) for share in SHARES]


def test_the_same_rows_are_shown_of_every_model(halves):
    train, held = halves
    one = rating_stress(Sum("sum").fit(train), held)["samples"]
    other = rating_stress(Sum("mean").fit(train), held)["samples"]
    assert [s["row"] for s in one] == [s["row"] for s in other]


def test_nothing_to_ask_for_is_no_stress(halves):
    train, _ = halves
    empty = sparse.csr_array(np.vstack([train.toarray(), np.zeros((1, 30))]))
    held = sparse.csr_array(([3.0], ([40], [0])), shape=(41, 30))
    assert rating_stress(Sum("sum", "user").fit(empty), held) == {}


def test_hiding_leaves_the_model_as_it_was(found, ratings):
    model = found.model
    before = model.predict_matrix_at(ratings)
    rating_stress(model, ratings.matrix)
    np.testing.assert_array_equal(model.predict_matrix_at(ratings), before)
    assert model.matrix_.nnz == len(ratings)
