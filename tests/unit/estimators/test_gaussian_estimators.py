from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import nanwise
from nanwise import EMRegressor, GaussianImputer, NanRegressor, TableModel
from nanwise.errors import DataError, GapWarning
from nanwise.gaussian.conditional import conditional_mean
from nanwise.gaussian.em import fit_gaussian
from nanwise.gaussian.moments import Moments


def table(n=300, d=4, share=0.3, seed=0):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n, d)) @ draw.normal(size=(d, d)) + draw.normal(size=d)
    y = 2.0 + x @ np.arange(1.0, d + 1) + 0.1 * draw.normal(size=n)
    x[draw.random((n, d)) < share] = np.nan
    return x, y


# -- EMRegressor ---------------------------------------------------------------------------------


def test_complete_rows_give_least_squares():
    x, y = table(share=0.0)
    found = EMRegressor(shrinkage=0.0).fit(x, y).predict(x)
    np.testing.assert_allclose(found, LinearRegression().fit(x, y).predict(x), rtol=1e-7)


def test_predictions_are_conditional_means_of_the_joint_vector():
    x, y = table()
    model = EMRegressor(shrinkage=0.0).fit(x, y)
    moments = fit_gaussian(np.column_stack([y, x]), shrinkage=0.0).moments
    np.testing.assert_array_equal(model.mean_, moments.mean)
    np.testing.assert_array_equal(model.covariance_, moments.cov)
    unknown = np.column_stack([np.full(len(x), np.nan), x])
    np.testing.assert_allclose(model.predict(x), conditional_mean(unknown, moments)[:, 0])
    assert model.score(x, y) > 0.6


def test_several_targets_with_gaps():
    x, y = table()
    both = np.column_stack([y, -y])
    one = EMRegressor().fit(x, both[:, 0]).predict(x)
    two = EMRegressor().fit(x, both)
    assert (one.shape, two.predict(x).shape, two.n_outputs_) == ((300,), (300, 2), 2)
    both[::3, 1] = np.nan
    gappy = EMRegressor().fit(x, both).predict(x)
    np.testing.assert_allclose(gappy[:, 1], -gappy[:, 0], atol=0.05 * y.std())


def test_a_row_with_nothing_observed_gets_the_mean_target():
    x, y = table()
    model = EMRegressor(shrinkage=0.0).fit(x, y)
    empty = np.full((1, 4), np.nan)
    np.testing.assert_allclose(model.predict(empty), [y.mean()], rtol=1e-6)


def test_constant_and_empty_columns_have_no_influence():
    x, y = table()
    wide = np.column_stack([x, np.full(300, 3.0), np.full(300, np.nan)])
    with pytest.warns(GapWarning, match="nothing was observed in column 5"):
        model = EMRegressor(shrinkage=0.0).fit(wide, y)
    np.testing.assert_allclose(
        model.predict(wide), EMRegressor(shrinkage=0.0).fit(x, y).predict(x), rtol=1e-8
    )
    wide[:, 4:] = 100.0
    assert np.isfinite(model.predict(wide)).all()


def test_a_constant_target_is_predicted():
    x, _ = table()
    np.testing.assert_allclose(EMRegressor().fit(x, np.full(300, 7.0)).predict(x), 7.0)


def test_more_columns_than_rows():
    x, y = table(n=8, d=30)
    assert np.isfinite(EMRegressor().fit(x, y).predict(table(d=30)[0])).all()


def test_mixed_frames_are_encoded():
    x, y = table()
    frame = pd.DataFrame(x, columns=list("abcd"))
    frame["kind"] = np.where(np.arange(300) % 2, "odd", "even")
    y = y + 50.0 * (frame["kind"] == "odd")
    model = EMRegressor().fit(frame, y)
    low, high = (model.predict(frame[frame["kind"] == k]).mean() for k in ("even", "odd"))
    assert high - low > 30


@pytest.mark.parametrize("settings", [{"shrinkage": 2.0}, {"tol": -1.0}, {"max_iter": 0}])
def test_bad_settings_are_refused_in_fit(settings):
    x, y = table()
    with pytest.raises(ValueError, match=next(iter(settings))):
        EMRegressor(**settings).fit(x, y)
    with pytest.raises(ValueError, match=next(iter(settings))):
        GaussianImputer(**settings).fit(x)


