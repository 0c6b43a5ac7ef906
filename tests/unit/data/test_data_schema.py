"""Kinds of columns, overrides, and the check of new rows."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nanwise.data.frames import as_frame
from nanwise.data.schema import MAX_LEVELS, OTHER, Column, Note, Schema, merge_notes
from nanwise.errors import DataError


def kind_of(cells, **options):
    return Schema.infer({"c": pd.Series(cells, **options)}).columns[0]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, 2, 3], "numeric"),
        ([1.5, None], "numeric"),
        (["1", "2.5", None], "numeric"),
        (["1", "?", " 2 "], "numeric"),
        ([None, None], "numeric"),
        ([np.nan, np.nan], "numeric"),
        ([0, 1, 0], "numeric"),
        ([True, False], "boolean"),
        ([True, None, False], "boolean"),
        (["yes", "No", None], "boolean"),
        (["TRUE", "false"], "boolean"),
        (["true"], "boolean"),
        (["t", "f"], "boolean"),
        (["t", "t"], "categorical"),
        (["yes", "no", "maybe"], "categorical"),
        (["2024-01-02", None, "1960-02-29"], "date"),
        (["2024/01/02", "2024/12/31"], "date"),
        (["2024-01-02T03:04:05Z", "2024-01-02 03:04"], "date"),
        (["2024-13-02", "2024-01-02"], "categorical"),
        (["a", "b", None], "categorical"),
        (["a", 1], "categorical"),
    ],
)
def test_kinds(cells, kind):
    assert kind_of(cells).kind == kind


def test_kinds_by_dtype():
    assert kind_of(["b", "a"], dtype="category").kind == "categorical"
    ordered = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    assert kind_of(["mid", "low"], dtype=ordered) == Column("c", "ordinal", ("low", "mid", "high"))
    assert kind_of([1, None], dtype="Int64").kind == "numeric"
    assert kind_of([True, None], dtype="boolean").kind == "boolean"
    assert kind_of(pd.to_datetime(["2020-01-01"])).kind == "date"
    assert kind_of(pd.to_datetime(["2020-01-01"]).tz_localize("Asia/Tokyo")).kind == "date"
    assert kind_of(pd.to_timedelta(["1 day", None])).kind == "numeric"


def test_levels_are_sorted_and_numbers_by_size():
    assert kind_of(["b", "a", "b"]).levels == ("a", "b")
    schema = Schema.infer({"c": [10, 9, 10, None]}, {"c": "categorical"})
    assert schema["c"].levels == ("9", "10")


def test_identifiers_become_one_level_with_a_note():
    schema = Schema.infer({"id": [f"u{i}" for i in range(300)]})
    assert schema["id"].levels == (OTHER,)
    assert "identifier" in schema.notes[0]


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        (["31/01/2024", "01/02/2024", None], "dates such as '31/01/2024'"),
        (["1.2.24", "31.12.23"], "dates such as '1.2.24'"),
        (["$1,038.61", "$3"], "amounts such as '$1,038.61'"),
        (["23%", "4 %"], "amounts such as '23%'"),
        (["1-2", "3-4"], None),
        (["12 kg", "3 kg"], None),
    ],
)
def test_texts_that_look_like_dates_or_amounts_are_told(cells, what):
    notes = Schema.infer({"c": cells}).notes
    assert [what in note for note in notes] == ([True] if what else [])


def test_many_levels_keep_the_most_frequent():
    rng = np.random.default_rng(0)
    words = [f"w{i:03d}" for i in range(150) for _ in range(150 - i)]
    schema = Schema.infer({"c": rng.permutation(words)})
    assert schema["c"].levels == (*(f"w{i:03d}" for i in range(MAX_LEVELS)), OTHER)
    assert "identifier" not in schema.notes[0]
    checked, notes = schema.check({"c": ["w000", "w149", "never seen", None]})
    assert checked["c"].astype(object).tolist()[:3] == ["w000", OTHER, OTHER]
    assert checked["c"].isna().tolist() == [False, False, False, True]
    assert notes == []


def test_overrides_from_a_file(tmp_path):
    path = tmp_path / "schema.json"
    content = {
        "columns": {
            "age": "numeric",
            "grade": {"kind": "ordinal", "levels": ["low", "mid", "high"]},
            "id": "drop",
            "code": "categorical",
            "sex": {"kind": "boolean", "levels": ["m", "f"]},
            "y": "categorical",
        }
    }
    path.write_text(json.dumps(content))
    frame = pd.DataFrame(
        {
            "id": ["a", "b"],
            "age": ["1", "?"],
            "grade": ["high", "low"],
            "code": [7, 8],
            "sex": ["f", "m"],
            "rest": [0.5, 1],
        }
    )
    schema = Schema.infer(frame, overrides=Schema.read(path), target="y")
    assert schema == Schema.infer(frame, overrides=path, target="y")
    assert schema.names == ["age", "grade", "code", "sex", "rest"]
    assert schema["code"] == Column("code", "categorical", ("7", "8"))
    checked, notes = schema.check(frame)
    assert notes == []
    assert checked["grade"].cat.codes.tolist() == [2, 0]
    assert checked["sex"].tolist() == [True, False]
    with pytest.raises(DataError, match="'y', not found"):
        Schema.infer(frame, overrides=path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a JSON file"),
        ("[]", "looks like"),
        ('{"columns": {"a": "nummeric"}}', "one of numeric"),
        ('{"columns": {"a": {"levels": ["x"]}}}', "got None"),
        ('{"columns": {"a": {"kind": "ordinal", "levels": ["x", "x"]}}}', "twice"),
        ('{"columns": {"a": {"kind": "boolean", "levels": ["x"]}}}', "two levels"),
    ],
)
def test_bad_schema_files(tmp_path, text, said):
    path = tmp_path / "schema.json"
    path.write_text(text)
    with pytest.raises(DataError, match=said) as caught:
        Schema.read(path)
    assert str(path) in str(caught.value)


def test_schema_file_absent(tmp_path):
    with pytest.raises(DataError, match="cannot read the schema"):
        Schema.read(tmp_path / "no.json")


def test_overrides_that_do_not_fit():
    with pytest.raises(
        DataError, match="column 'agee', not found in the table; did you mean 'age'"
    ):
        Schema.infer({"age": [1]}, {"columns": {"agee": "numeric"}})
    with pytest.raises(DataError, match="needs its levels in order"):
        Schema.infer({"g": ["low", "high"]}, {"g": "ordinal"})
    assert Schema.infer({"g": [3, 1, 2]}, {"g": "ordinal"})["g"].levels == ("1", "2", "3")


FRAME = pd.DataFrame(
    {
        "x": [1.0, None, 3.0],
        "n": [1, 2, 3],
        "color": ["red", "blue", None],
        "flag": ["yes", "no", None],
        "day": ["2024-01-02", None, "1969-12-31"],
    },
    index=["r", "s", "t"],
)


def test_check_gives_one_form_and_is_idempotent():
    schema = Schema.infer(FRAME)
    before = FRAME.copy()
    once, notes = schema.check(FRAME)
    twice, _ = schema.check(once)
    pd.testing.assert_frame_equal(once, twice)
    pd.testing.assert_frame_equal(FRAME, before)
    assert notes == []
    assert [str(d) for d in once.dtypes] == [
        "float64",
        "float64",
        "category",
        "boolean",
        "datetime64[us]",
    ]
    assert list(once.index) == ["r", "s", "t"]


def test_check_orders_columns_and_notes_extra_ones():
    schema = Schema.infer(FRAME)
    checked, notes = schema.check(FRAME[FRAME.columns[::-1]].assign(more=1))
    assert list(checked.columns) == list(FRAME.columns)
    assert [(n.kind, n.number) for n in notes] == [("extra_columns", 1)]
    assert "'more'" in notes[0]


def test_check_names_all_missing_columns():
    with pytest.raises(DataError, match="columns 'n', 'flag', not found"):
        Schema.infer(FRAME).check(FRAME.drop(columns=["n", "flag"]))


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("x", "tall", "column 'x', row s: expected a number, got 'tall'"),
        ("n", "2024-01-01", "expected a number"),
        ("day", "yesterday", "column 'day', row s: expected a date"),
        ("flag", "perhaps", "column 'flag', row s: expected a truth value"),
        ("x", np.inf, "column 'x' contains infinity, first in row s"),
        ("x", "-inf", "column 'x' contains infinity, first in row s"),
        ("x", 1j, "complex|expected a number"),
        ("color", ["red"], "column 'color' holds"),
    ],
)
def test_cells_that_do_not_fit(column, value, said):
    schema = Schema.infer(FRAME)
    bad = FRAME.astype(object)
    bad.at["s", column] = value
    with pytest.raises(DataError, match=said):
        schema.check(bad)


def test_unknown_categories_are_gaps_with_a_count():
    schema = Schema.infer(FRAME)
    new = pd.concat([FRAME] * 2, ignore_index=True)
    new["color"] = ["green", "red", "pink", "green", None, "blue"]
    checked, (note,) = schema.check(new)
    assert checked["color"].isna().tolist() == [True, False, True, True, True, False]
    assert (note.kind, note.column, note.number) == ("unknown_category", "color", 3)
    assert "'green', 'pink'" in note
    assert isinstance(note, str)
    total, extra = merge_notes([note, note, Note("x", "extra_columns", "", 1)])
    assert total.number == 6
    assert "6 cells" in total
    assert extra == "x"


def test_numbers_as_categories_whatever_the_dtype():
    schema = Schema.infer({"c": [1, 2, 3]}, {"c": "categorical"})
    for cells in ([1, 2], [1.0, 2.0], ["1", "2"], ["1.0", "2.00"], np.array([1, 2], dtype="f4")):
        assert schema.check({"c": cells})[0]["c"].cat.codes.tolist() == [0, 1]


def test_block_conversion_equals_the_careful_one():
    """Text columns of numbers go as one block; columns with markers or blanks one by one."""
    columns = {
        "plain": ["1", "2.5", None],
        "marker": ["1", "?", "-3e2"],
        "blank": [" 1", "2 ", "nan"],
        "number": [1.0, np.nan, 3.0],
        "whole": [1, 2, 3],
    }
    schema = Schema(tuple(Column(name, "numeric") for name in columns))
    checked, _ = schema.check(pd.DataFrame({k: pd.Series(v) for k, v in columns.items()}))
    expected = [[1, 1, 1, 1, 1], [2.5, np.nan, 2, np.nan, 2], [np.nan, -300, np.nan, 3, 3]]
    np.testing.assert_array_equal(checked.to_numpy(), expected)


def test_dates_are_utc():
    schema = Schema.infer({"d": ["2024-01-01T00:30:00+01:00"]})
    aware = pd.Series(pd.to_datetime(["2024-01-01 00:30"])).dt.tz_localize("Europe/Paris")
    expected = np.datetime64("2023-12-31T23:30", "us")
    for cells in (["2024-01-01T00:30:00+01:00"], aware):
        assert schema.check({"d": cells})[0]["d"].to_numpy()[0] == expected


def test_json_round_trip():
    schema = Schema.infer(FRAME, {"n": "drop"})
    back = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert back == schema
    assert Schema.infer(FRAME, overrides=back) == schema
    assert schema.check(FRAME)[1] == []


def test_other_containers():
    expected = Schema.infer(FRAME.reset_index(drop=True))
    cells = FRAME.astype(object).where(FRAME.notna(), None).to_dict("list")
    polars = pl.DataFrame(cells)
    typed = polars.with_columns(
        pl.col("day").str.to_date(), pl.col("flag") == "yes", pl.col("color").cast(pl.Categorical)
    )
    reference, _ = expected.check(FRAME.reset_index(drop=True))
    for frame in (polars, typed, polars.lazy(), FRAME.to_dict("list")):
        assert Schema.infer(frame) == expected
        pd.testing.assert_frame_equal(expected.check(frame)[0], reference)
    assert Schema.infer(np.zeros((2, 3))).names == ["x0", "x1", "x2"]


def test_polars_gaps_of_every_dtype():
    frame = as_frame(
        pl.DataFrame(
            {
                "i": pl.Series([1, None], dtype=pl.Int8),
                "f": pl.Series([1.5, None]),
                "d": pl.Series(["1.25", None]).cast(pl.Decimal(10, 2)),
                "t": pl.Series(["2024-01-01T01:00:00", None]).str.to_datetime(),
            }
        )
    )
    schema = Schema.infer(frame)
    assert [c.kind for c in schema.columns] == ["numeric", "numeric", "numeric", "date"]
    checked, _ = schema.check(frame)
    assert checked.isna().to_numpy().tolist() == [[False] * 4, [True] * 4]
    assert checked["d"][0] == 1.25


def test_what_is_no_table():
    with pytest.raises(DataError, match="two axes"):
        as_frame(np.zeros(3))
    with pytest.raises(DataError, match="more than one column called 'a'"):
        as_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="differ in length"):
        as_frame({"a": [1], "b": [1, 2]})
    assert list(as_frame(pd.DataFrame({0: [1], 1: [2]})).columns) == ["0", "1"]


def test_identifiers_are_told():
    n = 120
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": rng.permutation(n) + 100_000,
            "name": [f"N{k}" for k in range(n)],
            "amount": rng.choice(10**6, n, replace=False),
            "age": rng.integers(0, 90, n),
            "x": np.arange(n) / 2,
        }
    )
    notes = Schema.infer(frame).notes
    assert [note.split()[1] for note in notes] == ["'id'", "'name'"]
    assert "another whole number in every row" in notes[0]
    assert "none twice, so all are one level" in notes[1]
    assert Schema.infer(frame, {"id": "drop", "name": "drop"}).notes == ()
