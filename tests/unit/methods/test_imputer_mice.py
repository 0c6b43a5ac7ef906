"""Chained equations with draws, and one Gaussian: draws as honest as their model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import nanwise
from nanwise.estimators.impute_core.posterior import draw_linear, draw_logistic
from nanwise.gaussian.conditional import conditional_mean
from nanwise.gaussian.moments import Moments


def gaussian_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, Moments]:
    rng = np.random.default_rng(seed)
    root = np.array([[1.0, 0, 0, 0], [0.8, 0.5, 0, 0], [0.5, -0.5, 0.6, 0], [0.0, 0.3, 0.9, 0.4]])
    mean = np.array([1.0, -2.0, 0.0, 10.0])
    x = mean + rng.normal(size=(n, 4)) @ root.T
    held = rng.random(x.shape) < 0.3
    return x, held, Moments(mean, root @ root.T)


MAKERS = {
    "mice": lambda: nanwise.make_imputer("mice", random_state=0),
    "pmm": lambda: nanwise.make_imputer("mice", pmm=True, random_state=0),
    "gaussian": lambda: nanwise.make_imputer("gaussian", random_state=0),
}


@pytest.mark.parametrize("name", MAKERS)
def test_intervals_of_new_rows_cover_what_they_say(name: str) -> None:
    x, held, _ = gaussian_rows(400, 0)
    imputer = MAKERS[name]().fit(np.where(held, np.nan, x))
    new, gaps, _ = gaussian_rows(500, 1)
    draws = imputer.sample(np.where(gaps, np.nan, new), 100, random_state=0)
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    assert 0.85 <= ((low <= new) & (new <= high))[gaps].mean() <= 0.95


@pytest.mark.parametrize("name", MAKERS)
def test_the_fill_is_the_conditional_expectation(name: str) -> None:
    x, held, moments = gaussian_rows(3000, 0)
    imputer = MAKERS[name]().fit(np.where(held, np.nan, x))
    new, gaps, _ = gaussian_rows(300, 1)
    new[gaps] = np.nan
    filled, best = imputer.transform(new), conditional_mean(new, moments)
    spread = np.sqrt(np.diag(moments.cov))
    assert np.sqrt((((filled - best) / spread)[gaps] ** 2).mean()) < 0.1
    mean = imputer.sample(new, 300, random_state=0).mean(axis=0)
    assert np.abs((mean - filled) / spread)[gaps].mean() < 0.08


def test_draws_of_a_regression_have_the_posterior_of_the_formula() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    y = x @ [[1.0], [-1.0]] + 0.5 * rng.normal(size=(40, 1))
    drawn = [draw_linear(x, y, rng) for _ in range(3000)]
    coefs = np.array([coef[:2, 0] for _, coef, _ in drawn])
    variances = np.array([root[0, 0] ** 2 for _, _, root in drawn])
    xc, yc = x - x.mean(0), y - y.mean()
    precision = xc.T @ xc + np.eye(2)
    best = np.linalg.solve(precision, xc.T @ yc)[:, 0]
    error = float((yc**2).sum() - best @ precision @ best)
    expected = error / (41 - 2)  # mean of the inverse gamma with 41 degrees of freedom
    np.testing.assert_allclose(variances.mean(), expected, rtol=0.03)
    np.testing.assert_allclose(coefs.mean(axis=0), best, atol=0.01)
    np.testing.assert_allclose(np.cov(coefs.T), expected * np.linalg.inv(precision), atol=3e-4)


def test_noise_of_a_vector_keeps_its_covariance() -> None:
    rng = np.random.default_rng(0)
    cov = np.array([[1.0, 0.7], [0.7, 1.0]])
    y = rng.multivariate_normal([0, 0], cov, size=2000)
    roots = [draw_linear(rng.normal(size=(2000, 1)), y, rng)[2] for _ in range(50)]
    np.testing.assert_allclose(np.mean([r.T @ r for r in roots], axis=0), np.cov(y.T), atol=0.03)


def test_logistic_draws_are_around_the_mode() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = (rng.random(300) < 1 / (1 + np.exp(-(x @ [2.0, -1.0] + 0.5)))).astype(float)[:, None]
    mode = np.zeros((3, 1))
    for _ in range(5):
        mode, _ = draw_logistic(x, y, mode, rng)
    drawn = np.array([draw_logistic(x, y, mode, rng)[1][:, 0] for _ in range(300)])
    both = np.column_stack([x, np.ones(300)])
    other = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10).fit(both, y[:, 0])
    np.testing.assert_allclose(mode[:, 0], other.coef_[0], atol=1e-4)
    np.testing.assert_allclose(drawn.mean(axis=0), mode[:, 0], atol=0.06)


def mixed_frame(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    full = pd.DataFrame(
        {
            "a": z + 0.1 * rng.normal(size=n),
            "b": np.where(z + 0.2 * rng.normal(size=n) > 0, "hi", "lo"),
            "c": np.array(["s", "m", "l"])[np.digitize(z + 0.2 * rng.normal(size=n), [-0.6, 0.6])],
        }
    )
    return full, full.mask(rng.random(full.shape) < 0.2)


@pytest.mark.parametrize("name", MAKERS)
def test_levels_are_drawn_as_often_as_they_come(name: str) -> None:
    full, table = mixed_frame(600)
    imputer = MAKERS[name]().fit(table)
    filled = imputer.transform(table)
    gap = table["b"].isna() & table["a"].notna()
    assert (filled["b"] == full["b"])[gap].mean() > 0.85
    draws = imputer.sample(table, 20, random_state=0)
    assert all(not draw.isna().any().any() for draw in draws)
    share = np.mean([(draw["b"] == "hi")[gap].mean() for draw in draws])
    assert abs(share - (full["b"] == "hi")[gap].mean()) < 0.1
    right = np.mean([(draw["b"] == full["b"])[gap].mean() for draw in draws])
    assert 0.7 < right < 1.0
    assert any((draws[0]["b"] != draw["b"]).any() for draw in draws[1:])


def test_matching_gives_values_that_were_observed() -> None:
    x, held, _ = gaussian_rows(200, 0)
    x = np.round(x)
    table = np.where(held, np.nan, x)
    draws = (
        nanwise.MICEImputer(pmm=True, random_state=0).fit(table).sample(table, 3, random_state=0)
    )
    for j in range(4):
        seen = table[~held[:, j], j]
        assert np.abs(draws[:, :, j][..., None] - seen).min(axis=-1).max() < 1e-9


# -- as many sets of parameters as draws ----------------------------------------------------------


def few_known() -> np.ndarray:
    """Few rows to learn from: what is not known of the parameters is most of what differs."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(315, 1))
    y = x + 0.5 * rng.normal(size=x.shape)
    y[15:] = np.nan
    return np.hstack([x, y])


