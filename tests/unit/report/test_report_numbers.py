import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanwise.report.numbers import (
    decimals,
    interval,
    moment,
    number,
    percent,
    plain,
    seconds,
    signed,
    spark,
    whole,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8421, "0.842"),
        (-0.5, "−0.500"),
        (0, "0.000"),
        (0.00042, "0.00042"),
        (12.345, "12.35"),
        (1234.5, "1234"),
        (3e9, "3e+09"),
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "–"),
        (True, "–"),
        ("0.5", "–"),
    ],
)
def test_a_number_is_written_as_its_size_asks_for(value, text):
    assert number(value) == text


def test_signs_are_always_written_and_a_column_shares_its_decimals():
    digits = decimals([0.034, 0.0004, None])
    assert [signed(v, digits) for v in (0.034, -0.0076)] == ["+0.034", "−0.008"]
    assert signed(None) == "–"
    assert decimals([]) == 3
    assert decimals([0.00052, 0.00001]) == 5


@given(st.floats(1e-8, 1e6))
def test_at_least_two_digits_of_the_largest_number_are_kept(value):
    assert float(f"{value:.{decimals([value])}f}") == pytest.approx(value, rel=0.06)


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0, 1, "0 %"),
        (1, 0, "100 %"),
        (0.106, 1, "10.6 %"),
        (0.0001, 0, "<1 %"),
        (0.9999, 1, ">99.9 %"),
        (None, 0, "–"),
    ],
)
def test_a_share_is_never_rounded_to_none_or_all(share, digits, text):
    assert percent(share, digits) == text


def test_other_writings():
    assert interval(0.1, 0.25) == "0.100 to 0.250"
    assert interval(-0.1, 0.25, sign=True) == "−0.100 to +0.250"
    assert interval(None, 0.2) == ""
    assert [seconds(v) for v in (0.004, 1.25, 300, None)] == ["4 ms", "1.2 s", "5.0 min", "–"]
    assert whole(1234567) == "1\u202f234\u202f567"
    assert moment("2026-11-05T09:07:00+00:00") == "5 November 2026, 09:07 UTC"
    assert moment("yesterday") == "yesterday"


def test_plain_is_what_json_can_hold():
    facts = {
        1: np.float64(2.5),
        "a": (np.int64(3), np.array([1.0, np.nan]), float("inf")),
        "b": {
            True,
        },
        "c": np.str_("x"),
        "d": None,
        "e": complex(1),
    }
    out = plain(facts)
    assert out == {
        "1": 2.5,
        "a": [3, [1.0, None], None],
        "b": [True],
        "c": "x",
        "d": None,
        "e": "(1+0j)",
    }
    json.dumps(out, allow_nan=False)


def test_a_curve_in_letters():
    assert spark([0, 1, 2, 3, 4, 5, 6, 7], 7) == "▁▂▃▄▅▆▇█"
    assert spark([0, 7, 7, 7], 7, letters=2) == "▅█"
    assert spark([None, float("nan"), 9.0, -1.0], 7) == "▁▁█▁"
    assert spark([0.0, 0.0], 0.0) == "▁▁"
    assert spark([], 1.0) == ""
    assert len(spark(range(64), 63)) == 24
