"""compare() with predictors that take no time: the grid, the store, the budget, the edges."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

from nanwise import registry
from nanwise.bench import compare as module
from nanwise.bench.compare import compare
from nanwise.bench.overview import overview
from nanwise.bench.store import FILE
from nanwise.bench.table import read
from nanwise.errors import DataError, GapWarning, TrainingError

CALLS: list[str] = []


def counting(name, make):
    def build(task, random_state=None, **params):
        CALLS.append(name)
        return make(task, **params)

    return build


def prior(task):
    return DummyClassifier() if task == "classification" else DummyRegressor()


def line(task, C=1.0):
    last = LogisticRegression(C=C) if task == "classification" else LinearRegression()
    return make_pipeline(SimpleImputer(), last)


def broken(task):
    raise ArithmeticError("cannot be done\nreally")


def warns(task):
    warnings.warn("mind the gap\nmore", GapWarning, stacklevel=1)
    return prior(task)


class Clock:
    """A clock that stands still until somebody turns it: a busy machine does not move it."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def __getattr__(self, name):
        return getattr(time, name)


CLOCK = Clock()


def slow(task):
    CLOCK.now += 0.3
    return prior(task)


@pytest.fixture(autouse=True)
def saved(monkeypatch):
    """Where the winner was saved; the saving itself is tested elsewhere."""
    found = []
    monkeypatch.setattr("nanwise.saving.save", lambda model, path: found.append((model, path)))
    return found


@pytest.fixture(autouse=True)
def methods(monkeypatch):
    """A few predictors in place of the registered ones."""
    CALLS.clear()
    registry.known()
    monkeypatch.setattr(registry, "_METHODS", {})
    makes = {"t_prior": prior, "t_line": line, "t_broken": broken, "t_slow": slow}
    makes["t_warns"] = warns
    roles = {"t_prior": "baseline", "t_line": "rival"}
    for name, make in makes.items():
        role = roles.get(name, "method")
        registry.add(
            registry.Method(name, "predictor", counting(name, make), f"about {name}", role=role)
        )


def frame(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, rows))
    y = np.where(a + 0.3 * rng.normal(size=rows) > 0, "yes", "no")
    kind = rng.choice(["u", "v"], rows)
    table = pd.DataFrame({"a": a, "b": b, "kind": kind, "y": y})
    table.loc[rng.random(rows) < 0.2, "a"] = np.nan
    return table


GOOD = ["t_prior", "t_line"]


def test_facts_have_what_a_report_needs():
    found = compare(frame(), "y", methods=[*GOOD, "t_broken"], stress=False)
    facts = found.facts
    assert set(facts) == {
        "kind", "title", "created", "data", "metric", "leaderboard", "baseline", "winner",
        "curves", "stress", "failures", "settings", "versions", "command",
    }  # fmt: skip
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["metric"] == {"name": "auroc", "label": "AUROC", "higher_is_better": True}
    assert [row["method"] for row in facts["leaderboard"]] == ["t_line", "t_prior", "t_broken"]
    assert (facts["baseline"], facts["winner"]["method"]) == ("t_prior", "t_line")
    assert facts["leaderboard"][0]["difference"]["to"] == "t_prior"
    assert facts["leaderboard"][2]["error"] == "ArithmeticError: cannot be done"
    assert [(f["method"], f["fold"]) for f in facts["failures"]] == [
        ("t_broken", fold) for fold in range(5)
    ]
    assert found.model.predict(frame().drop(columns="y")).shape == (60,)
    assert len(found.records) == 15


def test_data_facts():
    table = frame()
    table.loc[:4, "y"] = None
    data = compare(table, "y", methods=["t_prior"], stress=False).facts["data"]
    assert (data["rows"], data["dropped_rows"], data["columns"]) == (55, 5, 3)
    assert any("5 rows" in note for note in data["notes"])
    assert [c["kind"] for c in data["column_facts"]] == ["numeric", "numeric", "categorical"]
    gaps = table["a"][5:].isna()
    assert data["column_facts"][0]["missing"] == pytest.approx(gaps.mean())
    assert data["complete_rows"] == (~gaps).sum()
    assert data["missing_share"] == pytest.approx(gaps.mean() / 3)
    assert sum(p["count"] for p in data["pattern"]["patterns"]) == 55
    assert np.sum(data["pattern"]["rows"]) == 55 * 3 - gaps.sum()
    assert list(data["classes"]) == ["no", "yes"]


