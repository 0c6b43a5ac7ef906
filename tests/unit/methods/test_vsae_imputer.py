"""VSAEImputer: honest draws, new rows, densities, gaps that depend on what they hide."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from nanwise import Plan, VSAEImputer, load, make_imputer, save

PLAN = Plan(epochs=30, batch=100, lr=2e-2, optimizer="adam", weight_decay=0.0)
SIZES = dict(layers=1, latent=1, collective_hidden=32, hidden=32)
SMALL = SIZES | dict(bound=10, importance=200, plan=PLAN, random_state=0)
TINY = SMALL | dict(bound=2, importance=20, plan=Plan(epochs=2))


def gaussian(n=400, d=4, seed=0, noise=0.5):
    """Rows of one common factor, standardised; correlations of 1 / (1 + noise²)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1)) + noise * rng.normal(size=(n, d))
    return (x - x.mean(axis=0)) / x.std(axis=0)


def error(filled, x, held):
    return np.sqrt(np.mean((filled - x)[held] ** 2))


@pytest.fixture(scope="module")
def fitted():
    """Truth, rows with a quarter of the cells hidden at random, which ones, a fitted imputer."""
    x = gaussian()
    held = np.random.default_rng(1).random(x.shape) < 0.25
    rows = np.where(held, np.nan, x)
    return x, rows, held, VSAEImputer(**SMALL).fit(rows)


# -- filling -------------------------------------------------------------------------------------


def test_correlated_gaps_are_filled_better_than_by_the_mean(fitted):
    x, rows, held, imputer = fitted
    mean = np.where(held, np.nanmean(rows, axis=0), rows)
    assert error(imputer.transform(rows), x, held) < 0.65 * error(mean, x, held)


def test_generated_values_in_training_do_no_harm_to_a_single_latent(fitted):
    x, rows, held, _ = fitted
    asked = dict(bound=1, draws=5, warm_up=0.5)
    found = VSAEImputer(**SMALL | asked).fit(rows)
    assert found.net_.generating
    mean = np.where(held, np.nanmean(rows, axis=0), rows)
    assert error(found.transform(rows), x, held) < 0.9 * error(mean, x, held)


def test_observed_cells_stay_bit_for_bit(fitted):
    _, rows, held, imputer = fitted
    filled = imputer.transform(rows)
    assert np.array_equal(filled[~held], rows[~held])
    assert not np.isnan(filled).any()
    for draw in imputer.sample(rows, 2, random_state=0):
        assert np.array_equal(draw[~held], rows[~held])


def test_an_answer_is_the_row_s_own_and_the_same_every_time(fitted):
    _, rows, _, imputer = fitted
    filled = imputer.transform(rows)
    assert np.array_equal(imputer.transform(rows), filled)
    np.testing.assert_allclose(imputer.transform(rows[7:8]), filled[7:8], atol=1e-9)


def test_intervals_of_draws_cover_what_they_say(fitted):
    x, rows, held, imputer = fitted
    draws = imputer.sample(rows, 100, random_state=0)
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    assert 0.85 <= np.mean((low <= x)[held] & (x <= high)[held]) <= 0.95
    apart = draws.mean(axis=0) - imputer.transform(rows)
    assert np.sqrt(np.mean(apart[held] ** 2)) < 0.15


