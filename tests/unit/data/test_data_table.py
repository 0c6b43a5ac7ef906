"""Reading and writing: every odd file gets the right answer or one clear line."""

import gzip
import os
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from nanwise.data.schema import Schema
from nanwise.data.table import (
    TableWriter,
    infer_task,
    read_chunks,
    read_table,
    split_target,
    write_table,
)
from nanwise.errors import DataError, GapWarning


def put(folder, content, name="t.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def complaint(path, **options):
    with pytest.raises(DataError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_delimiters_are_found(tmp_path, sep):
    text = "a,b,c\n1,x y,2.5\n2,z,3.5\n".replace(",", sep)
    frame = read_table(put(tmp_path, text))
    assert list(frame.columns) == ["a", "b", "c"]
    assert frame["c"].tolist() == [2.5, 3.5]


def test_quoted_delimiters_do_not_mislead(tmp_path):
    frame = read_table(put(tmp_path, 'a,b\n"x;y;z",1\n"u;v;w",2\n'))
    assert frame["a"].tolist() == ["x;y;z", "u;v;w"]


def test_decimal_comma(tmp_path):
    path = put(tmp_path, "a;b;c\n1,5;x,y;3\n-2,25;z;4\n")
    whole = read_table(path)
    assert whole["a"].tolist() == [1.5, -2.25]
    assert whole["b"].tolist() == ["x,y", "z"]
    schema = Schema.infer(whole)
    pieces = pd.concat([schema.check(chunk)[0] for chunk in read_chunks(path, rows=1)])
    assert pieces["a"].tolist() == [1.5, -2.25]


@pytest.mark.parametrize("marker", ["", "NA", "NaN", "null", "None", "?", "N/A", "-", " ? ", "NA "])
def test_markers_are_gaps_in_numbers_and_text(tmp_path, marker):
    frame = read_table(put(tmp_path, f"a,b\n1,x\n{marker},{marker}\n3,y\n"))
    assert frame["a"].dtype == np.float64
    assert frame.isna().to_numpy().tolist() == [[False] * 2, [True] * 2, [False] * 2]


def test_columns_that_pandas_keeps_as_objects(tmp_path):
    path = put(tmp_path, "flag,big , x\nTrue,123456789012345678901,1\n,2,2\nFalse,3,3\n")
    frame = read_table(path)
    assert list(frame.columns) == ["flag", "big", "x"]
    schema = Schema.infer(frame)
    assert [column.kind for column in schema.columns] == ["boolean", "numeric", "numeric"]
    whole, _ = schema.check(frame)
    assert whole["big"][0] == 123456789012345678901.0
    (chunk,) = read_chunks(path)
    pd.testing.assert_frame_equal(schema.check(chunk)[0], whole, check_index_type=False)


def test_unknown_encoding(tmp_path):
    with pytest.raises(DataError, match="no encoding is called 'foo'"):
        read_table(put(tmp_path, "a\n1\n"), encoding="foo")


def test_byte_order_mark(tmp_path):
    frame = read_table(put(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n"))
    assert list(frame.columns) == ["a", "b"]


def test_gzip_whatever_the_name(tmp_path):
    path = put(tmp_path, gzip.compress(b"a,b\n1,2\n"), "t.csv")
    assert read_table(path).to_numpy().tolist() == [[1, 2]]
    assert len(list(read_chunks(path))) == 1


def test_cut_gzip(tmp_path):
    whole = gzip.compress(os.urandom(2000).hex().encode())
    assert "damaged" in complaint(put(tmp_path, whole[:500], "t.csv.gz"))


def test_wrong_encoding_names_the_byte(tmp_path):
    path = put(tmp_path, "name,x\nMüller,1\n".encode("latin-1"))
    message = complaint(path)
    assert "offset 8" in message
    assert "0xfc" in message
    assert "encoding=" in message
    assert read_table(path, encoding="latin-1")["name"][0] == "Müller"


@pytest.mark.parametrize("gzipped", [False, True])
def test_wrong_byte_far_behind_the_beginning(tmp_path, gzipped):
    text = b"a,b\n" + b"1,\xc3\xa9t\xc3\xa9\n" * 300_000 + b"2,\xff\n"
    path = put(tmp_path, gzip.compress(text, 1) if gzipped else text)
    message = complaint(path)
    assert f"offset {len(text) - 2}" in message
    with pytest.raises(DataError, match=f"offset {len(text) - 2}"):
        list(read_chunks(path))


def test_utf16_is_recognised(tmp_path):
    path = put(tmp_path, "a,b\n1,2\n".encode("utf-16"))
    assert 'encoding="utf-16"' in complaint(path)
    assert read_table(path, encoding="utf-16").to_numpy().tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"\n\n  \n", "empty"),
        (b"a,b\n", "no rows"),
        (b"a,b,a\n1,2,3\n", "more than one column called 'a'"),
        (b"a,b\n1,2\n1,2,3\n", "line 3"),
        (b"a,b\n1,2,3\n4,5,6\n", "more cells than the 2 names"),
        (bytes(range(256)) * 9, "not a text table: zero byte at offset 0"),
        (b"PK\x03\x04rest", "Excel"),
        (b"a b c\n1 2 3\n4 5 6\n", "separated by ' '"),
        (b"PAR1garbage", "damaged Parquet"),
    ],
)
def test_bad_content(tmp_path, content, said):
    assert said in complaint(put(tmp_path, content))


def test_junk_without_zero_bytes(tmp_path):
    junk = bytes(np.random.default_rng(0).integers(1, 256, 4000, dtype=np.uint8))
    assert "offset" in complaint(put(tmp_path, junk))


def test_bad_places(tmp_path):
    assert "no such file" in complaint(tmp_path / "absent.csv")
    assert "folder" in complaint(tmp_path)


def test_file_that_vanishes_between_looking_and_reading(tmp_path, monkeypatch):
    from nanwise.data import table

    path = put(tmp_path, "a,b\n1,2\n")
    look = table.sniff

    def look_and_lose(*args):
        found = look(*args)
        path.unlink()
        return found

    monkeypatch.setattr(table, "sniff", look_and_lose)
    assert "no such file" in complaint(path)


def test_wrong_delimiter_given(tmp_path):
    path = put(tmp_path, "a;b\n1;2\n3;4\n")
    assert "semicolon" in complaint(path, sep=",")
    assert read_table(path, sep=";").shape == (2, 2)


def test_one_column_is_a_table(tmp_path):
    assert read_table(put(tmp_path, "first name\nAda L\nAlan T\n")).shape == (2, 1)
    assert read_table(put(tmp_path, "x\n1\n2\n"))["x"].tolist() == [1, 2]


def test_ten_thousand_columns(tmp_path):
    values = np.random.default_rng(0).normal(size=(5, 10_000)).round(3)
    path = tmp_path / "wide.csv"
    write_table(values, path)
    started = datetime.now()
    frame = read_table(path)
    schema = Schema.infer(frame)
    checked, _ = schema.check(frame)
    assert (datetime.now() - started).total_seconds() < 20
    np.testing.assert_allclose(checked.to_numpy(), values)


def test_header_longer_than_the_sample(tmp_path):
    values = np.arange(120_000.0).reshape(2, -1)
    path = tmp_path / "wider.csv"
    write_table({f"column_{j}": values[:, j] for j in range(60_000)}, path)
    from nanwise.data.sniff import sniff

    assert len(sniff(path).header) == 60_000


def test_chunks_equal_the_whole(tmp_path):
    rng = np.random.default_rng(1)
    n = 250
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n).round(4)),
            "late": np.r_[np.full(200, np.nan), np.arange(50)],
            "word": rng.choice(["1", "2", "b"], n),
            "flag": rng.choice(["yes", "no"], n),
            "day": rng.choice(["2020-01-02", "1960-12-31"], n),
        }
    )
    for name in ("t.csv", "t.tsv", "t.csv.gz", "t.parquet"):
        path = tmp_path / name
        write_table(frame, path)
        whole = read_table(path)
        schema = Schema.infer(whole)
        chunks = list(read_chunks(path, rows=60))
        assert [len(chunk) for chunk in chunks] == [60, 60, 60, 60, 10]
        together = pd.concat([schema.check(chunk)[0] for chunk in chunks])
        pd.testing.assert_frame_equal(
            together, schema.check(whole)[0], check_index_type=False, check_categorical=True
        )


