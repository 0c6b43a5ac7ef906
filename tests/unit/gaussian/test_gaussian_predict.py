from __future__ import annotations

import numpy as np
import pytest

from nanwise.gaussian.conditional import conditional_mean
from nanwise.gaussian.moments import Moments, SelfMasking
from nanwise.gaussian.predict import GaussianPredictor, NeumannPredictor


def case(d=5, n=200, seed=0):
    draw = np.random.default_rng(seed)
    root = draw.normal(size=(d, d))
    moments = Moments(draw.normal(size=d), root @ root.T + np.eye(d))
    x = draw.multivariate_normal(*moments, size=n)
    x[draw.random(x.shape) < 0.5] = np.nan
    return moments, x, draw.normal(size=d)


def test_bayes_is_the_linear_model_on_filled_rows():
    moments, x, coef = case()
    masking = SelfMasking(np.ones(5), np.full(5, 2.0))
    for given in (None, masking):
        filled = conditional_mean(x, moments, given)
        one = GaussianPredictor(moments, coef, 3.0, given).predict(x)
        np.testing.assert_allclose(one, filled @ coef + 3.0)
        two = GaussianPredictor(moments, np.stack([coef, -coef]), [3.0, 0.0], given).predict(x)
        np.testing.assert_allclose(two, np.stack([one, 3.0 - one], axis=1))


def test_neumann_order_by_order_equals_the_recursion_on_matrices():
    moments, x, coef = case()
    scaled = moments.cov / np.linalg.eigvalsh(moments.cov)[-1]
    for order in (0, 1, 2, 5):
        found = NeumannPredictor(moments, coef, 1.0, order).predict(x)
        for row, answer in zip(x, found, strict=True):
            o = ~np.isnan(row)
            block = scaled[np.ix_(o, o)]
            inverse = np.eye(o.sum())
            for _ in range(order):
                inverse = (np.eye(o.sum()) - block) @ inverse + np.eye(o.sum())
            rest = inverse @ (row[o] - moments.mean[o])
            missing = moments.mean[~o] + scaled[np.ix_(~o, o)] @ rest
            expected = 1.0 + coef[o] @ row[o] + coef[~o] @ missing
            assert answer == pytest.approx(expected, abs=1e-10)


def test_neumann_tends_to_bayes():
    moments, x, coef = case()
    bayes = GaussianPredictor(moments, coef, 1.0).predict(x)
    gaps = [np.abs(NeumannPredictor(moments, coef, 1.0, k).predict(x) - bayes).max()
            for k in (0, 10, 100, 3000)]  # fmt: skip
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-9


def test_several_outputs_and_a_zero_covariance():
    moments = Moments(np.array([1.0, 2.0]), np.zeros((2, 2)))
    x = np.array([[np.nan, 5.0], [4.0, np.nan]])
    found = NeumannPredictor(moments, np.eye(2), 0.0, 3).predict(x)
    np.testing.assert_array_equal(found, [[1.0, 5.0], [4.0, 2.0]])


@pytest.mark.parametrize(
    ("coef", "intercept", "says"),
    [
        (np.ones(3), 0.0, r"coef must have shape \(5,\) or \(k, 5\), got \(3,\)"),
        (np.ones((2, 5)), [1.0, 2.0, 3.0], r"intercept must be a number or have shape \(2,\)"),
        (np.full(5, np.nan), 0.0, "finite"),
    ],
)
def test_bad_coefficients_are_refused(coef, intercept, says):
    for kind in (GaussianPredictor, NeumannPredictor):
        with pytest.raises(ValueError, match=says):
            kind(case()[0], coef, intercept)


def test_bad_order_and_covariance_are_refused():
    moments, _, coef = case()
    with pytest.raises(ValueError, match="order must not be negative, got -1"):
        NeumannPredictor(moments, coef, 0.0, -1)
    with pytest.raises(ValueError, match="semi-definite"):
        GaussianPredictor(Moments(moments.mean, -np.eye(5) + 2 * np.ones((5, 5))), coef)
