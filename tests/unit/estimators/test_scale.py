from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse as sp
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from nanwise.estimators.scale import SCALES, Scaler


@pytest.fixture
def x():
    rng = np.random.default_rng(0)
    x = rng.normal(3, 2, size=(100, 4))
    x[rng.random(x.shape) < 0.3] = np.nan
    return x


@pytest.mark.parametrize(
    ("kind", "reference"),
    [
        ("standard", StandardScaler()),
        ("minmax", MinMaxScaler()),
        ("symmetric", MinMaxScaler((-1, 1))),
    ],
)
def test_equals_scikit_learn(x, kind, reference):
    np.testing.assert_allclose(Scaler(kind).fit(x).transform(x), reference.fit_transform(x))


@pytest.mark.parametrize("kind", ["standard", "clipped"])
def test_weights_count_rows(x, kind):
    weight = np.arange(100) % 3 + 1.0
    repeated = np.repeat(x, weight.astype(int), axis=0)
    a, b = Scaler(kind).fit(x, weight), Scaler(kind).fit(repeated)
    np.testing.assert_allclose(a.shift_, b.shift_)
    np.testing.assert_allclose(a.width_, b.width_)


def test_clipped_is_standard_once_wild_values_are_moved():
    rng = np.random.default_rng(0)
    x = rng.normal(7.4, 0.1, size=(2000, 1))
    wild = x.copy()
    wild[:5] = 735.0
    low, high = np.quantile(wild, [0.005, 0.995], method="inverted_cdf")
    moved = np.clip(wild, low, high)
    z = Scaler("clipped").fit(wild).transform(wild)
    np.testing.assert_allclose(z, (moved - moved.mean()) / moved.std())
    assert z.max() < 3
    assert Scaler("standard").fit(wild).transform(wild)[5:].std() < 0.01  # what it is against


def test_clipped_leaves_rare_levels():
    rare = np.zeros((1000, 1))
    rare[:3] = 1.0
    scaler = Scaler("clipped").fit(rare)
    assert scaler.transform(rare)[0] > scaler.transform(rare)[-1]


def test_quantile_is_normal_and_monotone(x):
    z = Scaler("quantile").fit(x).transform(x)
    np.testing.assert_array_equal(np.isnan(z), np.isnan(x))
    for j in range(4):
        there = ~np.isnan(x[:, j])
        order = np.argsort(x[there, j])
        assert (np.diff(z[there, j][order]) >= 0).all()
        assert abs(np.nanmean(z[:, j])) < 0.1


@pytest.mark.parametrize("kind", SCALES)
def test_constant_and_empty_columns_stay_finite(kind):
    x = np.array([[0.1, np.nan], [0.1, np.nan], [0.1, np.nan]])
    z = Scaler(kind).fit(x).transform(x)
    assert np.isfinite(z[:, 0]).all()
    assert np.isnan(z[:, 1]).all()


@pytest.mark.parametrize("kind", ["standard", "clipped", "minmax", "symmetric", None])
def test_sparse_equals_dense(x, kind):
    row, column = np.nonzero(~np.isnan(x))
    csr = sp.csr_array((x[row, column], (row, column)), shape=x.shape)
    dense = Scaler(kind).fit(x).transform(x)
    out = Scaler(kind).fit_sparse(csr).transform_sparse(csr)
    np.testing.assert_allclose(out.data, dense[row, column])


def test_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="scale must be one of"):
        Scaler("robust")
