"""Scores of imputations against values computed by hand and closed forms."""

import numpy as np
import pytest
from scipy.stats import norm, wasserstein_distance

from nanwise.bench.impute_score import (
    Yardstick,
    column_errors,
    crps,
    energy_score,
    impute_scores,
    wasserstein,
)

# Two columns of numbers: 0..4 (sd √2, range 4) and 10, 10, 20, 20, 30 (sd √56, range 20).
TRUTH = np.array([[0.0, 10], [1, 10], [2, 20], [3, 20], [4, 30]])
HELD = np.array([[0, 0], [1, 0], [1, 1], [0, 0], [0, 1]], dtype=bool)
FILLED = TRUTH + np.array([[0, 0], [1.0, 0], [-1, 10], [0, 0], [0, -20]])
YARD = Yardstick.of(TRUTH, [0, 0])


def scores(**changes):
    given = {"truth": TRUTH, "filled": FILLED, "held": HELD, "yard": YARD} | changes
    return impute_scores(**given)


def test_every_normalisation_of_the_rmse_by_hand():
    found = scores()
    # squared errors in sd: 1/2, 1/2 and 100/56, 400/56
    assert found["rmse"] == pytest.approx(np.sqrt((0.5 + 0.5 + 100 / 56 + 400 / 56) / 4))
    by_column = (np.sqrt(0.5) + np.sqrt(250 / 56)) / 2
    assert found["rmse_column"] == pytest.approx(by_column)
    assert found["error"] == pytest.approx(by_column)
    # in ranges: 1/4, 1/4, 1/2, 1; the hidden values are 1/4, 1/2, 1/2, 1
    assert found["rmse_range"] == pytest.approx(np.sqrt((1 / 16 + 1 / 16 + 1 / 4 + 1) / 4))
    first, second = (1 / 8) / (1 / 16 + 1 / 4), (5 / 4) / (1 / 4 + 1)
    assert found["rmse_rms"] == pytest.approx(np.sqrt((1 / 8 + 5 / 4) / (5 / 16 + 5 / 4)))
    assert found["rmse_rms_column"] == pytest.approx((np.sqrt(first) + np.sqrt(second)) / 2)
    mae = (2 / np.sqrt(2) + 30 / np.sqrt(56)) / 4
    assert found["mae"] == pytest.approx(mae)
    assert found["pfc"] is None
    assert found["crps"] is None


def test_cells_that_are_not_held_do_not_count():
    elsewhere = np.where(HELD, FILLED, 1e6)
    assert scores(filled=elsewhere) == scores()


def test_filling_with_the_mean_is_about_one_standard_deviation():
    rng = np.random.default_rng(0)
    x = rng.normal(3, 7, size=(20_000, 3))
    held = rng.random(x.shape) < 0.3
    found = impute_scores(x, np.where(held, x.mean(axis=0), x), held, Yardstick.of(x, [0, 0, 0]))
    assert found["rmse"] == pytest.approx(1, abs=0.02)
    assert found["mae"] == pytest.approx(np.sqrt(2 / np.pi), abs=0.02)  # of a Gaussian
    # all mass at the mean: E|Z|
    assert found["wasserstein"] == pytest.approx(np.sqrt(2 / np.pi), abs=0.02)


def test_share_of_wrong_levels_by_column():
    truth = np.array([[0.0, 2, 0], [1, 0, 1], [2, 1, 1], [0, 2, 0]])
    filled = np.array([[0.0, 1, 0], [0, 0, 0], [1, 2, 1], [0, 2, 1]])
    held = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 0], [1, 1, 1]], dtype=bool)
    yard = Yardstick.of(truth, [3, 3, 2], [False, True, False])
    np.testing.assert_allclose(column_errors(truth, filled, held, yard), [2 / 4, 2 / 3, 2 / 3])
    found = impute_scores(truth, filled, held, yard)
    assert found["pfc"] == found["error"] == pytest.approx((2 / 4 + 2 / 3 + 2 / 3) / 3)
    assert found["rmse"] is None
    # shares of levels: (2,1,1)/4 to (3,1,0)/4; (0,1,2)/3 to the same; (2,1)/3 to the same
    np.testing.assert_allclose(wasserstein(truth, filled[None], held, yard), [1 / 4, 0, 0])


def test_ordered_levels_are_apart_by_steps():
    truth, filled = np.zeros((4, 1)), np.full((4, 1), 3.0)
    held = np.ones((4, 1), dtype=bool)
    ordered, plain = (Yardstick.of(truth, [5], [order]) for order in (True, False))
    assert wasserstein(truth, filled[None], held, ordered)[0] == pytest.approx(3 / 4)
    assert wasserstein(truth, filled[None], held, plain)[0] == 1
    two = np.stack([filled, filled])
    assert energy_score(truth, two, held, ordered) == pytest.approx(3 / 4)
    assert energy_score(truth, two, held, plain) == 1