def test_one_seed_one_result(fitted):
    _, rows, _, _ = fitted
    first, second = (VSAEImputer(**TINY).fit(rows[:50]) for _ in range(2))
    assert np.array_equal(first.transform(rows), second.transform(rows))
    draws = [first.sample(rows[:5], 3, random_state=s) for s in (0, 0, 1)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_gaps_that_depend_on_what_they_hide():
    x = gaussian(seed=3, noise=1.0)
    held = x > 0.5
    held[:, 2:] = False
    rows = np.where(held, np.nan, x)
    plan = clone(PLAN).set_params(epochs=40, batch=200, lr=2e-2)
    found = VSAEImputer(**SMALL | dict(latent=2, plan=plan)).fit(rows).transform(rows)
    small = dict(hidden=(32,), latent=2, particles=200, plan=plan, random_state=0)
    ignorable = make_imputer("vae", **small).fit(rows).transform(rows)
    em = make_imputer("em").fit(rows).transform(rows)
    mean = np.where(held, np.nanmean(rows, axis=0), rows)
    assert error(found, x, held) < 0.96 * error(ignorable, x, held)
    assert error(found, x, held) < 0.99 * error(em, x, held)
    assert error(found, x, held) < 0.85 * error(mean, x, held)


# -- completion, generation, density -------------------------------------------------------------


def nearly_constant(n=400):
    """Correlated rows and a column of one value but for six rows; its gaps follow the first."""
    rng = np.random.default_rng(3)
    x = np.column_stack([gaussian(n, 3), np.full(n, 2.0)])
    x[rng.permutation(n)[:6], 3] = 9.0
    held = rng.random(x.shape) < 1 / (1 + np.exp(-3 * x[:, :1]))
    held[:, 0] = False
    return x, held


def test_a_column_with_few_exceptions_is_filled_by_its_mean():
    x, held = nearly_constant()
    rows = np.where(held, np.nan, x)
    imputer = VSAEImputer(**SMALL).fit(rows)
    assert imputer.thin_ == [3]
    filled = imputer.transform(rows)
    np.testing.assert_allclose(filled[held[:, 3], 3], np.nanmean(rows[:, 3]))
    # the other columns are learnt as ever
    mean = np.where(held, np.nanmean(rows, axis=0), rows)
    others = held & (np.arange(4) < 3)
    assert error(filled, x, others) < 0.65 * error(mean, x, others)


def test_latents_may_explain_exceptions_on_request():
    x, held = nearly_constant()
    imputer = VSAEImputer(**SMALL | {"fewest": 0}).fit(np.where(held, np.nan, x))
    assert imputer.thin_ == []
    assert np.ptp(imputer.transform(np.where(held, np.nan, x))[held[:, 3], 3]) > 0.1


@pytest.mark.parametrize("reach", [0.5, 3.0])
def test_no_answer_lies_farther_from_the_mean_than_its_reach(fitted, reach):
    _, rows, held, _ = fitted
    filled = VSAEImputer(**SMALL | {"reach": reach}).fit_transform(rows)
    away = np.abs(filled - np.nanmean(rows, axis=0)) / np.nanstd(rows, axis=0)
    assert away[held].max() < reach
    assert away[held].max() > 0.8 * min(reach, 2.0)


def test_a_completion_has_mean_draws_and_what_is_observed(fitted):
    _, rows, held, imputer = fitted
    completion = imputer.complete(rows)
    assert np.array_equal(completion.observed, ~held)
    assert np.array_equal(completion.mean(), imputer.transform(rows))
    draws = completion.sample(3, random_state=2)
    assert np.array_equal(draws, imputer.sample(rows, 3, random_state=2))


def test_new_rows_have_the_moments_of_the_data(fitted):
    x, _, _, imputer = fitted
    new = imputer.generate(4000, random_state=0)
    assert new.shape == (4000, 4)
    np.testing.assert_allclose(new.mean(axis=0), 0, atol=0.2)
    np.testing.assert_allclose(np.cov(new.T), np.cov(x.T), atol=0.3)


def mixed(n=60):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "real": group + rng.normal(size=n),
            "whole": rng.poisson(3, n),
            "level": pd.Categorical(np.array(list("xyz"))[group], categories=list("zyx")),
            "grade": pd.Categorical(
                np.array(["low", "mid", "high"])[group], ["low", "mid", "high"], ordered=True
            ),
            "text": np.array(["r", "s", "t"])[group],
            "words": np.where(group > 0, "Yes", "No"),
            "truth": group > 1,
            "nullable": pd.array(rng.integers(0, 5, n), dtype="Int64"),
            "date": pd.Timestamp("2024-01-01") + pd.to_timedelta(group, unit="D"),
            "single": group.astype("float32"),
        }
    )
    frame.loc[::5, "real"] = np.nan
    frame.loc[1::5, ["level", "words"]] = None
    frame.loc[2::5, "nullable"] = pd.NA
    return frame


def test_new_rows_of_a_pandas_frame_have_its_names_and_dtypes():
    frame = mixed()
    new = VSAEImputer(**TINY).fit(frame).generate(40, random_state=0)
    assert list(new.columns) == list(frame.columns)
    assert (new.dtypes == frame.dtypes).all()
    assert new.shape == (40, 10)
    assert not new.isna().any().any()
    assert set(new["words"]) == {"Yes", "No"}
    assert set(new["level"]) == set("xyz")


def test_new_rows_of_a_polars_frame_have_its_schema():
    frame = pl.from_pandas(mixed())
    new = VSAEImputer(**TINY).fit(frame).generate(40, random_state=0)
    assert new.schema == frame.schema
    assert new.null_count().sum_horizontal().item() == 0
    assert set(new["words"]) == {"Yes", "No"}


