"""The interface of the mechanisms; what they mean is proven in tests/statistics."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nanwise.data.ampute import MECHANISMS, ampute, groups, held_cells, replicate


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 200
    return pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "i": rng.integers(0, 9, n),
            "b": rng.random(n) < 0.5,
            "w": rng.choice(["u", "v", "w"], n),
            "c": pd.Categorical(rng.choice(["lo", "hi"], n), ["lo", "hi"], ordered=True),
            "d": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="D"),
        },
        index=[f"r{i}" for i in range(n)],
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_frames_keep_their_form(frame, mechanism):
    before = frame.copy()
    out = ampute(frame, 0.4, mechanism, random_state=0)
    held = held_cells(frame, 0.4, mechanism, random_state=0)
    pd.testing.assert_frame_equal(frame, before)
    np.testing.assert_array_equal(out.isna().to_numpy(), held)
    assert held.any()
    assert out.index.equals(frame.index)
    assert list(out.columns) == list(frame.columns)
    for j, name in enumerate(frame):
        kept = ~held[:, j]
        assert (out[name][kept] == frame[name][kept]).all()
        if kept.all() or name in "xwcd":
            assert out[name].dtype == frame[name].dtype
    again = ampute(frame, 0.4, mechanism, random_state=0)
    pd.testing.assert_frame_equal(out, again)


def test_dtypes_that_cannot_hold_gaps(frame):
    out = ampute(frame, 0.5, random_state=0)
    assert str(out["i"].dtype) == "float64"
    assert str(out["b"].dtype) == "boolean"


def test_polars_in_polars_out(frame):
    table = pl.DataFrame({name: frame[name].tolist() for name in frame})
    out = ampute(table, 0.4, "mnar", random_state=3)
    held = held_cells(table, 0.4, "mnar", random_state=3)
    assert out.schema == table.schema
    nulls = np.column_stack([out[name].is_null().to_numpy() for name in out.columns])
    np.testing.assert_array_equal(nulls, held)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_missing_stays_missing_and_is_not_counted(mechanism):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 5))
    X[:, 1:][rng.random((4000, 4)) < 0.5] = np.nan
    before = X.copy()
    held = held_cells(X, 0.4, mechanism, random_state=0)
    np.testing.assert_array_equal(X, before)
    assert not (held & np.isnan(X)).any()
    out = ampute(X, 0.4, mechanism, random_state=0)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(X) | held)
    hit = held[:, 1:][~np.isnan(X[:, 1:])]
    assert abs(hit.mean() - 0.4) < 4 * np.sqrt(0.24 / hit.size)


def test_columns_by_name_and_position(frame):
    for columns in (["x", "w"], [0, 3]):
        held = held_cells(frame, 0.5, "mcar", columns, random_state=0)
        assert held.any(axis=0).tolist() == [True, False, False, True, False, False]
    with pytest.raises(ValueError, match="no column 'z'"):
        held_cells(frame, 0.5, columns=["z"])
    with pytest.raises(ValueError, match="no column 6"):
        held_cells(frame, 0.5, columns=[6])


@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, np.nan])
def test_shares_that_are_none(share):
    with pytest.raises(ValueError, match="share"):
        ampute(np.zeros((3, 3)), share)
    with pytest.raises(ValueError, match="share"):
        groups(np.zeros((3, 3)), (0.5, share))


def test_bad_arguments():
    with pytest.raises(ValueError, match="mechanism must be one of"):
        ampute(np.zeros((3, 3)), 0.3, "mcat")
    with pytest.raises(ValueError, match="2-D array"):
        ampute(np.zeros(3))
    with pytest.raises(ValueError, match="at least one column that gets no gaps"):
        ampute(np.zeros((3, 1)), 0.3, "mar")
    with pytest.raises(ValueError, match="at least one column that gets no gaps"):
        ampute(np.zeros((3, 2)), 0.3, "mar", columns=[0, 1])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_odd_columns(mechanism):
    X = np.column_stack([np.arange(50.0), np.ones(50), np.full(50, np.nan), np.arange(50) % 2])
    held = held_cells(X, 0.5, mechanism, random_state=0)
    assert not held[:, 2].any()
    assert not held_cells(X, 0.0, mechanism, random_state=0).any()
    assert held_cells(X[:0], 0.5, mechanism, random_state=0).shape == (0, 4)


def test_random_states():
    X = np.zeros((50, 4))
    draws = [
        held_cells(X, 0.5, random_state=state)
        for state in (7, 7, 8, np.random.RandomState(7), np.random.default_rng(7))
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[0], draws[4])
    assert (draws[0] != draws[2]).any()
    np.testing.assert_array_equal(
        draws[3], held_cells(X, 0.5, random_state=np.random.RandomState(7))
    )


def test_float32_stays_and_integers_become_floats():
    assert ampute(np.ones((9, 2), dtype=np.float32), 0.5, random_state=0).dtype == np.float32
    assert ampute(np.ones((9, 2), dtype=int), 0.5, random_state=0).dtype == np.float64


def test_replicate(frame):
    X = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(replicate(X, 3), np.hstack([X, X, X]))
    wide = replicate(frame, 2)
    assert list(wide.columns) == [*frame.columns, *(f"{name}__1" for name in frame.columns)]
    assert (wide["w"] == wide["w__1"]).all()
    with pytest.raises(ValueError, match="at least 1"):
        replicate(X, 0)


def test_groups(frame):
    out, group = groups(frame, random_state=0)
    assert np.bincount(group).tolist() == [100, 100]
    assert list(out.columns) == list(frame.columns)
    _, group = groups(np.zeros((11, 2)), (0.1, 0.2, 0.3), random_state=0)
    assert np.bincount(group).tolist() == [4, 4, 3]
