import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanwise.errors import DataError
from nanwise.stress_test.hide import Hiding, as_table, observed_cells, with_gaps


def table_with_gaps(n_rows, n_columns, share, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[rng.random(X.shape) < share] = np.nan
    return X


@given(
    n_rows=st.integers(1, 12),
    n_columns=st.integers(1, 9),
    gaps=st.floats(0, 0.9),
    share=st.floats(0, 1),
    seed=st.integers(0, 2**31 - 1),
)
@settings(max_examples=60, deadline=None)
def test_mcar_keeps_exactly_the_share_of_each_row_and_reveals_nothing(
    n_rows, n_columns, gaps, share, seed
):
    X = table_with_gaps(n_rows, n_columns, gaps, seed)
    hiding = Hiding(X, "mcar", repeats=2, seed=seed)
    held = hiding.held(share, 1)
    count = (~np.isnan(X)).sum(axis=1)
    assert not held[np.isnan(X)].any()
    left = count - held.sum(axis=1)
    assert left.tolist() == [round(share * int(c)) for c in count]


@given(a=st.floats(0, 1), b=st.floats(0, 1), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_mcar_is_nested_over_shares_within_a_repeat(a, b, seed):
    hiding = Hiding(table_with_gaps(8, 10, 0.2, seed), "mcar", repeats=1, seed=seed)
    less, more = hiding.held(max(a, b), 0), hiding.held(min(a, b), 0)
    assert (more | ~less).all()


def test_repeats_differ_and_the_seed_decides():
    X = table_with_gaps(30, 10, 0.1, 0)
    one, same = Hiding(X, "mcar", 2, 7), Hiding(X, "mcar", 2, 7)
    assert (one.held(0.5, 0) == same.held(0.5, 0)).all()
    assert (one.held(0.5, 0) != one.held(0.5, 1)).any()
    assert (one.held(0.5, 0) != Hiding(X, "mcar", 2, 8).held(0.5, 0)).any()


def test_every_cell_is_hidden_equally_often():
    X = np.ones((4000, 5))
    share_hidden = Hiding(X, "mcar", 1, 3).held(0.4, 0).mean(axis=0)
    assert np.abs(share_hidden - 0.6).max() < 0.04  # five standard errors of a share of 4000


@pytest.fixture
def mixed():
    return pd.DataFrame(
        {
            "number": [1.5, np.nan, 3.0],
            "whole": [1, 2, 3],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "word": pd.Series(["a", None, "c"], dtype="str"),
            "level": pd.Categorical(["lo", "hi", None], categories=["lo", "hi"], ordered=True),
            "day": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
        },
        index=[7, 7, 9],
    )


def test_a_frame_keeps_its_kinds_where_they_have_room_for_a_gap(mixed):
    held = np.zeros((2, *mixed.shape), dtype=bool)
    held[0, 0] = True
    out = with_gaps(mixed, held)
    assert out.shape == (6, 7)
    assert out.iloc[0].isna().all()
    assert (out.isna().to_numpy()[3:] == mixed.isna().to_numpy()).all()
    kept = ["number", "nullable", "word", "level", "day"]
    assert [out[c].dtype for c in kept] == [mixed[c].dtype for c in kept]
    assert out["whole"].dtype == np.float64
    assert out["flag"].dtype == "boolean"
    assert out["flag"].tolist()[1:3] == [False, True]


def test_a_frame_is_not_modified_and_columns_may_share_a_name(mixed):
    mixed.columns = ["x", "x", "x", "y", "y", "z", "z"]
    before = mixed.copy()
    out = with_gaps(mixed, np.ones((1, *mixed.shape), dtype=bool))
    pd.testing.assert_frame_equal(mixed, before)
    assert list(out.columns) == list(mixed.columns)
    assert out.isna().to_numpy().all()


def test_observed_cells_of_objects_know_every_kind_of_gap():
    X = np.array([["a", None], [np.nan, 1], [pd.NA, pd.NaT]], dtype=object)
    assert observed_cells(X).tolist() == [[True, False], [False, True], [False, False]]


def test_an_array_of_objects_is_hidden_with_none():
    X = np.array([["a", 1], ["b", 2]], dtype=object)
    out = with_gaps(X, np.array([[[True, False], [False, True]]]))
    assert out.tolist() == [[None, 1], ["b", None]]


def test_whole_numbers_become_float_so_that_they_can_hold_gaps():
    assert as_table([[1, 2], [3, 4]]).dtype == np.float64


def test_what_is_no_table_is_refused_by_name():
    scipy = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="got csr_matrix"):
        as_table(scipy.csr_matrix(np.eye(2)))
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        as_table(np.ones(3))


def test_unknown_mechanism_is_refused():
    with pytest.raises(ValueError, match="mechanism must be one of"):
        Hiding(np.ones((2, 2)), "magic", 1, 0)


def test_single_values_of_series_are_hidden():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 5, 3))
    x[0, 2] = np.nan
    hiding = Hiding(x, "mcar", 2, seed=0)
    held = np.stack([hiding.held(0.5, r) for r in range(2)])
    hidden = with_gaps(x, held)
    assert hidden.shape == (8, 5, 3)
    before, after = (~np.isnan(a).reshape(len(a), -1) for a in (np.tile(x, (2, 1, 1)), hidden))
    np.testing.assert_array_equal(after.sum(axis=1), np.rint(before.sum(axis=1) / 2))
    assert not (after & ~before).any()
    np.testing.assert_array_equal(
        hidden[~np.isnan(hidden)], np.tile(x, (2, 1, 1))[~np.isnan(hidden)]
    )
    with pytest.raises(ValueError, match='values of series are hidden by "mcar" only'):
        Hiding(x, "mnar", 1, seed=0)
