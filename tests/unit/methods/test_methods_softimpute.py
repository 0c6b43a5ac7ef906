"""SoftImpute against its definition, and the formula for new rows."""

import numpy as np
import pytest

from nanwise.estimators.impute_core import softimpute as core
from nanwise.methods.table.softimpute import SoftImpute
from nanwise.missing import Observed
from nanwise.testing.treatments import rows_with_gaps


def by_definition(values, observed, tau, tol, max_iter):
    """Full SVD, soft threshold, replace the missing cells."""
    filled = values.copy()
    for _ in range(max_iter):
        u, s, vt = np.linalg.svd(filled, full_matrices=False)
        shrunk = np.maximum(s - tau, 0)
        completed = (u * shrunk) @ vt
        change = np.linalg.norm((completed - filled)[~observed])
        before = np.linalg.norm(filled[~observed])
        filled[~observed] = completed[~observed]
        if before > 0 and change < tol * before:
            break
    error = (values - completed)[observed]
    return filled, 0.5 * error @ error + tau * shrunk.sum()


def low_rank(n, d, rank, noise=0.1, share=0.4, seed=0):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n, rank)) @ draw.normal(size=(rank, d)) + noise * draw.normal(size=(n, d))
    observed = draw.random((n, d)) >= share
    return x, Observed(np.where(observed, x, 0.0), observed)


@pytest.mark.parametrize(("n", "d"), [(40, 10), (10, 40), (25, 25)])
def test_minimum_equals_the_definition(n, d):
    _, rows = low_rank(n, d, 2)
    tau = np.linalg.norm(rows.values, 2) / 10
    expected, objective = by_definition(*rows, tau, 1e-10, 20_000)
    filled, found = core.complete(*rows, tau=tau, tol=1e-10, max_iter=20_000)
    np.testing.assert_allclose(filled, expected, atol=1e-6)
    assert found.objective == pytest.approx(objective, rel=1e-9)
    np.testing.assert_array_equal(filled[rows.observed], rows.values[rows.observed])


@pytest.mark.parametrize("seed", range(5))
def test_at_the_usual_tolerance_the_objective_is_not_worse(seed):
    _, rows = low_rank(60, 20, 3, seed=seed)
    _, found = core.complete(*rows)
    assert found.tau == pytest.approx(np.linalg.norm(rows.values, 2) / 50)
    _, objective = by_definition(*rows, found.tau, 1e-3, 100)
    assert found.objective <= objective * (1 + 1e-6)


def test_carried_subspace_reaches_the_same_minimum(monkeypatch):
    _, rows = low_rank(300, 120, 4)
    tau = np.linalg.norm(rows.values, 2) / 8
    calls = []
    warm = core._warm
    monkeypatch.setattr(core, "_warm", lambda *a: calls.append(1) or warm(*a))
    filled, found = core.complete(*rows, tau=tau, tol=1e-8, max_iter=2000)
    assert calls
    monkeypatch.setattr(core, "_WORTH", 10**6)
    whole, exact = core.complete(*rows, tau=tau, tol=1e-8, max_iter=2000)
    np.testing.assert_allclose(filled, whole, atol=1e-5)
    assert found.objective == pytest.approx(exact.objective, rel=1e-9)


@pytest.mark.parametrize(("n", "d"), [(60, 15), (15, 60)])
def test_new_row_formula_is_the_fixed_point(n, d):
    _, rows = low_rank(n, d, 3)
    tau = np.linalg.norm(rows.values, 2) / 20
    filled, found = core.complete(*rows, tau=tau, tol=1e-11, max_iter=50_000)
    np.testing.assert_allclose(core.complete_rows(found, *rows), filled, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_training_rows_agree_at_the_usual_tolerance(seed):
    _, rows = low_rank(500, 40, 4, seed=seed)
    filled, found = core.complete(*rows)
    again = core.complete_rows(found, *rows)
    gaps = ~rows.observed
    assert np.linalg.norm((again - filled)[gaps]) < 0.01 * np.linalg.norm(filled[gaps])


def test_both_ridge_systems_agree():
    draw = np.random.default_rng(0)
    seen, x = draw.normal(size=(5, 3)), draw.normal(size=5)
    a = core._ridge(seen, x, 0.7)
    b = seen.T @ np.linalg.solve(seen @ seen.T + 0.7 * np.eye(5), x)
    np.testing.assert_allclose(a, b)
    np.testing.assert_allclose(
        core._ridge(seen.T, x[:3], 0.7),
        np.linalg.solve(seen @ seen.T + 0.7 * np.eye(5), seen @ x[:3]),
    )


def test_weights_equal_repetition_at_the_minimum():
    _, rows = low_rank(30, 8, 2)
    weight = np.random.default_rng(1).integers(1, 4, 30)
    repeated = Observed(*(np.repeat(part, weight, axis=0) for part in rows))
    settings = {"tau": 1.5, "tol": 1e-10, "max_iter": 20_000}
    one, a = core.complete(*rows, weight.astype(float), **settings)
    two, b = core.complete(*repeated, **settings)
    np.testing.assert_allclose(np.repeat(one, weight, axis=0), two, atol=1e-6)
    assert a.objective == pytest.approx(b.objective, rel=1e-9)


def test_new_rows_of_a_low_rank_table():
    x, rows = low_rank(400, 20, 2, noise=0.01, share=0.3)
    train, new = Observed(*(p[:300] for p in rows)), Observed(*(p[300:] for p in rows))
    filled, _ = SoftImpute(max_iter=500, tol=1e-5).fit(*train).prepare(*new)
    gaps = ~new.observed
    assert np.sqrt(np.mean((filled - x[300:])[gaps] ** 2)) < 0.15 * x.std()


def test_nothing_observed_gives_zero():
    nothing = np.zeros((4, 3)), np.zeros((4, 3), dtype=bool)
    filled, _ = SoftImpute().fit(*nothing).prepare(*nothing)
    np.testing.assert_array_equal(filled, 0.0)


@pytest.mark.parametrize("bad", [{"tau": 0.0}, {"shrink": -1.0}, {"max_iter": 0}])
def test_bad_parameters(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        SoftImpute(**bad).fit(*rows_with_gaps())
