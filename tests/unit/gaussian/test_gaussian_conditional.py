from __future__ import annotations

import numpy as np
import pytest

from nanwise.gaussian.conditional import conditional_mean, conditional_sample
from nanwise.gaussian.moments import Moments, SelfMasking


def vector(d, seed=0):
    draw = np.random.default_rng(seed)
    root = draw.normal(size=(d, max(d // 2, 1)))
    return Moments(draw.normal(size=d), root @ root.T + np.diag(draw.uniform(0.05, 0.5, d)))


def rows(moments, n=300, share=0.5, seed=1):
    draw = np.random.default_rng(seed)
    x = draw.multivariate_normal(*moments, size=n)
    x[draw.random(x.shape) < share] = np.nan
    x[0], x[1] = np.nan, moments.mean + 1.0  # nothing observed, nothing missing
    return x


def naive(x, moments, masking=None):
    """The textbook formulas, one row at a time."""
    out = x.copy()
    for i, row in enumerate(x):
        o = ~np.isnan(row)
        m = ~o
        if not m.any():
            continue
        mean, cov = moments.mean[m], moments.cov[np.ix_(m, m)]
        if o.any():
            pull = moments.cov[np.ix_(m, o)] @ np.linalg.inv(moments.cov[np.ix_(o, o)])
            mean = mean + pull @ (row[o] - moments.mean[o])
            cov = cov - pull @ moments.cov[np.ix_(o, m)]
        if masking is not None:
            d_inverse, precision = np.diag(1 / masking.variance[m]), np.linalg.inv(cov)
            total = np.linalg.inv(d_inverse + precision)
            mean = total @ (d_inverse @ masking.centre[m] + precision @ mean)
        out[i, m] = mean
    return out


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_mean_equals_a_loop_over_rows(d, share):
    moments = vector(d)
    x = rows(moments, share=share)
    np.testing.assert_allclose(conditional_mean(x, moments), naive(x, moments), atol=1e-10)


@pytest.mark.parametrize("trust", [1e-6, np.inf])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_self_masked_mean_equals_a_loop_over_rows(d, trust, monkeypatch):
    """By the precision matrix and by the covariance, which serves where that is singular."""
    monkeypatch.setattr("nanwise.gaussian.conditional._WELL", trust)
    moments, draw = vector(d), np.random.default_rng(5)
    masking = SelfMasking(draw.normal(size=d), draw.uniform(0.2, 3.0, d))
    x = rows(moments)
    found = conditional_mean(x, moments, masking)
    np.testing.assert_allclose(found, naive(x, moments, masking), atol=1e-10)


def test_infinite_masking_variance_is_no_self_masking():
    moments, x = vector(4), rows(vector(4))
    never = SelfMasking(np.ones(4), np.full(4, np.inf))
    np.testing.assert_allclose(
        conditional_mean(x, moments, never), conditional_mean(x, moments), atol=1e-10
    )
    part = SelfMasking(np.ones(4), np.array([1.0, np.inf, 2.0, np.inf]))
    close = SelfMasking(np.ones(4), np.array([1.0, 1e9, 2.0, 1e9]))
    np.testing.assert_allclose(
        conditional_mean(x, moments, part), conditional_mean(x, moments, close), atol=1e-7
    )


def test_observed_cells_stay_bit_for_bit_and_input_too():
    moments = vector(5)
    x = rows(moments) * np.array([1e-9, 1.0, 1e9, 3.0, 1 / 3])
    before = x.copy()
    filled = conditional_mean(x, moments)
    there = ~np.isnan(x)
    np.testing.assert_array_equal(filled[there], before[there])
    np.testing.assert_array_equal(x, before)
    assert np.isfinite(filled).all()


def test_a_row_does_not_depend_on_its_company():
    moments = vector(6)
    x = rows(moments)
    whole = conditional_mean(x, moments)
    for part in (slice(7, 8), slice(50, 90), slice(None, None, -1)):
        np.testing.assert_allclose(conditional_mean(x[part], moments), whole[part], atol=1e-11)


def test_many_rows_are_worked_on_in_parts(monkeypatch):
    moments = vector(4)
    x = rows(moments)
    whole = conditional_mean(x, moments)
    monkeypatch.setattr("nanwise.gaussian.conditional._ROWS", 7)
    np.testing.assert_allclose(conditional_mean(x, moments), whole, atol=1e-12)
    assert conditional_mean(x[:0], moments).shape == (0, 4)


def test_equal_columns_copy_each_other():
    moments = Moments(np.zeros(3), np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]]))
    filled = conditional_mean(np.array([[2.0, np.nan, np.nan], [2.0, 2.0, np.nan]]), moments)
    np.testing.assert_allclose(filled, [[2.0, 2.0, 1.0], [2.0, 2.0, 1.0]], atol=1e-5)