# -- GaussianImputer -----------------------------------------------------------------------------


def test_imputer_fills_with_conditional_means_and_keeps_the_rest():
    x, _ = table()
    imputer = GaussianImputer().fit(x)
    filled = imputer.transform(x)
    moments = Moments(imputer.mean_, imputer.covariance_)
    np.testing.assert_array_equal(filled, conditional_mean(x, moments))
    there = ~np.isnan(x)
    np.testing.assert_array_equal(filled[there], x[there])
    single = imputer.transform(x.astype(np.float32))
    np.testing.assert_array_equal(single[there], x.astype(np.float32)[there])


def test_weights_count_rows():
    x, _ = table(n=60)
    weight = np.random.default_rng(0).integers(0, 3, 60)
    weighted = GaussianImputer().fit(x, sample_weight=weight)
    repeated = GaussianImputer().fit(np.repeat(x, weight, axis=0))
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, atol=1e-9)


def test_frames_in_and_out():
    x, _ = table()
    frame = pd.DataFrame(x, columns=list("abcd"), index=np.arange(300) + 7)
    imputer = GaussianImputer().set_output(transform="pandas").fit(frame)
    out = imputer.transform(frame)
    assert list(out.columns) == list(imputer.get_feature_names_out()) == list("abcd")
    np.testing.assert_array_equal(out.index, frame.index)
    assert out.notna().all(axis=None)


def test_columns_of_text_are_refused_by_name():
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan], "city": ["x", "y", "z"]})
    with pytest.raises(DataError, match="column 'city' is"):
        GaussianImputer().fit(frame)


def test_empty_column_is_named_and_filled_with_zero():
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": [np.nan] * 3})
    with pytest.warns(GapWarning, match="nothing was observed in column 'b'"):
        filled = GaussianImputer().fit_transform(frame)
    np.testing.assert_allclose(np.asarray(filled), [[1, 0], [2, 0], [1.5, 0]])


def test_samples_are_spread_about_the_mean_and_seeded():
    x, _ = table(n=40)
    imputer = GaussianImputer().fit(x)
    draws = imputer.sample(x, 500, random_state=0)
    assert draws.shape == (500, 40, 4)
    there = ~np.isnan(x)
    assert (draws[:, there] == x[there]).all()
    spread = draws.std(axis=0)
    error = np.abs(draws.mean(axis=0) - imputer.transform(x))
    assert (error <= 5 * spread / np.sqrt(500) + 1e-12).all()
    assert (spread[~there] > 0).all()
    np.testing.assert_array_equal(imputer.sample(x, 2, random_state=0)[1].shape, (40, 4))
    np.testing.assert_array_equal(
        imputer.sample(x, 3, random_state=1), imputer.sample(x, 3, random_state=1)
    )


def test_it_works_in_a_pipeline():
    x, y = table()
    assert make_pipeline(GaussianImputer(), LinearRegression()).fit(x, y).score(x, y) > 0.5


# -- saving and registry -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        EMRegressor(shrinkage=0.1),
        TableModel("em_regression", "regression"),
        NanRegressor(gaps="em", hidden=(4,), plan=nanwise.Plan(epochs=1), random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_saved_models_predict_the_same(model, tmp_path):
    x, y = table()
    model.fit(x, y)
    nanwise.save(model, tmp_path / "model")
    again = nanwise.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


def test_a_saved_imputer_fills_the_same(tmp_path):
    x, _ = table()
    imputer = GaussianImputer(max_iter=7).fit(x)
    nanwise.save(imputer, tmp_path / "model")
    again = nanwise.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(x), imputer.transform(x))
    assert (again.max_iter, again.n_iter_) == (7, imputer.n_iter_)


def test_em_regression_is_for_regression_only():
    x, y = table()
    with pytest.raises(ValueError, match="for regression, not for classification"):
        TableModel("em_regression", "classification").fit(x, y > 0)
