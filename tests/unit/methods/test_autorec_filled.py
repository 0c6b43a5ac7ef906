"""AutoRec on filled rows: against dense references, at new rows, saved, and too large."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import KNNImputer

import nanwise
from nanwise import Biases, Plan
from nanwise.data.ratings import Ratings, split_ratings, synthetic_ratings
from nanwise.errors import DataError
from nanwise.estimators.recommend import filling
from nanwise.methods.rating.autorec_filled import FilledAutoRec
from nanwise.registry import find

SIDES = ["item", "user"]
FILLS = ["mean", "median", "knn", "softimpute", "iterative"]


def plan(**settings: object) -> Plan:
    usual = {"epochs": 15, "batch": None, "lr": 0.002, "optimizer": "adam", "schedule": None}
    return Plan(**usual | settings)


def model(fill: object = "mean", **settings: object) -> FilledAutoRec:
    usual = {"hidden": 16, "penalty": 5.0, "plan": plan(), "random_state": 0}
    return FilledAutoRec(fill, **usual | settings)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return synthetic_ratings(60, 40, 700, random_state=1)


def gappy(matrix: sparse.csr_array, by: str) -> np.ndarray:
    """The rows of the network, dense, NaN in gaps."""
    coo = matrix.tocoo()
    cells = np.full(matrix.shape, np.nan)
    cells[coo.row, coo.col] = coo.data
    return cells if by == "user" else cells.T


def by_hand(rows: np.ndarray, fill: str, seen: np.ndarray | None = None) -> np.ndarray:
    """Filled rows from the library's treatments, or by numpy; imputers learn from ``seen``."""
    seen = rows if seen is None else seen
    overall = {"median": np.nanmedian}.get(fill, np.nanmean)
    column = [overall(c[~np.isnan(c)] if (~np.isnan(c)).any() else seen) for c in seen.T]
    if fill in ("mean", "median"):
        return np.where(np.isnan(rows), column, rows)
    imputer = find(fill, kind="treatment").make()
    there = ~np.isnan(seen - column)
    warm = there.any(axis=1)
    imputer.fit(np.where(there, seen - column, 0.0)[warm], there[warm])
    values = np.nan_to_num(rows - column)
    return imputer.prepare(values, ~np.isnan(rows))[0] + column


def forward(found: FilledAutoRec, filled: np.ndarray) -> np.ndarray:
    """The network on dense filled rows, by the formula."""
    net = {k: v.double().numpy() for k, v in found.net_.state_dict().items()}
    bias = net["hidden_bias"] - (found.centre_ @ net["encode"] if found.centred else 0.0)
    hidden = 1 / (1 + np.exp(-(filled @ net["encode"] + bias)))
    return hidden @ net["decode"].T + net["bias"]


# -- what it answers -----------------------------------------------------------------------------


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("by", SIDES)
@pytest.mark.parametrize("fill", FILLS)
def test_answers_are_those_of_the_dense_filled_matrix(
    fill: str, by: str, centred: bool, ratings: Ratings
) -> None:
    found = model(fill, by=by, centred=centred, plan=plan(epochs=3)).fit(ratings)
    answers = forward(found, by_hand(gappy(ratings.matrix, by), fill))
    exact = (answers if by == "user" else answers.T).clip(0.5, 5.0)
    cells = ratings.matrix
    assert found.predict_matrix_at(cells) == pytest.approx(
        exact[ratings.rows, cells.indices], abs=1e-5
    )
    users = np.flatnonzero(np.diff(cells.indptr))
    warm = np.bincount(cells.indices, minlength=40) > 0
    scores = found._scores(users)[:, warm].clip(0.5, 5.0)
    assert np.allclose(scores, exact[users][:, warm], atol=1e-5)


