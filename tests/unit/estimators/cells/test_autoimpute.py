"""AutoImpute: what it minimises, what it keeps, what it refuses."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone

from nanwise import AutoImpute, Plan, load, save
from nanwise.data.cells import hide_seen
from nanwise.errors import DataError, GapWarning
from nanwise.nets.autoimpute import AutoImputeNet, Cells


def cells(n=60, genes=40, share=0.5, seed=0):
    """Two kinds of cells; what is seen of them is chance."""
    rng = np.random.default_rng(seed)
    kinds = rng.gamma(4.0, 1.0, (2, genes))
    full = np.repeat(kinds, n // 2, axis=0) + rng.normal(0, 0.3, (n, genes))
    return np.where(rng.random((n, genes)) < share, np.maximum(full, 0.1), 0.0)


def rmse(found, truth, at):
    return float(np.sqrt(np.mean((found[at] - truth[at]) ** 2)))


def tiny(**params):
    return AutoImpute(**{"hidden": 8, "penalty": 1.0, "random_state": 0, **params})


def test_hidden_values_are_found_better_than_by_the_mean_of_a_gene():
    X = cells()
    part, rows, columns = hide_seen(X, 0.2, seed=1)
    model = tiny().fit(part)
    seen = np.maximum((part > 0).sum(axis=0), 1)
    means = np.broadcast_to(part.sum(axis=0) / seen, X.shape)
    at = (rows, columns)
    assert rmse(model.predict(part), X, at) < 0.6 * rmse(means, X, at)


def test_loss_is_that_of_the_paper_and_sn_divides_by_what_was_seen():
    X = cells(6, 5).astype(np.float32)
    net = AutoImputeNet(5, 3).double()
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(0))
    values = torch.as_tensor(X).double()
    scale = 2.0 / torch.as_tensor(np.maximum((X > 0).sum(axis=1), 1)).double()
    answers = (
        torch.sigmoid(
            torch.stack([row * s for row, s in zip(values, scale, strict=True)]) @ net.encode
            + net.hidden_bias
        )
        @ net.decode
        + net.bias
    )
    total = ((values - (values > 0) * answers) ** 2).sum()
    net.weight = 6 / int((X > 0).sum())
    loss = net.training_step(Cells(values, scale, values))
    assert loss.item() == pytest.approx(total.item() / int((X > 0).sum()))
    squares, number = net.validation_step(Cells(values, scale, values))
    assert (squares.item(), int(number)) == (pytest.approx(total.item()), (X > 0).sum())


def test_scale_of_a_cell():
    X = cells()
    model = tiny(plan=Plan(epochs=1, batch=None, validation=None)).fit(X)
    seen = (X > 0).sum(axis=1)
    assert pytest.approx(seen.mean()) == model.K_
    np.testing.assert_allclose(model._scale(X), seen.mean() / seen, rtol=1e-6)
    assert (tiny(normalize=False).fit(X)._scale(X) == 1).all()
    assert tiny(K=3.0).fit(X).K_ == 3.0


def test_with_sn_more_known_of_a_cell_does_not_move_the_mean_input():
    # weights of one sign: without normalisation the hidden units follow the number of known genes
    X = np.full((2, 40), 5.0)
    X[1, 4:] = 0
    inputs = {}
    for normalize in (True, False):
        model = tiny(normalize=normalize, plan=Plan(epochs=1, batch=None)).fit(X)
        inputs[normalize] = (X @ np.ones(40)) * model._scale(X)
    assert inputs[True][0] == pytest.approx(inputs[True][1])
    assert inputs[False][0] == pytest.approx(10 * inputs[False][1])


def test_what_was_seen_is_kept_and_zeros_are_filled():
    X = cells()
    frame = pd.DataFrame(X, columns=[f"g{k}" for k in range(X.shape[1])])
    model = tiny().fit(frame)
    filled = model.transform(frame)
    assert list(filled.columns) == list(frame.columns)
    np.testing.assert_array_equal(filled.to_numpy()[X > 0], X[X > 0])
    assert (filled.to_numpy() >= 0).all()
    assert (filled.to_numpy()[X == 0] > 0).mean() > 0.9
    with pytest.raises(DataError, match="same order"):
        model.transform(frame.iloc[:, ::-1])
    with pytest.raises(DataError, match="fitted on 40"):
        model.transform(X[:, :5])


def test_sparse_cells_and_rows_alone_get_the_same_answers():
    X = cells()
    model = tiny().fit(X)
    again = tiny().fit(sparse.csr_array(X))
    np.testing.assert_array_equal(model.transform(X), again.transform(sparse.csr_array(X)))
    np.testing.assert_allclose(model.transform(X[3:4]), model.transform(X)[3:4], rtol=1e-12)


def test_gene_never_seen_and_cell_with_nothing_get_the_prior():
    X = cells()
    X[:, 4], X[7] = 0, 0
    with pytest.warns(GapWarning) as said:
        model = tiny().fit(X)
    assert ["gene4" in str(w.message) for w in said] == [True, False]
    assert ["cell7" in str(w.message) for w in said] == [False, True]
    filled = model.predict(X)
    np.testing.assert_allclose(filled[:, 4], filled[0, 4])
    assert filled[0, 4] == pytest.approx(X[X > 0].mean(), rel=0.02)
    assert np.isfinite(filled).all()


def test_stops_when_the_error_has_settled():
    X = cells()
    plan = Plan(epochs=400, batch=None, lr=1e-2, optimizer="adam", schedule=None)
    model = tiny(tol=0.05, plan=plan).fit(X)
    losses = np.array([epoch["train_loss"] for epoch in model.history_]) * (X > 0).sum() / len(X)
    assert 1 < model.n_iter_ < 400
    assert (np.abs(np.diff(losses))[:-1] > 0.05).all()
    assert abs(losses[-1] - losses[-2]) <= 0.05
    assert model.history_[-1].keys() >= {"epoch", "lr", "seconds"}
    assert tiny(plan=plan).fit(X).n_iter_ == 400
    with pytest.raises(ValueError, match="batch=None"):
        tiny(tol=0.1, plan=Plan()).fit(X)


def test_a_settled_run_still_ends_with_the_weights_that_validation_finds_best():
    X = cells()
    plan = Plan(
        epochs=400,
        batch=None,
        lr=0.5,
        optimizer="adam",
        schedule=None,
        validation=0.2,
        patience=None,
    )
    model = tiny(tol=0.5, plan=plan).fit(X)
    losses = [epoch["valid_loss"] for epoch in model.history_]
    assert 2 < model.n_iter_ < 400
    assert min(losses) < losses[-1]
    best = tiny(plan=clone(plan).set_params(epochs=1 + int(np.argmin(losses)))).fit(X)
    np.testing.assert_array_equal(model.predict(X), best.predict(X))


def test_a_plan_with_tol_needs_no_tol_of_the_estimator():
    X = cells()
    plan = Plan(epochs=400, batch=None, lr=1e-2, optimizer="adam", schedule=None)
    by_cell = tiny(tol=0.05, plan=plan).fit(X)
    per_entry = 0.05 * len(X) / (X > 0).sum()
    by_entry = tiny(plan=clone(plan).set_params(tol=per_entry)).fit(X)
    assert by_entry.n_iter_ == by_cell.n_iter_ < 400


def test_validation_entries_stop_training_and_batches_work():
    X = cells()
    model = tiny().fit(X)
    assert model.history_[0]["valid_loss"] is not None
    assert model.n_iter_ <= 500
    batched = tiny(plan=Plan(epochs=5, batch=16, validation=0.1)).fit(X)
    assert np.isfinite(batched.predict(X)).all()


@pytest.mark.filterwarnings("ignore::nanwise.errors.GapWarning")
def test_too_few_entries_are_not_put_aside():
    X = np.diag([1.0, 2.0, 3.0])
    for share in (0.1, 0.9):
        model = tiny(plan=Plan(epochs=2, batch=None, validation=share)).fit(X)
        assert model.history_[0]["valid_loss"] is None


def test_published_settings():
    model = AutoImpute.published(normalize=False, hidden=5, plan=Plan(epochs=3, batch=None))
    assert (model.penalty, model.start, model.tol, model.normalize) == (1.0, "normal", 1e-4, False)
    assert AutoImpute.published().plan.optimizer == "rmsprop"
    assert AutoImpute.published().hidden == 2000
    assert model.fit(cells()).n_iter_ == 3


def test_same_seed_same_answer_saved_and_pickled(tmp_path):
    X = cells()
    model = tiny().fit(X)
    wanted = model.predict(X)
    np.testing.assert_array_equal(clone(model).fit(X).predict(X), wanted)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), wanted)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), wanted)
    exact = tiny(plan=Plan(epochs=3, batch=None, precision="float64")).fit(X)
    save(exact, tmp_path / "exact")
    np.testing.assert_array_equal(load(tmp_path / "exact").predict(X), exact.predict(X))
    other = model.fit(cells(seed=5)).predict(X)
    assert not np.array_equal(other, wanted)


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"hidden": 0}, ValueError),
        ({"penalty": -1.0}, ValueError),
        ({"K": 0}, ValueError),
        ({"K": np.inf}, ValueError),
        ({"start": "zeros"}, ValueError),
        ({"normalize": "yes"}, TypeError),
        ({"tol": -1.0}, ValueError),
        ({"plan": "fast"}, TypeError),
    ],
)
def test_settings_that_cannot_be(params, error):
    with pytest.raises(error, match=next(iter(params))):
        tiny(**params).fit(cells())


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.zeros((4, 3)), "nothing to learn"),
        (np.ones((1, 3)), "two cells"),
        (-np.ones((4, 3)), "at least 0"),
    ],
)
@pytest.mark.filterwarnings("ignore::nanwise.errors.GapWarning")
def test_cells_that_cannot_be_learnt_from(X, said):
    with pytest.raises(DataError, match=said):
        tiny().fit(X)