def test_wasserstein_of_numbers_is_that_of_scipy():
    rng = np.random.default_rng(1)
    truth, draws = rng.normal(size=(50, 1)), rng.normal(0.3, 2, size=(3, 50, 1))
    held = rng.random(truth.shape) < 0.6
    yard = Yardstick.of(truth, [0])
    expected = wasserstein_distance(truth[held], draws[:, held].ravel()) / truth.std()
    assert wasserstein(truth, draws, held, yard)[0] == pytest.approx(expected)


def gaussian_crps(x, mean, sd):
    z = (x - mean) / sd
    return sd * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))


def test_crps_of_many_draws_is_that_of_the_gaussian():
    rng = np.random.default_rng(2)
    truth = np.array([[-1.0], [0.0], [2.5], [7.0]])
    yard = Yardstick.of(truth, [0])
    draws = rng.normal(1.0, 2.0, size=(200_000, 4, 1))
    found = crps(truth, draws, np.ones_like(truth, dtype=bool), yard)
    expected = gaussian_crps(truth[:, 0], 1.0, 2.0) / truth.std()
    np.testing.assert_allclose(found, expected, rtol=0.02)


def test_crps_of_few_draws_is_right_on_average():
    rng = np.random.default_rng(3)
    n = 40_000
    truth, held = np.full((n, 1), 0.5), np.ones((n, 1), dtype=bool)
    yard = Yardstick(np.array([0]), np.array([False]), *(np.array([v]) for v in (1.0, 0.0, 1.0)))
    for draws in (2, 5):
        found = crps(truth, rng.normal(size=(draws, n, 1)), held, yard).mean()
        assert found == pytest.approx(gaussian_crps(0.5, 0, 1), abs=0.01)


def test_one_draw_has_no_spread_to_score():
    found = scores(draws=FILLED[None])
    assert found["crps"] is None
    assert found["energy"] is None
    assert found["wasserstein_draws"] == pytest.approx(found["wasserstein"])


def test_energy_score_of_one_number_is_its_crps():
    rng = np.random.default_rng(4)
    truth = rng.normal(size=(30, 1))
    held = rng.random(truth.shape) < 0.5
    yard, draws = Yardstick.of(truth, [0]), rng.normal(size=(6, 30, 1))
    expected = crps(truth, draws, held, yard).mean()
    assert energy_score(truth, draws, held, yard) == pytest.approx(expected)


def test_energy_score_by_hand():
    # One row, a number (sd 1) and a level: draws (0, a), (3, b), truth (3, a), both cells held.
    yard = Yardstick(
        np.array([0, 2]), np.zeros(2, bool), *(np.array(v) for v in ([1.0, 0], [0.0, 0], [1.0, 0]))
    )
    truth, held = np.array([[3.0, 0]]), np.ones((1, 2), dtype=bool)
    draws = np.array([[[0.0, 0]], [[3.0, 1]]])
    expected = (3 + 1) / 2 - np.sqrt(9 + 1) / 2
    assert energy_score(truth, draws, held, yard) == pytest.approx(expected)
    # A cell that is not held does not separate the rows.
    assert energy_score(truth, draws, np.array([[True, False]]), yard) == pytest.approx(1.5 - 1.5)


def test_the_right_spread_scores_best():
    rng = np.random.default_rng(5)
    truth, held = rng.normal(size=(4000, 2)), np.ones((4000, 2), dtype=bool)
    yard = Yardstick.of(truth, [0, 0])
    found = {
        sd: impute_scores(truth, truth, held, yard, rng.normal(0, sd, size=(10, 4000, 2)))
        for sd in (0.3, 1.0, 3.0)
    }
    for name in ("crps", "energy", "wasserstein_draws"):
        assert found[1.0][name] < min(found[0.3][name], found[3.0][name])


def test_constant_and_empty_columns_are_left_out():
    truth = np.column_stack([TRUTH, np.full(5, 7.1), np.full(5, np.nan)])
    filled = np.column_stack([FILLED, np.full(5, 9.0), np.zeros(5)])
    held = np.column_stack([HELD, np.ones(5, bool), np.zeros(5, bool)])
    draws = np.stack([filled, filled])
    found = impute_scores(truth, filled, held, Yardstick.of(truth, [0] * 4), draws)
    small = scores(draws=np.stack([FILLED, FILLED]))
    assert found == pytest.approx(small, nan_ok=False)


def test_nothing_held_is_no_score():
    found = scores(held=np.zeros_like(HELD), draws=np.stack([FILLED, FILLED]))
    assert set(found.values()) == {None}
