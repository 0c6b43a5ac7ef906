"""A table with gaps in; leaderboard, stress test and a saved model out, all parts together."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from nanwise import load
from nanwise.bench.compare import compare
from nanwise.registry import known

QUICK = {"*": {"hidden": [16], "plan": {"epochs": 8}}}


def mixed(rows: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, dose = rng.normal(50, 10, rows), rng.normal(0, 1, rows)
    ward = rng.choice(["north", "south", "west"], rows)
    risk = (age - 50) / 10 + dose + (ward == "south")
    table = pd.DataFrame({"age": age, "dose": dose, "ward": ward})
    table = table.mask(rng.random(table.shape) < 0.2)
    table["ill"] = np.where(risk + 0.5 * rng.normal(size=rows) > 0.3, "yes", "no")
    return table


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("compare")
    path = out / "ward.csv"
    mixed().to_csv(path, index=False)
    return compare(path, "ill", folds=3, out=out / "result", params=QUICK, jobs=2), path


def test_every_registered_method_is_ranked_or_says_why_not(run):
    rows = run[0].facts["leaderboard"]
    expected = {
        m.name
        for kind in ("treatment", "predictor")
        for m in known(kind, "table", "classification")
    }
    assert {row["method"] for row in rows} == expected
    assert [row["error"] for row in rows] == [None] * len(rows)
    assert rows[0]["mean"] > 0.8
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))


def test_facts_are_plain(run):
    facts = run[0].facts
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["data"]["source"] == "ward.csv"
    assert facts["baseline"] is not None


def test_networks_have_learning_curves(run):
    curves = run[0].facts["curves"]
    assert {m.name for m in known("treatment", "table")} <= set(curves)
    assert set(curves["sparsity_norm"][0]) == {"epoch", "train_loss", "valid_loss"}


def test_the_stress_test_covers_the_winner_and_its_rivals(run):
    facts = run[0].facts
    names = {facts["winner"]["method"], "zero", "sparsity_norm", "hist_gradient_boosting"}
    assert set(facts["stress"]) == names
    assert all("slope" in found for found in facts["stress"].values())


def test_the_saved_winner_answers_as_the_one_in_memory(run):
    found, path = run
    model = load(found.facts["winner"]["path"])
    rows = pd.read_csv(path).drop(columns="ill")[:20]
    assert np.array_equal(model.predict_proba(rows), found.model.predict_proba(rows))
    assert set(model.predict(rows)) <= {"yes", "no"}


def test_two_processes_and_one_give_the_same_scores(run):
    found, path = run
    again = compare(path, "ill", methods=["mean", "zero"], folds=3, params=QUICK, stress=False)
    scores = {(r.method, r.fold): r.scores["auroc"] for r in found.records}
    for record in again.records:
        assert record.scores["auroc"] == pytest.approx(scores[record.method, record.fold], abs=1e-6)


def test_regression_on_the_same_table():
    table = mixed()
    table["ill"] = table["dose"].fillna(0) * 3 + table["age"].fillna(50) / 10
    facts = compare(
        table, "ill", methods=["zero", "sparsity_norm", "linear"], folds=3, stress=False
    ).facts
    assert facts["metric"]["name"] == "rmse"
    assert facts["leaderboard"][0]["mean"] < facts["data"]["target_stats"]["std"]
