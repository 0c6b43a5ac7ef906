"""How many cells the spread of a column rests on."""

from __future__ import annotations

import numpy as np
import pytest

from nanwise.data.attributes import Attribute, Layout
from nanwise.estimators.impute.support import spread_cells, thin_attributes

RNG = np.random.default_rng(0)


def spikes(k, n=1000, at=5.0):
    column = np.zeros(n)
    column[:k] = at
    return column


@pytest.mark.parametrize("k", [1, 7, 40])
def test_of_equal_exceptions_about_as_many_cells_count(k):
    # deviations 1 - p and p of shares p and 1 - p: n p (1 - p) / ((1 - p)³ + p³)
    p = k / 1000
    wanted = 1000 * p * (1 - p) / ((1 - p) ** 3 + p**3)
    assert spread_cells(spikes(k)) == pytest.approx(wanted)
    assert spread_cells(spikes(k)) == pytest.approx(k, rel=0.1)


def test_of_gaussian_cells_a_third_counts():
    assert spread_cells(RNG.normal(size=300_000)) == pytest.approx(100_000, rel=0.03)


def test_neither_unit_nor_gaps_matter():
    column = RNG.normal(size=200) ** 3
    gaps = np.append(column, [np.nan] * 50)
    assert spread_cells(1e-200 * gaps) == pytest.approx(spread_cells(column))


@pytest.mark.parametrize("values", [[], [np.nan], [3.0], [0.1, 0.1, 0.1, np.nan]])
def test_what_does_not_differ_has_no_spread(values):
    assert spread_cells(np.array(values)) == 0.0


def layout(*kinds):
    return Layout(tuple(Attribute(f"x{j}", kind, (j,)) for j, kind in enumerate(kinds)))


def test_columns_with_few_exceptions_are_thin():
    table = np.column_stack([RNG.normal(size=1000), spikes(15), spikes(30), spikes(0)])
    assert thin_attributes(layout("real", "real", "real", "real"), table, 20) == [1, 3]
    assert thin_attributes(layout("real", "real", "real", "real"), table, 0) == []


def test_levels_are_never_thin():
    table = np.column_stack([spikes(5, at=1.0), spikes(5)])
    assert thin_attributes(layout("binary", "real"), table, 20) == [1]


def test_few_rows_do_not_make_a_column_thin():
    table = np.column_stack([RNG.normal(size=30), spikes(1, n=30)])
    assert thin_attributes(layout("real", "real"), table, 20) == [1]


def test_skewed_numbers_count_by_their_logarithms():
    column = np.exp(3 * RNG.normal(size=1000))[:, None]
    assert thin_attributes(layout("real"), column, 20) == [0]
    assert thin_attributes(layout("positive"), column, 20) == []
