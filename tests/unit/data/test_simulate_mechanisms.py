"""The mechanisms of NeuMiss against their definitions; bounds are four standard errors."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from nanwise.data.simulate import mechanisms
from nanwise.gaussian.moments import Moments

N = 40_000
MOMENTS = Moments(np.array([0.5, -2.0, 3.0]), np.diag([1.0, 4.0, 0.25]))


@pytest.fixture(scope="module")
def X():
    return np.random.RandomState(0).multivariate_normal(*MOMENTS, size=N)


def bound(p, n):
    return 4 * np.sqrt(p * (1 - p) / n)


def hidden_share(probability, mean, variance):
    """Probability that a normal value hides itself, by quadrature."""
    density = norm(mean, np.sqrt(variance)).pdf
    reach = 12 * np.sqrt(variance)
    value, _ = quad(lambda x: probability(x) * density(x), mean - reach, mean + reach, limit=200)
    return value


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("k", [0.0, 1.0, 2.0])
def test_gaussian_self_masking_hides_the_share(share, k):
    masking = mechanisms.self_masking_for(MOMENTS, share, k)
    for j in range(3):
        centre, variance = masking.centre[j], masking.variance[j]
        got = hidden_share(
            lambda x, c=centre, v=variance: np.exp(-((x - c) ** 2) / (2 * v)),
            MOMENTS.mean[j],
            MOMENTS.cov[j, j],
        )
        assert got == pytest.approx(share, abs=5e-4)
        assert centre == pytest.approx(MOMENTS.mean[j] + k * np.sqrt(MOMENTS.cov[j, j]))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_probit_self_masking_hides_the_share(share):
    threshold = mechanisms.probit_threshold(MOMENTS, share, slope=0.5)
    for j in range(3):
        got = hidden_share(
            lambda x, c=threshold[j]: ndtr(0.5 * x - c), MOMENTS.mean[j], MOMENTS.cov[j, j]
        )
        assert got == pytest.approx(share, abs=1e-7)


def test_self_masking_depends_on_the_own_value_as_declared(X):
    masking = mechanisms.self_masking_for(MOMENTS, 0.5)
    threshold = mechanisms.probit_threshold(MOMENTS, 0.5, 0.5)
    rng = np.random.RandomState(1)
    cases = (
        (
            mechanisms.gaussian_self_masking(X, masking, rng),
            np.exp(-((X - masking.centre) ** 2) / (2 * masking.variance)),
        ),
        (mechanisms.probit_self_masking(X, 0.5, threshold, rng), ndtr(0.5 * X - threshold)),
    )
    for held, p in cases:
        for low in np.arange(0, 1, 0.25):
            inside = (p >= low) & (p < low + 0.25)
            expected = p[inside].mean()
            assert abs(held[inside].mean() - expected) < bound(expected, inside.sum())


def test_mcar_rate(X):
    held = mechanisms.mcar(X, 0.3, np.random.RandomState(2))
    assert abs(held.mean() - 0.3) < bound(0.3, X.size)


def test_mar_is_logistic_in_the_whole_column_alone(X):
    held = mechanisms.mar_logistic(X, 0.5, np.random.RandomState(3))
    (driver,) = np.flatnonzero(~held.any(axis=0))
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    for j in set(range(3)) - {driver}:
        assert abs(held[:, j].mean() - 0.5) < bound(0.5, N)
        fit = LogisticRegression(C=np.inf).fit(z, held[:, j])
        p = expit(fit.decision_function(z))
        error = 1 / np.sqrt(((p * (1 - p))[:, None] * z**2).sum(axis=0))
        slopes = np.abs(fit.coef_[0])
        assert 2 - 4 * error[driver] < slopes[driver] < 10 + 4 * error[driver]
        others = [i for i in range(3) if i != driver]
        assert (slopes[others] < 5 * error[others]).all()


def test_mar_finds_the_level_where_the_first_guess_is_saturated():
    """Far from 0 the logistic curve is flat at b = 0, and the authors' solver stays there."""
    X = np.random.RandomState(0).randn(N, 3) + 1000.0
    held = mechanisms.mar_logistic(X, 0.3, np.random.RandomState(4))
    touched = held.any(axis=0)
    assert touched.sum() == 2
    assert (abs(held[:, touched].mean(axis=0) - 0.3) < bound(0.3, N)).all()


def test_mar_with_a_constant_deciding_column():
    X = np.full((N, 2), 7.0)
    held = mechanisms.mar_logistic(X, 0.3, np.random.RandomState(5))
    assert abs(held.sum() / N - 0.3) < bound(0.3, N)