def likeness(tables: np.ndarray) -> float:
    """Correlation, over pairs of tables with ten others between them, of the means of gaps."""
    means = np.asarray(tables)[:, 15:, 1].mean(axis=1)
    return float(np.corrcoef(means[:10], means[10:20])[0, 1])


def test_tables_to_be_pooled_have_parameters_of_their_own() -> None:
    table = few_known()
    imputer = nanwise.MICEImputer(sweeps=1, thin=1, random_state=0)
    again_and_again = imputer.fit(table).sample(table, 20, random_state=0)
    assert likeness(again_and_again) > 0.8
    apart = nanwise.impute_many(clone(imputer), table, 20, random_state=0)
    assert abs(likeness(apart)) < 0.5


def test_sets_are_learnt_on_demand_and_stay_as_many_as_asked_for() -> None:
    table = few_known()
    found = nanwise.MICEImputer(sets=3, thin=1, random_state=0).ready_for(7).fit(table)
    assert found.own_draws_ == len(found.sets_) == 7
    intercepts = {float(models[1][1][-1, 0]) for models in found.sets_}
    assert len(intercepts) == 7
    assert nanwise.MICEImputer(sets=3).ready_for(2).sets == 3


def test_pool_fit_has_as_many_sets_as_tables(monkeypatch) -> None:
    seen = []
    draw = nanwise.MICEImputer._draw

    def watched(self, codes, n, rng):
        seen.append((n, len(self.sets_)))
        return draw(self, codes, n, rng)

    monkeypatch.setattr(nanwise.MICEImputer, "_draw", watched)
    x = few_known()[:40, :1]
    x[::4] = np.nan
    y = np.random.default_rng(1).normal(size=40)
    nanwise.pool_fit("linear", x, y, m=12, random_state=0)
    assert seen == [(12, 12)]


def test_a_fitted_one_is_not_asked_for_more_tables_than_it_has_sets(tmp_path) -> None:
    table = few_known()
    nanwise.save(nanwise.MICEImputer(sets=4, random_state=0).fit(table), tmp_path / "model")
    fitted = nanwise.load(tmp_path / "model")
    assert len(nanwise.impute_many(fitted, table, 4, random_state=0)) == 4
    with pytest.raises(ValueError, match=r"has learnt 4 sets of parameters.*Fit it with sets=5"):
        nanwise.impute_many(fitted, table, 5)
    assert len(nanwise.impute_many(fitted, table, 5, refit="bootstrap", random_state=0)) == 5


@pytest.mark.parametrize("name", MAKERS)
def test_saved_and_loaded_it_draws_the_same(name: str, tmp_path) -> None:
    _, table = mixed_frame(80)
    imputer = MAKERS[name]().fit(table)
    nanwise.save(imputer, tmp_path / "model")
    again = nanwise.load(tmp_path / "model")
    assert again.transform(table).equals(imputer.transform(table))
    one, two = (i.sample(table, 2, random_state=1)[1] for i in (imputer, again))
    assert one.equals(two)
