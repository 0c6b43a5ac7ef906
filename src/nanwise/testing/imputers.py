"""The contract of an imputer, as a class of tests for pytest.

Authors of an imputer, in this package or outside, write::

    @pytest.mark.parametrize("case", [ImputerCase.of("my_imputer")], ids=lambda c: c.name)
    class TestMine(ImputerContract):
        pass

Every test makes the imputer with the smallest setting it declares (``Method.tiny``); a fitted one
is shared by all tests that ask for the same table.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from nanwise.errors import GapWarning
from nanwise.estimators.impute.by_treatment import make_imputer
from nanwise.estimators.impute.cells import observed_cells
from nanwise.registry import find
from nanwise.saving import load, save
from nanwise.testing.imputer_tables import mixed, numbers, odd
from nanwise.testing.treatments import expect

#: agreement asked for between the answers for a row in different company
CLOSE = 1e-7
#: how far, in standard deviations of the draws, the mean of many draws may be from the single
#: answer in most cells: their own error and what a small Monte Carlo sample inside an imputer adds
NEAR = 0.35


@dataclass(frozen=True)
class ImputerCase:
    """One imputer to be tested: its name and the smallest setting of it."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, name: str) -> ImputerCase:
        """The case of a registered imputer, or of a treatment that fills."""
        return cls(name, dict(find(name).tiny))

    def make(self) -> Any:
        """A new imputer."""
        return make_imputer(self.name, **self.params, random_state=0)

    def fitted(self, table: str = "numbers") -> Any:
        """One that was fitted on a table of :mod:`nanwise.testing.imputer_tables`; not changed."""
        return _fitted(self, table)


