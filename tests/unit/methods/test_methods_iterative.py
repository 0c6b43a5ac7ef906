"""Chained equations against scikit-learn's IterativeImputer."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.linear_model import BayesianRidge

from nanwise.estimators.impute_core.chained import Chain, apply_chain, bayesian_ridge
from nanwise.methods.table.iterative import Iterative
from nanwise.missing import observe, reopen
from nanwise.testing.treatments import rows_with_gaps


def reference(rows, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return IterativeImputer(keep_empty_features=True, **params).fit(reopen(rows))


def chain_of(imputer, n_features):
    """The arrays of a fitted IterativeImputer."""
    steps = imputer.imputation_sequence_
    per_round = len(steps) // imputer.n_iter_
    shape = (imputer.n_iter_, per_round)
    return Chain(
        start=imputer.initial_imputer_.statistics_,
        low=np.full(n_features, -np.inf),
        high=np.full(n_features, np.inf),
        targets=np.array([s.feat_idx for s in steps[:per_round]]),
        neighbours=np.array([s.neighbor_feat_idx for s in steps[:per_round]]),
        coef=np.array([s.estimator.coef_ for s in steps]).reshape(*shape, -1),
        intercept=np.array([s.estimator.intercept_ for s in steps]).reshape(shape),
    )


@pytest.mark.parametrize(("n", "d"), [(60, 5), (200, 9)])
def test_the_replay_equals_transform(n, d):
    imputer = reference(rows_with_gaps(n, d))
    new = rows_with_gaps(50, d, 0.4, seed=1)
    ours = apply_chain(chain_of(imputer, d), *new)
    np.testing.assert_allclose(ours, imputer.transform(reopen(new)), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("n", "d", "rounds"), [(60, 5, 10), (200, 9, 10), (30, 4, 1), (12, 15, 3)])
def test_the_whole_equals_scikit_learn(n, d, rounds):
    rows, new = rows_with_gaps(n, d, 0.2), rows_with_gaps(50, d, 0.4, seed=1)
    ours = Iterative(max_iter=rounds, clip=False).fit(*rows)
    theirs = reference(rows, max_iter=rounds)
    assert len(ours.coef_) == theirs.n_iter_
    filled, _ = ours.prepare(*new)
    np.testing.assert_allclose(filled, theirs.transform(reopen(new)), rtol=1e-7, atol=1e-7)


def test_bounds_equal_scikit_learn():
    rows, new = rows_with_gaps(80, 6, 0.4), rows_with_gaps(200, 6, 0.6, seed=1)
    low, high = np.nanmin(reopen(rows), axis=0), np.nanmax(reopen(rows), axis=0)
    filled, _ = Iterative().fit(*rows).prepare(*new)
    theirs = reference(rows, min_value=low, max_value=high).transform(reopen(new))
    np.testing.assert_allclose(filled, theirs, rtol=1e-7, atol=1e-7)
    free, _ = Iterative(clip=False).fit(*rows).prepare(*new)
    assert not np.allclose(free, filled)


def test_bayesian_ridge_with_weights_equals_scikit_learn():
    draw = np.random.default_rng(0)
    x, weight = draw.normal(2, 1, (50, 4)), draw.uniform(0.1, 3, 50)
    y = x @ [1, 0, -2, 0.1] + 3 + draw.normal(size=50)
    model = BayesianRidge().fit(x, y, sample_weight=weight)
    coef, intercept = bayesian_ridge(x, y, weight)
    np.testing.assert_allclose(coef, model.coef_, rtol=1e-9)
    assert intercept == pytest.approx(model.intercept_, rel=1e-9)


def test_nearest_takes_the_most_correlated():
    draw = np.random.default_rng(0)
    x = draw.normal(size=(300, 6))
    x[:, 3] = x[:, 0] + 0.1 * draw.normal(size=300)
    fitted = Iterative(n_nearest=1).fit(*observe(x))
    pairs = dict(zip(fitted.targets_.tolist(), fitted.neighbours_[:, 0].tolist(), strict=True))
    assert (pairs[0], pairs[3]) == (3, 0)


def test_exact_linear_relation_is_recovered():
    x = np.random.default_rng(0).normal(size=(200, 2))
    x = np.c_[x, 2 * x[:, 0] - x[:, 1]]
    fitted = Iterative().fit(*observe(x))
    new = np.array([[0.5, 0.25, np.nan], [0.5, np.nan, 0.75]])
    filled, _ = fitted.prepare(*observe(new))
    np.testing.assert_allclose(filled, [[0.5, 0.25, 0.75]] * 2, atol=1e-3)


def test_columns_never_observed_stand_aside():
    x = np.random.default_rng(0).normal(size=(30, 4))
    x[:, 2] = np.nan
    fitted = Iterative().fit(*observe(x))
    assert 2 not in fitted.targets_
    assert 2 not in fitted.neighbours_
