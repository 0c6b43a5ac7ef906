"""Every imputer, as it comes, on correlated Gaussian rows: better than the mean, honest draws."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from nanwise import make_imputer
from nanwise.estimators.impute.by_treatment import imputer_names
from nanwise.estimators.impute.many import samplers

CONSTANT = {"mean", "median"}
#: fewer steps than by default where these would take nearly as long as all other imputers together
STEPS = {"misgan": {"iterations": 1000}}


def rows(n=600, d=5, seed=0):
    """Correlated columns of variance 1, a fifth of the cells hidden, and which these are."""
    rng = np.random.default_rng(seed)
    loadings = np.random.default_rng(3).normal(size=(2, d))
    loadings /= np.sqrt((loadings**2).sum(axis=0) / 0.84)
    truth = rng.normal(size=(n, 2)) @ loadings + 0.4 * rng.normal(size=(n, d))
    held = rng.random(truth.shape) < 0.2
    return truth, held


@cache
def fitted(name):
    truth, held = rows()
    return make_imputer(name, **STEPS.get(name, {}), random_state=0).fit(
        np.where(held, np.nan, truth)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(imputer_names()) - CONSTANT))
def test_it_beats_mean_filling(name):
    truth, held = rows(seed=1)
    filled = fitted(name).transform(np.where(held, np.nan, truth))
    error = np.sqrt(np.mean((filled - truth)[held] ** 2))
    mean = np.sqrt(np.mean((truth - truth.mean(axis=0))[held] ** 2))
    assert error < 0.85 * mean


@pytest.mark.slow
@pytest.mark.parametrize("name", samplers())
def test_intervals_of_draws_hold_what_was_hidden(name):
    truth, held = rows(seed=1)
    gaps = np.where(held, np.nan, truth)
    draws = fitted(name).sample(gaps, 99, random_state=0)[:, held]
    low, high = np.quantile(draws, [0.05, 0.95], axis=0, method="weibull")
    share = np.mean((low <= truth[held]) & (truth[held] <= high))
    assert 0.85 < share < 0.95
