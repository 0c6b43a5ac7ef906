"""Copies of text tables: what is not a gap stays as it is, byte for byte."""

import csv
import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanwise.data.patch import TextPatch, is_gap, raw_rows, unquoted
from nanwise.data.schema import Schema
from nanwise.data.table import read_table
from nanwise.errors import DataError
from nanwise.estimators.table_imputer import decimals_of

CELLS = st.text(alphabet='ab1 ,;"\n\r.é', max_size=6)


def patched(tmp_path, text, after, schema=None, name="out.csv", frame=None, **how):
    """The copy of ``text`` in which gaps hold what stands in ``after``."""
    content = text if isinstance(text, bytes) else text.encode()
    source = tmp_path / "in.csv"
    source.write_bytes(content)
    read = read_table(source) if frame is None else frame
    kinds = Schema.infer(read, overrides=schema)
    before = kinds.check(read)[0]
    filled = before.copy()
    for column, values in after.items():
        gap = before[column].isna().to_numpy()
        filled.loc[gap, column] = values
    decimals = {c: decimals_of(before[c].to_numpy()) for c in before if before[c].dtype.kind == "f"}
    path = tmp_path / name
    with TextPatch(io.BytesIO(content), path, kinds, decimals, **how) as patch:
        patch.put(before, filled)
    return path.read_bytes()


@given(st.lists(st.lists(CELLS, min_size=2, max_size=3), min_size=1, max_size=4), st.booleans())
def test_rows_are_cut_where_the_csv_module_cuts_them(table, windows):
    end = "\r\n" if windows else "\n"
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator=end).writerows(table)
    content = out.getvalue().encode()
    rows = list(raw_rows(io.BytesIO(content), b","))
    assert b"".join(b",".join(cells) + stop for cells, stop in rows) == content
    found = [[unquoted(cell).decode() for cell in cells] for cells, _ in rows]
    assert found == [[cell.strip() for cell in row] for row in table]


@given(st.binary(max_size=40).filter(lambda data: b'"' not in data))
def test_any_bytes_without_quotes_are_put_together_again(data):
    rows = raw_rows(io.BytesIO(data), b";")
    assert b"".join(b";".join(cells) + stop for cells, stop in rows) == data


def test_a_quote_inside_a_cell_is_a_letter_like_others():
    rows = list(raw_rows(io.BytesIO(b'5" pipe,x\n"a ""b"", c"d,y\n'), b","))
    assert [cells for cells, _ in rows] == [[b'5" pipe', b"x"], [b'"a ""b"", c"d', b"y"]]


def test_a_quote_that_never_closes_is_refused():
    with pytest.raises(DataError, match="never closed"):
        list(raw_rows(io.BytesIO(b'a,b\n1,"x\n'), b","))


@pytest.mark.parametrize("cell", ["", " ", "NA", '"NA"', '""', " null ", "?", "-"])
def test_cells_that_stand_for_nothing(cell):
    assert is_gap(cell.encode())


@pytest.mark.parametrize("cell", ["0", "-1", '"0"', "NAN2", '"?!"'])
def test_cells_that_stand_for_something(cell):
    assert not is_gap(cell.encode())


def test_only_gaps_change(tmp_path):
    text = (
        '\ufeffid, "x" ,colour,note\r\n'
        '1, 2.50,"red","says ""hi"",\r\nthere"\r\n'
        "\r\n"
        "2,,blue,\r\n"
        '3,NA,"",  kept  \r\n'
        "4,1.5,red,z"
    )
    after = {"x": [3.14159, -0.001], "colour": ["blue"]}
    found = patched(tmp_path, text, after, schema={"id": "drop", "note": "drop"})
    expected = text.replace("2,,blue", "2,3.1,blue").replace('3,NA,""', "3,0.0,blue")
    assert found.decode() == expected


def test_whole_numbers_stay_whole_and_decimals_as_many_as_there_are(tmp_path):
    found = patched(
        tmp_path,
        "a,b,c\n1,1.25,0.1234567890123\n,,\n7,2.5,2\n",
        {
            "a": [3.6],
            "b": [1.0 / 3],
            "c": [1.0 / 3],
        },
    )
    assert found == b"a,b,c\n1,1.25,0.1234567890123\n4,0.33,0.33333333\n7,2.5,2\n"


def test_whole_numbers_with_a_point_keep_it(tmp_path):
    found = patched(tmp_path, "a,b\n148.0,1\n,2\n72.0,3\n", {"a": [99.7]})
    assert found == b"a,b\n148.0,1\n100.0,2\n72.0,3\n"


def test_a_decimal_comma_stays_one(tmp_path):
    text = "a;b\n1,5;2\n;3\n2,5;4\n"
    found = patched(tmp_path, text, {"a": [1.75]}, sep=";", decimal=",")
    assert found.decode() == text.replace("\n;3", "\n1,8;3")