def test_new_rows_of_numbers_keep_the_precision_and_whole_levels():
    x = np.random.default_rng(0).integers(0, 3, (40, 2)).astype(np.float32)
    new = VSAEImputer(kinds=["categorical", "count"], **TINY).fit(x).generate(50, random_state=0)
    assert new.dtype == np.float32
    assert set(np.unique(new[:, 0])) <= {0.0, 1.0, 2.0}
    assert (new[:, 1] == np.rint(new[:, 1])).all()
    assert (new[:, 1] >= 0).all()


def test_a_density_is_per_unit_of_the_table(fitted):
    _, rows, held, _ = fitted
    one = VSAEImputer(**TINY).fit(rows[:60])
    ten = clone(one).fit(10 * rows[:60])
    lower = one.log_prob(rows[:9], 50) - ten.log_prob(10 * rows[:9], 50)
    np.testing.assert_allclose(lower, np.log(10) * (~held[:9]).sum(axis=1), atol=1e-4)


def test_the_density_comes_near_that_of_the_data(fitted):
    x, rows, held, imputer = fitted
    cov = np.cov(x.T)
    complete = np.where((~held).all(axis=1))[0]
    part = x[complete]
    exact = -0.5 * np.einsum("ni,ij,nj->n", part, np.linalg.inv(cov), part)
    exact -= 0.5 * np.linalg.slogdet(2 * np.pi * cov)[1]
    pattern = np.log(0.75) * 4
    found = imputer.log_prob(rows[complete], 500)
    assert abs(found.mean() - (exact.mean() + pattern)) < 0.3


# -- odds and ends -------------------------------------------------------------------------------


def test_saved_and_loaded_it_says_the_same(tmp_path):
    frame = mixed().assign(rare=np.arange(60) == 7).astype({"rare": float})
    imputer = VSAEImputer(**TINY).fit(frame)
    save(imputer, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.thin_ == imputer.thin_ != []
    pd.testing.assert_frame_equal(again.transform(frame), imputer.transform(frame))
    new = (m.generate(5, random_state=0) for m in (again, imputer))
    pd.testing.assert_frame_equal(*new)


def test_pictures_are_there_or_missing_as_a_whole():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(40, 1)), 12, axis=1) + 0.1 * rng.normal(size=(40, 12))
    x[::3, :6] = np.nan
    kinds = {"left": range(6), "right": range(6, 12)}
    imputer = VSAEImputer(kinds=kinds, vector_latent=4, vector_hidden=16, **TINY).fit(x)
    assert [part.kind for part in imputer.features_.parts_] == ["vector", "vector"]
    assert imputer.net_.proposal.n_latents == 8
    assert imputer.net_.hide == 0.3
    assert imputer.transform(x).shape == x.shape
    assert np.isfinite(imputer.log_prob(x, 10)).all()


def test_the_published_settings():
    imputer = VSAEImputer.published(draws=5, latent=3)
    assert (imputer.bound, imputer.variance, imputer.activation) == (1, 1.0, "printed")
    assert (imputer.draws, imputer.latent, imputer.warm_up) == (5, 3, 100)
    assert (imputer.hide, imputer.fewest, imputer.reach, imputer.effective) == (0, 0, None, 0)
    assert imputer.plan.epochs == 1000


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"condition": "both"}, "condition must be one of 'decoded', 'observed'"),
        ({"second_pass": None}, "second_pass must be one of"),
        ({"variance": "fixed"}, "variance must be one of"),
        ({"variance": 0.0}, "variance must be above 0"),
        ({"warm_up": -1}, "warm_up must be at least 0"),
        ({"draws": -1}, "draws must be at least 0"),
        ({"fewest": -1}, "fewest must be at least 0"),
        ({"reach": 0.0}, "reach must be above 0"),
        ({"effective": -1.0}, "effective must be at least 0"),
        ({"hide": 1.0}, "hide must be at least 0 and below 1"),
    ],
)
def test_settings_are_refused_with_a_reason(setting, words):
    with pytest.raises(ValueError, match=words):
        VSAEImputer(**setting).fit(gaussian(10))


def test_training_with_double_precision_and_validation():
    plan = Plan(epochs=3, precision="float64", validation=0.2)
    imputer = VSAEImputer(**TINY | {"plan": plan}).fit(gaussian(50))
    assert all(np.isfinite(record["valid_loss"]) for record in imputer.history_)
