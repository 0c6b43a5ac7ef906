"""What each simple treatment learns and gives, by hand."""

import numpy as np
import pytest
import torch
from torch import nn

from nanwise.missing import observe
from nanwise.nn import Rows
from nanwise.registry import find
from nanwise.testing.treatments import features

X = np.array([[1.0, 2.0, np.nan, 4.0], [np.nan, -2.0, np.nan, np.nan]])
ROWS = observe(X)


def given(name, weight=None, **params):
    return features(find(name, "treatment").make(**params).fit(*ROWS, weight), ROWS)


@pytest.mark.parametrize("name", ["zero", "batch_norm", "layer_norm"])
def test_zero(name):
    np.testing.assert_array_equal(given(name), ROWS.values)


def test_sparsity_norm():
    scale = np.array([[2 / 3], [2.0]])  # K = (3 + 1) / 2
    np.testing.assert_allclose(given("sparsity_norm"), ROWS.values * scale, rtol=1e-6)
    np.testing.assert_allclose(given("sparsity_norm", power=0.0), ROWS.values)
    np.testing.assert_allclose(given("sparsity_norm", K=6.0), ROWS.values * scale * 3, rtol=1e-6)
    halved = given("sparsity_norm", power=0.5)
    np.testing.assert_allclose(halved, ROWS.values * np.sqrt(scale), rtol=1e-6)


def test_sparsity_norm_counts_weights():
    fitted = find("sparsity_norm").make().fit(*ROWS, np.array([3.0, 1.0]))
    assert fitted.K_ == 2.5


@pytest.mark.parametrize("K", ["median", 0, -1.0])
def test_sparsity_norm_refuses(K):
    with pytest.raises(ValueError, match="K must be"):
        find("sparsity_norm").make(K=K).fit(*ROWS)


def test_power_can_be_learnt():
    layer = find("sparsity_norm").make(learn_power=True).fit(*ROWS).layer(4)
    assert [p.requires_grad for p in layer.parameters()] == [True]


def test_rate_divides_by_the_global_share():
    np.testing.assert_allclose(given("rate"), ROWS.values / 0.5)
    np.testing.assert_allclose(given("rate", np.array([1.0, 0.0])), ROWS.values / 0.75)


def test_mean_and_median():
    x = np.array([[1.0], [2.0], [6.0], [np.nan]])
    for name, plain, weighted in (("mean", 3.0, 4.0), ("median", 2.0, 4.0)):
        fitted = find(name).make().fit(*observe(x))
        assert features(fitted, observe(x))[3, 0] == plain
        heavy = find(name).make().fit(*observe(x), np.array([1.0, 1.0, 2.0, 9.0]))
        assert heavy.fill_[0] == pytest.approx({"mean": 15 / 4, "median": weighted}[name])


def test_indicators():
    there = ROWS.observed.astype(float)
    np.testing.assert_array_equal(given("missing_indicator"), np.c_[ROWS.values, 1 - there])
    np.testing.assert_array_equal(given("observation_indicator"), np.c_[ROWS.values, there])


def test_norms():
    assert isinstance(find("batch_norm").make().norm(3), nn.BatchNorm1d)
    assert isinstance(find("layer_norm").make().norm(3), nn.LayerNorm)
    assert find("zero").make().norm(3) is None


@pytest.mark.parametrize("name", ["zero", "sparsity_norm", "rate", "batch_norm", "layer_norm"])
def test_sparse_rows_give_the_same_features(name):
    fitted = find(name).make().fit(*ROWS)
    layer = fitted.layer(4).double()
    stored = torch.from_numpy(ROWS.values[ROWS.observed])
    columns = torch.from_numpy(np.nonzero(ROWS.observed)[1])
    made = layer(Rows(stored, columns, torch.tensor([0, 3, 4]), 4))
    dense = features(fitted, ROWS)
    np.testing.assert_allclose(made.values.numpy(), dense[ROWS.observed])
