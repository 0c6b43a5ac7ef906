"""Little's test keeps its level when gaps fall at random, and notices when they do not."""

from __future__ import annotations

import numpy as np
from scipy.stats import kstest

from nanwise import mcar_test


def rows(seed, n=200):
    draw = np.random.default_rng(seed)
    x = draw.multivariate_normal(np.zeros(3), 0.5 + 0.5 * np.eye(3), size=n)
    return x, draw


def test_p_values_are_uniform_under_mcar():
    found = []
    for seed in range(300):
        x, draw = rows(seed)
        x[draw.random(x.shape) < 0.25] = np.nan
        found.append(mcar_test(x).p_value)
    assert kstest(found, "uniform").pvalue > 0.01
    assert 0.02 < np.mean(np.array(found) < 0.05) < 0.09


def test_it_rejects_under_mar():
    found = []
    for seed in range(40):
        x, draw = rows(seed)
        chance = 0.1 + 0.5 * (x[:, 0] > 0)
        x[draw.random(len(x)) < chance, 1] = np.nan
        found.append(mcar_test(x).p_value)
    assert np.mean(np.array(found) < 0.05) > 0.95
