"""Constants as imputers: the mean, the median, and the most frequent level."""

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
