"""Where theory says that a treatment beats mean filling, it does, with a clear margin.

Imputers are judged by the error on held cells of correlated Gaussian data. The others do not guess
values; they are judged by a linear head (ridge, closed form) on their features, on data in which
what they add is worth something. Nothing is asked of them where it is not.
"""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from nanwise.missing import Observed, observe
from nanwise.registry import find
from nanwise.testing.treatments import features

IMPUTERS = ["knn", "iterative", "softimpute"]


def correlated(n, d=8, rank=2, noise=0.4, seed=0):
    """Gaussian rows with a low-rank covariance plus noise, each column of variance 1."""
    draw = np.random.default_rng(seed)
    loadings = draw.normal(size=(rank, d))
    loadings /= np.sqrt((loadings**2).sum(axis=0) / (1 - noise**2))
    return draw.normal(size=(n, rank)) @ loadings + noise * draw.normal(size=(n, d))


def held_at_random(x, share, seed):
    observed = np.random.default_rng(seed).random(x.shape) >= share
    return Observed(np.where(observed, x, 0.0), observed)


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def filled(name, train, new):
    treatment = find(name).make().fit(*train)
    return features(treatment, new)


@pytest.mark.parametrize("name", IMPUTERS)
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_imputers_on_new_correlated_rows(name, share):
    x, z = np.split(correlated(1500, seed=1), [1000])
    train, new = held_at_random(x, share, 2), held_at_random(z, share, 3)
    held = ~new.observed
    mean = rmse(filled("mean", train, new)[held], z[held])
    assert mean == pytest.approx(1.0, abs=0.1)
    assert rmse(filled(name, train, new)[held], z[held]) < 0.85 * mean


@pytest.mark.parametrize("name", IMPUTERS)
def test_imputers_do_not_do_harm_without_correlation(name):
    draw = np.random.default_rng(0)
    x, z = draw.normal(size=(1000, 6)), draw.normal(size=(500, 6))
    train, new = held_at_random(x, 0.3, 1), held_at_random(z, 0.3, 2)
    held = ~new.observed
    mean = rmse(filled("mean", train, new)[held], z[held])
    # five neighbours add the variance of a mean of five, and nothing can be gained here
    assert rmse(filled(name, train, new)[held], z[held]) < 1.3 * mean


def test_iterative_reaches_the_conditional_expectation():
    x = correlated(6000, d=5, seed=4)
    train, z = held_at_random(x[:5000], 0.3, 1), x[5000:]
    covariance = np.cov(x.T)
    new = Observed(z * [0, 1, 1, 1, 1], np.tile([False, True, True, True, True], (1000, 1)))
    best = z[:, 1:] @ np.linalg.solve(covariance[1:, 1:], covariance[1:, 0])
    got = filled("iterative", train, new)[:, 0]
    assert rmse(got, z[:, 0]) < 1.05 * rmse(best, z[:, 0])


def head_error(name, train, y_train, new, y_new, **params):
    treatment = find(name).make(**params).fit(*train)
    head = Ridge(alpha=1e-3).fit(features(treatment, train), y_train)
    return rmse(head.predict(features(treatment, new)), y_new)


@pytest.mark.parametrize("name", ["missing_indicator", "observation_indicator"])
def test_indicators_where_being_missing_tells_something(name):
    """Values above 0.5 hide themselves: the mean puts them all at the low side."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(4000, 3))
    y = x.sum(axis=1) + 0.1 * draw.normal(size=4000)
    rows = observe(np.where(x > 0.5, np.nan, x))
    train, new = Observed(*(p[:3000] for p in rows)), Observed(*(p[3000:] for p in rows))
    mean = head_error("mean", train, y[:3000], new, y[3000:])
    assert head_error(name, train, y[:3000], new, y[3000:]) < 0.7 * mean


def average_problem(n, seed):
    """The target is the level of a row, each value a noisy reading of it; rates differ by row."""
    draw = np.random.default_rng(seed)
    level = draw.uniform(1, 3, n)
    x = level[:, None] + 0.5 * draw.normal(size=(n, 30))
    observed = draw.random(x.shape) < draw.choice([0.2, 0.9], n)[:, None]
    return Observed(np.where(observed, x, 0.0), observed), level


def test_sparsity_norm_where_rows_differ_in_how_much_they_have():
    """SN turns the sum of the readings into their average; zero, rate and the mean cannot."""
    (train, y), (new, z) = average_problem(2000, 0), average_problem(1000, 1)
    error = {
        name: head_error(name, train, y, new, z)
        for name in ("sparsity_norm", "mean", "zero", "rate", "missing_indicator")
    }
    for other in ("mean", "zero", "rate"):
        assert error["sparsity_norm"] < 0.7 * error[other]
    assert error["rate"] == pytest.approx(error["zero"], rel=0.01)
    assert error["sparsity_norm"] < error["missing_indicator"]


@pytest.mark.parametrize(
    ("name", "flat"), [("sparsity_norm", True), ("rate", False), ("zero", False)]
)
def test_mean_output_against_the_share_observed(name, flat):
    """Theorem 1: an affine map of the features has the same mean at every share only with SN."""
    draw = np.random.default_rng(0)
    x, w = draw.normal(1, 1, (20_000, 10)), draw.normal(1, 1, 10)
    treatment = find(name).make().fit(*held_at_random(x, 0.5, 1))
    at = [features(treatment, held_at_random(x, share, 2)) @ w for share in (0.6, 0.2)]
    drift = abs(at[0].mean() - at[1].mean()) / abs(at[1].mean())
    assert drift < 0.02 if flat else drift > 0.4