def test_data_facts_tell_whether_gaps_fall_at_random():
    draw = np.random.default_rng(0)
    table = frame()
    table["a"] = draw.normal(size=60)
    told = overview(read(table, "y"))["mcar_test"]
    assert (told["p_value"], told["reason"]) == (None, "no number is missing")
    numbers = table.assign(b=table["a"] + draw.normal(size=60))
    numbers.loc[numbers["a"] > 0.2, "b"] = None
    told = overview(read(numbers, "y"))["mcar_test"]
    assert told["reason"] is None
    assert told["p_value"] < 0.001
    assert (told["df"], told["n_patterns"], told["rows"], told["columns"]) == (1, 2, 60, 2)
    twice = numbers.assign(c=2 * numbers["a"])
    told = overview(read(twice, "y"))["mcar_test"]
    assert told["statistic"] is None
    assert "is determined by the others" in told["reason"]
    empty = table.assign(a=None, b=None)
    empty.loc[0, ["a", "b"]] = 1.0
    reason = overview(read(empty, "y"))["mcar_test"]["reason"]
    assert reason == "no column of numbers has more than 12 values"
    rare = numbers.assign(c=numbers["a"].where(numbers.index < 5))
    told = overview(read(rare, "y"))["mcar_test"]
    assert (told["reason"], told["columns"]) == (None, 2)


def test_all_methods_share_their_folds(monkeypatch):
    seen = {}
    real = module.run

    def spy(case, table):
        train, test = module.grid.split(table, case)
        seen.setdefault(case.fold, set()).add((tuple(train), tuple(test)))
        return real(case, table)

    monkeypatch.setattr(module, "run", spy)
    compare(frame(), "y", methods=GOOD, stress=False, folds=3, repeats=2)
    assert sorted(seen) == list(range(6))
    assert all(len(splits) == 1 for splits in seen.values())
    tested = [next(iter(seen[fold]))[1] for fold in range(6)]
    assert sorted(sum(tested[:3], ())) == sorted(sum(tested[3:], ())) == list(range(60))
    assert set(tested[:3]) != set(tested[3:])


def test_the_winner_is_saved_after_a_refit_on_all_rows(tmp_path, saved):
    found = compare(frame(), "y", methods=GOOD, out=tmp_path, stress=False)
    assert saved == [(found.model, tmp_path / "model")]
    assert found.facts["winner"]["path"] == str(tmp_path / "model")
    assert compare(frame(), "y", methods=GOOD, stress=False).facts["winner"]["path"] is None
    assert len(saved) == 1


def test_a_second_run_computes_nothing_again(tmp_path):
    first = compare(frame(), "y", methods=GOOD, out=tmp_path, stress=False)
    CALLS.clear()
    second = compare(frame(), "y", methods=GOOD, out=tmp_path, stress=False)
    assert CALLS == ["t_line"]  # the refit on all rows
    assert second.facts["leaderboard"] == first.facts["leaderboard"]


def test_more_methods_or_repeats_add_cells_only(tmp_path):
    compare(frame(), "y", methods=["t_prior"], out=tmp_path, stress=False)
    CALLS.clear()
    compare(frame(), "y", methods=GOOD, repeats=2, out=tmp_path, stress=False)
    assert CALLS.count("t_prior") == 5
    assert CALLS.count("t_line") == 11


def test_other_data_or_parameters_do_not_meet_old_cells(tmp_path):
    compare(frame(), "y", methods=GOOD, out=tmp_path, stress=False)
    CALLS.clear()
    compare(frame(seed=1), "y", methods=GOOD, out=tmp_path, stress=False)
    assert len(CALLS) == 11
    CALLS.clear()
    params = {"t_line": {"C": 0.1}}
    compare(frame(), "y", methods=GOOD, out=tmp_path, params=params, stress=False)
    assert CALLS.count("t_prior") == 0
    assert CALLS.count("t_line") == 6


