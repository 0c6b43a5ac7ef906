"""EM for mixtures of factor analysers against full matrices, and on data of a known mixture."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from nanwise.gaussian.factors import Factors, fit_factors, log_density


def simulate(n=1500, k=2, rank=2, d=6, gaps=0.3, seed=0):
    rng = np.random.default_rng(seed)
    made = Factors(
        np.array([0.35, 0.65])[:k] / np.array([0.35, 0.65])[:k].sum(),
        3 * rng.normal(size=(k, d)),
        rng.normal(size=(k, rank, d)),
        rng.uniform(0.05, 0.3, size=(k, d)),
    )
    label = rng.choice(k, size=n, p=made.weights)
    z = rng.normal(size=(n, rank))
    x = made.means[label] + np.einsum("nl,nld->nd", z, made.factors[label])
    x += np.sqrt(made.noise[label]) * rng.normal(size=x.shape)
    observed = rng.random(x.shape) >= gaps
    return made, np.where(observed, x, 0.0), observed


def covariance(made, k):
    return made.factors[k].T @ made.factors[k] + np.diag(made.noise[k])


def by_full_matrices(made, row, there):
    parts = [
        np.log(made.weights[k])
        + multivariate_normal.logpdf(
            row[there], made.means[k][there], covariance(made, k)[np.ix_(there, there)]
        )
        for k in range(len(made.weights))
    ]
    return logsumexp(parts)


def test_log_density_is_that_of_the_full_matrices():
    made, x, observed = simulate(n=20)
    observed[0] = [True] * 6
    want = [by_full_matrices(made, row, there) for row, there in zip(x, observed, strict=True)]
    np.testing.assert_allclose(log_density(x, observed, made), want, atol=1e-9)


def test_a_row_with_nothing_observed_has_density_one():
    made, x, observed = simulate(n=3)
    observed[1] = False
    assert log_density(x, observed, made)[1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("prior", [0.0, 5.0])
@pytest.mark.parametrize("floor", [1e-4, 0.2])
def test_no_step_lowers_the_objective(prior, floor):
    _, x, observed = simulate(n=300)
    fit = fit_factors(
        x, observed, 2, 2, steps=25, tolerance=-np.inf, prior=prior, floor=floor, rng=0
    )
    assert len(fit.history) == 25
    assert np.diff(fit.history).min() > -1e-9
    assert fit.parameters.noise.min() >= floor


def test_the_objective_is_the_likelihood_without_a_prior():
    _, x, observed = simulate(n=200)
    fit = fit_factors(x, observed, 2, 2, steps=2, tolerance=-np.inf, prior=0.0, rng=0)
    before = fit_factors(x, observed, 2, 2, steps=1, tolerance=-np.inf, prior=0.0, rng=0)
    likelihood = log_density(x, observed, before.parameters).mean()
    assert fit.history[1] == pytest.approx(likelihood, abs=1e-9)


def test_a_simulated_mixture_is_found_again():
    made, x, observed = simulate(n=4000)
    found = fit_factors(x, observed, 2, 2, steps=200, tolerance=1e-7, rng=1).parameters
    order = np.argsort(found.weights)
    np.testing.assert_allclose(found.weights[order], made.weights, atol=0.03)
    for mine, k in zip(order, range(2), strict=True):
        np.testing.assert_allclose(found.means[mine], made.means[k], atol=0.15)
        true = covariance(made, k)
        scale = np.sqrt(np.outer(np.diag(true), np.diag(true)))
        assert (np.abs(covariance(found, mine) - true) / scale).max() < 0.15


def test_columns_never_observed_and_more_factors_than_columns_are_no_trouble():
    _, x, observed = simulate(n=50, d=3, rank=2)
    observed[:, 1] = False
    found = fit_factors(x * observed, observed, 3, 5, steps=5, rng=0).parameters
    assert all(np.isfinite(part).all() for part in found)
    assert found.weights.sum() == pytest.approx(1.0)


def test_same_seed_same_answer_and_few_rows_do():
    _, x, observed = simulate(n=3)
    first, second = (fit_factors(x, observed, 4, 2, steps=3, rng=7) for _ in range(2))
    assert first.history == second.history
    assert np.isfinite(first.parameters.noise).all()
