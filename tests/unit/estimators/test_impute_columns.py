"""Gaps come back in the dtype of their column, whichever the user has."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from nanwise import make_imputer
from nanwise.errors import DataError
from nanwise.estimators.impute.columns import fill_pandas

N = 60
RNG = np.random.default_rng(0)
Z = RNG.normal(size=N)
GAP = RNG.random(N) < 0.3
STAMPS = (pd.Timestamp("2024-01-15") + pd.to_timedelta(5 * Z, unit="D")).floor("s")


def gappy(cells):
    return [None if gap else cell for cell, gap in zip(cells, GAP, strict=True)]


def whole(scale):
    return np.rint(scale * Z).astype(int)


PANDAS = {
    "float32": pd.Series(Z.astype("float32")).mask(GAP),
    "float16": pd.Series(Z.astype("float16")).mask(GAP),
    "Float32": pd.Series(Z, dtype="Float32").mask(GAP),
    "Int8": pd.Series(whole(30), dtype="Int8").mask(GAP),
    "UInt8": pd.Series(np.clip(whole(3) + 1, 0, None), dtype="UInt8").mask(GAP),
    "zoned": pd.Series(STAMPS).dt.tz_localize("Europe/Paris").mask(GAP),
    "seconds": pd.Series(STAMPS).astype("datetime64[s]").mask(GAP),
    "durations": pd.Series(pd.to_timedelta(whole(5000), unit="s")).mask(GAP),
    "arrow timestamp": pd.Series(STAMPS).mask(GAP).astype("timestamp[us][pyarrow]"),
    "arrow zoned": pd.Series(STAMPS)
    .dt.tz_localize("UTC")
    .mask(GAP)
    .astype("timestamp[us, tz=UTC][pyarrow]"),
    "arrow day": pd.Series(STAMPS).dt.date.mask(GAP).astype("date32[pyarrow]"),
    "arrow text": pd.Series(np.where(Z > 0, "hi", "lo")).mask(GAP).astype("string[pyarrow]"),
    "category": pd.Series(np.where(Z > 0, "hi", "lo")).mask(GAP).astype("category"),
}


@pytest.mark.parametrize("column", PANDAS.values(), ids=PANDAS)
def test_pandas_columns_keep_their_dtype_and_their_values(column):
    frame = pd.DataFrame({"a": column, "b": Z}, index=pd.Index(range(5, 5 + N), name="id"))
    frame["a"] = column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array
    found = make_imputer("em").fit_transform(frame)
    assert found["a"].dtype == column.dtype
    assert found["a"].notna().all()
    pd.testing.assert_series_equal(found["a"][~GAP], frame["a"][~GAP])
    assert found.index.equals(frame.index)


OBJECTS = {
    "int": (int, [int(v) for v in whole(10)]),
    "date": (dt.date, list(STAMPS.date)),
    "datetime": (dt.datetime, list(STAMPS.to_pydatetime())),
    "decimal": (Decimal, [Decimal(f"{v:.2f}") for v in Z]),
    "time": (dt.time, [STAMPS[i % 5].time() for i in range(N)]),
}


@pytest.mark.parametrize(("kind", "cells"), OBJECTS.values(), ids=OBJECTS)
def test_objects_are_filled_by_objects_of_their_type(kind, cells):
    frame = pd.DataFrame({"a": pd.Series(gappy(cells), dtype=object), "b": Z})
    filled = make_imputer("em").fit_transform(frame)["a"][GAP]
    assert {type(cell) for cell in filled} == {kind}
    if kind is Decimal:
        assert {cell.as_tuple().exponent for cell in filled} == {-2}


def test_polars_columns_keep_their_dtype_and_their_values():
    pl = pytest.importorskip("polars")
    columns = {
        "day": (list(STAMPS.date), pl.Date),
        "ms": (list(STAMPS.to_pydatetime()), pl.Datetime("ms")),
        "u8": ([int(v) for v in np.clip(whole(3) + 1, 0, None)], pl.UInt8),
        "f32": (Z.tolist(), pl.Float32),
        "duration": ([dt.timedelta(days=v) for v in Z], pl.Duration),
        "time": ([STAMPS[i % 5].time() for i in range(N)], pl.Time),
        "decimal": ([Decimal(f"{v:.2f}") for v in Z], pl.Decimal(10, 2)),
        "enum": (list(np.where(Z > 0, "hi", "lo")), pl.Enum(["lo", "hi"])),
        "category": (list(np.where(Z > 0, "hi", "lo")), pl.Categorical),
        "truth": ([bool(v) for v in Z > 0], pl.Boolean),
    }
    frame = pl.DataFrame(
        [pl.Series(name, gappy(cells), dtype=dtype) for name, (cells, dtype) in columns.items()]
    ).with_columns(
        zoned=pl.Series(gappy(STAMPS.to_pydatetime())).dt.replace_time_zone("Europe/Paris"),
        z=pl.Series(Z),
    )
    found = make_imputer("em").fit_transform(frame)
    assert found.schema == frame.schema
    assert found.null_count().row(0) == (0,) * frame.width
    assert found.filter(~GAP).equals(frame.filter(~GAP))


def test_a_zoned_answer_is_the_same_moment_in_either_library():
    pl = pytest.importorskip("polars")
    stamps = pd.Series(STAMPS).dt.tz_localize("Europe/Paris").mask(GAP)
    ours = make_imputer("em").fit_transform(pd.DataFrame({"a": stamps, "b": Z}))["a"]
    frame = pl.DataFrame({"a": gappy(list(stamps)), "b": Z})
    theirs = make_imputer("em").fit_transform(frame)["a"].dt.convert_time_zone("UTC").to_list()
    apart = (ours.dt.tz_convert("UTC") - pd.Series(theirs)).abs().max()
    assert apart < pd.Timedelta("1ms")


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("Int8", -128, 127), ("UInt16", 0, 65535), ("Int64", -(2**63), 2**63 - 1024)],
)
def test_whole_numbers_stay_within_the_range_of_their_type(dtype, low, high):
    column = pd.Series([1, None, None, None], dtype=dtype)
    filled = fill_pandas(column, np.array([1.0, -1e30, 1e30, 2.4]), column.isna().to_numpy())
    assert filled.tolist() == [1, low, high, 2]


def test_a_level_that_these_rows_lack_is_added_to_their_categories():
    learnt = pd.DataFrame({"x": Z, "c": pd.Categorical(np.where(Z > 0, "hi", "lo"))})
    model = make_imputer("em").fit(learnt)
    rows = pd.DataFrame({"x": [-3.0, 3.0], "c": pd.Categorical([None, "hi"])})
    found = model.transform(rows)
    assert found["c"].tolist() == ["lo", "hi"]
    assert isinstance(found["c"].dtype, pd.CategoricalDtype)


def test_an_added_level_has_the_type_of_the_others():
    learnt = pd.DataFrame({"x": Z, "c": pd.Categorical(np.where(Z > 0, 2, 1))})
    rows = pd.DataFrame({"x": [-3.0, 3.0], "c": pd.Categorical([None, 2])})
    assert make_imputer("em").fit(learnt).transform(rows)["c"].tolist() == [1, 2]


def test_what_is_still_missing_stays_a_gap():
    column = pd.Series([1, None, None], dtype="Int64")
    filled = fill_pandas(column, np.array([1.0, np.nan, 3.0]), column.isna().to_numpy())
    assert filled.isna().tolist() == [False, True, False]


@pytest.mark.parametrize("name", ["mean", "em", "mice", "vsae", "gain", "missforest"])
def test_a_table_without_a_single_value_is_refused(name):
    with pytest.raises(DataError, match="nothing can be learnt"):
        make_imputer(name).fit(np.full((5, 2), np.nan))
    with pytest.raises(DataError, match="no columns"):
        make_imputer(name).fit(pd.DataFrame(index=range(3)))
