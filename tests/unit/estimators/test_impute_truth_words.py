"""Truth values in text columns are filled by the words of the column."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

from nanwise import FillImputer

WORDS = ["yes", "yes", None, "no", "yes", "yes"]


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_a_gap_among_yes_and_no_becomes_yes(library):
    frame = library.DataFrame({"sick": WORDS, "age": [1.0, 2, 3, 4, 5, 6]})
    filled = FillImputer("mean").fit(frame).transform(frame)
    assert list(filled["sick"]) == ["yes", "yes", "yes", "no", "yes", "yes"]


def test_rows_without_the_word_get_the_usual_partner_of_the_one_they_have():
    frame = pd.DataFrame({"sick": WORDS, "age": [1.0, 2, 3, 4, 5, 6]})
    imputer = FillImputer("mean").fit(frame)
    rows = pd.DataFrame({"sick": ["no", None], "age": [1.0, 2.0]})
    assert list(imputer.transform(rows)["sick"]) == ["no", "yes"]


def test_truth_values_stay_truth_values():
    frame = pd.DataFrame({"b": pd.array([True, None, True], dtype="boolean"), "x": [1.0, 2, 3]})
    filled = FillImputer("mean").fit(frame).transform(frame)
    assert filled["b"].dtype == "boolean"
    assert filled["b"].tolist() == [True, True, True]
