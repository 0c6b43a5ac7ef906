from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse as sp
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nanwise
from nanwise import NanClassifier, NanRegressor, Plan
from nanwise.errors import GapWarning
from nanwise.registry import known
from nanwise.train.run import Run

PLAN = Plan(epochs=40, lr=0.02, batch=64, validation=None)
TINY = dict(hidden=(16,), plan=PLAN, random_state=0)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


def test_learns_and_gives_probabilities(rows):
    X, y = rows
    model = NanClassifier(**TINY).fit(X, y)
    p = model.predict_proba(X)
    assert model.score(X, y) > 0.8
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model.classes_.tolist() == [0, 1]


def test_same_seed_same_model_and_global_state_untouched(rows):
    X, y = rows
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    a = NanClassifier(**TINY).fit(X, y).predict_proba(X)
    b = NanClassifier(**TINY).fit(X, y).predict_proba(X)
    assert np.array_equal(a, b)
    assert torch.equal(torch_state, torch.get_rng_state())
    assert np.array_equal(numpy_state, np.random.get_state()[1])
    other = NanClassifier(**(TINY | {"random_state": 1})).fit(X, y).predict_proba(X)
    assert not np.array_equal(a, other)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X: pl.DataFrame(X, schema=list("01234"))])
def test_frames_answer_as_arrays(rows, frame):
    X, y = rows
    a = NanClassifier(**TINY).fit(X, y).predict_proba(X)
    F = frame(X)
    if isinstance(F, pd.DataFrame):
        F.columns = list("01234")
    model = NanClassifier(**TINY).fit(F, y)
    np.testing.assert_array_equal(model.predict_proba(F), a)
    assert list(model.feature_names_in_) == list("01234")


def test_polars_nulls_and_pandas_na_are_gaps(rows):
    X, y = rows
    F = pl.DataFrame(X, schema=list("abcde")).fill_nan(None)
    G = pd.DataFrame(X, columns=list("abcde")).astype("Float64")
    expected = NanClassifier(**TINY).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(NanClassifier(**TINY).fit(F, y).predict_proba(F), expected)
    np.testing.assert_array_equal(NanClassifier(**TINY).fit(G, y).predict_proba(G), expected)


def test_text_columns_are_encoded(rows):
    X, y = rows
    F = pd.DataFrame(X[:, :2], columns=["a", "b"])
    F["colour"] = np.where(y == 1, "red", "blue")
    F.loc[::7, "colour"] = None
    model = NanClassifier(**TINY).fit(F, y)
    assert model.score(F, y) > 0.9
    new = F.copy()
    new["colour"] = "violet"
    gone = F.copy()
    gone["colour"] = pd.Series([None] * len(F), dtype=F["colour"].dtype)
    with pytest.warns(GapWarning, match="colour"):
        answer = model.predict_proba(new)
    np.testing.assert_allclose(answer, model.predict_proba(gone))


@pytest.mark.parametrize("gaps", [m.name for m in known("treatment") if m.sparse])
@pytest.mark.parametrize(("members", "scale"), [(1, "standard"), (2, "minmax")])
def test_sparse_stored_equals_dense_with_gaps(rows, gaps, members, scale):
    X, y = rows
    X = X.copy()
    X[0, 0] = 0.0  # a stored zero is an observed zero
    row, column = np.nonzero(~np.isnan(X))
    S = sp.csr_array((X[row, column], (row, column)), shape=X.shape)
    # float64, because training magnifies what single precision rounds differently
    plan = clone(PLAN).set_params(precision="float64")
    settings = TINY | {"plan": plan, "members": members, "scale": scale}
    dense = NanClassifier(gaps=gaps, **settings).fit(X, y).predict_proba(X)
    stored = NanClassifier(gaps=gaps, sparse="stored", **settings).fit(S, y).predict_proba(S)
    np.testing.assert_allclose(stored, dense, atol=1e-8)


def test_sparse_is_refused_unless_asked_for(rows):
    X, y = rows
    with pytest.raises(TypeError, match=r"sparse='stored'.*toarray"):
        NanClassifier(**TINY).fit(sp.csr_array(np.nan_to_num(X)), y)
    with pytest.raises(ValueError, match="cannot work on sparse rows"):
        NanClassifier(gaps="knn", sparse="stored", **TINY).fit(sp.csr_array(np.nan_to_num(X)), y)


def test_multi_class_and_string_labels(rows):
    X, _ = rows
    y = np.array(["a", "b", "c"])[(np.nan_to_num(X[:, 0]) > 0).astype(int) + (np.arange(200) % 2)]
    model = NanClassifier(**TINY).fit(X, y)
    assert model.predict_proba(X).shape == (200, 3)
    assert set(model.predict(X)) <= {"a", "b", "c"}


def test_balanced_class_weights_raise_the_rare_class(rows):
    X, y = rows
    keep = (y == 0) | (np.arange(200) % 8 == 0)
    plain = NanClassifier(**TINY).fit(X[keep], y[keep]).predict(X).mean()
    balanced = NanClassifier(class_weight="balanced", **TINY).fit(X[keep], y[keep])
    assert balanced.predict(X).mean() > plain