@pytest.mark.parametrize("fill", FILLS)
def test_what_the_network_sees_is_what_the_imputer_says(fill: str, ratings: Ratings) -> None:
    found = model(fill, by="user", columns=None).fit(ratings)
    net = found._network(60, 40)
    source, _ = found._sources(net, ratings, None, plan(precision="float64"), 0)
    (block,) = source.blocks
    inputs = block.inputs
    seen, gaps = (inputs, 0.0) if isinstance(inputs, torch.Tensor) else inputs
    rows = np.repeat(np.arange(block.pattern.shape[0]), block.pattern.offsets.diff())
    filled = np.tile(found.centre_, (block.pattern.shape[0], 1))
    filled[:, found.columns_] += np.asarray(gaps)
    filled[rows, block.pattern.columns] += seen.numpy()
    there = np.diff(ratings.matrix.indptr) > 0
    assert np.allclose(filled, by_hand(gappy(ratings.matrix, "user"), fill)[there], atol=1e-6)


@pytest.mark.parametrize("by", SIDES)
def test_one_step_is_that_of_a_dense_network(by: str, ratings: Ratings) -> None:
    """Loss and gradients on the sparse parts against autograd on the filled matrix."""
    found = model("mean", by=by, centred=False)
    found._prepare(ratings)
    torch.manual_seed(0)
    net = found._network(60, 40).double()
    settings = plan(precision="float64")
    source, _ = found._sources(net, ratings, None, settings, 0)
    loss = net.training_step(source[torch.arange(len(source))])
    loss.backward()
    rows = gappy(ratings.matrix, by)
    filled, there = torch.tensor(by_hand(rows, "mean")), torch.tensor(~np.isnan(rows))
    copies = [p.detach().clone().requires_grad_() for p in net.parameters()]
    encode, shift, decode, bias = copies
    answers = (filled @ encode + shift).sigmoid() @ decode.T + bias
    dense = (answers - filled)[there].square().mean()
    dense.backward()
    assert loss.item() == pytest.approx(dense.item(), rel=1e-9)
    for one, other in zip(net.parameters(), copies, strict=True):
        assert torch.allclose(one.grad, other.grad, atol=1e-9)


def test_few_columns_are_imputed_and_the_others_hold_their_mean(ratings: Ratings) -> None:
    found = model("iterative", by="user", columns=7).fit(ratings)
    counts = np.bincount(ratings.matrix.indices, minlength=40)
    others = np.setdiff1d(np.arange(40), found.columns_)
    assert len(found.columns_) == 7
    assert counts[found.columns_].min() >= counts[others].max()
    rows = gappy(ratings.matrix, "user")
    warm = ~np.isnan(rows).all(axis=1)
    filled = by_hand(rows, "mean")
    filled[:, found.columns_] = by_hand(
        rows[:, found.columns_], "iterative", rows[warm][:, found.columns_]
    )
    exact = forward(found, filled)[ratings.rows, ratings.matrix.indices].clip(0.5, 5.0)
    assert found.predict_matrix_at(ratings) == pytest.approx(exact, abs=1e-5)


def test_chained_regressions_have_a_limit_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made = synthetic_ratings(40, 30, 300, random_state=0)
    monkeypatch.setattr("nanwise.methods.rating.autorec_filled.CHAINED_COLUMNS", 5)
    assert len(model("iterative", by="user").fit(made).columns_) == 5
    assert len(model("iterative", by="user", columns=9).fit(made).columns_) == 9
    assert len(model("softimpute", by="user").fit(made).columns_) == 30


def test_imputers_of_scikit_learn_and_treatments_with_settings(ratings: Ratings) -> None:
    wide = find("knn", kind="treatment").make(k=3)
    ours = model(wide, by="user").fit(ratings)
    theirs = model(KNNImputer(n_neighbors=3, keep_empty_features=True), by="user").fit(ratings)
    assert ours.imputer_.k == 3
    difference = ours.predict_matrix_at(ratings) - theirs.predict_matrix_at(ratings)
    # ties between equally near rows are broken in other ways
    assert np.abs(difference).mean() < 0.02
    assert clone(ours).fill.k == 3