@cache
def _fitted(case: ImputerCase, table: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        return case.make().fit(_TABLES[table]())


_TABLES = {"numbers": numbers, "mixed": mixed, "odd": odd}


class ImputerContract:
    """What every imputer promises; ``case`` is an :class:`ImputerCase`."""

    # -- the object itself -----------------------------------------------------------------------

    def test_parameters_are_stored_and_clone(self, case: ImputerCase) -> None:
        """The constructor stores, clone makes an unfitted equal."""
        copy = clone(case.fitted())
        made = case.make().get_params()
        expect({"kinds", "random_state"} <= set(made), "kinds or random_state is no parameter")
        expect(repr(copy.get_params()) == repr(made), "clone has other parameters")
        with pytest.raises(NotFittedError):
            copy.transform(numbers())

    def test_same_seed_same_answer(self, case: ImputerCase) -> None:
        """Fitting twice gives the same; random states of numpy and torch are not touched."""
        import torch

        np.random.seed(3)
        torch.manual_seed(3)
        before = np.random.get_state(legacy=False)["state"]["key"].copy(), torch.get_rng_state()
        again = case.make().fit(numbers())
        np.testing.assert_array_equal(
            again.transform(numbers(seed=1)), case.fitted().transform(numbers(seed=1))
        )
        after = np.random.get_state(legacy=False)["state"]["key"]
        np.testing.assert_array_equal(after, before[0], "numpy's random state was touched")
        expect(torch.equal(torch.get_rng_state(), before[1]), "torch's random state was touched")

    @pytest.mark.parametrize("table", ["numbers", "mixed"])
    def test_saved_and_loaded_it_answers_the_same(
        self, case: ImputerCase, table: str, tmp_path: Path
    ) -> None:
        """A folder of plain values is enough."""
        imputer, rows = case.fitted(table), _TABLES[table](seed=1)
        save(imputer, tmp_path / "imputer")
        again = load(tmp_path / "imputer")
        _same(again.transform(rows), imputer.transform(rows))
        if imputer.samples:
            draws = (one.sample(rows, 2, random_state=0) for one in (again, imputer))
            for first, second in zip(*draws, strict=True):
                _same(first, second)

    # -- cells -----------------------------------------------------------------------------------

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_observed_cells_are_kept_and_no_gap_is_left(
        self, case: ImputerCase, dtype: Any
    ) -> None:
        """Bit for bit, in either precision; the input is not modified."""
        rows = numbers(seed=1).astype(dtype)
        before = rows.copy()
        filled = case.fitted().transform(rows)
        there = ~np.isnan(before)
        np.testing.assert_array_equal(rows, before)
        np.testing.assert_array_equal(filled[there], before[there])
        expect(filled.dtype == dtype, f"dtype {dtype} became {filled.dtype}")
        expect(np.isfinite(filled).all(), "gaps are left")

    def test_fit_does_not_modify_its_input(self, case: ImputerCase) -> None:
        """Training rows stay as they are."""
        rows = mixed()
        before = rows.copy(deep=True)
        case.make().fit(rows)
        pd.testing.assert_frame_equal(rows, before)

    def test_a_row_is_filled_by_itself(self, case: ImputerCase) -> None:
        """Alone, in a subset or reversed, a row gets the same answer."""
        imputer, rows = case.fitted(), numbers(seed=1)
        whole = imputer.transform(rows)
        for subset in (slice(3, 4), slice(10, 17), slice(None, None, -1)):
            part = np.ascontiguousarray(rows[subset])
            np.testing.assert_allclose(
                imputer.transform(part), whole[subset], rtol=CLOSE, atol=CLOSE
            )

    def test_training_rows_are_rows_like_others(self, case: ImputerCase) -> None:
        """``fit_transform`` is ``fit`` and ``transform``."""
        imputer = case.fitted()
        np.testing.assert_array_equal(
            case.make().fit_transform(numbers()), imputer.transform(numbers())
        )

    def test_complete_rows_and_empty_rows(self, case: ImputerCase) -> None:
        """Nothing to fill changes nothing; nothing observed gives the same plausible row."""
        imputer = case.fitted()
        complete = numbers(share=0.0)
        np.testing.assert_array_equal(imputer.transform(complete), complete)
        empty = imputer.transform(np.full((2, complete.shape[1]), np.nan))
        np.testing.assert_allclose(empty[0], empty[1], rtol=CLOSE, atol=CLOSE)
        spread = np.nanstd(numbers(), axis=0)
        far = np.abs(empty[0] - np.nanmean(numbers(), axis=0)) / spread
        expect((far < 4).all(), "an empty row is filled far from all data")

    # -- tables of every kind --------------------------------------------------------------------

    @pytest.mark.filterwarnings("ignore::nanwise.errors.GapWarning")
    def test_pandas_in_pandas_out(self, case: ImputerCase) -> None:
        """Names, index, dtypes and observed cells stay; no gap is left; integers stay whole."""
        rows = mixed(seed=1)
        before = rows.copy(deep=True)
        filled = case.fitted("mixed").transform(rows)
        pd.testing.assert_frame_equal(rows, before)
        expect(list(filled.columns) == list(rows.columns), "columns changed")
        expect(filled.index.equals(rows.index), "index changed")
        expect((filled.dtypes == rows.dtypes).all(), f"dtypes changed: {dict(filled.dtypes)}")
        expect(not filled.isna().any(axis=None), f"gaps are left:\n{filled.isna().sum()}")
        for name in rows.columns:
            there = rows[name].notna()
            pd.testing.assert_series_equal(filled.loc[there, name], rows.loc[there, name])
            if not pd.api.types.is_float_dtype(rows[name].dtype) and name != "count":
                known = set(mixed()[name].dropna())
                new = set(filled.loc[~there, name]) - known
                expect(name == "whole" or not new, f"{name} was filled with {new}")

    def test_polars_in_polars_out(self, case: ImputerCase) -> None:
        """The same answers as for pandas, in the frame and the dtypes that came."""
        polars = pytest.importorskip("polars")
        plain = mixed(seed=1)[["real", "whole", "colour", "flag"]]
        train = mixed()[["real", "whole", "colour", "flag"]]
        as_polars = [_polars(polars, part) for part in (train, plain)]
        filled = case.make().fit(as_polars[0]).transform(as_polars[1])
        expect(filled.schema == as_polars[1].schema, f"schema changed: {filled.schema}")
        expect(sum(filled.null_count().row(0)) == 0, f"gaps are left: {filled.null_count()}")
        by_pandas = case.make().fit(train).transform(plain)
        np.testing.assert_allclose(filled["real"].to_numpy(), by_pandas["real"], rtol=1e-9)
        for name in ("whole", "colour", "flag"):
            expect(filled[name].to_list() == by_pandas[name].tolist(), f"{name} differs")

    def test_odd_columns(self, case: ImputerCase) -> None:
        """A level seen once, one distinct value, two columns never observed, an empty row."""
        imputer, rows = case.fitted("odd"), odd(seed=1)
        filled = imputer.transform(rows)
        names = [name for name in rows.columns if not name.startswith("never")]
        expect(not filled[names].isna().any(axis=None), "gaps are left")
        expect((filled["constant"] == 7.0).all(), "a constant column was filled with another value")
        expect((filled["one_level"] == "only").all(), "a single level was filled with another")
        expect((filled[["never_a", "never_b"]] == 0).all(axis=None), "not 0 where nothing was seen")

    @pytest.mark.filterwarnings("ignore::nanwise.errors.GapWarning")
    def test_an_unknown_level_is_a_gap_that_is_kept(self, case: ImputerCase) -> None:
        """The cell stays; the rest of the row is filled as if it were missing."""
        known, strange = mixed(seed=1), mixed(seed=1)
        known["colour"] = known["colour"].astype(object)
        strange["colour"] = strange["colour"].astype(object)
        known.loc[known.index[5], ["real", "colour"]] = [np.nan, None]
        strange.loc[strange.index[5], ["real", "colour"]] = [np.nan, "ultraviolet"]
        imputer = case.fitted("mixed")
        filled, reference = imputer.transform(strange), imputer.transform(known)
        expect(filled["colour"].iloc[5] == "ultraviolet", "an observed cell was replaced")
        expect(not filled.isna().any(axis=None), "gaps are left")
        _same(filled.drop(columns="colour"), reference.drop(columns="colour"))

    def test_infinity_is_refused(self, case: ImputerCase) -> None:
        """With the row and the column."""
        rows = numbers(seed=1)
        rows[4, 2] = np.inf
        with pytest.raises(ValueError, match=r"row 4.*column 2"):
            case.fitted().transform(rows)

    # -- draws -----------------------------------------------------------------------------------

    def test_draws_differ_and_keep_what_is_observed(self, case: ImputerCase) -> None:
        """One draw is not the next, another seed not the same; imputers without draws say so."""
        imputer, rows = case.fitted(), numbers(seed=1)
        if not imputer.samples:
            with pytest.raises(TypeError, match="sample"):
                imputer.sample(rows)
            return
        draws = imputer.sample(rows, 3, random_state=0)
        there = ~np.isnan(rows)
        np.testing.assert_array_equal(
            draws[:, there], np.broadcast_to(rows[there], (3, there.sum()))
        )
        expect(np.isfinite(draws).all(), "gaps are left")
        np.testing.assert_array_equal(imputer.sample(rows, 3, random_state=0), draws)
        for other in (draws[1], imputer.sample(rows, random_state=1)[0]):
            share = (draws[0][~there] != other[~there]).mean()
            expect(share > 0.9, f"only {share:.0%} of the cells differ between two draws")

    def test_the_mean_of_draws_approaches_the_single_answer(self, case: ImputerCase) -> None:
        """Numbers: within :data:`NEAR` of their standard deviation, in the middle of all cells."""
        imputer, rows = case.fitted(), numbers(seed=1)[:30]
        if imputer.samples:
            gap = np.isnan(rows)
            draws = imputer.sample(rows, 300, random_state=0)[:, gap]
            off = (draws.mean(axis=0) - imputer.transform(rows)[gap]) / draws.std(axis=0)
            size = float(np.median(np.abs(off)))
            expect(size < NEAR, f"the mean of draws is {size:.2f} standard deviations away")

    def test_draws_of_a_row_by_itself(self, case: ImputerCase) -> None:
        """With ``alone=True`` the draws for a row depend on nothing but the row."""
        imputer, rows = case.fitted(), numbers(seed=1)[:12]
        if imputer.samples:
            whole = imputer.sample(rows, 2, random_state=0, alone=True)
            part = imputer.sample(rows[5:8], 2, random_state=0, alone=True)
            np.testing.assert_allclose(part, whole[:, 5:8], rtol=CLOSE, atol=CLOSE)

    @pytest.mark.filterwarnings("ignore::nanwise.errors.GapWarning")
    def test_draws_of_frames(self, case: ImputerCase) -> None:
        """Frames like the input, levels among those that are known."""
        imputer, rows = case.fitted("mixed"), mixed(seed=1)
        if imputer.samples:
            draws = imputer.sample(rows, 2, random_state=0)
            expect(len(draws) == 2, f"{len(draws)} draws instead of 2")
            for draw in draws:
                expect((draw.dtypes == rows.dtypes).all(), "dtypes changed")
                expect(not draw.isna().any(axis=None), "gaps are left")
                expect(set(draw["colour"]) <= set(mixed()["colour"].dropna()), "unknown level")


def _same(first: Any, second: Any) -> None:
    if isinstance(first, pd.DataFrame):
        pd.testing.assert_frame_equal(first, second, rtol=CLOSE, atol=CLOSE)
    else:
        np.testing.assert_allclose(first, second, rtol=CLOSE, atol=CLOSE)


def _polars(polars: Any, frame: pd.DataFrame) -> Any:
    """The same cells; what is missing in pandas is null in polars."""
    dtypes = {"real": polars.Float64, "whole": polars.Int64, "flag": polars.Boolean}
    cells = np.where(observed_cells(frame), frame.astype(object), None).T
    columns = zip(frame.columns, cells, strict=True)
    return polars.DataFrame(
        {n: polars.Series(list(c), dtype=dtypes.get(n, polars.String)) for n, c in columns}
    )