def test_equal_columns_hide_together():
    """Two copies of one value, both hidden by the same factor: the factor counts twice."""
    moments, masking = Moments(np.zeros(2), np.ones((2, 2))), SelfMasking(np.ones(2), np.ones(2))
    filled = conditional_mean(np.array([[np.nan, np.nan], [0.5, np.nan]]), moments, masking)
    np.testing.assert_allclose(filled, [[2 / 3, 2 / 3], [0.5, 0.5]], atol=1e-5)


def test_a_constant_column_keeps_its_value_and_has_no_influence():
    moments = Moments(np.array([1.0, 5.0]), np.array([[2.0, 0.0], [0.0, 0.0]]))
    filled = conditional_mean(np.array([[np.nan, 9.0], [3.0, np.nan]]), moments)
    np.testing.assert_array_equal(filled, [[1.0, 9.0], [3.0, 5.0]])
    masking = SelfMasking(np.array([0.0, 0.0]), np.array([1.0, 1.0]))
    filled = conditional_mean(np.array([[3.0, np.nan]]), moments, masking)
    np.testing.assert_array_equal(filled, [[3.0, 5.0]])


def test_wide_scales_do_not_matter():
    moments, x = vector(5), rows(vector(5))
    unit = 10.0 ** np.array([-8, -3, 0, 4, 9])
    scaled = Moments(moments.mean * unit, moments.cov * unit * unit[:, None])
    np.testing.assert_allclose(
        conditional_mean(x * unit, scaled) / unit, conditional_mean(x, moments), rtol=1e-8
    )


@pytest.mark.parametrize(
    ("x", "says"),
    [
        (np.zeros(3), r"shape \(n, 3\).*got \(3,\)"),
        (np.zeros((2, 4)), r"shape \(n, 3\).*got \(2, 4\)"),
        (np.array([[0.0, np.inf, 0.0]]), "infinity, first in row 0, column 1"),
    ],
)
def test_bad_rows_are_refused(x, says):
    with pytest.raises(ValueError, match=says):
        conditional_mean(x, vector(3))
    with pytest.raises(ValueError, match=says):
        conditional_sample(x, vector(3), 1, np.random.default_rng(0))


def test_draws_have_the_conditional_moments():
    moments = vector(4)
    x = np.full((2, 4), np.nan)
    x[0, [0, 2]] = 1.0, -0.5
    draws = conditional_sample(x, moments, 40_000, np.random.default_rng(0))
    assert draws.shape == (40_000, 2, 4)
    assert (draws[:, 0, [0, 2]] == [1.0, -0.5]).all()
    o, m = [0, 2], [1, 3]
    pull = moments.cov[np.ix_(m, o)] @ np.linalg.inv(moments.cov[np.ix_(o, o)])
    cov = moments.cov[np.ix_(m, m)] - pull @ moments.cov[np.ix_(o, m)]
    spread = np.sqrt(np.diag(cov) / 40_000)
    mean = conditional_mean(x, moments)[0, m]
    assert (np.abs(draws[:, 0][:, m].mean(axis=0) - mean) < 4.5 * spread).all()
    np.testing.assert_allclose(np.cov(draws[:, 0][:, m].T), cov, atol=0.04 * cov.max())
    np.testing.assert_allclose(np.cov(draws[:, 1].T), moments.cov, atol=0.04 * moments.cov.max())


def test_wider_draws_have_the_same_centre_and_more_noise():
    moments, widen = vector(4), np.array([1.0, 1.5, 2.0, 1.0])
    x = np.full((2, 4), np.nan)
    x[0, [0, 2]] = 1.0, -0.5
    plain, wide = (
        conditional_sample(x, moments, 20, np.random.default_rng(0), w) for w in (None, widen)
    )
    centre = conditional_mean(x, moments)
    np.testing.assert_allclose(wide - centre, widen * (plain - centre), atol=1e-12)
    assert (wide[:, 0, [0, 2]] == [1.0, -0.5]).all()


def test_draws_of_singular_vectors_keep_their_relations():
    moments = Moments(np.zeros(2), np.ones((2, 2)))
    draws = conditional_sample(np.array([[np.nan, np.nan]]), moments, 50, np.random.default_rng(0))
    np.testing.assert_allclose(draws[..., 0], draws[..., 1], atol=1e-7)
    with pytest.raises(ValueError, match="0 or a larger whole number, got -1"):
        conditional_sample(np.zeros((1, 2)), moments, -1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="0 or a larger whole number, got 'a'"):
        conditional_sample(np.zeros((1, 2)), moments, "a", np.random.default_rng(0))
    assert conditional_sample(np.zeros((3, 2)), moments, 0, np.random.default_rng(0)).shape == (
        0,
        3,
        2,
    )
