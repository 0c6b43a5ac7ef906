"""Forests as arrays, fills without one of the values, and the imputers made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

import nanwise
from nanwise import ChainedImputer, MissForestImputer
from nanwise.estimators.impute_core import missforest
from nanwise.estimators.impute_core.blocks import Blocks, harden, make_blocks, most_common
from nanwise.estimators.impute_core.forest import ask, grow, keep, predict
from nanwise.estimators.impute_core.leave_out import conditional, leave_out, without
from nanwise.estimators.impute_core.stacked import stack
from nanwise.gaussian.conditional import conditional_mean
from nanwise.gaussian.moments import Moments


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("targets", [1, 3])
def test_predictions_equal_those_of_scikit_learn_to_the_bit(kind: Any, targets: int) -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(200, 4)), 1)  # many values on thresholds
    y = rng.normal(size=(200, targets)) + x[:, :1]
    model = kind(7, random_state=0).fit(x, y[:, 0] if targets == 1 else y)
    new = np.concatenate([x, rng.normal(size=(100, 4)), np.round(rng.normal(size=(50, 4)), 2)])
    grown = [tree.tree_ for tree in model]
    found = predict(keep(grown), new)
    np.testing.assert_array_equal(found, model.predict(new).reshape(-1, targets))
    np.testing.assert_array_equal(found, ask(grown, new))
    few = predict(keep(grown, 3), new)
    trees = [tree.predict(new.astype(np.float32)).reshape(-1, targets) for tree in model][:3]
    np.testing.assert_array_equal(few, sum(trees[1:], trees[0]) / 3)


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("settings", [{}, {"bootstrap": False}, {"sample": 50}, {"n_jobs": 2}])
def test_trees_are_those_of_the_forests_of_scikit_learn(kind: Any, settings: dict) -> None:
    rng = np.random.default_rng(1)
    x = np.round(rng.normal(size=(120, 5)), 1)
    y = np.column_stack([x[:, 0] * x[:, 1], x[:, 2]]) + 0.1 * rng.normal(size=(120, 2))
    grown = grow(x, y, 5, trees=6, leaf=3, extra=kind is ExtraTreesRegressor, **settings)
    theirs = {"bootstrap": settings.get("bootstrap", True), "max_samples": settings.get("sample")}
    model = kind(6, min_samples_leaf=3, max_features="sqrt", random_state=5, **theirs)
    model.fit(x.astype(np.float32), y)
    np.testing.assert_array_equal(ask(grown.model, x), model.predict(x))


def test_no_rows_get_no_answers() -> None:
    x = np.random.default_rng(0).normal(size=(20, 3))
    model = grow(x, x[:, :2], 0, trees=2).model
    assert ask(model, x[:0]).shape == predict(keep(model), x[:0]).shape == (0, 2)


@pytest.mark.parametrize("inputs", ["all", 0, -0.5, 1.5, None])
def test_a_share_of_inputs_that_cannot_be_is_refused(inputs: Any) -> None:
    with pytest.raises(ValueError, match="inputs must be 'sqrt', a share"):
        grow(np.zeros((5, 2)), np.zeros((5, 1)), 0, trees=1, inputs=inputs)


def test_what_trees_have_not_seen_is_told_and_sampling_is_bounded() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(150, 3)), rng.normal(size=(150, 1))
    grown = grow(x, y, 0, trees=20, leaf=1, sample=30, unseen=True)
    model = RandomForestRegressor(
        20, max_features="sqrt", max_samples=30, oob_score=True, random_state=0
    ).fit(x.astype(np.float32), y[:, 0])
    np.testing.assert_allclose(grown.unseen[:, 0], model.oob_prediction_)


def blocks_of(*widths: int) -> Blocks:
    kinds = tuple("real" if width == 1 else "vector" for width in widths)
    f = sum(widths)
    return Blocks(kinds, tuple(np.cumsum(widths).tolist()), np.full(f, -9.0), np.full(f, 9.0))


def test_fills_without_a_value_are_those_of_a_row_that_lacks_it() -> None:
    rng = np.random.default_rng(0)
    root, mean = rng.normal(size=(5, 5)), rng.normal(size=5)
    cov, blocks = root @ root.T + 0.1 * np.eye(5), blocks_of(1, 2, 1, 1)
    observed = rng.random((40, 4)) < 0.6
    there = blocks.spread(observed)
    x = np.where(there, rng.normal(size=(40, 5)), 0.0)
    left = leave_out(blocks, mean, cov, x, there)
    whole = conditional_mean(np.where(there, x, np.nan), Moments(mean, cov))
    np.testing.assert_allclose(left.filled, whole, atol=1e-8)
    np.testing.assert_allclose(conditional(mean, cov, x, there), whole, atol=1e-8)
    for a in range(4):
        own, lacking = blocks.place(a), np.where(there, x, np.nan)
        lacking[:, own] = np.nan
        expected = conditional_mean(lacking, Moments(mean, cov))
        others, guess = without(left, blocks, a, np.arange(40))
        # float32 holds how much fills owe to a value
        np.testing.assert_allclose(guess, expected[:, own], atol=1e-8)
        np.testing.assert_allclose(others, blocks.others(expected, a), atol=1e-5)


def test_weights_are_the_best_that_are_not_negative() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    np.testing.assert_allclose(stack(3 + 0.5 * a + 2 * b, a, b), [3, 0.5, 2], atol=1e-10)
    weights = stack(-a, a, np.where(rng.random(500) < 0.1, np.nan, b))
    assert weights[1] == 0
    assert abs(weights[2]) < 0.1
    np.testing.assert_array_equal(stack(a, a, np.full(500, np.nan)), [0, 1, 0])


def test_levels_become_hard_and_the_first_fill_is_mean_and_mode() -> None:
    class Part:
        def __init__(self, kind: str, width: int) -> None:
            self.kind, self.width = kind, width

    parts = [Part("real", 1), Part("categorical", 3), Part("ordinal", 2), Part("binary", 1)]
    x = np.array([[1.0, 0, 1, 0, 1, 1, 0], [3.0, 0, 1, 0, 1, 1, 1], [9.0, 1, 0, 0, 1, 0, 1]])
    observed = np.array([[True] * 4, [True] * 4, [False, True, True, False]])
    blocks = make_blocks(parts, x, observed)
    assert most_common(blocks, x, observed).tolist() == [2, 0, 1, 0, 1, 1, 1]
    soft = np.array([[0.3, 0.2, 0.5, 0.3, 1.0, 0.4, 0.6]])
    assert harden(blocks, soft).tolist() == [[0.3, 0, 1, 0, 1, 0, 1]]
    assert blocks.high[0] == 3.0


def curve(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Relations that no line follows."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-2, 2, size=n)
    x = np.column_stack([z, z**2, np.cos(2 * z), z**2 - z]) + 0.05 * rng.normal(size=(n, 4))
    return x, rng.random(x.shape) < 0.2


def error(x: np.ndarray, held: np.ndarray, filled: np.ndarray) -> float:
    return float(np.sqrt((((filled - x) / x.std(axis=0))[held] ** 2).mean()))


@pytest.mark.parametrize(
    ("imputer", "most"),
    [
        (MissForestImputer(20, random_state=0), 0.45),
        (MissForestImputer(20, extra=True, inputs=1.0, random_state=0), 0.45),
        (ChainedImputer(20, random_state=0), 0.55),
    ],
    ids=["missforest", "extra", "chained"],
)
def test_curves_are_followed_in_new_rows_too(imputer: Any, most: float) -> None:
    x, held = curve()
    new, gaps = curve(200, 1)
    imputer.fit(np.where(held, np.nan, x))
    table = np.where(gaps, np.nan, new)
    filled = imputer.transform(table)
    linear = nanwise.make_imputer("em").fit(np.where(held, np.nan, x)).transform(table)
    assert error(new, gaps, filled) < min(most, 0.85 * error(new, gaps, linear))
    alone = np.concatenate([imputer.transform(row[None]) for row in table[:20]])
    np.testing.assert_allclose(alone, filled[:20], rtol=1e-9)


def mixed(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1, 1, size=n)
    full = pd.DataFrame(
        {"a": z, "b": np.where(np.abs(z) > 0.5, "far", "near"), "c": np.where(z > 0, "p", "n")}
    )
    return full, full.mask(rng.random(full.shape) < 0.2)


@pytest.mark.parametrize("kind", [MissForestImputer, ChainedImputer])
def test_categories_by_what_is_not_linear_and_saved_without_loss(kind: Any, tmp_path: Any) -> None:
    full, table = mixed()
    imputer = kind(trees=15, random_state=0).fit(table)
    filled = imputer.transform(table)
    gap = table["b"].isna() & table["a"].notna()
    assert (filled["b"] == full["b"])[gap].mean() > 0.85
    nanwise.save(imputer, tmp_path / "model")
    assert nanwise.load(tmp_path / "model").transform(table).equals(filled)


def test_rounds_end_when_both_changes_have_stopped_falling(monkeypatch: Any) -> None:
    asked = iter([(0.5, 0.4), (0.3, 0.5), (0.4, 0.3), (0.4, 0.3), (9.0, 9.0)])
    monkeypatch.setattr(missforest, "_change", lambda *_: next(asked))
    _, table = mixed(60)
    imputer = MissForestImputer(12, rounds=9, random_state=0).fit(table)
    # the 4th change is below neither of the 3rd: the tables of the 3rd round count
    assert imputer.n_iter_ == 4
    # three columns: 10 trees of each round, and all of the forests that answer
    trees = [len(forest[0]) for _, forest in imputer.models_]
    assert trees == [missforest.EARLY] * 9 + [12] * 3


def test_forests_of_rounds_may_have_fewer_trees(monkeypatch: Any) -> None:
    asked = []

    def watched(*arguments: Any, trees: int, **settings: Any) -> Any:
        asked.append(trees)
        return grow(*arguments, trees=trees, **settings)

    monkeypatch.setattr(missforest, "grow", watched)
    _, table = mixed(60)
    imputer = MissForestImputer(8, rounds=2, round_trees=3, random_state=0).fit(table)
    assert asked == [3] * (3 * imputer.n_iter_) + [8] * 3
    asked.clear()
    MissForestImputer(2, rounds=1, random_state=0).fit(table)
    assert asked == [2] * 6


def test_changes_are_those_of_the_formulas() -> None:
    blocks = Blocks(("real", "categorical"), (1, 3), np.zeros(3), np.ones(3))
    before = np.array([[1.0, 1, 0], [2.0, 1, 0], [3.0, 0, 1]])
    after = np.array([[1.0, 0, 1], [4.0, 1, 0], [3.0, 0, 1]])
    observed = np.array([[True, False], [False, False], [True, True]])
    assert missforest._change(blocks, before, after, observed) == (4 / 26, 1 / 2)


def test_a_column_without_gaps_in_training_can_be_missing_later() -> None:
    x, held = curve()
    held[:, 0] = False
    table = np.where(held, np.nan, x)
    new = x[:50].copy()
    new[:, 0] = np.nan
    for imputer in (MissForestImputer(10, random_state=0), ChainedImputer(10, random_state=0)):
        filled = imputer.fit(table).transform(new)
        assert np.corrcoef(filled[:, 0], x[:50, 0])[0, 1] > 0.9


def test_one_column_gets_its_mean() -> None:
    table = np.array([[1.0], [3.0], [np.nan], [2.0]])
    for imputer in (MissForestImputer(3), ChainedImputer(3)):
        np.testing.assert_allclose(imputer.fit(table).transform(table)[2], 2.0, atol=0.3)
