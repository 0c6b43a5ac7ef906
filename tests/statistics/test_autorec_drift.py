"""The variable sparsity problem of AutoRec: predictions that move with how much is known."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from nanwise import AutoRec, Plan
from nanwise.data.ratings import Ratings, split_ratings, synthetic_ratings

KEPT = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
REPEATS = 8
#: rows with fewer known ratings may lose all of them: such a row is cold, which is another matter
LEAST = 20


@pytest.fixture(scope="module")
def parts() -> tuple[Ratings, Ratings]:
    return split_ratings(synthetic_ratings(300, 300, 30_000, random_state=0), 0.1, random_state=0)


def slope(model: AutoRec, known: Ratings, asked: Ratings) -> float:
    """How far the mean prediction moves from nothing known to everything, by least squares."""
    users, items = asked.rows.astype(np.int64), asked.matrix.indices.astype(np.int64)
    counts = np.diff(known.matrix.tocsc().indptr if model.by == "item" else known.matrix.indptr)
    full = counts[items if model.by == "item" else users] >= LEAST
    means = [
        [_thinned(model, known, share, seed)._at(users[full], items[full]).mean() for share in KEPT]
        for seed in range(REPEATS)
    ]
    return float(np.polyfit(KEPT, np.mean(means, axis=0), 1)[0])


def _thinned(model: AutoRec, known: Ratings, share: float, seed: int) -> AutoRec:
    """The same model to which only a random share of the ratings is known."""
    thinned = copy.copy(model)
    keep = np.random.default_rng(seed).random(len(known)) < share
    thinned.matrix_ = known.select(keep).matrix
    return thinned


@pytest.mark.parametrize("by", ["user", "item"])
def test_with_sparsity_normalization_predictions_do_not_drift(
    by: str, parts: tuple[Ratings, Ratings]
) -> None:
    train, asked = parts
    plan = Plan(epochs=100, batch=None, lr=3e-3, optimizer="adam", schedule=None)
    slopes = {
        normalize: abs(
            slope(
                AutoRec(by, 50, normalize, power=1.0, penalty=10.0, plan=plan, random_state=0).fit(
                    train
                ),
                train,
                asked,
            )
        )
        for normalize in (None, "sparsity")
    }
    assert slopes[None] > 0.2
    assert slopes["sparsity"] < slopes[None] / 5
