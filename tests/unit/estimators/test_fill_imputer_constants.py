"""Treatments as imputers: constants, and levels that follow from other columns."""

import numpy as np
import pandas as pd
import pytest

from nanwise import make_imputer


@pytest.mark.parametrize(("name", "expected"), [("mean", 3.0), ("median", 0.0)])
def test_numbers_are_filled_by_the_constant_of_their_column(name, expected):
    X = np.array([[0.0, 1], [0, 2], [9, 3], [np.nan, 4]])
    assert make_imputer(name).fit_transform(X)[3, 0] == pytest.approx(expected)


def test_levels_are_filled_by_the_most_frequent_one():
    frame = pd.DataFrame({"colour": ["a", "b", "b", None], "x": [1.0, 2, 3, 4]})
    assert make_imputer("mean").fit_transform(frame)["colour"].tolist() == ["a", "b", "b", "b"]


@pytest.mark.parametrize("name", ["iterative", "em", "softimpute", "knn"])
@pytest.mark.parametrize("levels", [2, 3])
def test_levels_follow_from_the_other_columns(name, levels):
    rng = np.random.default_rng(0)
    place = rng.integers(levels, size=300)
    numbers = np.eye(levels)[place] @ rng.normal(scale=3, size=(levels, 3))
    frame = pd.DataFrame(numbers + 0.3 * rng.normal(size=(300, 3)), columns=list("abc"))
    truth = pd.Series([f"level {k}" for k in place])
    held = rng.random(300) < 0.2
    filled = make_imputer(name).fit_transform(frame.assign(level=truth.mask(held)))
    assert (filled["level"] == truth)[held].mean() > 0.9


def test_a_category_with_one_level_and_none_besides_it():
    frame = pd.DataFrame({"only": ["a", None, "a"], "two": ["x", "y", None]})
    filled = make_imputer("mean").fit_transform(frame)
    assert filled["only"].tolist() == ["a", "a", "a"]
    assert filled["two"].tolist() == ["x", "y", "x"]
