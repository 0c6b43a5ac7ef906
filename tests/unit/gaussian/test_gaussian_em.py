from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from nanwise.errors import GapWarning
from nanwise.gaussian import em
from nanwise.gaussian.conditional import conditional_mean
from nanwise.gaussian.em import fit_gaussian
from nanwise.gaussian.em_rows import compress
from nanwise.gaussian.moments import check_moments


def rows(n=200, d=3, share=0.3, seed=0):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n, d)) @ draw.normal(size=(d, d)) + draw.normal(size=d)
    x[draw.random((n, d)) < share] = np.nan
    return x


def log_likelihood(x, mean, cov):
    """Sum over rows of the density of what is observed."""
    total = 0.0
    for row in x:
        o = ~np.isnan(row)
        if o.any():
            total += multivariate_normal.logpdf(row[o], mean[o], cov[np.ix_(o, o)])
    return total


def exact(x, **settings):
    return fit_gaussian(x, **({"shrinkage": 0.0, "tol": 1e-10, "max_iter": 5000} | settings))


# -- the answer ----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 6])
def test_complete_rows_give_sample_moments(d):
    x = rows(d=d, share=0.0)
    found = exact(x)
    assert found.converged
    np.testing.assert_allclose(found.moments.mean, x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        found.moments.cov, np.atleast_2d(np.cov(x.T, bias=True)), rtol=1e-10, atol=1e-12
    )


def test_monotone_gaps_have_a_closed_form():
    """Mean and variance of the complete column; the other through its regression on it."""
    x = rows(d=2, share=0.0)
    x[120:, 1] = np.nan
    first, second = x[:, 0], x[:120, 1]
    both = np.cov(x[:120].T, bias=True)
    slope = both[0, 1] / both[0, 0]
    mean = second.mean() + slope * (first.mean() - first[:120].mean())
    covariance = slope * first.var()
    variance = both[1, 1] - slope * both[0, 1] + slope * covariance
    moments = exact(x).moments
    np.testing.assert_allclose(moments.mean, [first.mean(), mean], rtol=1e-8)
    np.testing.assert_allclose(
        moments.cov, [[first.var(), covariance], [covariance, variance]], rtol=1e-7
    )


def test_it_finds_the_maximum_that_a_general_optimiser_finds():
    x = rows(n=25, d=3, share=0.35)
    lower = np.tril_indices(3)

    def unpack(theta):
        root = np.zeros((3, 3))
        root[lower] = theta[3:]
        return theta[:3], root @ root.T + 1e-12 * np.eye(3)

    start = np.concatenate([np.nanmean(x, axis=0), np.diag(np.nanstd(x, axis=0))[lower]])
    best = minimize(lambda t: -log_likelihood(x, *unpack(t)), start, options={"gtol": 1e-6})
    mean, cov = unpack(best.x)
    found = exact(x)
    np.testing.assert_allclose(found.moments.mean, mean, atol=1e-5)
    np.testing.assert_allclose(found.moments.cov, cov, atol=1e-4)
    assert log_likelihood(x, *found.moments) >= -best.fun - 1e-6


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_log_likelihood_is_the_one_of_the_observed_cells(share):
    x = rows(share=share) * [1.0, 10.0, 0.1]
    found = exact(x)
    n = (~np.isnan(x)).any(axis=1).sum()
    assert found.log_likelihood[-1] * n == pytest.approx(
        log_likelihood(x, *found.moments), rel=1e-9
    )


@pytest.mark.parametrize("shrinkage", [0.0, 0.05, None])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("n", [6, 40, 300])
def test_what_is_maximised_never_decreases(n, share, shrinkage):
    found = fit_gaussian(rows(n=n, d=6, share=share), shrinkage=shrinkage, tol=1e-8)
    assert np.diff(found.log_likelihood).min(initial=0.0) > -1e-9
    check_moments(*found.moments)


def test_extrapolation_changes_the_speed_and_not_the_answer(monkeypatch):
    x = rows(d=4, share=0.4)
    fast = exact(x)
    monkeypatch.setattr(em, "_extrapolate", lambda first, second, third: third)
    slow = exact(x)
    np.testing.assert_allclose(fast.moments.cov, slow.moments.cov, rtol=1e-5, atol=1e-6)
    assert fast.n_iter < slow.n_iter / 2


def test_a_bad_extrapolation_is_taken_back(monkeypatch):
    x = rows(d=4, share=0.5)
    good = exact(x)

    def wild(first, second, third):
        return third._replace(mean=third.mean + 5.0)

    monkeypatch.setattr(em, "_extrapolate", wild)
    found = exact(x)
    np.testing.assert_allclose(found.moments.cov, good.moments.cov, rtol=1e-5, atol=1e-6)
    assert np.diff(found.log_likelihood).min() > -1e-9
    assert len(found.log_likelihood) < found.n_iter


def test_shrinkage_is_the_share_of_a_prior_of_independent_columns():
    x = rows(share=0.0)
    sample, variance = np.cov(x.T, bias=True), np.diag(x.var(axis=0))
    found = exact(x, shrinkage=0.2)
    np.testing.assert_allclose(found.moments.cov, 0.8 * sample + 0.2 * variance, rtol=1e-10)
    np.testing.assert_allclose(found.moments.mean, x.mean(axis=0), rtol=1e-10)


