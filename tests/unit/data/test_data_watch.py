"""Rows that are too short and zero bytes, which pandas reads over."""

import gzip
import io
import warnings

import numpy as np
import pandas as pd
import pytest

from nanwise.data.sniff import sniff
from nanwise.data.table import read_chunks, read_table
from nanwise.data.watch import count_short, watched
from nanwise.errors import DataError, GapWarning


def file_of(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


REGULAR = [
    "a,b\n1,2\n3,4\n",
    "a,b\n1,2\n3,4",
    "a,b\r\n1,2\r\n\r\n  \r\n3,4\r\n",
    'a,b\n"x\ny",2\n"p,q",4\n"say ""hi""",\n',
    'a,b\n5" pipe,2\n3,4\n',
    'a,b\n5" pipe,7" pipe\n3,4\n',
    "a,b\r1,2\r3,4\r",
    "a\n1\n\n2\n",
]


@pytest.mark.parametrize("content", REGULAR)
def test_regular_rows_are_not_reported(tmp_path, content):
    path = file_of(tmp_path, content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = read_table(path)
        list(read_chunks(path, rows=1))
    assert len(whole) >= 2


SHORT = [
    ("a,b,c\n1,2,3\n4,5\n6\n7,8,9\n", 2, 3, 2),
    ('a,b,c\n"x\ny",2,3\n"4,5"\n', 1, 4, 1),
    ('a,b,c\n5" pipe,2,3\n4,5\n', 1, 3, 2),
    ('a,b,c\n5" pipe,2,3\n4,5\n6" pipe,7,8\n', 1, 3, 2),
    ("a,b,c\r1,2,3\r4,5\r", 1, 3, 2),
    ("a;b;c\n1;2;3\n4,5;6", 1, 3, 2),
]


@pytest.mark.parametrize(("content", "rows", "line", "cells"), SHORT)
def test_short_rows_are_counted(tmp_path, content, rows, line, cells):
    path = file_of(tmp_path, content)
    assert count_short(path, sniff(path)) == (rows, line, cells)
    with pytest.warns(GapWarning, match=rf"{rows} rows? ha.*line {line}, with {cells}"):
        whole = read_table(path)
    with pytest.warns(GapWarning, match=rf"{rows} rows? ha"):
        chunks = list(read_chunks(path, rows=1))
    assert whole["c"].isna().sum() == rows == pd.concat(chunks)["c"].isna().sum()


def test_short_rows_in_utf16_and_gzip(tmp_path):
    wide = file_of(tmp_path, "a,b\n1,2\n3\n".encode("utf-16"))
    with pytest.warns(GapWarning, match="1 row has"):
        read_table(wide, encoding="utf-16")
    packed = file_of(tmp_path, gzip.compress(b"a,b\n1,2\n3\n"), "t.csv.gz")
    with pytest.warns(GapWarning, match="1 row has"):
        read_table(packed)


@pytest.mark.parametrize("block", [1, 2, 7, 64, 1 << 20])
def test_blocks_do_not_matter(tmp_path, monkeypatch, block):
    rng = np.random.default_rng(0)
    rows = [f'{k},"a{chr(10) * int(rng.integers(3))},b",{k}\n' for k in range(50)]
    path = file_of(tmp_path, "x,y,z\n" + "".join(rows))
    monkeypatch.setattr("nanwise.data.watch._BLOCK", block)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with watched(path, sniff(path)) as file:
            assert io.BytesIO(file.read()).getvalue() == path.read_bytes()
    with open(path, "a") as more:
        more.write("1,2\n")
    with pytest.warns(GapWarning, match="1 row has"), watched(path, sniff(path)) as file:
        file.read()


@pytest.mark.parametrize("packed", [False, True])
def test_a_zero_byte_far_behind_the_sample_is_refused(tmp_path, packed):
    content = b"a,b\n" + b"1,2\n" * 300_000 + b"3,\x004\n"
    path = file_of(tmp_path, gzip.compress(content, 1) if packed else content)
    with pytest.raises(DataError, match=f"zero byte at offset {content.index(0)}"):
        read_table(path)
    with pytest.raises(DataError, match="zero byte"):
        list(read_chunks(path))


def test_typed_chunks_hold_the_same_numbers(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=500) * 10.0 ** rng.integers(-9, 9, 500)
    frame = pd.DataFrame({"x ": x, "code": [f"{k % 7:03d}" for k in range(500)], "y": 1})
    frame.loc[::5, "x "] = np.nan
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    texts = pd.concat(read_chunks(path, rows=70))
    typed = pd.concat(read_chunks(path, rows=70, numeric={"x", "y"}))
    assert typed["x"].dtype == float
    assert typed["y"].dtype.kind == "i"
    np.testing.assert_array_equal(typed["x"], texts["x"].astype(float))
    assert typed["code"].tolist() == texts["code"].tolist() == frame["code"].tolist()


def test_typed_chunks_keep_what_is_no_number(tmp_path):
    path = file_of(tmp_path, "a,b\n1,2\n3,True\n5,False\nx,7\n")
    first, second = read_chunks(path, rows=2, numeric={"a", "b"})
    assert first["a"].tolist() == [1, 3]
    assert first["b"].tolist() == ["2", "True"]
    assert second["a"].tolist() == ["5", "x"]
    (only,) = read_chunks(file_of(tmp_path, "b\nTrue\nFalse\n"), numeric={"b"})
    assert only["b"].tolist() == ["True", "False"]


def test_thousands(tmp_path):
    path = file_of(tmp_path, 'a,b,c\n"1,234","1,2",x\n999,"1,234",y\n"-1,234,567.5",,z\n')
    frame = read_table(path)
    assert frame["a"].tolist() == [1234, 999, -1234567.5]
    assert frame["b"].tolist()[:2] == ["1,2", "1,234"]


@pytest.mark.parametrize("sep", [";", "\t"])
def test_thousands_are_told_from_a_decimal_comma(tmp_path, sep):
    thousands = file_of(tmp_path, f"a{sep}b\n1,234{sep}1\n999{sep}2\n")
    assert read_table(thousands)["a"].tolist() == [1234, 999]
    decimal = file_of(tmp_path, f"a{sep}b\n1,234{sep}0,5\n999{sep}2\n")
    assert read_table(decimal)["a"].tolist() == [1.234, 999]
