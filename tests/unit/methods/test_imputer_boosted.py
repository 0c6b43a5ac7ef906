"""Boosted trees around Gaussian expectations: curves, levels, gaps that tell, odd tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import nanwise
from nanwise import BoostedImputer, make_imputer
from nanwise.estimators.impute_core import boosted
from nanwise.estimators.impute_core.blocks import Blocks
from nanwise.estimators.impute_core.leave_out import conditional, expectations


def curve(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Relations that no line follows, and cells to hide."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-2, 2, size=n)
    x = np.column_stack([z, z**2, np.cos(2 * z), z**2 - z]) + 0.05 * rng.normal(size=(n, 4))
    return x, rng.random(x.shape) < 0.2


def error(x: np.ndarray, held: np.ndarray, filled: np.ndarray) -> float:
    return float(np.sqrt((((filled - x) / x.std(axis=0))[held] ** 2).mean()))


def test_curves_are_followed_in_new_rows_each_by_itself() -> None:
    x, held = curve()
    new, gaps = curve(200, 1)
    table = np.where(gaps, np.nan, new)
    imputer = BoostedImputer(random_state=0).fit(np.where(held, np.nan, x))
    linear = make_imputer("em").fit(np.where(held, np.nan, x)).transform(table)
    filled = imputer.transform(table)
    assert error(new, gaps, filled) < min(0.5, 0.75 * error(new, gaps, linear))
    alone = np.concatenate([imputer.transform(row[None]) for row in table[:20]])
    np.testing.assert_allclose(alone, filled[:20], rtol=1e-9)
    np.testing.assert_array_equal(filled[~gaps], new[~gaps])


def test_lines_are_followed_beyond_what_few_rows_teach_trees() -> None:
    rng = np.random.default_rng(0)
    x = np.linspace(-2, 2, 35)[:, None] + 0.1 * rng.normal(size=(35, 3))
    held = np.zeros(x.shape, dtype=bool)
    held[3:32:4, 1] = held[4:32:4, 2] = True
    filled = BoostedImputer(random_state=0).fit_transform(np.where(held, np.nan, x))
    assert error(x, held, filled) < 0.2


def test_where_nothing_predicts_answers_stay_near_the_mean() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 5))
    held = rng.random(x.shape) < 0.3
    filled = BoostedImputer(random_state=0).fit_transform(np.where(held, np.nan, x))
    assert error(x, held, filled) < 1.06


def test_which_cells_lack_counts() -> None:
    """Of two columns that hide their large values, one gap says that the other is large."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 1)) + 0.3 * rng.normal(size=(1500, 3))
    held = (x > 0.5) & (rng.random(x.shape) < 0.8)
    table = np.where(held, np.nan, x)
    filled = BoostedImputer(random_state=0).fit_transform(table)
    linear = make_imputer("em").fit_transform(table)
    where = held & (held.sum(axis=1) > 1)[:, None]
    assert np.abs(filled - x)[where].mean() < 0.9 * np.abs(linear - x)[where].mean()


def mixed(n: int = 600, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1, 1, size=n)
    step = pd.cut(np.abs(z), [-1, 0.3, 0.6, 2], labels=["low", "mid", "high"])
    full = pd.DataFrame(
        {
            "a": z,
            "ring": np.where(np.abs(z) > 0.5, "far", np.where(z > 0, "right", "left")),
            "step": pd.Categorical(step, ordered=True),
            "count": np.rint(20 * z**2),
        }
    )
    return full, full.mask(rng.random(full.shape) < 0.2)


def test_levels_by_what_is_not_linear_and_saved_without_loss(tmp_path: Any) -> None:
    full, table = mixed()
    imputer = BoostedImputer(random_state=0, kinds={"count": "count"}).fit(table)
    filled = imputer.transform(table)
    for name in ("ring", "step"):
        gap = table[name].isna() & table["a"].notna()
        assert (filled[name] == full[name])[gap].mean() > 0.9
    gap = table["count"].isna() & table["a"].notna()
    assert (filled["count"] - full["count"])[gap].abs().mean() < 1.5
    assert (filled["count"] >= 0).all()
    nanwise.save(imputer, tmp_path / "model")
    assert nanwise.load(tmp_path / "model").transform(table).equals(filled)


