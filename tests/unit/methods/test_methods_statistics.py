"""Statistics with gaps and weights against numpy on repeated rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nanwise.estimators.impute_core.statistics import (
    mean_count,
    positive_rows,
    weighted_mean,
    weighted_median,
)
from nanwise.missing import observe


@given(
    x=hnp.arrays(
        np.float64, (7, 3), elements=st.one_of(st.just(np.nan), st.floats(-1e6, 1e6, width=32))
    ),
    weight=hnp.arrays(np.int64, 7, elements=st.integers(0, 4)),
)
def test_whole_weights_repeat_rows(x, weight):
    rows = positive_rows(*observe(x), weight.astype(float))
    repeated = np.repeat(x, weight, axis=0)
    for statistic, numpys in ((weighted_mean, np.nanmean), (weighted_median, np.nanmedian)):
        got = statistic(*rows)
        for j in range(3):
            column = repeated[:, j]
            expected = numpys(column) if (~np.isnan(column)).any() else 0.0
            assert got[j] == pytest.approx(expected, rel=1e-12, abs=1e-6)


def test_median_of_fractional_weights():
    values = np.array([[1.0], [2.0], [10.0]])
    there = np.ones((3, 1), dtype=bool)
    assert weighted_median(values, there, np.array([0.2, 0.2, 0.5]))[0] == 10.0
    assert weighted_median(values, there, np.array([0.5, 0.25, 0.25]))[0] == 1.5


def test_mean_count():
    assert mean_count(np.array([1, 3]), None) == 2.0
    assert mean_count(np.array([1, 3]), np.array([3.0, 1.0])) == 1.5
    assert mean_count(np.array([1, 3]), np.zeros(2)) == 0.0


@pytest.mark.parametrize("weight", [[1.0, -1.0], [1.0, np.inf], [1.0, np.nan]])
def test_bad_weights_are_named(weight):
    with pytest.raises(ValueError, match="row 1"):
        positive_rows(np.ones((2, 1)), np.ones((2, 1), dtype=bool), np.array(weight))


def test_wrong_number_of_weights():
    with pytest.raises(ValueError, match=r"\(3,\)"):
        positive_rows(np.ones((2, 1)), np.ones((2, 1), dtype=bool), np.ones(3))