def test_an_interrupted_run_goes_on_where_it_was(tmp_path, monkeypatch):
    real, done = module.run, []

    def interrupted(case, table):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(case)
        return real(case, table)

    monkeypatch.setattr(module, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare(frame(), "y", methods=GOOD, out=tmp_path, stress=False)
    assert len((tmp_path / FILE).read_text().splitlines()) == 3
    monkeypatch.setattr(module, "run", real)
    CALLS.clear()
    assert compare(frame(), "y", methods=GOOD, out=tmp_path, stress=False).records
    assert len(CALLS) == 10 - 3 + 1


def test_torn_store_is_reported(tmp_path):
    compare(frame(), "y", methods=GOOD, out=tmp_path, stress=False)
    path = Path(tmp_path / FILE)
    path.write_bytes(path.read_bytes()[:-20])
    facts = compare(frame(), "y", methods=GOOD, out=tmp_path, stress=False).facts
    assert any("cut-off" in note for note in facts["data"]["notes"])
    assert len(facts["leaderboard"][0]["folds"]) == 5


def test_budget_gives_every_method_its_first_fold_and_says_what_was_not_run(monkeypatch):
    monkeypatch.setattr(module, "time", CLOCK)
    monkeypatch.setattr("nanwise.bench.grid.time", CLOCK)
    facts = compare(
        frame(), "y", methods=["t_slow", "t_line", "t_prior"], budget=0.5, stress=False
    ).facts
    rows = {row["method"]: row for row in facts["leaderboard"]}
    # the slow one is the last of each round: 0.3 s after the first, 0.6 s after the second
    assert {name: len(row["folds"]) for name, row in rows.items()} == {
        "t_line": 2,
        "t_prior": 2,
        "t_slow": 2,
    }
    assert all(row["error"].startswith("not run: budget") for row in rows.values())
    assert all(row["rank"] is None for row in rows.values())


def test_warnings_of_cells_are_noted_once():
    notes = compare(frame(), "y", methods=["t_warns", "t_line"], stress=False).facts["data"][
        "notes"
    ]
    assert notes == ["GapWarning: mind the gap (t_warns)"]


def test_no_budget_at_all_is_an_error():
    with pytest.raises(TrainingError, match="budget"):
        compare(frame(), "y", methods=GOOD, budget=0, stress=False)


def test_all_failing_is_an_error_after_storing(tmp_path):
    with pytest.raises(TrainingError, match=r"every method failed.*t_broken: ArithmeticError"):
        compare(frame(), "y", methods=["t_broken"], out=tmp_path, stress=False)
    assert len((tmp_path / FILE).read_text().splitlines()) == 5


def test_regression():
    table = frame()
    table["y"] = np.arange(60.0) + 0.5
    found = compare(table, "y", methods=GOOD, stress=False)
    assert found.facts["metric"]["name"] == "rmse"
    assert found.facts["data"]["task"] == "regression"
    assert found.facts["data"]["target_stats"]["max"] == 59.5
    assert found.facts["data"]["classes"] is None


def test_several_classes():
    table = frame(90)
    table["y"] = pd.cut(table["b"], 3, labels=["low", "mid", "high"]).astype(str)
    facts = compare(table, "y", methods=GOOD, stress=False).facts
    assert facts["winner"]["method"] == "t_line"
    assert facts["leaderboard"][0]["mean"] > 0.8


def test_a_class_too_rare_for_the_folds_is_noted():
    table = frame()
    table.loc[0, "y"] = "maybe"
    facts = compare(table, "y", methods=GOOD, stress=False).facts
    assert any("maybe" in note for note in facts["data"]["notes"])


@pytest.mark.parametrize("kind", ["constant", "constant number", "few rows", "no target", "text"])
def test_data_that_cannot_be_used(kind):
    table, options = frame(), {}
    if kind == "constant":
        table["y"], text = "yes", "one value only"
    elif kind == "constant number":
        table["y"], options, text = 1.5, {"task": "regression"}, "one value only"
    elif kind == "few rows":
        table, text = table[:3], "3 rows"
    elif kind == "no target":
        table, text = table.rename(columns={"y": "yy"}), "'y'"
    else:
        options, text = {"task": "regression"}, "must be numeric"
    with pytest.raises(DataError, match=text):
        compare(table, "y", methods=GOOD, stress=False, **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"methods": ["t_lines"]}, "did you mean 't_line'"),
        ({"methods": []}, "empty"),
        ({"task": "guess"}, "task must be"),
        ({"folds": 1}, "folds >= 2"),
        ({"params": {"t_slow": {}}, "methods": GOOD}, "t_slow"),
        ({"backend": "slurm", "methods": GOOD}, "backend"),
    ],
)
def test_bad_arguments(options, text):
    with pytest.raises(ValueError, match=text):
        compare(frame(), "y", stress=False, **options)


def test_input_is_not_modified():
    table = frame()
    before = table.copy(deep=True)
    compare(table, "y", methods=GOOD, stress=False)
    pd.testing.assert_frame_equal(table, before)


def test_polars_and_files(tmp_path):
    polars = pytest.importorskip("polars")
    table = frame()
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    expected = compare(table, "y", methods=GOOD, stress=False).facts["leaderboard"]
    for source in (polars.from_pandas(table), path, str(path)):
        got = compare(source, "y", methods=GOOD, stress=False).facts["leaderboard"]
        assert [row["mean"] for row in got] == [row["mean"] for row in expected]


def test_fingerprint_sees_every_cell_and_not_the_index():
    def key(table):
        return module.read(table, "y").fingerprint()

    table = frame()
    assert key(table) == key(table.set_axis(range(100, 160)))
    other = table.copy()
    other.loc[7, "b"] += 1e-9
    assert key(other) != key(table)
    assert key(table.rename(columns={"a": "A"})) != key(table)
    other = table.copy()
    other.loc[3, "y"] = "no" if other.loc[3, "y"] == "yes" else "yes"
    assert key(other) != key(table)
