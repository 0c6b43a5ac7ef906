"""Targets: the printed values, and their closed means against quadrature."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from nanwise.data.simulate import TARGETS


def test_values():
    z = np.array([0.0, 1.0, 1.5, 3.0])
    np.testing.assert_array_equal(TARGETS["linear"].value(z), z)
    np.testing.assert_allclose(TARGETS["bowl"].value(z), [1, 0, 0.25, 4])
    np.testing.assert_allclose(TARGETS["break"].value(z), [0, 1, 4.5, 6])
    # Far from the steps the wave is the line z - 1; the outer two steps meet halfway at z = 1.
    np.testing.assert_allclose(TARGETS["wave"].value(z), [-1, 0, 0.5, 2], atol=1e-3)


def test_the_wave_turns_at_its_steps():
    """Up by 2 at 0.8, down by 4 at 1, up by 2 at 1.2, beside the slope of 1."""
    wave = TARGETS["wave"].value
    z = np.linspace(0.5, 1.5, 2001)
    turns = z[1:-1][np.diff(np.sign(np.diff(wave(z)))) != 0]
    assert len(turns) == 2
    assert 0.85 < turns[0] < 0.95
    assert 1.05 < turns[1] < 1.15
    assert wave(turns[:1])[0] > 1
    assert wave(turns[1:])[0] < -1


@pytest.mark.parametrize("name", TARGETS)
def test_mean_over_a_normal_score(name):
    target = TARGETS[name]
    nodes = np.linspace(-10, 10, 200_001)
    weight = np.exp(-(nodes**2) / 2)
    weight /= weight.sum()
    for m in (-1.0, 0.9, 1.3):
        for v in (0.01, 0.5, 2.0):
            expected = (weight * target.value(m + np.sqrt(v) * nodes)).sum()
            assert target.mean(np.array(m), np.array(v)) == pytest.approx(expected, abs=2e-4)


def test_bowl_mean_is_exact():
    x, w = hermegauss(5)
    expected = (w * TARGETS["bowl"].value(0.3 + np.sqrt(0.7) * x)).sum() / w.sum()
    assert TARGETS["bowl"].mean(0.3, 0.7) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", TARGETS)
def test_without_variance_the_mean_is_the_value(name):
    z = np.array([-1.0, 0.8, 1.0, 1.2, 4.0])
    target = TARGETS[name]
    np.testing.assert_allclose(target.mean(z, np.zeros(5)), target.value(z))
