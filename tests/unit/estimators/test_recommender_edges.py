"""Recommenders at the edges: columns without ratings, other settings or levels, bad asks."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from nanwise import CFNADE, AutoRec, Plan
from nanwise.data.ratings import Ratings, from_csr, split_ratings, synthetic_ratings
from nanwise.errors import DataError
from nanwise.train.checkpoint import fingerprint


def plan(**settings: object) -> Plan:
    return Plan(**{"epochs": 30, "batch": None, "optimizer": "adam", "schedule": None} | settings)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return synthetic_ratings(60, 40, 900, random_state=0)


@pytest.mark.parametrize("by", ["item", "user"])
def test_a_column_whose_ratings_all_went_to_validation_answers_the_mean(by: str) -> None:
    cells = synthetic_ratings(60, 40, 900, random_state=0).matrix.tolil()
    held = sparse.lil_array(cells.shape)
    user, item = (3, 5)
    if by == "item":
        held[[user], :], cells[[user], :] = cells[[user], :], 0
    else:
        held[:, [item]], cells[:, [item]] = cells[:, [item]], 0
    train, valid = (from_csr(sparse.csr_array(part)) for part in (cells, held))
    found = AutoRec(by=by, hidden=8, plan=plan(), random_state=0).fit(train, validation=valid)
    column = user if by == "item" else item
    assert found.net_.bias[column].item() == pytest.approx(train.matrix.data.mean(), abs=1e-5)
    assert found.net_.decode[column].abs().max().item() == 0.0


@pytest.mark.parametrize("change", [{"normalize": None}, {"power": 0.5}, {"ordinal": 0.5}])
def test_checkpoints_of_other_settings_have_other_names(
    change: dict[str, object], ratings: Ratings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = []

    def noted(module, *rest):
        names.append(fingerprint(module, *rest))
        return names[-1]

    monkeypatch.setattr("nanwise.train.run.fingerprint", noted)
    short = plan(epochs=1, batch=20, checkpoint=tmp_path)
    for settings in ({}, {}, change):
        CFNADE(**{"hidden": 4, "random_state": 0, "plan": short} | settings).fit(ratings)
    assert names[0] == names[1] != names[2]


def test_a_warm_start_takes_the_k_of_the_new_ratings(ratings: Ratings) -> None:
    model = CFNADE(hidden=4, warm_start=True, plan=plan(epochs=1, batch=20), random_state=0)
    first = model.fit(ratings).net_.encoder.mean_count
    model.set_params(K=50.0).fit(ratings)
    assert float(first) != pytest.approx(50.0)
    assert float(model.net_.encoder.mean_count) == pytest.approx(50.0)


def test_a_warm_start_with_other_levels_is_refused(ratings: Ratings) -> None:
    model = CFNADE(hidden=4, warm_start=True, plan=plan(epochs=1, batch=20), random_state=0)
    model.fit(ratings)
    other = ratings.matrix.copy()
    other.data = np.minimum(other.data, 4)
    with pytest.raises(DataError, match="levels"):
        model.fit(from_csr(other))


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_the_length_of_a_list_is_a_whole_number_above_0(n: float, ratings: Ratings) -> None:
    model = AutoRec(hidden=4, plan=plan(epochs=1), random_state=0).fit(ratings)
    with pytest.raises((ValueError, TypeError), match="n must be"):
        model.recommend(ratings.users[:2], n=n)


def test_a_rating_beyond_the_scale_is_refused(ratings: Ratings) -> None:
    model = AutoRec(hidden=4, plan=plan(epochs=1), random_state=0).fit(ratings)
    with pytest.raises(ValueError, match=r"on the scale.*got 1000"):
        model.recommend_for({ratings.items[0]: 1000.0})


def test_validation_ratings_that_are_learnt_from_are_named(ratings: Ratings) -> None:
    train, held = split_ratings(ratings, 0.2, random_state=0)
    model = AutoRec(hidden=4, plan=Plan(epochs=1, batch=None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(train, validation=held)
    with pytest.warns(UserWarning, match=f"{len(held)} of the {len(held)} validation ratings"):
        model.fit(ratings, validation=held)
