"""From a mixed table to numbers and back, over many tables."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from nanwise.data.encode import Encoder
from nanwise.data.schema import Column, Schema

FRAME = pd.DataFrame(
    {
        "x": [1.5, None],
        "color": ["red", None],
        "size": ["big", "small"],
        "flag": ["no", None],
        "day": ["1970-01-02", "1969-12-31T12:00"],
    }
)
SCHEMA = Schema(
    (
        Column("x", "numeric"),
        Column("color", "categorical", ("blue", "red")),
        Column("size", "ordinal", ("small", "mid", "big")),
        Column("flag", "boolean"),
        Column("day", "date"),
    )
)


def test_features_by_hand():
    encoder = Encoder(SCHEMA).fit(FRAME)
    nan = np.nan
    expected = [[1.5, 0, 1, 2, 0, 1], [nan, nan, nan, 0, nan, -0.5]]
    np.testing.assert_array_equal(encoder.transform(FRAME), expected)
    assert encoder.feature_names_ == ["x", "color=blue", "color=red", "size", "flag", "day"]
    assert encoder.get_feature_names_out().tolist() == encoder.feature_names_
    assert encoder.groups_ == [[0], [1, 2], [3], [4], [5]]
    assert encoder.categorical_.tolist() == [False, True, True, False, True, False]


def test_codes_instead_of_onehot():
    encoder = Encoder(SCHEMA, onehot=False).fit(FRAME)
    np.testing.assert_array_equal(
        encoder.transform(FRAME), [[1.5, 1, 2, 0, 1], [np.nan, np.nan, 0, np.nan, -0.5]]
    )
    assert encoder.groups_ == [[0], [1], [2], [3], [4]]


def test_unknown_category_is_a_gap_in_the_whole_group():
    encoder = Encoder(SCHEMA).fit()
    out = encoder.transform(FRAME.assign(color=["green", "blue"]))
    np.testing.assert_array_equal(out[:, 1:3], [[np.nan, np.nan], [1, 0]])


def test_imputed_features_go_to_the_nearest_level():
    encoder = Encoder(SCHEMA).fit()
    back = encoder.inverse_transform([[2.0, 0.4, 0.3, 7.2, 0.6, 0.5], [2.0, 0.2, 0.3, -3, 0.4, 0]])
    assert back["color"].tolist() == ["blue", "red"]
    assert back["size"].tolist() == ["big", "small"]
    assert back["flag"].tolist() == [True, False]
    assert back["day"][0] == pd.Timestamp("1970-01-01 12:00")
    with pytest.raises(ValueError, match="6 features"):
        encoder.inverse_transform(np.zeros((1, 2)))


def test_clone_and_column_without_levels():
    encoder = Encoder(Schema((Column("c", "categorical"), Column("x", "numeric"))))
    out = clone(encoder).fit_transform({"c": ["a"], "x": [1]})
    assert out.tolist() == [[1.0]]


texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=6)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)
days = st.datetimes(min_value=pd.Timestamp(1700, 1, 1), max_value=pd.Timestamp(2200, 1, 1))
CELLS = {
    "float": numbers,
    "integer": st.integers(-(2**40), 2**40),
    "text": texts,
    "words": st.sampled_from(["yes", "no"]),
    "truth": st.booleans(),
    "date": days,
    "isodate": days.map(lambda d: d.isoformat(" ")),
    "number_text": numbers.map(repr),
}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=5))
    columns = {}
    for j, kind in enumerate(kinds):
        gap = draw(st.sampled_from([None, np.nan]))
        cells = draw(st.lists(st.one_of(CELLS[kind], st.just(gap)), min_size=n, max_size=n))
        dtype = draw(st.sampled_from([object, None])) if kind != "text" else object
        columns[f"c{j}"] = pd.Series(cells, dtype=dtype)
    return pd.DataFrame(columns)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.booleans())
def test_round_trip(frame, onehot):
    schema = Schema.infer(frame)
    checked, notes = schema.check(frame)
    assert notes == []
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    encoder = Encoder(schema, onehot).fit(frame)
    features = encoder.transform(frame)
    assert features.shape == (len(frame), len(encoder.feature_names_))
    back = encoder.inverse_transform(features)
    # Days are floats: a microsecond is lost in the far past and future, nothing else is.
    for column in schema.columns:
        if column.kind == "date":
            off = (back[column.name] - checked[column.name]).abs().max()
            assert pd.isna(off) or off <= pd.Timedelta("20us")
            assert back[column.name].isna().equals(checked[column.name].isna())
        else:
            pd.testing.assert_series_equal(back[column.name], checked[column.name])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.data())
def test_a_row_does_not_depend_on_the_others(frame, data):
    encoder = Encoder(Schema.infer(frame)).fit()
    rows = data.draw(st.lists(st.integers(0, len(frame) - 1), min_size=1, max_size=5))
    np.testing.assert_array_equal(
        encoder.transform(frame.iloc[rows]), encoder.transform(frame)[rows]
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables())
def test_gaps_stay_exactly_where_they_were(frame):
    schema = Schema.infer(frame)
    encoder = Encoder(schema).fit()
    features = encoder.transform(frame)
    checked, _ = schema.check(frame)
    for column, group in zip(schema.columns, encoder.groups_, strict=True):
        gap = checked[column.name].isna().to_numpy()
        for j in group:
            np.testing.assert_array_equal(np.isnan(features[:, j]), gap)
        was_gap = frame[column.name].isna().to_numpy()
        assert not (was_gap & ~gap).any()