# -- learning ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("by", SIDES)
def test_every_fill_learns(fill: str, by: str) -> None:
    made = synthetic_ratings(150, 80, 5000, random_state=2)
    train, test = split_ratings(made, 0.2, random_state=0)
    found = model(fill, by=by, plan=plan(epochs=50, lr=0.006)).fit(train)
    losses = [epoch["train_loss"] for epoch in found.history_]
    assert losses[-1] < 0.8 * losses[0]
    assert -found.score(test) < -Biases().fit(train).score(test) + 0.05


@pytest.mark.parametrize("fill", ["median", "knn"])
def test_validation_sees_filled_training_rows(fill: str, ratings: Ratings) -> None:
    train, held = split_ratings(ratings, 0.2, random_state=0)
    found = model(fill, by="user").fit(train, validation=held)
    warm = np.diff(train.matrix.indptr)[held.rows] > 0
    warm &= np.bincount(train.matrix.indices, minlength=40)[held.matrix.indices] > 0
    errors = (found.predict_matrix_at(held) - held.matrix.data)[warm]
    best = found.history_[found.best_epoch_ - 1]["valid_loss"]
    assert np.mean(errors**2) == pytest.approx(best, rel=1e-4)


def test_equal_rows_are_imputed_once(ratings: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    train, held = split_ratings(ratings, 0.2, random_state=0)
    asked: list[int] = []
    honest = filling.fill_gaps

    def counting(imputer: object, rows: sparse.csr_array, *rest: object) -> np.ndarray:
        asked.append(rows.shape[0])
        return honest(imputer, rows, *rest)

    monkeypatch.setattr(filling, "fill_gaps", counting)
    model("softimpute").fit(train, validation=held)
    assert asked == [len(np.unique(train.matrix.indices))]


def test_refit_fills_from_all_ratings(ratings: Ratings) -> None:
    settings = plan(epochs=10, validation=0.2, patience=None)
    again = model("softimpute", plan=settings, refit=True).fit(ratings)
    whole = model("softimpute", plan=plan(epochs=again.best_epoch_)).fit(ratings)
    assert np.array_equal(again.imputer_.axes_, whole.imputer_.axes_)
    assert torch.equal(again.net_.encode, whole.net_.encode)


def test_a_warm_start_keeps_weights_and_renews_the_fill(ratings: Ratings) -> None:
    first = ratings.restrict(np.arange(60) < 45, np.ones(40, bool))
    found = model("mean", by="user", centred=False, warm_start=True).fit(first)
    before, old = found.net_.encode.detach().clone(), found.centre_
    found.set_params(plan=plan(epochs=1, lr=1e-12)).fit(ratings)
    assert torch.allclose(found.net_.encode, before)
    assert not np.allclose(found.centre_, old)
    assert np.allclose(found.net_.centre.numpy(), found.centre_, atol=1e-6)


def test_a_killed_training_resumes_to_the_same_result(ratings: Ratings, tmp_path: Path) -> None:
    from nanwise.nets.autorec_filled import FilledAutoRecNet

    settings = {"epochs": 9, "validation": 0.1, "checkpoint_every": 3}
    whole = model("softimpute", plan=plan(**settings)).fit(ratings)
    killed = model("softimpute", plan=plan(checkpoint=tmp_path, **settings))
    steps, honest = iter([*range(7), None, *range(3)]), FilledAutoRecNet.training_step

    def step(self: FilledAutoRecNet, batch: object) -> torch.Tensor:
        if next(steps) is None:
            raise KeyboardInterrupt
        return honest(self, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FilledAutoRecNet, "training_step", step)
        with pytest.raises(KeyboardInterrupt):
            killed.fit(ratings)
        assert len(list(tmp_path.iterdir())) == 1
        killed.fit(ratings)
    # epochs 7 to 9 and no others were run again
    assert next(steps, "none left") == "none left"
    assert torch.equal(killed.net_.encode, whole.net_.encode)


# -- new people ----------------------------------------------------------------------------------


@pytest.mark.parametrize("fill", FILLS)
def test_a_new_person_is_filled_like_everyone(fill: str, ratings: Ratings) -> None:
    found = model(fill, by="user").fit(ratings)
    someone = ratings.matrix[[5]]
    person = dict(zip(ratings.items[someone.indices].tolist(), someone.data.tolist(), strict=True))
    listed = found.recommend([ratings.users[5]], n=8)
    both = found.recommend_for([{}, person], n=8)
    assert np.array_equal(both["item"][both["person"] == 1], listed["item"])
    assert both["score"][both["person"] == 1] == pytest.approx(listed["score"])
    assert (both["person"] == 0).sum() == 8


@pytest.mark.parametrize("fill", FILLS)
def test_a_new_person_by_item_rows_gets_a_list(fill: str, ratings: Ratings) -> None:
    found = model(fill, by="item").fit(ratings)
    listed = found.recommend_for([{}, {ratings.items[3]: 5.0}], n=4)
    assert len(listed["item"]) == 8
    assert np.isfinite(listed["score"]).all()


# -- saving --------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", SIDES)
@pytest.mark.parametrize("fill", FILLS)
def test_saved_and_loaded_answers_are_equal(
    fill: str, by: str, ratings: Ratings, tmp_path: Path
) -> None:
    found = model(fill, by=by, centred=False, plan=plan(epochs=3)).fit(ratings)
    nanwise.save(found, tmp_path / "model")
    back = nanwise.load(tmp_path / "model")
    assert type(back) is FilledAutoRec
    assert back.fill == fill
    cells = found.matrix_
    assert np.array_equal(back.predict_matrix_at(cells), found.predict_matrix_at(cells))
    person = {ratings.items[3]: 5.0}
    assert np.array_equal(back.recommend_for(person)["score"], found.recommend_for(person)["score"])


def test_a_centre_that_does_not_fit_is_refused(ratings: Ratings) -> None:
    from nanwise.errors import ModelFileError
    from nanwise.saving.objects import _set_state

    state = model().fit(ratings).__nanwise_state__()
    state["learnt"]["centre_"] = state["learnt"]["centre_"][:-1]
    with pytest.raises(ModelFileError, match="centre_ has shape"):
        _set_state(FilledAutoRec, state)


# -- bad input, odd input ------------------------------------------------------------------------


def test_too_many_cells_are_refused_before_they_are_made(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = len(np.unique(ratings.matrix.indices))
    monkeypatch.setattr(filling, "MOST_CELLS", rows * 20)
    with pytest.raises(DataError, match=r"× 60 columns = .* set columns=20 or fewer.*fill='mean'"):
        model("knn").fit(ratings)
    assert len(model("knn", columns=20).fit(ratings).columns_) == 20
    assert model("mean").fit(ratings).imputer_ is None


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"fill": "men"}, ValueError, "no treatment is called 'men'"),
        ({"fill": 3}, TypeError, "name of a treatment"),
        ({"fill": "sparsity_norm"}, ValueError, "does not fill the gaps by itself"),
        ({"columns": 0}, ValueError, "columns must be at least 1"),
        ({"by": "users"}, ValueError, "by must be one of"),
    ],
)
def test_bad_settings_are_named(
    settings: dict, error: type[Exception], text: str, ratings: Ratings
) -> None:
    with pytest.raises(error, match=text):
        model(**settings).fit(ratings)


@pytest.mark.parametrize("by", SIDES)
@pytest.mark.parametrize("fill", FILLS)
def test_one_rating_and_cold_axes(fill: str, by: str) -> None:
    found = model(fill, by=by).fit(sparse.csr_array(np.array([[0, 4.0, 0]])))
    assert found.predict([0, 0, 5], [1, 0, 1]) == pytest.approx([4.0, 4.0, 4.0])
    assert len(found.recommend([0])["item"]) == 0
    assert np.isfinite(found.recommend_for({1: 4.0}, n=3)["score"]).all()


def test_centres_of_columns_are_those_of_numpy(ratings: Ratings) -> None:
    rows = gappy(ratings.matrix, "user")
    for kind, over in (("mean", np.nanmean), ("median", np.nanmedian)):
        found = filling.centres(ratings.matrix, kind)
        for column, cells in enumerate(rows.T):
            seen = cells if (~np.isnan(cells)).any() else rows
            assert found[column] == pytest.approx(over(seen), rel=1e-6)
