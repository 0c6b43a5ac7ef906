"""Copies of Parquet files: types, metadata and all values that are there stay."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nanwise.data.patch_parquet import ParquetPatch
from nanwise.data.schema import Schema
from nanwise.data.table import read_table
from nanwise.errors import DataError

BIG = 2**60 + 1  # float64 does not hold it
COLUMNS = {
    "whole": pa.array([BIG, None, 3], pa.int64()),
    "small": pa.array([1, None, None], pa.uint8()),
    "real": pa.array([1.5, float("nan"), None], pa.float32()),
    "money": pa.array([Decimal("1.25"), None, Decimal("3.50")], pa.decimal128(8, 2)),
    "truth": pa.array([True, None, False]),
    "text": pa.array(["a", " NA ", "b"]),
    "level": pa.array(["u", None, "v"]).dictionary_encode(),
    "span": pa.array([dt.timedelta(minutes=1), None, dt.timedelta(hours=2)], pa.duration("ms")),
    "clock": pa.array([dt.time(8), None, dt.time(9, 30)], pa.time32("ms")),
    "day": pa.array([dt.date(2024, 1, 1), None, dt.date(2024, 1, 3)]),
    "time": pa.array([dt.datetime(2024, 1, 1, 12), None, None], pa.timestamp("ms", "UTC")),
}
FILLED = {
    "whole": [2.4],
    "small": [300.2, -2.6],
    "span": [0.5],
    "clock": ["09:30:00"],
    "real": [0.25, 0.5],
    "money": [2.375],
    "truth": [True],
    "text": ["b"],
    "level": ["u"],
    "day": [pd.Timestamp("2024-01-02")],
    "time": [pd.Timestamp("2024-01-02 06:00"), pd.Timestamp("2024-01-03")],
}


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.parquet"
    table = pa.table(COLUMNS).replace_schema_metadata({"origin": "a test"})
    pq.write_table(table, path, row_group_size=2)
    return path


def copied(source, path, **how):
    frame = read_table(source)
    kinds = Schema.infer(frame, overrides={"money": "numeric"})
    before = kinds.check(frame)[0]
    after = before.copy()
    for name, values in FILLED.items():
        after.loc[before[name].isna().to_numpy(), name] = values
    with ParquetPatch(source, path, kinds, rows=len(before)) as patch:
        count = patch.put(before, after)
    return pq.read_table(path), count


def test_types_and_metadata_stay(source, tmp_path):
    found, count = copied(source, tmp_path / "out.parquet")
    original = pq.read_table(source)
    assert found.schema.equals(original.schema, check_metadata=True)
    assert count == 14


def test_values_that_are_there_stay_and_gaps_are_filled(source, tmp_path):
    found, _ = copied(source, tmp_path / "out.parquet")
    assert found["whole"].to_pylist() == [BIG, 2, 3]
    assert found["small"].to_pylist() == [1, 255, 0]
    assert found["span"].to_pylist()[1] == dt.timedelta(hours=12)
    assert found["clock"].to_pylist() == [dt.time(8), dt.time(9, 30), dt.time(9, 30)]
    assert found["real"].to_pylist() == [1.5, 0.25, 0.5]
    assert found["money"].to_pylist() == [Decimal("1.25"), Decimal("2.38"), Decimal("3.50")]
    assert found["truth"].to_pylist() == [True, True, False]
    assert found["text"].to_pylist() == ["a", "b", "b"]
    assert found["level"].to_pylist() == ["u", "u", "v"]
    assert found["day"].to_pylist()[1] == dt.date(2024, 1, 2)
    assert [t.hour for t in found["time"].to_pylist()] == [12, 6, 0]


def test_a_failure_leaves_the_older_file(source, tmp_path):
    path = tmp_path / "out.parquet"
    path.write_bytes(b"older")
    kinds = Schema.infer(pd.DataFrame({"small": [1.0, 2]}))
    rows = pd.DataFrame({"small": np.ones(7)})
    with pytest.raises(DataError, match="pieces"), ParquetPatch(source, path, kinds) as patch:
        patch.put(rows, rows)  # more than there are
    assert path.read_bytes() == b"older"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.parquet", "out.parquet"]