def test_levels_and_truth_values_are_spelt_as_in_the_file(tmp_path):
    text = 'a,b,c\n"x, y",Yes,01\n,,\n"x, y",no,2\nz,Yes,\n'
    found = patched(
        tmp_path,
        text,
        {"a": ["x, y"], "b": [False], "c": ["1", "2"]},
        schema={"c": "categorical"},
        frame=pd.DataFrame(
            {
                "a": ["x, y", None, "x, y", "z"],
                "b": ["Yes", None, "no", "Yes"],
                "c": ["1", None, "2", None],
            }
        ),
    )
    assert found.decode() == 'a,b,c\n"x, y",Yes,01\n"x, y",no,01\n"x, y",no,2\nz,Yes,2\n'


def test_a_level_that_the_file_does_not_hold_is_quoted_where_it_must_be(tmp_path):
    kinds = {"a": {"kind": "categorical", "levels": ["x", "p,q"]}}
    assert patched(tmp_path, "a,b\nx,1\n,2\n", {"a": ["p,q"]}, schema=kinds) == (
        b'a,b\nx,1\n"p,q",2\n'
    )


def test_dates_are_written_like_the_others(tmp_path):
    day, hour = pd.Timestamp("2024-03-01 17:00"), pd.Timestamp("2024-03-01 17:00:20")
    text = "d,t\n2024/01/31,2024-01-31 10:00\n,\n2024/02/28,2024-02-01 11:00\n"
    found = patched(tmp_path, text, {"d": [day], "t": [hour]})
    assert found.decode() == text.replace("\n,\n", "\n2024/03/02,2024-03-01 17:00\n")


@pytest.mark.parametrize(
    ("like", "filled"),
    [
        ("2024-01-31T10:00:00.125Z", "2024-03-01T17:00:20.250Z"),
        ("2024-01-31 10:00:00+02:00", "2024-03-01 19:00:20+02:00"),
        ("2024-01-31T10:00:00-0530", "2024-03-01T11:30:20-0530"),
        ("2024-01-31T10:00:00", "2024-03-01T17:00:20"),
        ("2024/01/31 10:00:00.5", "2024/03/01 17:00:20.2"),
    ],
)
def test_times_have_the_zone_and_the_digits_of_the_others(tmp_path, like, filled):
    text = f"t,z\n{like},1\n,2\n{like},3\n"
    found = patched(tmp_path, text, {"t": [pd.Timestamp("2024-03-01 17:00:20.25")]})
    assert found.decode() == text.replace("\n,2", f"\n{filled},2")


def test_codes_filled_up_with_zeros_stay_as_long(tmp_path):
    text = "code,n\n00019,7\n12345,10\n,8\n"
    assert patched(tmp_path, text, {"code": [321.0]}).decode() == text.replace("\n,", "\n00321,")
    text = "n,m\n0,7\n10,10\n,8\n"
    assert patched(tmp_path, text, {"n": [3.0]}).decode() == text.replace("\n,", "\n3,")


def test_short_rows_are_made_longer_only_where_a_gap_is_filled(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": [1.0, np.nan, 5], "c": ["x", None, "y"]})
    found = patched(
        tmp_path, "a,b,c\n1,1,x\n2\n3,5,y\n", {"b": [4.0]}, schema={"c": "drop"}, frame=frame
    )
    assert found == b"a,b,c\n1,1,x\n2,4\n3,5,y\n"


def test_a_category_that_is_not_known_stays_in_the_file(tmp_path):
    kinds = Schema.infer(pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2]}))
    before = kinds.check(pd.DataFrame({"a": ["new", None], "b": [1.0, 2]}))[0]
    after = before.assign(a=pd.Categorical(["x", "x"], ["x", "y"]))
    path = tmp_path / "out.csv"
    with TextPatch(io.BytesIO(b"a,b\nnew,1\n,2\n"), path, kinds, {"b": 0}) as patch:
        assert patch.put(before, after) == 1
    assert path.read_bytes() == b"a,b\nnew,1\nx,2\n"


def test_a_packed_copy_unpacks_to_the_same(tmp_path):
    found = patched(tmp_path, "a,b\n1,1\n,2\n3,3\n", {"a": [2.0]}, name="out.csv.gz")
    assert gzip.decompress(found) == b"a,b\n1,1\n2,2\n3,3\n"


@pytest.mark.parametrize("rows", [1, 3])
def test_another_number_of_rows_than_in_the_file_leaves_no_file(tmp_path, rows):
    kinds = Schema.infer(pd.DataFrame({"a": [1.0, 2]}))
    before = pd.DataFrame({"a": np.ones(rows)})
    with (
        pytest.raises(DataError),
        TextPatch(io.BytesIO(b"a\n1\n2\n"), tmp_path / "out.csv", kinds, {"a": 0}) as patch,
    ):
        patch.put(before, before)
    assert list(tmp_path.iterdir()) == []
