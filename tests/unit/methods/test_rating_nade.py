"""CF-NADE and CF-UIcA as recommenders."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.base import clone

import nanwise
from nanwise import Plan, registry
from nanwise.data.ratings import from_csr, split_ratings
from nanwise.errors import DataError
from nanwise.estimators.recommend.levels import cells_by_row, level_rows, pieces
from nanwise.methods.rating.cfnade import CFNADE
from nanwise.methods.rating.cfuica import CFUIcA

HALVES = np.arange(0.5, 5.1, 0.5)
QUICK = Plan(epochs=60, batch=32, lr=0.01, optimizer="adam", validation=0.1)
BLOCKS = Plan(epochs=40, lr=0.01, optimizer="adam", validation=0.1, clip=5.0)


def two_tastes(n_users=80, n_items=50, density=0.4, levels=HALVES, seed=0):
    """Users who love one half of the items and dislike the other: a mean knows nothing of it."""
    rng = np.random.default_rng(seed)
    taste = np.outer(rng.choice([-1, 1], n_users), rng.choice([-1, 1], n_items))
    middle, spread = np.mean([levels[0], levels[-1]]), levels[-1] - levels[0]
    noisy = middle + spread * (0.3 * taste + 0.08 * rng.standard_normal((n_users, n_items)))
    nearest = np.abs(noisy[..., None] - np.asarray(levels)).argmin(-1)
    there = np.nonzero(rng.random((n_users, n_items)) < density)
    values = np.asarray(levels, dtype=np.float32)[nearest[there]]
    return from_csr(sparse.csr_array((values, there), shape=(n_users, n_items)))


def models():
    nade = {"hidden": 12, "penalty": 0.05, "random_state": 0}
    return {
        "item": CFNADE(plan=clone(QUICK), **nade),
        "user": CFNADE(by="user", plan=clone(QUICK), **nade),
        "both": CFUIcA(hidden=12, penalty=0.1, steps=4, plan=clone(BLOCKS), random_state=0),
    }


@pytest.fixture(scope="module")
def parts():
    return split_ratings(two_tastes(), 0.2, random_state=1)


@pytest.fixture(scope="module")
def fitted(parts):
    return {name: model.fit(parts[0]) for name, model in models().items()}


KINDS = ["item", "user", "both"]


@pytest.mark.parametrize("name", KINDS)
def test_finds_what_a_mean_cannot(fitted, parts, name):
    test = parts[1]
    spread = float(np.std(test.matrix.data))
    assert fitted[name].score(test) > -0.6 * spread


@pytest.mark.parametrize("name", KINDS)
def test_lists_and_predictions_agree(fitted, name):
    model = fitted[name]
    found = model.recommend([3, 7], n=4)
    again = model.predict(found["user"], found["item"])
    assert np.allclose(again, found["score"])
    scores = model._scores(np.arange(5))
    pairs = np.divmod(np.arange(scores.size), scores.shape[1])
    assert np.allclose(model._at(*pairs), scores.ravel(), atol=1e-12)
    assert scores.min() >= HALVES[0]
    assert scores.max() <= HALVES[-1]


@pytest.mark.parametrize("name", KINDS)
def test_a_pair_is_answered_alone_as_among_others(fitted, name):
    model = fitted[name]
    users, items = np.array([5, 1, 5, 9, 1]), np.array([2, 2, 40, 7, 2])
    together = model.predict(users, items)
    alone = [model.predict([u], [i])[0] for u, i in zip(users, items, strict=True)]
    assert np.allclose(together, alone, atol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_a_new_person_gets_what_a_user_with_the_same_ratings_likes(fitted, parts, name):
    model, train = fitted[name], parts[0].matrix
    for user in (0, 1, 2, 3):
        here = slice(train.indptr[user], train.indptr[user + 1])
        person = dict(zip(train.indices[here].tolist(), train.data[here].tolist(), strict=True))
        new = model.recommend_for(person, n=50)
        known = model.predict(np.full(len(new["item"]), user), new["item"])
        assert np.corrcoef(new["score"], known)[0, 1] > 0.8


@pytest.mark.parametrize("name", KINDS)
def test_nothing_known_of_a_person(fitted, name):
    found = fitted[name].recommend_for([{}, {0: 5.0}], n=3)
    assert len(found["item"]) == 6
    assert np.isfinite(found["score"]).all()


@pytest.mark.parametrize("name", KINDS)
def test_similar_items_are_of_the_same_half(fitted, parts, name):
    model = fitted[name]
    found = model.similar_items([0, 1, 2], n=5)
    ratings = two_tastes(density=1.0).matrix.toarray()
    alike = np.corrcoef(ratings.T)[found["item"], found["similar"]]
    assert (alike > 0).mean() > 0.8


@pytest.mark.parametrize("name", KINDS)
def test_saved_and_loaded(fitted, tmp_path, name):
    model = fitted[name]
    nanwise.save(model, tmp_path / "model")
    again = nanwise.load(tmp_path / "model")
    users, items = np.arange(10), np.arange(10)
    assert np.array_equal(again.predict(users, items), model.predict(users, items))
    assert again.levels_ == model.levels_
    new = {0: 4.0, 3: 1.0}
    assert np.array_equal(again.recommend_for(new)["item"], model.recommend_for(new)["item"])


@pytest.mark.parametrize("name", KINDS)
def test_same_seed_same_model(parts, name):
    short = models()[name].set_params(plan__epochs=3)
    one, two = (clone(short).fit(parts[0]) for _ in range(2))
    other = clone(short).set_params(random_state=1).fit(parts[0])
    state = torch.random.get_rng_state()
    for a, b in zip(one.net_.parameters(), two.net_.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(next(one.net_.parameters()), next(other.net_.parameters()))
    clone(short).fit(parts[0])
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize("name", KINDS)
def test_warm_start_goes_on_with_more_users_and_items(name):
    more = two_tastes(90, 60)
    fewer = from_csr(more.matrix[:80, :50])
    model = models()[name].set_params(warm_start=True, plan__epochs=25).fit(fewer)
    still = {"plan__epochs": 1, "plan__lr": 1e-9}
    model.set_params(**still).fit(more)
    fresh = models()[name].set_params(**still).fit(more)
    assert model.matrix_.shape == (90, 60)
    assert model.history_[0]["valid_loss"] < 0.7 * fresh.history_[0]["valid_loss"]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("levels", [[1, 2, 3, 4, 5], [0, 2, 7], [-1, 1], [3]])
def test_any_set_of_levels(name, levels):
    ratings = two_tastes(30, 20, levels=levels)
    model = models()[name].set_params(plan__epochs=3).fit(ratings)
    assert model.levels_ == sorted(float(x) for x in set(ratings.matrix.data))
    predicted = model.predict_matrix_at(ratings)
    assert predicted.min() >= min(levels) - 1e-9
    assert predicted.max() <= max(levels) + 1e-9


@pytest.mark.parametrize("name", KINDS)
def test_users_and_items_without_ratings(name):
    dense = two_tastes(30, 20).matrix.toarray()
    dense[4], dense[:, 6] = 0, 0
    model = models()[name].set_params(plan__epochs=3).fit(sparse.csr_array(dense))
    answers = model.predict([4, 0, 99, 4], [0, 6, 1, 6])
    assert np.allclose(answers, model.mean_)
    assert model.set_params(cold=3.0).predict([4], [0])[0] == 3.0
    assert 6 not in model.recommend([4, 0], n=20)["item"]


@pytest.mark.parametrize("name", KINDS)
def test_a_single_rating(name):
    one = sparse.csr_array(([4.0], ([0], [0])), shape=(1, 1))
    model = models()[name].set_params(plan__epochs=2).fit(one)
    assert model.predict([0], [0])[0] == 4.0


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("normalize", [None, "rate", "batch", "layer"])
def test_other_normalisations_train(parts, name, normalize):
    model = models()[name].set_params(normalize=normalize, plan__epochs=2).fit(parts[0])
    assert np.isfinite(model.score(parts[1]))


@pytest.mark.parametrize("name", KINDS)
def test_continuous_ratings_are_refused(name):
    rng = np.random.default_rng(0)
    matrix = sparse.csr_array(rng.random((50, 40)))
    with pytest.raises(DataError, match=r"have no levels.*AutoRec"):
        models()[name].fit(matrix)


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("item", {"by": "row"}, "by must be one of"),
        ("item", {"ordinal": 1.5}, "ordinal must be a share of at most 1"),
        ("item", {"normalize": "none"}, "normalize must be one of"),
        ("item", {"K": 0.0}, "K must be above 0"),
        ("item", {"penalty": -1.0}, "penalty must be at least 0"),
        ("both", {"K": 3.0}, "K must be .* a pair"),
        ("both", {"steps": 0}, "steps must be at least 1"),
        ("both", {"block": 0}, "block must be at least 1"),
    ],
)
def test_settings_that_cannot_be_used(parts, name, setting, message):
    with pytest.raises(ValueError, match=message):
        models()[name].set_params(**setting).fit(parts[0])


def test_K_is_that_of_the_training(fitted, parts):
    train = parts[0].matrix
    part, _ = split_ratings(parts[0], 0.1, random_state=np.random.RandomState(0).randint(2**31 - 1))
    counts = np.diff(part.matrix.indptr)
    found = fitted["user"].K_
    assert found == pytest.approx((counts - 1).mean() / 2)
    assert fitted["user"].net_.encoder.mean_count.item() == pytest.approx(found)
    assert len(fitted["both"].K_) == 2
    assert 0.4 < fitted["both"].K_[0] / counts.mean() < 0.6
    own = models()["item"].set_params(K=7.0, plan__epochs=1).fit(from_csr(train))
    assert own.K_ == 7.0


def test_penalty_and_clip_reach_the_optimizer(parts):
    """The loss is a mean, so its penalty is that of the sum, divided."""
    train = parts[0]
    model = models()["both"].set_params(penalty=0.3)
    plan = model._loop_plan(BLOCKS, train, None)
    assert plan.weight_decay == pytest.approx(2 * 0.3 / len(train))
    assert plan.clip == 5.0
    model = models()["item"].set_params(penalty=0.01)
    plan = model._loop_plan(QUICK, train, range(50))
    assert plan.weight_decay == pytest.approx(2 * 0.01 / 50)


@pytest.mark.parametrize(("n_users", "batch"), [(1, 1), (80, 10), (81, 11), (9000, 512)])
def test_an_epoch_has_enough_steps(n_users, batch):
    train = from_csr(sparse.csr_array(np.tile([[1.0, 0.0], [4.0, 2.0]], (n_users, 1))[:n_users]))
    assert CFNADE(by="user")._default_plan(train).batch == batch


def test_registered():
    for name, kind in (("cfnade", CFNADE), ("cfuica", CFUIcA)):
        found = registry.find(name, "recommender")
        assert found.make is kind
        assert found.inputs == "rating"
        assert set(found.space) | set(found.tiny) <= set(kind().get_params())


def test_ratings_between_levels_count_as_the_nearer_one():
    rows = level_rows(sparse.csr_array(np.array([[0.9, 1.9, 7.0, 2.6]])), [1.0, 2.0, 5.0])
    assert rows.values.tolist() == [0, 1, 2, 1]


@pytest.mark.parametrize("most", [1, 5, 1000])
def test_pairs_in_pieces(most):
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 12, 60), rng.integers(0, 9, 60)
    seen = []
    for places, needed, cells in cells_by_row(rows, columns, 9, most):
        owner = cells.spread(torch.as_tensor(needed)).numpy()
        assert np.array_equal(owner, rows[places])
        assert np.array_equal(cells.columns.numpy(), columns[places])
        assert len(places) <= most or len(needed) == 1
        seen.extend(places)
    assert sorted(seen) == list(range(60))


def test_pieces_cover_everything_within_the_bound():
    found = list(pieces(10, 4, most=12))
    assert [(p.start, p.stop) for p in found] == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert list(pieces(0, 4)) == []
