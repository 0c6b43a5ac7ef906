from __future__ import annotations

import numpy as np
import pytest

from nanwise.gaussian.moments import SelfMasking, check_masking, check_moments, lift, scales


def test_good_moments_pass_as_float64_and_symmetric():
    mean, cov = check_moments([1, 2], [[2, 1 + 1e-12], [1, 2]])
    assert mean.dtype == cov.dtype == np.float64
    np.testing.assert_array_equal(cov, cov.T)


@pytest.mark.parametrize(
    ("mean", "cov", "says"),
    [
        ([[1.0]], [[1.0]], r"mean must have shape \(d,\)"),
        ([], np.zeros((0, 0)), "d of at least 1"),
        ([0.0, 0.0], [[1.0]], r"cov must have shape \(2, 2\).*got \(1, 1\)"),
        ([np.nan], [[1.0]], r"mean must be finite, got nan at \(0,\)"),
        ([0.0], [[np.inf]], r"cov must be finite, got inf at \(0, 0\)"),
        ([0.0, 0.0], [[1.0, 0.5], [0.2, 1.0]], r"symmetric, but cov\[0, 1\] is 0.5"),
        ([0.0, 0.0], [[1.0, 0.0], [0.0, -2.0]], "negative variance -2 at column 1"),
        ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], "semi-definite.*eigenvalue -1"),
        ([0.0, 0.0], [[0.0, 1.0], [1.0, 1.0]], "semi-definite.*eigenvalue -0.618"),
    ],
)
def test_bad_moments_are_refused_with_a_reason(mean, cov, says):
    with pytest.raises(ValueError, match=says):
        check_moments(mean, cov)


def test_singular_and_constant_are_allowed():
    check_moments([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
    check_moments([0.0, 0.0], [[1.0, 0.0], [0.0, 0.0]])


def test_a_bad_eigenvalue_on_a_small_scale_is_found():
    cov = np.array([[1e-12, 2e-12, 0], [2e-12, 1e-12, 0], [0, 0, 1e12]])
    with pytest.raises(ValueError, match="eigenvalue -1"):
        check_moments(np.zeros(3), cov)


@pytest.mark.parametrize(
    ("centre", "variance", "says"),
    [
        ([0.0], [1.0, 1.0], r"centre.*\(2,\), got \(1,\)"),
        ([0.0, np.inf], [1.0, 1.0], "centre of the self-masking must be finite"),
        ([0.0, 0.0], [1.0, 0.0], "above 0.*got 0.0 for column 1"),
        ([0.0, 0.0], [np.nan, 1.0], "above 0.*got nan for column 0"),
    ],
)
def test_bad_masking_is_refused(centre, variance, says):
    with pytest.raises(ValueError, match=says):
        check_masking(SelfMasking(centre, variance), 2)


def test_lift_raises_all_eigenvalues_and_leaves_good_matrices_alone():
    good = np.diag([1.0, 2.0])
    assert lift(good, 0.5) is good
    assert np.linalg.eigvalsh(lift(np.ones((3, 3)), 1e-3))[0] == pytest.approx(1e-3)
    np.testing.assert_array_equal(scales(np.diag([4.0, 0.0])), [2.0, 1.0])
