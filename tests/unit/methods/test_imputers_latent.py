"""Autoencoders and latent variable models as imputers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import nanwise
from nanwise import (
    AEImputer,
    HIVAEImputer,
    MIWAEImputer,
    NotMIWAEImputer,
    Plan,
    VAEImputer,
    registry,
)

NAMES = ("ae", "vae", "cvae", "mvae", "hivae", "miwae", "not_miwae")
SAMPLING = NAMES[1:]


LOADINGS = np.array([[1.0, 1.0, 0.5, -1.0, 0.0], [0.0, 1.0, -1.0, 0.5, 1.0]])


def factors(n=300, d=5, seed=0, noise=0.3):
    """Rows of two common factors, a fifth of the cells hidden."""
    rng = np.random.default_rng(seed)
    X = 3 + rng.standard_normal((n, 2)) @ LOADINGS[:, :d]
    X = X + noise * rng.standard_normal((n, d))
    held = rng.random(X.shape) < 0.2
    return X, np.where(held, np.nan, X), held


def tiny(name, **settings):
    found = registry.find(name, kind="imputer")
    return found.make(**{**found.tiny, "random_state": 0, **settings})


def error(X, held, filled):
    return np.sqrt(np.mean((((filled - X) / X.std(0))[held]) ** 2))


@pytest.fixture(scope="module")
def fitted():
    """Every imputer after a short training."""
    _, Z, _ = factors()
    plan = Plan(epochs=40, lr=2e-2, weight_decay=0.01, clip=5.0)
    small = {"hidden": (8,), "latent": 2, "plan": plan}
    return {
        name: tiny(name, **small, **({} if name == "ae" else {"particles": 64})).fit(Z)
        for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_beats_the_mean_and_leaves_what_is_there(name, fitted):
    X, Z, held = factors()
    filled = fitted[name].transform(Z)
    assert np.array_equal(filled[~held], X[~held])
    assert error(X, held, filled) < 0.75


@pytest.mark.parametrize("name", NAMES)
def test_a_row_has_one_answer(name, fitted):
    _, Z, _ = factors()
    whole, again = fitted[name].transform(Z[:40]), fitted[name].transform(Z[:40])
    assert np.array_equal(whole, again)
    alone = np.vstack([fitted[name].transform(Z[i : i + 1]) for i in range(5)])
    assert np.allclose(alone, whole[:5], atol=1e-7)


@pytest.mark.parametrize("name", SAMPLING)
def test_draws_differ_and_their_mean_is_the_filling(name, fitted):
    _, Z, held = factors()
    drawn = fitted[name].sample(Z[:60], 60, random_state=1)
    gaps = held[:60]
    assert (drawn.std(0)[gaps] > 0.02).all()
    assert (drawn == drawn[0])[:, ~gaps].all()
    away = np.abs(drawn.mean(0) - fitted[name].transform(Z[:60]))[gaps]
    assert away.mean() < 0.25
    assert np.array_equal(drawn, fitted[name].sample(Z[:60], 60, random_state=1))


def test_an_autoencoder_has_one_answer_only(fitted):
    with pytest.raises(TypeError, match="one answer"):
        fitted["ae"].sample(factors()[1], 2)


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_loaded(name, fitted, tmp_path):
    _, Z, _ = factors()
    nanwise.save(fitted[name], tmp_path / "model")
    again = nanwise.load(tmp_path / "model")
    assert np.array_equal(again.transform(Z[:30]), fitted[name].transform(Z[:30]))


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_attribute(name):
    rng = np.random.default_rng(0)
    z = rng.standard_normal(120)
    X = np.column_stack(
        [
            z + 0.1 * rng.standard_normal(120),
            np.exp(z),
            rng.poisson(np.exp(0.5 * z)),
            z > 0,
            np.digitize(z, [-0.5, 0.5]),
            np.digitize(z, [-1, 0, 1]),
            z,
            -z,
            np.ones(120),
        ]
    ).astype(float)
    kinds = {1: "positive", 2: "count", 3: "binary", 4: "categorical", 5: "ordinal"}
    kinds |= {"pair": [6, 7], 8: "categorical"}
    held = rng.random(X.shape) < 0.2
    held[:, 7] = held[:, 6]
    held[0] = True
    Z = np.where(held, np.nan, X)
    imputer = tiny(name, kinds=kinds).fit(Z)
    tables = [imputer.transform(Z)]
    if imputer.samples:
        tables += list(imputer.sample(Z, 2, random_state=0))
    for table in tables:
        assert np.isfinite(table).all()
        assert np.array_equal(table[~held], X[~held])
        assert (table[:, 1] >= 0).all()
        assert set(np.unique(table[:, 3])) <= {0, 1}
        assert set(np.unique(table[:, 5])) <= {0, 1, 2, 3}
        assert np.array_equal(table[:, 2], np.rint(table[:, 2]))
        assert (table[:, 8] == 1).all()


def test_intervals_of_miwae_cover():
    X, Z, held = factors(n=600, seed=3, noise=0.6)
    plan = Plan(epochs=40, batch=150, lr=2e-2)
    imputer = MIWAEImputer(hidden=(8,), latent=2, k=3, plan=plan, random_state=0).fit(Z)
    drawn = imputer.sample(Z, 60, random_state=0)
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    inside = ((low <= X) & (high >= X))[held].mean()
    assert 0.85 <= inside <= 0.95


def test_log_prob_is_a_density_in_the_units_of_the_table():
    rng = np.random.default_rng(0)
    X = 50 + 7 * rng.standard_normal((400, 1)) @ np.ones((1, 2)) + 5 * rng.standard_normal((400, 2))
    plan = Plan(epochs=40, lr=5e-2, weight_decay=0.0)
    imputer = VAEImputer(hidden=(), latent=1, plan=plan, random_state=0).fit(X)
    grid = np.linspace(0, 100, 801)
    one = np.column_stack([grid, np.full_like(grid, np.nan)])
    density = np.exp(imputer.log_prob(one, n_samples=4096))
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=0.02)
    cov = np.cov(X.T)
    away = X - X.mean(0)
    exact = -0.5 * (
        np.einsum("ni,ij,nj->n", away, np.linalg.inv(cov), away)
        + np.linalg.slogdet(2 * np.pi * cov)[1]
    )
    # no Gaussian can be likelier than the one with the moments of the rows
    assert exact.mean() - 0.3 < imputer.log_prob(X).mean() < exact.mean() + 0.01
    assert imputer.log_prob(np.full((1, 2), np.nan)) == pytest.approx(0, abs=0.01)


def test_density_of_positive_numbers_has_their_units():
    X = np.random.default_rng(0).lognormal(2, 0.5, (300, 1))
    imputer = HIVAEImputer(
        hidden=(), latent=1, kinds=["positive"], plan=Plan(epochs=20, lr=1e-2), random_state=0
    ).fit(X)
    grid = np.linspace(0, 400, 4001)
    density = np.exp(imputer.log_prob(grid[:, None], n_samples=500))
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=0.03)


def test_self_masking_is_modelled():
    """Values above the mean go missing: the gaps are filled by larger values than MIWAE's."""
    X, _, _ = factors(n=400, d=4, seed=1, noise=0.5)
    held = np.zeros(X.shape, dtype=bool)
    held[:, :2] = X[:, :2] > X[:, :2].mean(0)
    Z = np.where(held, np.nan, X)
    plan = Plan(epochs=60, batch=200, lr=4e-2, weight_decay=0.0, clip=5.0)
    same = {"hidden": (), "latent": 2, "plan": plan, "k": 5, "random_state": 0}
    ignoring = MIWAEImputer(numbers="gaussian", **same).fit(Z).transform(Z)
    knowing = NotMIWAEImputer(known="high", **same).fit(Z).transform(Z)
    assert error(X, held, knowing) < 0.8 * error(X, held, ignoring)


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"hidden": "64"}, "hidden"),
        ({"hidden": (0,)}, "hidden"),
        ({"latent": 0}, "latent"),
        ({"k": 0}, "k must"),
        ({"particles": 1.5}, "particles"),
        ({"hide": 1.0}, "hide"),
        ({"numbers": "cauchy"}, "numbers"),
        ({"variance": "none"}, "variance"),
        ({"variance": -1.0}, "variance"),
        ({"activation": "step"}, "activation"),
        ({"plan": 3}, "plan"),
    ],
)
def test_settings_that_cannot_be_are_refused(bad, named):
    with pytest.raises((ValueError, TypeError), match=named):
        MIWAEImputer(**bad).fit(factors()[1])


@pytest.mark.parametrize("bad", [{"mechanism": "other"}, {"known": "left"}])
def test_mechanisms_that_cannot_be_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        NotMIWAEImputer(**bad).fit(factors()[1])


def test_default_plan_is_a_number_of_steps():
    small, large = AEImputer(), AEImputer()
    small.n_rows_, large.n_rows_ = 500, 100_000
    assert small._plan().epochs > 10 * large._plan().epochs
    assert clone(AEImputer()).set_params(plan__epochs=3).plan.epochs == 3


def test_early_stopping_needs_no_randomness():
    _, Z, _ = factors()
    plan = Plan(epochs=5, validation=0.2)
    losses = [
        [epoch["valid_loss"] for epoch in tiny("miwae", plan=plan).fit(Z).history_]
        for _ in range(2)
    ]
    assert losses[0] == losses[1]
    assert all(np.isfinite(losses[0]))
