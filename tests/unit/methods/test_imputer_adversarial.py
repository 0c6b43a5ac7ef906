"""GAINImputer and MisGANImputer at small scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import nanwise
from nanwise import GAINImputer, MisGANImputer, Plan


def rows(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1)) + 0.2 * rng.normal(size=(n, 3))
    return x * [1.0, -5.0, 0.1] + [0.0, 3.0, 1.0], rng.random((n, 3)) < 0.25


def error(x: np.ndarray, held: np.ndarray, filled: np.ndarray) -> float:
    return float(np.sqrt((((filled - x) / x.std(axis=0))[held] ** 2).mean()))


def plan(epochs: int) -> Plan:
    return Plan(epochs=epochs, batch=100, lr=5e-3, optimizer="adam", weight_decay=0.0)


MAKERS: dict[str, Any] = {
    "gain": lambda **own: GAINImputer(
        **{"hidden": (32,), "plan": plan(60), "random_state": 0} | own
    ),
    "misgan": lambda **own: MisGANImputer(
        **{"hidden": (32,), "latent": 4, "plan": plan(60), "random_state": 0} | own
    ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_far_better_than_the_mean_and_intervals_cover(name: str) -> None:
    x, held = rows()
    imputer = MAKERS[name]().fit(np.where(held, np.nan, x))
    new, gaps = rows(200, 1)
    table = np.where(gaps, np.nan, new)
    assert error(new, gaps, imputer.transform(table)) < 0.7
    low, high = np.quantile(imputer.sample(table, 60, random_state=0), [0.05, 0.95], axis=0)
    assert 0.85 <= ((low <= new) & (new <= high))[gaps].mean() <= 0.97


def test_published_gain_stays_within_the_observed_range() -> None:
    x, held = rows(100)
    table = np.where(held, np.nan, x)
    published = {"hidden": None, "hide": 0, "scale": "minmax", "alpha": 10.0, "hint": "paper"}
    imputer = MAKERS["gain"](**published, plan=plan(5)).fit(table)
    filled = imputer.transform(table)
    assert (filled >= np.nanmin(table, axis=0) - 1e-9).all()
    assert (filled <= np.nanmax(table, axis=0) + 1e-9).all()
    assert (imputer.net_.errors.square == 0).all()


@pytest.mark.parametrize(("n", "epochs"), [(20, 7), (128, 7), (129, 4)])
def test_iterations_count_steps_and_batches_may_exceed_the_rows(n: int, epochs: int) -> None:
    x, held = rows(n)
    imputer = GAINImputer(iterations=7, hidden=(4,), random_state=0)
    assert imputer.fit(np.where(held, np.nan, x)).n_iter_ == epochs


def test_misgan_makes_rows_like_those_of_the_table() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=120)
    frame = pd.DataFrame({"a": z, "b": np.where(z > 0, "hi", "lo")})
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    imputer = MAKERS["misgan"](plan=plan(2)).fit(frame)
    made = imputer.generate(7, random_state=0)
    assert made.shape == (7, 2)
    assert (made.dtypes == frame.dtypes).all()
    assert set(made["b"]) <= {"hi", "lo"}
    assert made.equals(imputer.generate(7, random_state=0))


@pytest.mark.parametrize("name", MAKERS)
def test_saved_and_loaded_it_answers_the_same(name: str, tmp_path: Any) -> None:
    x, held = rows(40)
    table = np.where(held, np.nan, x)
    imputer = MAKERS[name](plan=plan(2)).fit(table)
    nanwise.save(imputer, tmp_path / "model")
    again = nanwise.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(table), imputer.transform(table))
    one, two = (i.sample(table, 2, random_state=0) for i in (imputer, again))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("imputer", "said"),
    [
        (GAINImputer(hint="none"), "hint"),
        (GAINImputer(alpha=-1), "alpha"),
        (GAINImputer(hide=1.0), "hide"),
        (GAINImputer(scale="quantile"), "scale"),
        (GAINImputer(iterations=0), "iterations"),
        (MisGANImputer(critics=0), "critics"),
        (MisGANImputer(gamma=-1), "gamma"),
    ],
)
def test_settings_that_cannot_be_used_are_named(imputer: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        imputer.fit(np.zeros((3, 2)))
