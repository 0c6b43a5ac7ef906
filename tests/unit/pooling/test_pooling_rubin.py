"""Rubin's rules: a published example, closed forms and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from nanwise import pool
from nanwise.pooling.rubin import barnard_rubin

# Means and standard errors of five completed tables of 31 rows, as printed in the SAS/STAT User's
# Guide, "The MIANALYZE Procedure", example "Reading Means and Standard Errors".
MEANS = np.array(
    [
        [47.0120, 10.4441, 171.216],
        [47.2407, 10.5040, 171.244],
        [47.4995, 10.5922, 171.909],
        [47.1485, 10.5279, 171.146],
        [47.0042, 10.4913, 172.072],
    ]
)
ERRORS = np.array(
    [
        [0.95984, 0.28520, 1.59910],
        [0.93540, 0.26661, 1.75638],
        [1.00766, 0.26302, 1.85795],
        [0.95439, 0.26405, 1.75011],
        [0.96528, 0.27275, 1.84807],
    ]
)


def test_a_published_example():
    """The mean of bmi in nhanes, 25 rows, five tables: what R's mice prints for ``pool.scalar``.

    Inputs and outputs stand on the reference page of that function in the documentation of mice
    3.10.3 (repository amices/mice, docs/reference/pool.scalar.html, commit 0002f740).
    """
    means = [26.816, 26.184, 26.692, 27.076, 26.528]
    variances = [0.7888227, 0.5449227, 0.7764973, 0.6764760, 0.5379173]
    bmi = pool(means, variances, n=25, k=1)
    assert bmi.m == 5
    assert bmi.estimate == pytest.approx(26.6592, abs=1e-9)
    assert bmi.within == pytest.approx(0.6649272, abs=5e-8)
    assert bmi.between == pytest.approx(0.1106032, abs=5e-8)
    assert bmi.variance == pytest.approx(0.797651, abs=5e-7)
    assert bmi.increase == pytest.approx(0.1996066, abs=5e-7)
    assert bmi.df == pytest.approx(16.41929, abs=5e-5)
    # mice has the degrees of freedom of Barnard and Rubin in it where Rubin has his own
    assert bmi.share + 2 / ((bmi.df + 3) * (1 + bmi.increase)) == pytest.approx(0.2522468, abs=5e-7)
    assert bmi.fmi < 0.2522468


def test_a_published_example_without_the_number_of_rows():
    """A regression weight from ten tables: IBM SPSS Amos 21 User's Guide, example 31, page 472.

    Printed are the mean 1.172, U = 0.0233, B = 0.0085, and from them T = 0.0326, its root 0.1807,
    t = 6.49 and, from figures with more digits than those, 109 degrees of freedom.
    """
    around = np.sqrt(0.0085 * 9 / 10) * np.array([1, -1] * 5)
    weight = pool(1.172 + around, [0.0233] * 10)
    assert weight.between == pytest.approx(0.0085)
    assert weight.variance == pytest.approx(0.0326, abs=5e-5 + 5.5e-5)
    assert weight.se == pytest.approx(0.1807, abs=3e-4)
    assert weight.statistic == pytest.approx(6.49, abs=0.01)
    assert weight.df == pytest.approx(109, abs=1)


def test_several_numbers_are_pooled_one_by_one():
    all_of_them = pool(MEANS, ERRORS**2, n=31, k=1)
    for j in range(3):
        one = pool(MEANS[:, j], ERRORS[:, j] ** 2, n=31, k=1)
        for name in ("estimate", "variance", "df", "increase", "fmi", "p_value", "share"):
            assert getattr(all_of_them, name)[j] == pytest.approx(getattr(one, name))
        assert isinstance(one.p_value, float)
        assert isinstance(one.se, float)


def test_degrees_of_freedom():
    assert barnard_rubin(0.5, 5) == pytest.approx(4 / 0.25)
    # Without gaps those of the complete table, a little fewer by the finite table itself.
    assert barnard_rubin(0.0, 5, 30.0) == pytest.approx(30 * 31 / 33)
    assert barnard_rubin(0.0, 5) == np.inf
    assert barnard_rubin(0.5, 5, 1e9) == pytest.approx(16, rel=1e-6)
    assert barnard_rubin(0.5, 5, 30.0) < min(16, 0.5 * 30)


def test_without_a_difference_between_the_tables_it_is_the_plain_analysis():
    same = pool([2.0] * 4, [0.25] * 4)
    assert (same.variance, same.increase, same.fmi, same.df) == (0.25, 0.0, 0.0, np.inf)
    assert same.p_value == pytest.approx(2 * stats.norm.sf(4.0))
    assert same.interval(0.9) == pytest.approx(stats.norm.interval(0.9, 2.0, 0.5))
    assert pool([0.0, 0.0], [0.0, 0.0]).p_value == 1.0


def test_joint_test_of_one_number_is_the_t_test():
    one = pool(MEANS[:, :1], (ERRORS[:, :1] ** 2)[:, :, None], n=31)
    test = one.wald(value=45.0)
    t = (one.estimate[0] - 45) / one.se[0]
    assert test.statistic == pytest.approx(t**2)
    assert test.df == pytest.approx((1, one.df[0]))
    assert test.p_value == pytest.approx(2 * stats.t.sf(t, one.df[0]))


def test_joint_test_is_right_without_gaps():
    covariance = np.array([[1.0, 0.3], [0.3, 0.5]])
    sure = pool(np.array([[1.0, 2.0]] * 3), np.array([covariance] * 3))
    expected = np.array([1.0, 2.0]) @ np.linalg.solve(covariance, [1.0, 2.0]) / 2
    assert sure.wald().statistic == pytest.approx(expected)
    assert sure.wald().p_value == pytest.approx(stats.chi2.sf(2 * expected, 2))
    assert sure.wald([[1, 0]]).statistic == pytest.approx(1.0)


def test_joint_test_of_a_tiny_table_is_finite():
    rng = np.random.default_rng(0)
    for n in (5, 6, 8, 12):
        found = pool(rng.normal(size=(5, 3)), np.array([np.eye(3)] * 5), n=n)
        assert 0 < found.wald().df[1] < n - 3


@pytest.mark.parametrize("n", [None, 60])
def test_joint_test_rejects_a_true_hypothesis_as_often_as_it_says(n):
    # Estimates of m tables as they are in theory: U / (1 + r) is the variance without gaps.
    rng, p, m, trials = np.random.default_rng(0), 3, 5, 1500
    df = np.inf if n is None else n - p
    rejected = 0
    for _ in range(trials):
        within = 1.0 if n is None else rng.chisquare(df) / df
        shared = rng.normal(size=p) * np.sqrt(1.5)
        estimates = shared + np.sqrt(0.5) * rng.normal(size=(m, p))
        found = pool(estimates, np.array([within * np.eye(p)] * m), n=n, k=p if n else None)
        rejected += found.wald().p_value < 0.05
    assert 0.03 < rejected / trials < 0.07


def test_coverage_of_intervals_in_theory():
    rng, m = np.random.default_rng(1), 5
    estimates = np.sqrt(1.5) * rng.normal(size=4000) + np.sqrt(0.5) * rng.normal(size=(m, 4000))
    low, high = pool(estimates, np.ones_like(estimates)).interval()
    assert 0.94 < np.mean((low < 0) & (high > 0)) < 0.965


def test_repr_says_the_main_things():
    text = repr(pool([1.0, 1.2], [0.1, 0.1]))
    assert text.startswith("Pooled(m=2, estimate=1.1, se=")
    assert "fmi=" in text
    assert "\n" not in repr(pool(MEANS, ERRORS**2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0]), "m >= 2"),
        ((1.0, 1.0), "shape"),
        (([1.0, 2.0], [1.0, 2.0, 3.0]), "shape"),
        (([1.0, np.nan], [1.0, 1.0]), "finite"),
        (([1.0, 2.0], [1.0, -1.0]), "negative"),
        (([1.0, 2.0], [1.0, 1.0], 3, 3), "above k"),
        (([1.0, 2.0], [1.0, 1.0], None, 3), "together with n"),
    ],
)
def test_what_cannot_be_pooled(arguments, message):
    with pytest.raises(ValueError, match=message):
        pool(*arguments)


def test_a_joint_test_needs_covariances_that_are_not_singular():
    with pytest.raises(ValueError, match="covariance matrices"):
        pool(MEANS, ERRORS**2).wald()
    with pytest.raises(ValueError, match="singular"):
        pool(MEANS, np.ones((5, 3, 3))).wald()
    with pytest.raises(ValueError, match="level"):
        pool([1.0, 2.0], [1.0, 1.0]).interval(95)
    with pytest.raises(TypeError, match="n must"):
        pool([1.0, 2.0], [1.0, 1.0], n="many")
