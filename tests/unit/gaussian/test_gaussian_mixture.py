"""EM for mixtures with independent columns, on rows with gaps."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.mixture import GaussianMixture

from nanwise.gaussian.mixture import fit_mixture, fit_standard


def two_groups(n=1500, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) * [1.0, 0.5, 2.0]
    x[: n // 3] += [5.0, 3.0, -8.0]
    return x, rng.random(x.shape) >= share


def test_finds_two_groups_in_spite_of_gaps():
    x, observed = two_groups()
    found = fit_mixture(np.where(observed, x, np.nan), observed, 2, prior=1e-4).parameters
    order = np.argsort(found.weights)
    np.testing.assert_allclose(found.weights[order], [1 / 3, 2 / 3], atol=0.02)
    np.testing.assert_allclose(found.means[order], [[5, 3, -8], [0, 0, 0]], atol=0.2)
    sds = np.sqrt(found.variances[order])
    np.testing.assert_allclose(sds, [[1, 0.5, 2]] * 2, rtol=0.1)


def test_complete_rows_and_no_prior_end_where_scikit_learn_ends():
    x, _ = two_groups()
    found = fit_mixture(x, np.ones(x.shape, bool), 2, steps=300, prior=0.0).parameters
    other = GaussianMixture(2, covariance_type="diag", reg_covar=0, tol=1e-12, max_iter=500).fit(x)
    ours, theirs = np.argsort(found.weights), np.argsort(other.weights_)
    np.testing.assert_allclose(found.weights[ours], other.weights_[theirs], rtol=1e-4)
    np.testing.assert_allclose(found.means[ours], other.means_[theirs], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found.variances[ours], other.covariances_[theirs], rtol=1e-3)


@pytest.mark.parametrize("prior", [0.0, 0.01, 0.3])
def test_the_objective_never_falls(prior):
    x, observed = two_groups(n=200)
    history = fit_mixture(x, observed, 3, steps=40, prior=prior).history
    assert len(history) == 40
    assert history[-1] > history[0] + 0.05
    assert (np.diff(history) > -1e-10).all()


def test_one_component_has_the_moments_of_the_columns():
    x, observed = two_groups(n=300)
    found = fit_mixture(x, observed, 1, prior=0.0).parameters
    for j, column in enumerate(x.T):
        seen = column[observed[:, j]]
        assert found.means[0, j] == pytest.approx(seen.mean())
        assert found.variances[0, j] == pytest.approx(seen.var())


def test_a_weight_counts_a_row_several_times():
    x, observed = two_groups(n=120)
    weight = np.random.default_rng(1).integers(0, 4, len(x))
    weighted = fit_mixture(x, observed, 3, 0.5 * weight).parameters
    repeated = fit_mixture(np.repeat(x, weight, 0), np.repeat(observed, weight, 0), 3).parameters
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


def test_a_column_seen_in_rows_without_weight_is_not_seen():
    x, observed = two_groups(n=50)
    observed[1:, 2] = False
    observed[0, 2] = True
    weight = np.r_[0.0, np.ones(49)]
    weighted = fit_mixture(x, observed, 2, weight).parameters
    left_out = fit_mixture(x[1:], observed[1:], 2).parameters
    np.testing.assert_allclose(weighted.variances, left_out.variances)


def test_sparse_rows_give_what_dense_ones_give():
    x, observed = two_groups(n=80)
    cells = observed.astype(float), np.where(observed, x, 0.0)
    dense = fit_standard(*cells, 2)
    thin = fit_standard(*map(sparse.csr_array, cells), 2)
    for one, other in zip(dense.parameters, thin.parameters, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    np.testing.assert_allclose(dense.history, thin.history)


def test_constant_column_column_never_seen_and_empty_rows():
    x, observed = two_groups(n=50)
    x[:, 1] = 7.0
    observed[:, 2] = False
    observed[3] = False
    found = fit_mixture(x, observed, 2).parameters
    np.testing.assert_allclose(found.means[:, 1], 7.0)
    np.testing.assert_array_equal(found.variances[:, 1], 0.0)
    np.testing.assert_allclose(found.means[:, 2], 0.0)
    np.testing.assert_allclose(found.variances[:, 2], 1.0)
    nothing = fit_mixture(x, np.zeros(x.shape, bool), 2).parameters
    np.testing.assert_allclose(nothing.weights, 0.5)
    assert np.isfinite(nothing.means).all()


def test_bad_input_is_refused():
    x, observed = two_groups(n=10)
    with pytest.raises(ValueError, match="components"):
        fit_mixture(x, observed, 0)
    with pytest.raises(ValueError, match="weight"):
        fit_mixture(x, observed, 2, np.ones(3))