@pytest.mark.parametrize("weights", [{0: -1.0, 1: 1.0}, {0: np.nan, 1: 1.0}, {0: 0, 1: 0}])
def test_class_weights_that_weigh_nothing_are_refused(rows, weights):
    X, y = rows
    with pytest.raises(ValueError, match="none below 0 and one above it"):
        NanClassifier(class_weight=weights, **TINY).fit(X, y)


def test_class_weights_are_row_weights(rows):
    X, y = rows
    by_class = NanClassifier(class_weight={0: 1.0, 1: 3.0}, **TINY).fit(X, y)
    by_row = NanClassifier(**TINY).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    balanced = NanClassifier(class_weight="balanced", **TINY).fit(X, y)
    by_row.fit(X, y, sample_weight=len(y) / (2 * np.bincount(y))[y])
    np.testing.assert_allclose(balanced.predict_proba(X), by_row.predict_proba(X), atol=1e-6)


def test_gaps_in_a_multi_output_target_are_not_scored():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    Y = np.stack([X[:, 0], -X[:, 1]], axis=1)
    Y_gaps = Y.copy()
    Y_gaps[rng.random(Y.shape) < 0.4] = np.nan
    model = NanRegressor(hidden=(32,), plan=Plan(epochs=60, lr=0.02), random_state=0).fit(X, Y_gaps)
    assert model.score(X, Y) > 0.9
    # What stands behind a gap cannot matter: fitting never sees it.
    with pytest.raises(ValueError, match="target 1 has no value"):
        NanRegressor(**TINY).fit(X, np.stack([Y[:, 0], np.full(300, np.nan)], axis=1))
    with pytest.raises(ValueError, match=r"Input y contains NaN: .* of 300 rows have no target"):
        NanRegressor(**TINY).fit(X, Y_gaps[:, 0])


def test_infinity_names_row_and_column(rows):
    X, y = rows
    F = pd.DataFrame(X, columns=list("abcde"))
    F.iloc[3, 2] = np.inf
    with pytest.raises(ValueError, match=r"infinity, first in row 3, column 'c'"):
        NanClassifier(**TINY).fit(F, y)


def test_column_never_observed_warns_and_row_never_observed_is_answered(rows):
    X, y = rows
    X = np.column_stack([X, np.full(200, np.nan)])
    with pytest.warns(GapWarning, match="column 5"):
        model = NanClassifier(**TINY).fit(X, y)
    assert np.isfinite(model.predict_proba(np.full((1, 6), np.nan))).all()


def test_grid_search_over_treatment_and_plan(rows):
    X, y = rows
    search = GridSearchCV(
        NanClassifier(hidden=(8,), random_state=0),
        {"gaps": ["zero", "mean"], "plan__lr": [0.01], "plan__epochs": [3]},
        cv=2,
    ).fit(X, y)
    assert search.best_estimator_.plan.epochs == 3
    assert cross_val_score(NanClassifier(**TINY), X, y, cv=2).mean() > 0.6


def test_pipeline_and_any_transformer(rows):
    X, y = rows
    assert make_pipeline(StandardScaler(), NanClassifier(**TINY)).fit(X, y).score(X, y) > 0.8
    imputer = SimpleImputer(add_indicator=True, keep_empty_features=True)
    model = NanClassifier(gaps=imputer, **TINY).fit(X, y)
    assert model.n_prepared_ == 10
    assert not hasattr(imputer, "statistics_")
    with pytest.raises(TypeError, match="gaps must be"):
        NanClassifier(gaps=3, **TINY).fit(X, y)
    with pytest.raises(ValueError, match="did you mean"):
        NanClassifier(gaps="sparsity_nrm", **TINY).fit(X, y)


@pytest.mark.parametrize("kind", ["pandas", "polars", "default"])
def test_set_output_of_a_pipeline(rows, kind):
    X, y = rows
    F = pd.DataFrame(X, columns=list("abcde"))
    pipe = make_pipeline(StandardScaler(), NanClassifier(**TINY)).set_output(transform=kind)
    names = getattr(pipe.fit(F, y)[-1], "feature_names_in_", None)
    assert names is None if kind == "default" else list(names) == list("abcde")
    expected = make_pipeline(StandardScaler(), NanClassifier(**TINY)).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(pipe.predict_proba(F), expected, atol=1e-9)


def test_an_interrupted_fit_goes_on_where_it_was(rows, tmp_path, monkeypatch):
    X, y = rows
    plan = Plan(epochs=9, validation=0.2, checkpoint=tmp_path, checkpoint_every=2)
    model = NanClassifier(hidden=(8,), plan=plan, random_state=0)
    expected = clone(model).set_params(plan__checkpoint=None).fit(X, y)
    epochs, run_epoch = [], Run._epoch

    def broken(run, epoch):
        if len(epochs) == 5:
            raise KeyboardInterrupt
        epochs.append(epoch)
        run_epoch(run, epoch)

    monkeypatch.setattr(Run, "_epoch", broken)
    with pytest.raises(KeyboardInterrupt):
        clone(model).fit(X, y)
    epochs.clear()
    monkeypatch.setattr(
        Run, "_epoch", lambda run, epoch: (epochs.append(epoch), run_epoch(run, epoch))
    )
    again = clone(model).fit(X, y)
    assert epochs == [5, 6, 7, 8, 9]
    np.testing.assert_array_equal(again.predict_proba(X), expected.predict_proba(X))
    assert not list(tmp_path.iterdir())


