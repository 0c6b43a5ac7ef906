"""AutoRec as an estimator: formulas, lists, saving, warm starts, resuming, bad settings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

import nanwise
from nanwise import AutoRec, Biases, Plan
from nanwise.data.ratings import Ratings, split_ratings, synthetic_ratings
from nanwise.errors import ModelFileError
from nanwise.estimators.recommend.fold_in import fold_in

SIDES = ["item", "user"]


def plan(**settings: object) -> Plan:
    usual = {"epochs": 15, "batch": None, "lr": 0.002, "optimizer": "adam", "schedule": None}
    return Plan(**usual | settings)


def model(**settings: object) -> AutoRec:
    usual = {"hidden": 16, "power": 1.0, "penalty": 5.0, "plan": plan(), "random_state": 0}
    return AutoRec(**usual | settings)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return synthetic_ratings(90, 50, 1500, random_state=1)


@pytest.fixture(scope="module", params=SIDES)
def fitted(request: pytest.FixtureRequest, ratings: Ratings) -> AutoRec:
    return model(by=request.param).fit(ratings)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def dense_answers(fitted: AutoRec, cells: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """All users × items by the formula, not clipped."""
    net = {k: v.double().numpy() for k, v in fitted.net_.state_dict().items()}
    rows = cells if fitted.by == "user" else cells.T
    hidden = sigmoid((rows * scale[:, None]) @ net["encode"] + net["hidden_bias"])
    answers = hidden @ net["decode"].T + net["bias"]
    return answers if fitted.by == "user" else answers.T


def scales(fitted: AutoRec, cells: np.ndarray) -> np.ndarray:
    counts = ((cells if fitted.by == "user" else cells.T) > 0).sum(axis=1)
    return counts[counts > 0].mean() / np.maximum(counts, 1)


# -- what it answers -----------------------------------------------------------------------------


def test_predictions_are_those_of_the_formula(fitted: AutoRec, ratings: Ratings) -> None:
    cells = ratings.matrix.toarray().astype(float)
    exact = dense_answers(fitted, cells, scales(fitted, cells)).clip(0.5, 5.0)
    users, items = np.divmod(np.arange(cells.size), cells.shape[1])
    warm = (cells.sum(axis=1) > 0)[users] & (cells.sum(axis=0) > 0)[items]
    users, items = users[warm], items[warm]
    shuffled = np.random.default_rng(0).permutation(len(users))
    found = fitted.predict(ratings.users[users[shuffled]], ratings.items[items[shuffled]])
    assert found == pytest.approx(exact[users, items][shuffled], abs=1e-9)
    at = fitted.predict_matrix_at(ratings)
    assert at == pytest.approx(exact[ratings.rows, ratings.matrix.indices], abs=1e-9)


def test_a_pair_asked_for_twice_is_answered_twice(fitted: AutoRec, ratings: Ratings) -> None:
    user, item = ratings.users[3], ratings.items[int(ratings.matrix.indices[0])]
    found = fitted.predict([user] * 3, [item] * 3)
    assert found.tolist() == [found[0]] * 3


def test_lists_are_the_largest_of_the_formula(fitted: AutoRec, ratings: Ratings) -> None:
    cells = ratings.matrix.toarray().astype(float)
    exact = dense_answers(fitted, cells, scales(fitted, cells))
    exact[cells > 0] = -np.inf
    exact[:, cells.sum(axis=0) == 0] = -np.inf
    found = fitted.recommend(ratings.users[[4, 0, 9]], n=6)
    best = np.argsort(-exact[[4, 0, 9]], axis=1)[:, :6]
    assert found["item"].tolist() == ratings.items[best].ravel().tolist()


@pytest.mark.parametrize(
    ("normalize", "expected"),
    [(None, [1, 1]), ("rate", [50 / 30, 50 / 30]), ("sparsity", [30 / 10, 30 / 40])],
)
def test_scaling_of_rows(normalize: str | None, expected: list[float]) -> None:
    made = AutoRec(normalize=normalize, power=1.0)
    made.K_ = 30.0
    assert made._row_scale(np.array([10, 40]), 50) == pytest.approx(expected)
    made.set_params(power=0.5)
    half = np.sqrt(expected) if normalize == "sparsity" else expected
    assert made._row_scale(np.array([10, 40]), 50) == pytest.approx(half)


def test_k_is_the_mean_count_of_rows_with_ratings(ratings: Ratings) -> None:
    found = model(by="user").fit(ratings)
    assert abs(found.K_ - 1500 / 90) < 1e-9
    rated = len(np.unique(ratings.matrix.indices))
    assert abs(model(by="item").fit(ratings).K_ - 1500 / rated) < 1e-9
    assert model(K=7.0).fit(ratings).K_ == 7.0


@pytest.mark.parametrize("normalize", [None, "rate", "batch", "layer"])
@pytest.mark.parametrize("by", SIDES)
def test_every_normalisation_learns(normalize: str | None, by: str, ratings: Ratings) -> None:
    longer = plan(epochs=200)
    found = model(normalize=normalize, by=by, plan=longer).fit(ratings)
    losses = [epoch["train_loss"] for epoch in found.history_]
    assert losses[-1] < 0.8 * losses[0]
    assert np.isfinite(found.predict_matrix_at(ratings)).all()


def test_batches_of_rows_come_to_nearly_the_same(ratings: Ratings) -> None:
    train, test = split_ratings(ratings, 0.2, random_state=0)
    whole = model(plan=plan(epochs=150)).fit(train)
    cut = model(plan=plan(epochs=50, batch=13)).fit(train)
    assert len(cut.history_) == 50
    assert cut.score(test) == pytest.approx(whole.score(test), abs=0.03)


def test_it_finds_tastes_that_effects_do_not() -> None:
    """Two kinds of users who like opposite items: effects know nothing, an autoencoder all."""
    rng = np.random.default_rng(0)
    kind, genre = rng.integers(0, 2, 150), rng.integers(0, 2, 80)
    full = np.where(kind[:, None] == genre, 5.0, 1.0)
    cells = sparse.csr_array(np.where(rng.random(full.shape) < 0.3, full, 0))
    everyone = sparse.csr_array(full)
    for by in SIDES:
        found = model(by=by, penalty=1.0, plan=plan(epochs=200)).fit(cells)
        assert -found.score(everyone) < 0.4
    assert -Biases().fit(cells).score(everyone) > 1.8


# -- new people, similar items -------------------------------------------------------------------


def test_a_new_person_by_user_rows_is_encoded(ratings: Ratings) -> None:
    found = model(by="user").fit(ratings)
    someone = ratings.matrix[[5]]
    person = dict(zip(ratings.items[someone.indices].tolist(), someone.data.tolist(), strict=True))
    assert np.array_equal(
        found.recommend_for(person, n=8)["item"], found.recommend([ratings.users[5]], n=8)["item"]
    )


def test_new_people_by_item_rows_are_answered_as_well_as_old_ones() -> None:
    ratings = synthetic_ratings(400, 80, 14_000, random_state=0)
    old, new = ratings.restrict(np.arange(400) < 350, np.ones(80, bool)), ratings.matrix[350:]
    found = model(hidden=40, penalty=5.0, plan=plan(epochs=200)).fit(old)
    rng = np.random.default_rng(0)
    told = rng.random(new.nnz) < 0.7
    rows = np.repeat(np.arange(50), np.diff(new.indptr))
    shape = new.shape
    known = sparse.csr_array((new.data[told], (rows[told], new.indices[told])), shape=shape)
    scores = found._scores_for(known)
    error = np.sqrt(np.mean((scores[rows[~told], new.indices[~told]] - new.data[~told]) ** 2))
    effects = Biases().fit(old)._scores_for(known)
    simple = np.sqrt(np.mean((effects[rows[~told], new.indices[~told]] - new.data[~told]) ** 2))
    assert error < simple + 0.01


def test_fold_in_is_the_conditional_mean() -> None:
    rng = np.random.default_rng(1)
    items, users, bias = rng.normal(size=(12, 4)), rng.normal(size=(40, 4)), rng.normal(size=40)
    rows = sparse.csr_array(np.where(rng.random((3, 12)) < 0.4, 3.0, 0.0))
    vectors, shifts = fold_in(items, users, bias, rows, noise=0.5)
    known = np.column_stack([users, bias])
    mean, covariance = known.mean(axis=0), np.cov(known.T, bias=True)
    for person in range(3):
        seen = rows.indices[rows.indptr[person] : rows.indptr[person + 1]]
        design = np.column_stack([items[seen], np.ones(len(seen))])
        precision = np.linalg.inv(covariance) + design.T @ design / 0.5
        exact = mean + np.linalg.solve(precision, design.T @ (3.0 - design @ mean) / 0.5)
        assert np.append(vectors[person], shifts[person]) == pytest.approx(exact)


def test_a_person_of_whom_nothing_is_known_gets_a_list(fitted: AutoRec) -> None:
    assert len(fitted.recommend_for({}, n=5)["item"]) == 5


def test_similar_items_share_a_genre() -> None:
    rng = np.random.default_rng(0)
    kind, genre = rng.integers(0, 2, 150), rng.integers(0, 2, 40)
    full = np.where(kind[:, None] == genre, 5.0, 1.0)
    cells = sparse.csr_array(np.where(rng.random(full.shape) < 0.3, full, 0))
    for by in SIDES:
        found = model(by=by, penalty=1.0, plan=plan(epochs=100)).fit(cells)
        alike = found.similar_items(np.arange(40), n=5)
        assert np.mean(genre[alike["item"]] == genre[alike["similar"]]) > 0.9
        assert not (alike["item"] == alike["similar"]).any()


# -- training ------------------------------------------------------------------------------------


def test_early_stopping_restores_the_best(ratings: Ratings) -> None:
    train, held = split_ratings(ratings, 0.2, random_state=0)
    settings = plan(epochs=400, patience=10)
    found = model(hidden=30, penalty=0.01, plan=settings).fit(train, validation=held)
    losses = [epoch["valid_loss"] for epoch in found.history_]
    assert len(losses) < 400
    assert found.best_epoch_ == np.argmin(losses) + 1 == len(losses) - 10
    warm = np.diff(train.matrix.indptr)[held.rows] > 0
    warm &= np.bincount(train.matrix.indices, minlength=50)[held.matrix.indices] > 0
    errors = (found.predict_matrix_at(held) - held.matrix.data)[warm]
    assert np.mean(errors**2) == pytest.approx(min(losses), rel=1e-5)


def test_own_validation_is_seen_when_predicting_and_refit_learns_from_it(ratings: Ratings) -> None:
    settings = plan(epochs=40, validation=0.2, patience=None)
    found = model(plan=settings).fit(ratings)
    assert found.matrix_.nnz == len(ratings)
    again = model(plan=settings, refit=True).fit(ratings)
    assert again.history_[0]["valid_loss"] == found.history_[0]["valid_loss"]
    exact = model(plan=plan(epochs=again.best_epoch_)).fit(ratings)
    # the same first weights, all ratings, as many epochs as were best
    assert torch.equal(again.net_.encode, exact.net_.encode)


def test_the_same_seed_gives_the_same_model_and_spares_the_global_one(ratings: Ratings) -> None:
    before = torch.random.get_rng_state()
    one, two = model().fit(ratings), model().fit(ratings)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(one.net_.decode, two.net_.decode)
    assert not torch.equal(one.net_.decode, model(random_state=1).fit(ratings).net_.decode)


def test_adamw_is_adam_with_the_penalty_in_the_gradient(ratings: Ratings) -> None:
    one = model(plan=plan(optimizer="adam")).fit(ratings)
    two = model(plan=plan(optimizer="adamw", weight_decay=0.3)).fit(ratings)
    assert torch.equal(one.net_.encode, two.net_.encode)


def test_a_larger_penalty_gives_smaller_weights(ratings: Ratings) -> None:
    longer = plan(epochs=300)
    sizes = {
        penalty: model(penalty=penalty, plan=longer).fit(ratings).net_
        for penalty in (1.0, 50.0, (50.0, 1.0))
    }
    norms = {p: (n.encode.norm().item(), n.decode.norm().item()) for p, n in sizes.items()}
    assert norms[50.0][0] < norms[1.0][0]
    assert norms[50.0][1] < norms[1.0][1]
    assert norms[50.0, 1.0][0] < norms[1.0][0]
    assert norms[50.0, 1.0][1] > norms[50.0][1]


@pytest.mark.parametrize("by", SIDES)
def test_warm_start_goes_on_for_known_ids(by: str, ratings: Ratings) -> None:
    users = np.arange(90) < 70
    first = ratings.restrict(users, np.ones(50, bool))
    found = model(by=by, warm_start=True, plan=plan(epochs=80)).fit(first)
    before = {k: v.clone() for k, v in found.net_.state_dict().items()}
    reached = found.history_[-1]["train_loss"]
    # the axes of a frame are in order of first appearance: other places, new users, same ids
    found.set_params(plan=plan(epochs=1, lr=1e-12))
    found.fit(ratings.to_frame().sample(frac=1.0, random_state=0))
    at = found._axes[0 if by == "item" else 1]
    ids = first.users if by == "item" else first.items[np.isin(first.items, at.ids)]
    old = np.flatnonzero(np.isin(first.users if by == "item" else first.items, ids))
    assert torch.allclose(found.net_.encode[at.places(ids)], before["encode"][old])
    assert torch.allclose(found.net_.bias[at.places(ids)], before["bias"][old])
    assert torch.allclose(found.net_.hidden_bias, before["hidden_bias"])
    new = np.setdiff1d(np.arange(len(at.ids)), at.places(ids))
    assert torch.allclose(found.net_.decode[new], before["decode"][old].mean(0), atol=1e-6)
    cold = model(by=by, plan=plan(epochs=1)).fit(ratings).history_[0]["train_loss"]
    assert reached < found.history_[0]["train_loss"] < cold


def test_a_killed_training_resumes_to_the_same_result(ratings: Ratings, tmp_path: Path) -> None:
    settings = {"epochs": 12, "validation": 0.1, "checkpoint_every": 4}
    whole = model(plan=plan(**settings)).fit(ratings)
    killed = model(plan=plan(checkpoint=tmp_path, **settings))

    class Killed(BaseException):
        pass

    from nanwise.nets.autorec import AutoRecNet

    steps = iter(range(9))
    honest = AutoRecNet.training_step

    def step(self: AutoRecNet, batch: object) -> torch.Tensor:
        if next(steps, None) is None:
            raise Killed
        return honest(self, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AutoRecNet, "training_step", step)
        with pytest.raises(Killed):
            killed.fit(ratings)
    assert len(list(tmp_path.iterdir())) == 1
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            AutoRecNet, "training_step", lambda self, b: (seen.append(1), honest(self, b))[1]
        )
        killed.fit(ratings)
    assert len(seen) == 4
    assert all(
        torch.equal(value, killed.net_.state_dict()[name])
        for name, value in whole.net_.state_dict().items()
    )
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_of_other_cells_is_not_taken(ratings: Ratings, tmp_path: Path) -> None:
    """The same values in the same order in other columns are another training set."""
    from nanwise.train.checkpoint import fingerprint

    names = set()
    for shift in (0, 1):
        matrix = ratings.matrix.copy()
        matrix.indices = ((matrix.indices + shift) % 50).astype(np.int32)
        found = model(by="user")
        part = Ratings(ratings.users, ratings.items, matrix, ratings.scale)
        found._prepare(part)
        torch.manual_seed(0)
        net = found._network(90, 50)
        source, _ = found._sources(net, part, None, plan(), 0)
        names.add(fingerprint(net, plan(), 0, (source, None), 1))
    assert len(names) == 2


# -- saving --------------------------------------------------------------------------------------


def test_saved_and_loaded_answers_are_bit_for_bit_equal(fitted: AutoRec, tmp_path: Path) -> None:
    nanwise.save(fitted, tmp_path / "model")
    back = nanwise.load(tmp_path / "model")
    assert back.get_params()["by"] == fitted.by
    cells = fitted.matrix_
    assert np.array_equal(back.predict_matrix_at(cells), fitted.predict_matrix_at(cells))
    one, two = back.recommend(n=3), fitted.recommend(n=3)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert back.history_ == fitted.history_


def test_weights_that_do_not_fit_are_refused(fitted: AutoRec) -> None:
    state = fitted.__nanwise_state__()
    state["weights"]["encode"] = state["weights"]["encode"][:-1]
    from nanwise.saving.objects import _set_state

    with pytest.raises(ModelFileError, match="do not fit"):
        _set_state(AutoRec, state)


def test_float64_models_come_back_in_float64(ratings: Ratings, tmp_path: Path) -> None:
    found = model(plan=plan(precision="float64")).fit(ratings)
    nanwise.save(found, tmp_path / "model")
    assert nanwise.load(tmp_path / "model").net_.encode.dtype == torch.float64


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"by": "users"}, "by must be one of 'item', 'user'"),
        ({"normalize": "sn"}, "normalize must be one of"),
        ({"K": "median"}, "K must be"),
        ({"K": -1.0}, "K must be"),
        ({"penalty": -1.0}, "penalty must be"),
        ({"penalty": (1.0, 2.0, 3.0)}, "penalty must be"),
        ({"hidden": 0}, "hidden must be"),
        ({"plan": Plan(epochs=0)}, "plan.epochs"),
    ],
)
def test_bad_settings_are_named(settings: dict, text: str, ratings: Ratings) -> None:
    with pytest.raises(ValueError, match=text):
        model(**settings).fit(ratings)


def test_a_plan_must_be_a_plan(ratings: Ratings) -> None:
    with pytest.raises(TypeError, match="plan must be a Plan"):
        model(plan={"epochs": 3}).fit(ratings)
    with pytest.raises(ValueError, match="pass a Plan"):
        AutoRec().set_params(plan__lr=0.1)


@pytest.mark.parametrize("by", SIDES)
def test_one_rating_and_one_user_are_enough(by: str) -> None:
    found = model(by=by).fit(sparse.csr_array(np.array([[0, 4.0, 0]])))
    assert found.predict([0, 0, 5], [1, 0, 1]) == pytest.approx([4.0, 4.0, 4.0])
    assert len(found.recommend([0])["item"]) == 0
    assert np.isfinite(found.recommend_for({1: 4.0}, n=3)["score"]).all()