def test_the_default_shrinks_few_rows_and_leaves_many_alone():
    few, many = rows(n=12, d=10), rows(n=4000, d=4)
    default, none = fit_gaussian(few).moments.cov, fit_gaussian(few, shrinkage=0.0).moments.cov
    assert np.linalg.cond(default) < 1e3 < np.linalg.cond(none)
    np.testing.assert_allclose(
        exact(many, shrinkage=None).moments.cov, exact(many).moments.cov, atol=1e-3
    )


def test_a_weight_counts_a_row_several_times():
    x, draw = rows(n=60), np.random.default_rng(3)
    weight = draw.integers(0, 4, 60)
    once = fit_gaussian(x, weight=weight.astype(float))
    often = fit_gaussian(np.repeat(x, weight, axis=0))
    np.testing.assert_allclose(once.moments.mean, often.moments.mean, atol=1e-9)
    np.testing.assert_allclose(once.moments.cov, often.moments.cov, atol=1e-9)
    np.testing.assert_allclose(once.log_likelihood, often.log_likelihood, rtol=1e-9)


def test_units_do_not_matter():
    x = rows()
    unit, shift = np.array([1e-6, 1.0, 1e6]), np.array([1.0, -3.0, 1e7])
    plain, other = fit_gaussian(x).moments, fit_gaussian(x * unit + shift).moments
    np.testing.assert_allclose(other.mean, plain.mean * unit + shift, rtol=1e-8)
    np.testing.assert_allclose(other.cov, plain.cov * unit * unit[:, None], rtol=1e-6)


def test_few_patterns_with_many_rows_are_compressed():
    x = rows(n=3000, d=4, share=0.0)
    x[:1000, 0], x[1000:1500, 2:] = np.nan, np.nan
    there = ~np.isnan(x)
    short = compress(np.nan_to_num(x), there, np.ones(3000))
    assert len(short.one) == 4 + 3 + 5
    assert (short.one**2).sum() == pytest.approx(3000)
    np.testing.assert_allclose(short.values.T @ short.values, np.nan_to_num(x).T @ np.nan_to_num(x))
    np.testing.assert_allclose(short.one @ short.values, np.nan_to_num(x).sum(axis=0))


def test_fifty_columns_where_the_reference_fails():
    """Half of all cells missing, 25 factors: close to the true moments in prediction error."""
    draw = np.random.default_rng(0)
    root = draw.normal(size=(50, 25))
    cov = root @ root.T + np.diag(draw.uniform(0.01, 0.1, 50))
    full = draw.multivariate_normal(np.zeros(50), cov, size=5000)
    x = np.where(draw.random(full.shape) < 0.5, np.nan, full)
    found = fit_gaussian(x[:4000], tol=1e-3)
    assert found.converged
    held = np.isnan(x[4000:])

    def error(moments):
        return np.square((conditional_mean(x[4000:], moments) - full[4000:])[held]).mean()

    truth = error(em.Moments(np.zeros(50), cov))
    assert error(found.moments) < 1.25 * truth
    assert truth < 0.25 * np.diag(cov).mean()


# -- what can go wrong ---------------------------------------------------------------------------


def test_fewer_rows_than_columns_give_a_definite_answer():
    x = rows(n=5, d=12)
    for shrinkage in (None, 0.0):
        found = fit_gaussian(x, shrinkage=shrinkage)
        np.linalg.cholesky(found.moments.cov)
        assert np.isfinite(found.moments.mean).all()


def test_equal_columns_end_at_the_floor():
    x = rows(share=0.0)
    x = np.column_stack([x, x[:, 0]])
    x[np.random.default_rng(0).random(x.shape) < 0.3] = np.nan
    found = exact(x, tol=1e-6)
    correlation = found.moments.cov / np.sqrt(np.outer(*[np.diag(found.moments.cov)] * 2))
    assert correlation[0, 3] == pytest.approx(1.0, abs=1e-5)
    assert 0 < np.linalg.eigvalsh(correlation)[0] < 1e-5
    assert np.diff(found.log_likelihood).min() > -1e-9


def test_constant_column_and_single_value():
    x = rows()
    x[:, 1] = np.where(np.isnan(x[:, 1]), np.nan, 0.1)
    x[:, 2] = np.nan
    x[7, 2] = 4.0
    moments = fit_gaussian(x).moments
    np.testing.assert_array_equal(moments.mean[1:], [0.1, 4.0])
    np.testing.assert_array_equal(moments.cov[1:], 0.0)
    alone = exact(x[:, :1]).moments
    np.testing.assert_allclose(exact(x).moments.cov[0, 0], alone.cov[0, 0], rtol=1e-9)