def test_training_is_in_float32_and_answers_are_in_float64(rows):
    X, y = rows
    model = NanRegressor(**TINY).fit(X, y)
    p = model.predict(X)
    assert p.dtype == np.float64
    assert {v.dtype for v in model.net_.state_dict().values()} == {torch.float32}
    alone = np.concatenate([model.predict(row[None]) for row in X[:20]])
    np.testing.assert_allclose(alone, p[:20], atol=1e-12)


def test_members_are_averaged(rows):
    X, y = rows
    model = NanClassifier(members=3, **TINY).fit(X, y)
    assert model.predict_proba(X).shape == (200, 2)
    assert model.score(X, y) > 0.8


def test_early_stopping_restores_the_best_epoch(rows):
    X, y = rows
    plan = Plan(epochs=300, lr=0.05, validation=0.25, patience=5)
    model = NanClassifier(hidden=(64,), plan=plan, random_state=0).fit(X, y)
    losses = [epoch["valid_loss"] for epoch in model.history_]
    assert len(losses) < 300
    assert len(losses) - 1 - int(np.argmin(losses)) == 5


@pytest.mark.parametrize(
    "gaps", ["zero", "sparsity_norm", "mean", "knn", "iterative", "batch_norm"]
)
def test_save_and_load_answer_bit_for_bit(rows, tmp_path, gaps):
    X, y = rows
    for model in (NanClassifier(gaps=gaps, **TINY), NanRegressor(gaps=gaps, **TINY)):
        model.fit(X, y)
        nanwise.save(model, tmp_path / "model")
        back = nanwise.load(tmp_path / "model")
        assert np.array_equal(model.predict(X), back.predict(X))
        assert back.get_params()["gaps"] == gaps
        clone(back)


def test_saves_with_text_columns_and_wrapped_transformer(rows, tmp_path):
    X, y = rows
    F = pd.DataFrame(X[:, :2], columns=["a", "b"])
    F["colour"] = np.where(np.arange(200) % 3 == 0, "red", "blue")
    model = NanClassifier(gaps=SimpleImputer(keep_empty_features=True), **TINY).fit(F, y)
    nanwise.save(model, tmp_path / "m")
    assert np.array_equal(nanwise.load(tmp_path / "m").predict_proba(F), model.predict_proba(F))


def test_weights_of_zero_equal_rows_left_out(rows):
    X, y = rows
    weight = (np.arange(200) < 150).astype(float)
    a = NanClassifier(**TINY).fit(X, y, sample_weight=weight).predict_proba(X)
    b = NanClassifier(**TINY).fit(X[:150], y[:150]).predict_proba(X)
    np.testing.assert_allclose(a, b)
    with pytest.raises(ValueError, match="must not be negative"):
        NanClassifier(**TINY).fit(X, y, sample_weight=-weight)


def test_close_to_logistic_regression_when_linear_and_complete():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 3))
    y = (rng.random(2000) < 1 / (1 + np.exp(-(X @ [1.0, -2.0, 0.5])))).astype(int)
    plan = Plan(epochs=200, lr=0.1, batch=None, weight_decay=0.0)
    ours = NanClassifier("zero", hidden=(), plan=plan, random_state=0).fit(X, y).predict_proba(X)
    theirs = LogisticRegression(C=np.inf).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours, theirs, atol=2e-3)


@settings(max_examples=25, deadline=None)
@given(
    X=hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        st.tuples(st.integers(4, 12), st.integers(1, 5)),
        elements=st.one_of(st.floats(-1e3, 1e3, width=32), st.just(float("nan"))),
    ),
    gaps=st.sampled_from(["zero", "sparsity_norm", "mean", "missing_indicator", "layer_norm"]),
)
@pytest.mark.filterwarnings("ignore::nanwise.errors.GapWarning")
def test_any_pattern_of_gaps_is_answered_and_rows_do_not_meet(X, gaps):
    y = np.arange(len(X)) % 2
    before = X.copy()
    plan = Plan(epochs=2, batch=None, validation=None)
    model = NanClassifier(gaps, hidden=(4,), plan=plan, random_state=0).fit(X, y)
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(model.predict_proba(X[1:3]), p[1:3], atol=1e-9)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("params", "hidden", (10**6, 10**6)),
        ("params", "members", 10**6),
        ("learnt", "scaler_", None),
        ("learnt", "classes_", np.array([1])),
    ],
)
def test_a_state_whose_parts_do_not_fit_is_refused_before_memory_is_taken(rows, part, name, value):
    state = NanClassifier(**TINY).fit(*rows).__nanwise_state__()
    state[part][name] = value
    with pytest.raises(ValueError):
        NanClassifier.__from_nanwise_state__(state)
