"""Shifts by gaps: left-out errors by hand, gaps that say something and gaps that do not."""

import numpy as np
import pytest

from nanwise import ChainedImputer
from nanwise.estimators.impute_core import gap_shift, stacked
from nanwise.estimators.impute_core.blocks import Blocks
from nanwise.estimators.impute_core.gap_shift import learn_shift


def test_leaving_rows_out_by_hand(monkeypatch):
    rng = np.random.default_rng(0)
    gaps, rest = (rng.random((30, 3)) < 0.4).astype(float), rng.normal(size=(30, 1))
    seen = []
    inner = gap_shift._left_out
    monkeypatch.setattr(
        gap_shift, "_left_out", lambda off, own: seen.append(inner(off, own)) or seen[-1]
    )
    learn_shift(gaps, rest)
    for pull, found in zip((np.inf, *gap_shift._PULLS), seen, strict=True):
        expected = 0.0
        for row in range(30):
            keep = np.arange(30) != row
            # the centre of the gaps is that of all rows; what is left out is the row's own pull
            ones = np.column_stack([np.ones(30), gaps - gaps.mean(axis=0)])
            penalty = np.diag([0.0, *[min(pull, 1e15)] * 3])
            a = ones[keep].T @ ones[keep] + penalty
            coef = np.linalg.solve(a, ones[keep].T @ rest[keep, 0])
            expected += (rest[row, 0] - ones[row] @ coef) ** 2
        assert found[0] == pytest.approx(expected, rel=1e-6)


def test_gaps_that_say_something_shift_guesses():
    rng = np.random.default_rng(1)
    gaps = (rng.random((2000, 4)) < 0.3).astype(float)
    rest = gaps @ [[1.0], [0.0], [0.0], [-0.5]] + rng.normal(size=(2000, 1))
    shift = learn_shift(gaps, rest)
    np.testing.assert_allclose(shift.slope[:, 0], [1.0, 0, 0, -0.5], atol=0.15)
    assert abs(shift(gaps).mean()) < 1e-12


def test_gaps_that_say_nothing_hardly_do():
    shifts = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        gaps = (rng.random((500, 6)) < 0.3).astype(float)
        shifts.append(learn_shift(gaps, rng.normal(size=(500, 1)))(gaps).std())
    assert np.mean(shifts) < 0.04
    assert min(shifts) == 0.0


def test_columns_without_gaps_and_columns_without_rest():
    shift = learn_shift(np.zeros((10, 3)), np.arange(10.0)[:, None])
    assert not shift.slope.any()
    assert not learn_shift((np.arange(20) % 2)[:, None] * 1.0, np.zeros((20, 2))).slope.any()


def test_chained_learns_from_which_cells_are_hidden():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(1500, 1)) + 0.5 * rng.normal(size=(1500, 5))
    held = (truth > np.median(truth, axis=0)) & (rng.random(truth.shape) < 0.5)
    x = np.where(held, np.nan, truth)
    small = {"trees": 10, "random_state": 0}
    ours = ChainedImputer(**small).fit_transform(x)
    blind = ChainedImputer(**small).fit(x)
    for kept in (blind.first_, blind.again_):
        for a, (weights, forest, (usual, slope)) in enumerate(kept):
            kept[a] = (weights, forest, (usual, 0 * slope))
    error, without = (
        np.sqrt(((filled - truth)[held] ** 2).mean()) for filled in (ours, blind.transform(x))
    )
    assert error < 0.97 * without


def test_expectation_given_all_other_columns_is_the_regression_on_them():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    blocks = Blocks(("real",) * 4, (1, 2, 3, 4), x.min(axis=0), x.max(axis=0))
    learnt = stacked.Learnt(x.mean(axis=0), np.cov(x.T), [], [])
    found = stacked._given_all(blocks, learnt, x, 2)
    others = np.column_stack([np.ones(200), np.delete(x, 2, axis=1)])
    expected = others @ np.linalg.lstsq(others, x[:, 2], rcond=None)[0]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-6)


def test_rows_are_filled_again_only_where_that_helps():
    rng = np.random.default_rng(0)
    curves = rng.uniform(-1, 1, (1500, 1)) ** np.arange(1, 5) + 0.05 * rng.normal(size=(1500, 4))
    groups = rng.normal(size=(60, 12))[rng.integers(0, 60, 1500)]
    for truth, often in ((curves, False), (groups + 0.05 * rng.normal(size=groups.shape), True)):
        held = rng.random(truth.shape) < 0.3
        x = np.where(held, np.nan, truth)
        imputer = ChainedImputer(trees=20, random_state=0).fit(x)
        chosen = imputer.rounds_
        assert (chosen > 1) == often
        errors = {}
        for imputer.rounds_ in {1, 2, chosen}:
            errors[imputer.rounds_] = ((imputer.transform(x) - truth)[held] ** 2).mean()
        assert errors[chosen] < errors[1 if often else 2]


def test_learning_again_from_filled_rows_helps():
    rng = np.random.default_rng(1)
    groups = rng.normal(size=(80, 8))[rng.integers(0, 80, 800)]
    truth = groups + 0.1 * rng.normal(size=groups.shape)
    held = rng.random(truth.shape) < 0.3
    x = np.where(held, np.nan, truth)
    imputer = ChainedImputer(trees=20, random_state=0).fit(x)
    features, observed = imputer.features_.encode(x)
    blocks = Blocks(*imputer.blocks_)
    first, again = (
        [stacked.Model(*one) for one in kept] for kept in (imputer.first_, imputer.again_)
    )
    learnt = stacked.Learnt(imputer.mean_, imputer.covariance_, first, again, imputer.rounds_)
    scale = features[~held] @ truth[~held] / (features[~held] @ features[~held])
    before = stacked._fills(blocks, learnt, features, observed, learnt.rounds)[-1]
    after = stacked.fill(blocks, learnt, features, observed)
    errors = [((filled - truth / scale)[held] ** 2).mean() for filled in (before, after)]
    assert errors[1] < errors[0]
    for row in range(50):
        some = slice(row, row + 1 + row % 7)
        alone = stacked.fill(blocks, learnt, features[some], observed[some])
        np.testing.assert_array_equal(alone, after[some])
