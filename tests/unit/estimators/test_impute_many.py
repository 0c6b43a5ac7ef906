"""Several completed tables: what may be asked for, what comes, and how the tables differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nanwise import FillImputer, GaussianImputer, impute_many
from nanwise.errors import DataError
from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.cells import observed_cells, take_rows
from nanwise.estimators.impute.many import samplers


class Scatter(Imputer):
    """Draws from the values that were observed in a column."""

    samples = True

    def __init__(self, kinds=None, random_state=None):
        self.kinds = kinds
        self.random_state = random_state

    def _learn(self, codes, seed):
        self.pools_ = [column[~np.isnan(column)] for column in codes.T]

    def _fill(self, codes):
        return np.where(np.isnan(codes), [pool.mean() for pool in self.pools_], codes)

    def _draw(self, codes, n, rng):
        drawn = np.stack([rng.choice(pool, (n, len(codes))) for pool in self.pools_], axis=-1)
        return np.where(np.isnan(codes), drawn, codes)


def rows(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    return X


@pytest.mark.parametrize("refit", [None, "bootstrap"])
@pytest.mark.parametrize("imputer", [GaussianImputer(), Scatter()], ids=["gaussian", "own"])
def test_tables_are_complete_keep_what_is_known_and_differ(imputer, refit):
    X = rows()
    before = X.copy()
    tables = impute_many(imputer, X, 4, random_state=0, refit=refit)
    gap = np.isnan(X)
    assert len(tables) == 4
    for table in tables:
        assert not np.isnan(table).any()
        np.testing.assert_array_equal(table[~gap], X[~gap])
    assert (tables[0][gap] != tables[1][gap]).mean() > 0.8
    again = impute_many(imputer, X, 4, random_state=0, refit=refit)
    np.testing.assert_array_equal(again, tables)
    np.testing.assert_array_equal(X, before)
    assert not [name for name in vars(imputer) if name.endswith("_")]


def test_a_fitted_imputer_is_used_as_it_is_unless_it_is_to_be_refitted():
    X = rows()
    fitted = GaussianImputer().fit(X + 1000)
    far = impute_many(fitted, np.full((5, 3), np.nan), 2, random_state=0)
    assert np.min(far) > 900
    near = impute_many(fitted, X, 2, random_state=0, refit="bootstrap")
    assert np.max(near) < 100


class Mean(Scatter):
    """Draws that do not differ unless the parameters do."""

    def _draw(self, codes, n, rng):
        return np.stack([self._fill(codes)] * n)


def test_refitting_adds_what_is_not_known_of_the_parameters():
    X = np.random.default_rng(0).normal(size=(12, 1))
    rows_and_gap = np.vstack([X, [[np.nan]]])
    same = np.stack(impute_many(Mean(), rows_and_gap, 5, 0))[:, -1]
    assert np.ptp(same) == 0
    tables = np.stack(impute_many(Mean(), rows_and_gap, 800, 0, "bootstrap"))[:, -1, 0]
    # A mean of 12 of the 13 rows, drawn with replacement: about variance v / 12.
    assert tables.mean() == pytest.approx(X.mean(), abs=0.05)
    assert tables.var() == pytest.approx(X.var() / 12, rel=0.2)


def test_auto_refits_unless_the_imputer_draws_its_parameters():
    X = rows(20)
    improper = np.stack(impute_many(Mean(), X, 2, 0, "auto"))
    assert np.ptp(improper, axis=0)[np.isnan(X)].all()

    class Proper(Mean):
        proper = True

    assert not np.ptp(np.stack(impute_many(Proper(), X, 2, 0, "auto")), axis=0).any()


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("refit", [None, "bootstrap"])
def test_frames_come_back_as_frames(library, refit):
    frame = library.DataFrame({"x": [1.0, 2.0, None, 4.0] * 5, "word": ["a", None, "b", "a"] * 5})
    tables = impute_many(Scatter(), frame, 2, random_state=0, refit=refit)
    for table in tables:
        assert isinstance(table, library.DataFrame)
        assert observed_cells(table).all()
        assert set(table["word"]) == {"a", "b"}


def test_what_does_not_sample_is_refused_with_a_list_of_what_does():
    for imputer in (FillImputer("mean"), "mean"):
        with pytest.raises(TypeError, match=r"those that sample: .*gaussian.*mice"):
            impute_many(imputer, rows())
    assert {"gaussian", "mice"} <= set(samplers())
    for wrong in (GaussianImputer, 7, None):
        with pytest.raises(TypeError, match="must be a name or an imputer"):
            impute_many(wrong, rows())
    with pytest.raises(ValueError, match="no imputer is called"):
        impute_many("gauss", rows())


@pytest.mark.parametrize(
    ("m", "error"), [(0, ValueError), (-1, ValueError), (2.5, TypeError), ("5", TypeError)]
)
def test_the_number_of_tables(m, error):
    with pytest.raises(error, match="m, the number of completed tables, must be"):
        impute_many(GaussianImputer(), rows(), m)


def test_refit_has_two_values():
    with pytest.raises(ValueError, match="refit"):
        impute_many(GaussianImputer(), rows(), refit="jackknife")


def test_rows_drawn_with_replacement_never_lose_a_column():
    X = rows(30)
    X[:, 2] = np.nan
    X[4, 2] = 1.0
    for table in impute_many(Scatter(), X, 10, random_state=0, refit="bootstrap"):
        assert (table[:, 2] == 1.0).all()
    hopeless = np.full((2000, 40), np.nan)
    hopeless[np.arange(40), np.arange(40)] = 1.0
    with pytest.raises(DataError, match="so few values"):
        impute_many(Scatter(), hopeless, 1, random_state=0, refit="bootstrap")


def test_cells_and_rows_of_any_table():
    columns = {"x": [1.0, np.nan, 3.0], "n": [1, None, 2], "s": ["a", None, "b"]}
    expected = [[True] * 3, [False] * 3, [True] * 3]
    pandas = pd.DataFrame(columns).astype({"n": "Int64"})
    polars = pl.DataFrame(columns, strict=False)
    for table in (pandas, polars):
        np.testing.assert_array_equal(observed_cells(table), expected)
        assert list(take_rows(table, np.array([2, 2, 0]))["s"]) == ["b", "b", "a"]
    cells = np.array([[1, None], [np.nan, 2]], dtype=object)
    np.testing.assert_array_equal(observed_cells(cells), [[True, False], [False, True]])