def test_a_vector_is_boosted_along_few_directions() -> None:
    rng = np.random.default_rng(0)
    z = rng.uniform(-1, 1, size=400)
    wave = np.cos(3 * z[:, None] + np.linspace(0, 3, 40)) + 0.05 * rng.normal(size=(400, 40))
    table = np.column_stack([z, wave])
    table[::5, 1:] = np.nan
    imputer = BoostedImputer(kinds={"wave": range(1, 41)}, random_state=0).fit(table)
    assert len(imputer.models_[1][2]) == boosted.DIRECTIONS
    off = imputer.transform(table)[::5, 1:] - wave[::5]
    assert np.sqrt((off**2).mean()) < 0.3 * wave.std()


def test_a_column_without_gaps_in_training_can_be_missing_later() -> None:
    x, held = curve()
    held[:, 0] = False
    new = x[:50].copy()
    new[:, 0] = np.nan
    filled = BoostedImputer(random_state=0).fit(np.where(held, np.nan, x)).transform(new)
    assert np.corrcoef(filled[:, 0], x[:50, 0])[0, 1] > 0.9


def test_answers_stay_within_what_was_observed() -> None:
    x, held = curve()
    table = np.where(held, np.nan, x)
    far = np.array([[50.0, np.nan, np.nan, np.nan], [np.nan, 80.0, np.nan, np.nan]])
    filled = BoostedImputer(random_state=0).fit(table).transform(far)[np.isnan(far)]
    low, high = (np.broadcast_to(f(table, axis=0), far.shape) for f in (np.nanmin, np.nanmax))
    gap = np.isnan(far)
    assert (filled >= low[gap] - 1e-9).all()
    assert (filled <= high[gap] + 1e-9).all()


def test_columns_never_observed_together_are_linked_by_a_third() -> None:
    """As where two files are matched."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 1)) + 0.2 * rng.normal(size=(400, 3))
    held = np.zeros(x.shape, dtype=bool)
    held[:200, 0] = held[200:, 1] = True
    filled = BoostedImputer(random_state=0).fit_transform(np.where(held, np.nan, x))
    assert error(x, held, filled) < 0.45


@pytest.mark.filterwarnings("ignore::nanwise.errors.GapWarning")
def test_columns_that_say_little_and_empty_rows() -> None:
    x, held = curve(100)
    table = pd.DataFrame(np.where(held, np.nan, x), columns=list("abcd"))
    table["one"], table["never"] = 3.0, np.nan
    table["rare"] = np.where(np.arange(100) == 5, "once", "often")
    table["twice"] = np.where(np.arange(100) < 2, 1.5, np.nan)
    table.iloc[10, :] = np.nan
    filled = BoostedImputer(random_state=0).fit_transform(table)
    assert not filled.isna().any(axis=None)
    assert filled.loc[10, ["one", "never", "rare", "twice"]].tolist() == [3.0, 0.0, "often", 1.5]
    spread = (filled.loc[10, list("abcd")] - table[list("abcd")].mean()) / table[list("abcd")].std()
    assert spread.abs().max() < 1.5


def test_one_column_gets_its_mean() -> None:
    table = np.array([[1.0], [3.0], [np.nan], [2.0]])
    np.testing.assert_allclose(BoostedImputer().fit_transform(table)[2], 2.0)


def test_threads_do_not_change_answers() -> None:
    x, held = curve(200)
    table = np.where(held, np.nan, x)
    one, two = (BoostedImputer(3, n_jobs=n, random_state=0).fit_transform(table) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "wrong", [{"trees": 0}, {"rate": 0.0}, {"leaves": 1}, {"leaf": 0}, {"penalty": -1.0}]
)
def test_settings_that_cannot_be_used_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        BoostedImputer(**wrong).fit(np.ones((4, 2)))


def test_an_expectation_does_not_know_its_own_cell() -> None:
    """What stands in the cell, or whether anything does, changes nothing in it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 5))
    there = rng.random(x.shape) < 0.7
    root = rng.normal(size=(5, 5))
    cov, mean = root @ root.T + np.eye(5), rng.normal(size=5)
    blocks = Blocks(("real", "vector", "real", "real"), (1, 3, 4, 5), x.min(axis=0), x.max(axis=0))
    there[:, 2] = there[:, 1]
    found = expectations(blocks, mean, cov, x, there)
    for a in range(4):
        own, hidden = blocks.place(a), there.copy()
        hidden[:, own] = False
        np.testing.assert_allclose(
            found[:, own], conditional(mean, cov, x, hidden)[:, own], rtol=1e-8
        )
