"""The conditional means of ``nanwise.gaussian`` against brute force in three dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from nanwise.gaussian.conditional import conditional_mean
from nanwise.gaussian.em import fit_gaussian
from nanwise.gaussian.moments import Moments, SelfMasking
from nanwise.gaussian.predict import GaussianPredictor

MOMENTS = Moments(
    np.array([0.5, -1.0, 2.0]),
    np.array([[1.0, 0.6, -0.4], [0.6, 2.0, 0.3], [-0.4, 0.3, 1.5]]),
)
MASKING = SelfMasking(np.array([1.5, 0.0, 3.0]), np.array([0.8, 2.0, 1.0]))
COEF = np.array([1.0, -2.0, 0.5])
N = 600_000


def gaps(x, mechanism, draw):
    """True where a value is missing."""
    if mechanism == "mcar":
        return draw.random(x.shape) < [0.3, 0.5, 0.6]
    if mechanism == "mar":  # what happens to the others depends on the first, which is always there
        chance = expit((x[:, :1] - 0.5) * [0.0, 2.0, -3.0])
        return (draw.random(x.shape) < chance) & [False, True, True]
    chance = np.exp(-((x - MASKING.centre) ** 2) / (2 * MASKING.variance))
    return draw.random(x.shape) < chance


def groups(observed, guess):
    """Rows of one pattern with close predictions; within one the mean error must be 0."""
    code = observed @ [1, 2, 4]
    for kind in np.unique(code):
        rows = np.flatnonzero(code == kind)
        for part in np.array_split(rows[np.argsort(guess[rows])], 8):
            yield kind, part


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "self_masking"])
def test_no_group_of_alike_rows_is_predicted_with_a_bias(mechanism):
    """E[y - prediction | pattern, observed values] = 0 is what makes a predictor the best one."""
    draw = np.random.default_rng(3)
    full = draw.multivariate_normal(*MOMENTS, size=N)
    missing = gaps(full, mechanism, draw)
    x = np.where(missing, np.nan, full)
    masking = MASKING if mechanism == "self_masking" else None
    guess = GaussianPredictor(MOMENTS, COEF, 1.0, masking).predict(x)
    error = 1.0 + full @ COEF - guess
    scores, kinds = [], set()
    for kind, part in groups(~missing, guess):
        if kind != 7 and len(part) > 100:
            kinds.add(kind)
            scores.append(error[part].mean() / (error[part].std() / np.sqrt(len(part))))
    assert len(kinds) == (3 if mechanism == "mar" else 7)
    assert np.abs(scores).max() < 4.0
    assert 0.6 < np.std(scores) < 1.5
    np.testing.assert_allclose(guess[~missing.any(axis=1)], (1 + full @ COEF)[~missing.any(axis=1)])


def test_ignoring_self_masking_is_seen_by_the_same_check():
    draw = np.random.default_rng(3)
    full = draw.multivariate_normal(*MOMENTS, size=50_000)
    missing = gaps(full, "self_masking", draw)
    guess = GaussianPredictor(MOMENTS, COEF, 1.0).predict(np.where(missing, np.nan, full))
    error = 1.0 + full @ COEF - guess
    part = missing.any(axis=1)
    assert abs(error[part].mean()) > 20 * error[part].std() / np.sqrt(part.sum())


@pytest.mark.parametrize("pattern", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 0, 0)])
@pytest.mark.parametrize("masking", [None, MASKING])
def test_against_numeric_integration(pattern, masking):
    """Density of the missing values given the observed ones (and the gaps), on a fine grid."""
    observed = np.array(pattern, dtype=bool)
    row = np.where(observed, [1.2, -0.3, 0.7], np.nan)
    axes = [
        np.array([value]) if there else np.linspace(m - 8 * s, m + 8 * s, 121)
        for value, there, m, s in zip(
            row, observed, MOMENTS.mean, np.sqrt(np.diag(MOMENTS.cov)), strict=True
        )
    ]
    cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    rest = cells - MOMENTS.mean
    log = -0.5 * np.einsum("ni,ij,nj->n", rest, np.linalg.inv(MOMENTS.cov), rest)
    if masking is not None:
        hidden = (cells - masking.centre) ** 2 / (2 * masking.variance)
        log -= hidden[:, ~observed].sum(axis=1)
    density = np.exp(log - log.max())
    expected = density @ cells / density.sum()
    np.testing.assert_allclose(
        conditional_mean(row[None], MOMENTS, masking)[0], expected, rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("mechanism", ["mcar", "mar"])
def test_em_finds_the_moments_where_available_cases_do_not(mechanism):
    draw = np.random.default_rng(5)
    full = draw.multivariate_normal(*MOMENTS, size=60_000)
    x = np.where(gaps(full, mechanism, draw), np.nan, full)
    found = fit_gaussian(x, tol=1e-6).moments
    np.testing.assert_allclose(found.mean, MOMENTS.mean, atol=0.04)
    np.testing.assert_allclose(found.cov, MOMENTS.cov, atol=0.06)
    naive = np.abs(np.nanmean(x, axis=0) - MOMENTS.mean).max()
    assert (naive > 0.3) == (mechanism == "mar")
