"""The mechanisms of ``data.ampute`` against their definitions.

Bounds are four standard errors: a right mechanism fails one check in about 16,000.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit, ndtr
from sklearn.linear_model import LogisticRegression

from nanwise.data.ampute import (
    CENTRE,
    MECHANISMS,
    ODDS,
    STRENGTH,
    ampute,
    groups,
    held_cells,
    replicate,
)

N, D = 20_000, 5


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(D, D))
    return rng.normal(size=(N, D)) @ mix + np.array([0, 10, -5, 1, 100])


def bound(p, n):
    return 4 * np.sqrt(p * (1 - p) / n)


def driver(held):
    (untouched,) = np.flatnonzero(~held.any(axis=0))
    return int(untouched)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_realised_share_of_every_column(X, mechanism, share):
    held = held_cells(X, share, mechanism, random_state=1)
    hit = [j for j in range(D) if mechanism != "mar" or j != driver(held)]
    assert len(hit) == (D - 1 if mechanism == "mar" else D)
    for j in hit:
        assert abs(held[:, j].mean() - share) < bound(share, N)


def test_mcar_does_not_depend_on_values(X):
    held = held_cells(X, 0.3, "mcar", random_state=2)
    for j in range(D):
        for k in range(D):
            correlation = np.corrcoef(held[:, j], X[:, k])[0, 1]
            assert abs(correlation) < 4 / np.sqrt(N)
        for k in range(j):
            assert abs(np.corrcoef(held[:, j], held[:, k])[0, 1]) < 4 / np.sqrt(N)


def test_mar_depends_on_the_driver_as_declared(X):
    """Logistic in the driver with slope ±STRENGTH per standard deviation, and in nothing else."""
    held = held_cells(X, 0.4, "mar", random_state=3)
    d = driver(held)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    for j in set(range(D)) - {d}:
        fit = LogisticRegression(C=np.inf).fit(z, held[:, j])
        p = fit.predict_proba(z)[:, 1]
        design = np.column_stack([np.ones(N), z])
        information = design.T @ (design * (p * (1 - p))[:, None])
        error = np.sqrt(np.diag(np.linalg.inv(information)))[1:]
        declared = np.zeros(D)
        declared[d] = STRENGTH * np.sign(fit.coef_[0, d])
        assert (np.abs(fit.coef_[0] - declared) < 4 * error).all()


def test_mar_is_the_same_whatever_the_hidden_columns_hold(X):
    """Probabilities are a function of the driver alone: other values, same draw, same cells."""
    held = held_cells(X, 0.4, "mar", random_state=4)
    other = np.random.default_rng(9).normal(size=X.shape)
    other[:, driver(held)] = X[:, driver(held)]
    np.testing.assert_array_equal(held_cells(other, 0.4, "mar", random_state=4), held)


def test_mar_drivers_are_columns_without_gaps():
    X = np.random.default_rng(0).normal(size=(500, 20))
    X[::2, :17] = np.nan
    held = held_cells(X, 0.5, "mar", random_state=0)
    untouched = np.flatnonzero(~held.any(axis=0))
    assert len(untouched) == 2
    assert set(untouched) <= {17, 18, 19}


def test_mar_drivers_are_what_is_not_chosen(X):
    held = held_cells(X, 0.4, "mar", columns=[0, 1], random_state=5)
    assert held.any(axis=0).tolist() == [True, True, False, False, False]
    other = X.copy()
    other[:, :2] = 7
    np.testing.assert_array_equal(
        held_cells(other, 0.4, "mar", columns=[0, 1], random_state=5), held
    )


def test_mnar_depends_on_the_own_value_as_declared(X):
    held = held_cells(X, 0.4, "mnar", random_state=6)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    for j in range(D):
        p = expit(STRENGTH * z[:, j] + _intercept(STRENGTH * z[:, j], 0.4))
        for low in np.arange(0, 1, 0.2):
            inside = (p >= low) & (p < low + 0.2)
            expected = p[inside].mean()
            assert abs(held[inside, j].mean() - expected) < bound(expected, inside.sum())


def bump(z, t):
    return np.exp(-((z - CENTRE) ** 2) / (2 * np.exp(t)))


def rising(z, b):
    return ndtr(z + b)


@pytest.mark.parametrize(
    ("mechanism", "curve"), [("gaussian_self_masking", bump), ("probit_self_masking", rising)]
)
@pytest.mark.parametrize("share", [0.05, 0.4, 0.9])
def test_self_masking_as_declared(X, mechanism, curve, share):
    """Rates in bands of probability, with the free constant solved for here once more."""
    held = held_cells(X, share, mechanism, random_state=12)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    for j in range(D):
        constant = brentq(lambda c, x=z[:, j]: curve(x, c).mean() - share, -20, 20)
        p = curve(z[:, j], constant)
        for low in np.arange(0, 1, 0.2):
            inside = (p >= low) & (p < low + 0.2)
            if inside.sum() > 50:
                expected = p[inside].mean()
                assert abs(held[inside, j].mean() - expected) < bound(expected, inside.sum())


def test_a_bump_over_many_equal_values_keeps_the_share():
    """A fifth of the cells lies at the centre of the bump, and half of those are to be hidden."""
    x = np.r_[np.zeros(4 * N), np.ones(N)][:, None]
    held = held_cells(x, 0.1, "gaussian_self_masking", random_state=13)
    assert abs(held.mean() - 0.1) < bound(0.1, 5 * N)
    assert not held[: 4 * N].any()


@pytest.mark.parametrize("mechanism", ["mnar", "gaussian_self_masking", "probit_self_masking"])
def test_self_masking_depends_on_nothing_but_the_own_value(X, mechanism):
    held = held_cells(X, 0.4, mechanism, random_state=7)
    other = X.copy()
    other[:, 1:] = np.random.default_rng(8).normal(size=(N, D - 1))
    again = held_cells(other, 0.4, mechanism, random_state=7)
    np.testing.assert_array_equal(again[:, 0], held[:, 0])


@pytest.mark.parametrize("share", [0.2, 0.3, 0.6])
def test_quantile_rates_in_and_outside_the_tail(X, share):
    """q + 3/4 ... : share = 0.25 * tail + 0.75 * rest, tail = min(1, ODDS * rest)."""
    held = held_cells(X, share, "quantile", random_state=9)
    rest = share / (0.25 * ODDS + 0.75)
    tail = ODDS * rest
    if tail > 1:
        tail, rest = 1.0, (share - 0.25) / 0.75
    sides = set()
    for j in range(D):
        quarters = [np.quantile(X[:, j], q) for q in (0.25, 0.75)]
        below, above = X[:, j] < quarters[0], X[:, j] > quarters[1]
        upper = held[above, j].mean() > held[below, j].mean()
        sides.add(bool(upper))
        inside = above if upper else below
        assert abs(held[inside, j].mean() - tail) <= bound(tail, inside.sum())
        assert abs(held[~inside, j].mean() - rest) < bound(rest, (~inside).sum())
    assert sides == {True, False}


@pytest.mark.parametrize("mechanism", ["mnar", "quantile"])
def test_categories_count_by_their_level(mechanism):
    """A column of levels a < b < c is hidden like the column 0, 1, 2."""
    codes = np.random.default_rng(0).integers(0, 3, (5000, 1))
    frame = pd.DataFrame({"c": np.array(["a", "b", "c"])[codes[:, 0]]})
    np.testing.assert_array_equal(
        held_cells(frame, 0.3, mechanism, random_state=1),
        held_cells(codes, 0.3, mechanism, random_state=1),
    )


def test_ties_do_not_change_the_expected_share():
    """Quantiles of few values cut anywhere; the rates make up for it."""
    x = np.random.default_rng(0).choice([0.0, 1.0, 2.0], size=(N, 1), p=[0.6, 0.3, 0.1])
    for seed in range(6):
        held = held_cells(x, 0.35, "quantile", random_state=seed)
        assert abs(held.mean() - 0.35) < bound(0.35, N)


def test_groups_of_rows_with_their_own_rates(X):
    """Half of the rows at 20 %, half at 80 %, dealt out independently of the values."""
    out, group = groups(X, (0.2, 0.8), random_state=10)
    for g, share in enumerate((0.2, 0.8)):
        gaps = np.isnan(out[group == g])
        assert abs(gaps.mean() - share) < bound(share, gaps.size)
    for j in range(D):
        assert abs(np.corrcoef(group, X[:, j])[0, 1]) < 4 / np.sqrt(N)
    kept = ~np.isnan(out)
    np.testing.assert_array_equal(out[kept], X[kept])


def test_copies_of_a_feature_are_hidden_independently(X):
    wide = ampute(replicate(X[:, :1], 3), 0.5, random_state=11)
    gaps = np.isnan(wide)
    for j, k in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.corrcoef(gaps[:, j], gaps[:, k])[0, 1]) < 4 / np.sqrt(N)


def _intercept(slope, share):
    """Bisection, as a second way to the b of the definition."""
    low, high = -50.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(slope + middle).mean() < share else (low, middle)
    return middle