def test_column_never_observed_is_named_and_standard():
    x = rows()
    x[:, 1] = np.nan
    with pytest.warns(GapWarning, match="nothing was observed in column 1: its mean is taken as 0"):
        moments = fit_gaussian(x).moments
    assert moments.mean[1] == 0.0
    np.testing.assert_array_equal(moments.cov[1], [0.0, 1.0, 0.0])
    with pytest.warns(GapWarning):
        nothing = fit_gaussian(np.full((4, 2), np.nan))
    np.testing.assert_array_equal(nothing.moments.cov, np.eye(2))
    assert (nothing.log_likelihood, nothing.n_iter, nothing.converged) == ([], 0, True)


def test_empty_rows_say_nothing():
    x = rows()
    padded = np.vstack([x, np.full((50, 3), np.nan)])
    np.testing.assert_allclose(
        fit_gaussian(padded).moments.cov, fit_gaussian(x).moments.cov, rtol=1e-10
    )


def test_columns_never_seen_together_are_taken_as_independent_given_the_rest():
    x = rows(d=2, share=0.0)
    x[:100, 0], x[100:, 1] = np.nan, np.nan
    assert exact(x).moments.cov[0, 1] == pytest.approx(0.0, abs=1e-12)


def test_one_row():
    moments = fit_gaussian(np.array([[1.0, 2.0]])).moments
    np.testing.assert_array_equal(moments.mean, [1.0, 2.0])
    np.testing.assert_array_equal(moments.cov, 0.0)


@pytest.mark.parametrize(
    ("x", "settings", "says"),
    [
        (np.zeros(3), {}, r"shape \(n, d\)"),
        (np.zeros((3, 0)), {}, "d of at least 1"),
        (np.array([[1.0, np.inf]]), {}, "infinity, first in row 0, column 1"),
        (np.array([[1e200], [-1e200]]), {}, "column 0 are too large"),
        (np.zeros((3, 2)), {"weight": np.ones(2)}, r"shape \(3,\), got \(2,\)"),
        (np.zeros((3, 2)), {"weight": [1, -1, 1]}, "row 1 has -1"),
        (np.zeros((3, 2)), {"weight": [1, 1, np.nan]}, "row 2 has nan"),
        (np.zeros((3, 2)), {"shrinkage": 1.0}, "shrinkage must be at least 0 and below 1"),
        (np.zeros((3, 2)), {"shrinkage": -0.1}, "got -0.1"),
        (np.zeros((3, 2)), {"tol": 0.0}, "tol must be above 0"),
        (np.zeros((3, 2)), {"max_iter": 0}, "max_iter must be at least 1"),
    ],
)
def test_bad_input_is_refused_with_a_reason(x, settings, says):
    with pytest.raises(ValueError, match=says):
        fit_gaussian(x, **settings)


@pytest.mark.parametrize("setting", ["shrinkage", "tol", "max_iter"])
def test_settings_must_be_numbers(setting):
    with pytest.raises(TypeError, match=f"{setting} must be a number, got 'a'"):
        fit_gaussian(np.zeros((3, 2)), **{setting: "a"})


def test_too_few_steps_are_admitted():
    found = fit_gaussian(rows(), max_iter=2, tol=1e-12)
    assert (found.converged, found.n_iter) == (False, 2)


def test_input_is_not_changed_and_no_warning_comes():
    x = rows(n=30, d=8, share=0.8)
    before = x.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_gaussian(x)
    np.testing.assert_array_equal(x, before)


def test_noise_is_widened_by_what_few_rows_make_it_too_small():
    """Variance of draws around a prediction is that of a new value around it, on average."""
    rng, n, d = np.random.default_rng(0), 40, 4
    root = rng.normal(size=(d, d))
    drawn, missed = [], []
    for _ in range(600):
        fit = fit_gaussian(rng.normal(size=(n, d)) @ root, shrinkage=0.0)
        mean, cov = fit.moments
        slope = np.linalg.solve(cov[1:, 1:], cov[1:, 0])
        drawn.append(fit.widen[0] ** 2 * (cov[0, 0] - slope @ cov[1:, 0]))
        new = rng.normal(size=(30, d)) @ root
        missed.append(np.mean((new[:, 0] - mean[0] - (new[:, 1:] - mean[1:]) @ slope) ** 2))
    # 1 / (1 - 2 d / n) = 1.25; without it the ratio would be near 0.8
    assert np.mean(drawn) / np.mean(missed) == pytest.approx(1, abs=0.04)


def test_noise_is_widened_by_rows_columns_and_prior():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    x[200:, 2] = np.nan
    plain = fit_gaussian(x, shrinkage=0.0).widen
    np.testing.assert_allclose(plain**2, 1 / (1 - 6 / np.array([400, 400, 200])))
    doubled = np.column_stack([x[:, 0], x])
    np.testing.assert_allclose(fit_gaussian(doubled, shrinkage=0.0).widen[1:], plain)
    half = fit_gaussian(x, shrinkage=0.5).widen
    np.testing.assert_allclose(half**2 - 1, (plain**2 - 1) / 2)
    few = fit_gaussian(x[:5], shrinkage=0.0).widen
    np.testing.assert_allclose(few**2, 2)
    constant = np.column_stack([x[:, 0], np.ones(400)])
    assert fit_gaussian(constant).widen[1] == 1