def test_error_in_a_chunk_names_the_row_of_the_file(tmp_path):
    path = put(tmp_path, "x\n" + "1\n" * 100 + "oops\n")
    schema = Schema.infer(pd.DataFrame({"x": [1.0]}))
    with pytest.raises(DataError, match=r"column 'x', row 100: expected a number, got 'oops'"):
        list(map(schema.check, read_chunks(path, rows=30)))


def test_chunks_refuse_what_read_table_refuses(tmp_path):
    with pytest.raises(DataError, match="no rows"):
        list(read_chunks(put(tmp_path, "a,b\n")))
    with pytest.raises(DataError, match="line 4"):
        list(read_chunks(put(tmp_path, "a,b\n1,2\n1,2\n1,2,3\n"), rows=1))
    with pytest.raises(ValueError, match="rows must be"):
        next(read_chunks(put(tmp_path, "a\n1\n"), rows=0))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.parquet"])
def test_writer_is_all_or_nothing(tmp_path, name):
    path = tmp_path / name
    write_table(pd.DataFrame({"a": [1]}), path)
    before = path.read_bytes()

    def fail_halfway():
        with TableWriter(path) as writer:
            writer.write(pd.DataFrame({"a": [2]}))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_halfway()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [name]


def test_writer_appends_and_keeps_ordinary_permissions(tmp_path):
    path = tmp_path / "t.csv"
    with TableWriter(path) as writer:
        writer.write(pd.DataFrame({"a": [1], "b": ["x"]}))
        assert not path.exists()
        writer.write(pd.DataFrame({"a": [2], "b": [None]}))
    assert path.read_text() == "a,b\n1,x\n2,\n"
    plain = tmp_path / "plain"
    plain.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode


def test_writer_refuses_other_columns_and_absent_folders(tmp_path):
    def mix():
        with TableWriter(tmp_path / "t.csv") as writer:
            writer.write({"a": [1]})
            writer.write({"b": [1]})

    with pytest.raises(DataError, match="expected the columns"):
        mix()
    with pytest.raises(DataError, match="cannot write to the folder"):
        write_table({"a": [1]}, tmp_path / "absent" / "t.csv")


def test_split_target():
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "label": ["x", None, "?", "y"]}, index=[5, 6, 7, 8])
    X, y, dropped = split_target(frame, "label")
    assert dropped == 2
    assert list(X.columns) == ["a"]
    assert y.to_dict() == {5: "x", 8: "y"}
    with pytest.raises(DataError, match="did you mean 'label'"):
        split_target(frame, "lable")
    with pytest.raises(DataError, match="no value in any row"):
        split_target({"a": [1, 2], "y": [None, np.nan]}, "y")


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b", "a"], "classification"),
        ([True, False], "classification"),
        (pd.Series(["u", "v"], dtype="category"), "classification"),
        ([0, 1, 0, 1], "classification"),
        ([0.5, 1.5, 0.5], "classification"),
        (np.tile([0.0, 1.0, 2.0, np.nan], 5), "classification"),
        (np.arange(20).repeat(3), "classification"),
        (np.arange(21).repeat(9), "regression"),
        (np.arange(10).repeat(2), "regression"),
        (np.linspace(0, 1, 5).repeat(10), "regression"),
        (["1", "2.5", "3"] * 9, "regression"),
    ],
)
def test_infer_task(y, task):
    assert infer_task(y) == task


def test_dates_are_no_target():
    with pytest.raises(DataError, match="date"):
        infer_task(pd.to_datetime(pd.Series(["2020-01-01", "2020-01-02"])))


def test_dates_written_as_text_are_no_target():
    with pytest.raises(DataError, match="date cannot be a target"):
        infer_task(pd.Series(["2024-05-31", None, "2023-01-01T10:00"]))
    assert infer_task(pd.Series(["2024-05-31", "soon"])) == "classification"


def test_a_first_line_of_numbers_is_told(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("0.5,3\n1.5,4\n,5\n")
    with pytest.warns(GapWarning, match="first line holds numbers only"):
        read_table(path)


@pytest.mark.parametrize("header", ["2019,2020", "a,0.5", "0.5"])
def test_names_may_be_numbers_of_years_or_one_of_many(tmp_path, header, recwarn):
    path = tmp_path / "x.csv"
    path.write_text(f"{header}\n{header.replace('a', '1')}\n")
    read_table(path)
    assert not [w for w in recwarn if "first line" in str(w.message)]
