"""Columns of a vector are numbers of one sort: they are shifted one by one and share a width."""

from __future__ import annotations

import numpy as np
import pytest

from nanwise.data.attributes import Layout
from nanwise.estimators.impute.features import Features


@pytest.fixture
def pixels():
    """Two lively pixels, one that is lit once, one that never is; then a number by itself."""
    rng = np.random.default_rng(0)
    values = np.zeros((500, 5))
    values[:, 0] = rng.random(500)
    values[:, 1] = 0.5 * rng.random(500)
    values[7, 2] = 0.4
    values[:, 4] = rng.normal(3, 10, 500)
    values[:100, :4] = np.nan
    values[7] = values[400]
    values[7, 2] = 0.4
    return values


@pytest.mark.parametrize("kind", ["standard", "minmax"])
def test_one_width_for_all_columns_of_a_vector(pixels, kind):
    layout = Layout.infer(pixels, kinds={"picture": [0, 1, 2, 3]})
    found = Features(layout, kind).fit(pixels)
    width = found.scaler_.width_
    assert len(set(width[:4])) == 1
    assert width[4] != width[0]
    features, _ = found.encode(pixels)
    assert np.abs(features[:, :4]).max() < 5  # by its own deviation the rare pixel would be 20
    np.testing.assert_allclose(found.decode(features)[100:], pixels[100:], atol=1e-12)


def test_what_the_common_width_is(pixels):
    layout = Layout.infer(pixels, kinds={"picture": [0, 1, 2, 3]})
    deviations = np.nanstd(pixels[:, :3], axis=0)  # the dark pixel says nothing
    standard = Features(layout).fit(pixels)
    assert standard.scaler_.width_[0] == pytest.approx(np.sqrt(np.mean(deviations**2)))
    features, _ = Features(layout, "minmax").fit(pixels).encode(pixels)
    assert features[:, :4].min() >= 0
    assert features[:, :4].max() == pytest.approx(1)


def test_a_vector_that_never_changes_keeps_its_width():
    values = np.ones((10, 2))
    found = Features(Layout.infer(values, kinds={"v": [0, 1]})).fit(values)
    np.testing.assert_array_equal(found.scaler_.width_, [1, 1])
