"""Shifts by gaps: left-out errors by hand, gaps that say something and gaps that do not."""

import numpy as np
import pytest

from nanwise import ChainedImputer
from nanwise.estimators.impute_core import gap_shift
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
    for model in range(5):
        weights, forest, (usual, slope) = blind.models_[model]
        blind.models_[model] = (weights, forest, (usual, 0 * slope))
    error, without = (
        np.sqrt(((filled - truth)[held] ** 2).mean()) for filled in (ours, blind.transform(x))
    )
    assert error < 0.97 * without
