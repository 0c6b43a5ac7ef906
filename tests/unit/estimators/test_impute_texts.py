"""Columns of texts that hold numbers, dates or words are filled by texts of the same sort."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

from nanwise import make_imputer

CELLS = {
    "whole": ["0", "1", None, "1", "0", "1"],
    "number": ["1.5", "2", None, "3", "4", "5"],
    "day": ["2020-01-01", "2020-01-03", None, "2020-01-04", "2020-01-04", "2020-01-04"],
    "moment": ["2020-01-01 10:00", "2020-01-01 12:00", None, *["2020-01-01 11:00"] * 3],
    "word": ["yes", "no", None, "Yes", "yes", "yes"],
    "level": ["x", "x", None, "y", "x", "z"],
}
FILLED = {
    "whole": "1",
    "number": "3.1",
    "day": "2020-01-03",
    "moment": "2020-01-01 11:00:00",
    "word": "yes",
    "level": "x",
}


@pytest.mark.parametrize("dtype", ["str", "object", "polars"])
def test_texts_are_filled_by_texts(dtype: str) -> None:
    frame = pl.DataFrame(CELLS) if dtype == "polars" else pd.DataFrame(CELLS, dtype=dtype)
    out = make_imputer("mean").fit(frame).transform(frame)
    for name, cells in CELLS.items():
        filled = out[name].to_list() if dtype == "polars" else out[name].tolist()
        assert filled[2].lower() == FILLED[name], name
        assert filled[:2] + filled[3:] == cells[:2] + cells[3:]
        assert out[name].dtype == frame[name].dtype
