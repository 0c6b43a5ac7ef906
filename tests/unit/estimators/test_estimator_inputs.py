"""Whatever holds the same table gives the same model, or one clear line why it cannot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse as sp

from nanwise import NanClassifier, NanRegressor, Plan

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
X[RNG.random(X.shape) < 0.3] = np.nan
Y = np.arange(60) % 2
TINY = dict(hidden=(4,), plan=Plan(epochs=3), random_state=0)


def stored(x):
    row, column = np.nonzero(~np.isnan(x))
    return sp.csr_array((x[row, column], (row, column)), shape=x.shape)


@pytest.mark.parametrize("gap", [None, pd.NA, float("nan"), pd.NaT], ids=str)
def test_every_gap_in_an_array_of_objects_is_a_gap(gap):
    objects = X.astype(object)
    objects[np.isnan(X)] = gap
    expected = NanClassifier(**TINY).fit(X, Y).predict_proba(X)
    model = NanClassifier(**TINY).fit(objects, Y)
    np.testing.assert_array_equal(model.predict_proba(objects), expected)


def test_a_stored_nan_is_a_gap_like_one_that_is_not_stored():
    with_nan = sp.csr_array(np.where(np.isnan(X), 1.0, X))
    with_nan.data = np.where(np.isnan(X), np.nan, with_nan.toarray()).ravel()
    before = with_nan.copy()
    ours = NanClassifier(sparse="stored", **TINY).fit(with_nan, Y)
    theirs = NanClassifier(sparse="stored", **TINY).fit(stored(X), Y)
    assert ours.treatment_.K_ == theirs.treatment_.K_ == (~np.isnan(X)).sum(axis=1).mean()
    np.testing.assert_allclose(ours.predict_proba(with_nan), theirs.predict_proba(stored(X)))
    np.testing.assert_array_equal(with_nan.data, before.data)


def test_a_cell_stored_twice_is_one_cell():
    whole = stored(X)
    halves = sp.csr_array(
        (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr), X.shape
    )
    model = NanClassifier(sparse="stored", **TINY).fit(halves, Y)
    expected = NanClassifier(sparse="stored", **TINY).fit(whole, Y)
    np.testing.assert_allclose(model.predict_proba(halves), expected.predict_proba(whole))


def test_a_stored_infinity_is_named_by_row_and_column():
    csr = stored(np.where(np.isnan(X), np.nan, X))
    csr.data[csr.indptr[7]] = -np.inf
    column = csr.indices[csr.indptr[7]]
    with pytest.raises(ValueError, match=rf"row 7, column {column}\."):
        NanClassifier(sparse="stored", **TINY).fit(csr, Y)


def test_other_columns_than_numbers_ask_for_a_frame():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(ill=Y == 1)
    model = NanClassifier(**TINY).fit(frame, Y)
    with pytest.raises(TypeError, match="column 'ill' is boolean; pass a data frame"):
        model.predict(frame.to_numpy(dtype=float))


@pytest.mark.parametrize("columns", [list("aabc"), list("abca")])
def test_two_columns_of_one_name_are_refused(columns):
    with pytest.raises(ValueError, match="2 columns of X are called 'a'"):
        NanClassifier(**TINY).fit(pd.DataFrame(X, columns=columns), Y)


def test_columns_in_another_order_are_refused_or_put_right_but_never_mixed_up():
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="feature names should match"):
        NanClassifier(**TINY).fit(frame, Y).predict(frame[list("dcba")])
    mixed = frame.assign(colour=np.where(Y, "red", "blue"))
    model = NanClassifier(**TINY).fit(mixed, Y)
    turned = mixed[mixed.columns[::-1]]
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(mixed))


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["a", None] * 30),
        np.array(["a", None] * 30, dtype=object),
        pd.Series(["a", "b", pd.NA] * 20, dtype="string"),
        np.r_[np.nan, Y[1:]],
    ],
)
def test_a_row_without_class_is_told(y):
    with pytest.raises(ValueError, match="Input y contains NaN"):
        NanClassifier(**TINY).fit(X, y)


def test_gaps_in_several_targets_in_any_frame():
    target = np.stack([np.where(Y, np.nan, 3.0), X[:, 0] * 0 + 1, Y + 0.0], axis=1)
    expected = NanRegressor(**TINY).fit(X, target).predict(X)
    nullable = pd.DataFrame(target).astype("Float64")
    for given in (nullable, pl.DataFrame(target).fill_nan(None)):
        np.testing.assert_array_equal(NanRegressor(**TINY).fit(X, given).predict(X), expected)


def test_the_index_of_a_series_does_not_matter():
    other = pd.RangeIndex(100, 160)
    weight = np.linspace(0.5, 2, 60)
    expected = NanClassifier(**TINY).fit(X, Y, sample_weight=weight).predict_proba(X)
    model = NanClassifier(**TINY).fit(
        pd.DataFrame(X), pd.Series(Y, index=other), sample_weight=pd.Series(weight, index=other)
    )
    np.testing.assert_array_equal(model.predict_proba(pd.DataFrame(X)), expected)


# -- rows put aside for validation ---------------------------------------------------------------


def split(y, share, seed=0):
    return NanClassifier()._split(np.asarray(y), share, seed)


@pytest.mark.parametrize("seed", range(5))
def test_validation_rows_are_stratified_and_disjoint(seed):
    y = np.repeat([0, 1, 2], [120, 60, 20])
    train, valid = split(y, 0.2, seed)
    np.testing.assert_array_equal(np.sort(np.r_[train, valid]), np.arange(200))
    np.testing.assert_allclose(np.bincount(y[valid]), [24, 12, 4], atol=1)
    assert not np.array_equal(valid, split(y, 0.2, seed + 5)[1])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("single", [0, 1, 2])
def test_a_class_of_one_row_is_learnt_from(single, seed):
    counts = np.full(3, 30)
    counts[single] = 1
    y = np.repeat([0, 1, 2], counts)
    train, valid = split(y, 0.3, seed)
    assert single in y[train]
    assert single not in y[valid]


def test_one_validation_row_is_of_the_common_class():
    y = np.repeat([0, 1], [5, 45])
    assert y[split(y, 0.02)[1]].tolist() == [1]


@pytest.mark.parametrize(("n", "share"), [(2, 0.5), (10, 0.0), (10, None), (4, 0.1)])
def test_too_few_rows_are_not_split(n, share):
    train, valid = split(np.arange(n) % 2, share)
    assert valid is None
    assert len(train) == n


def test_scaling_treatment_and_target_know_the_training_rows_only():
    x, y = X.copy(), RNG.normal(10, 3, 60)
    model = NanRegressor(gaps="sparsity_norm", **(TINY | {"plan": Plan(epochs=1, validation=0.3)}))
    model.fit(x, y)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    train, valid = model._split(y[:, None], 0.3, seed)
    assert len(valid) == 18
    np.testing.assert_allclose(model.scaler_.shift_, np.nanmean(x[train], axis=0))
    np.testing.assert_allclose(model.y_shift_, y[train].mean())
    assert (~np.isnan(x[train])).sum(axis=1).mean() == model.treatment_.K_
