"""Tables on ratings: the search for a penalty, its cells, what one run measures, what is shown."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from nanwise.bench import reproduce as reproducing
from nanwise.bench.case import Case
from nanwise.bench.papers import sn_ratings_run as protocol
from nanwise.bench.papers import table as papers
from nanwise.bench.papers.sn_ratings_parts import CENTRES, SCALES, printed
from nanwise.bench.papers.sn_ratings_run import parts_of, run_ratings
from nanwise.bench.papers.sn_ratings_search import COARSE, FINE, best_of, neighbours, next_to_try
from nanwise.bench.papers.sn_ratings_sweep import _choose, _point, _targets, run_sweep
from nanwise.bench.papers.sn_ratings_table import FIND
from nanwise.bench.papers.table import Heading, find_table, tables
from nanwise.bench.recommend import check_params
from nanwise.bench.reproduce import reproduce
from nanwise.bench.run import Measured, record
from nanwise.data.ratings import Ratings, split_ratings, synthetic_ratings
from nanwise.errors import DataError
from nanwise.registry import find

IDS = (
    *(f"sn/{name}" for name in ("table1", "table2", "table4", "table7", "fig1a", "fig6", "fig9")),
    *(f"draft/{name}" for name in ("table1", "table7", "table8")),
)
ONE_DIGIT = [float(f"{digit}e{power}") for power in range(-6, 7) for digit in FINE]


def search(loss, centre):
    """All that is tried, in order."""
    losses: dict[float, float] = {}
    while values := next_to_try(losses, centre):
        assert not set(values) & set(losses)
        losses |= {value: loss(value) for value in values}
    return losses


# -- the search ------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimum", [3e-5, 0.004, 0.99, 1.0, 87.0, 260.0, 4400.0])
@pytest.mark.parametrize("centre", [0.002, 1.0, 500.0])
def test_the_best_number_of_one_digit_is_found(optimum, centre):
    def loss(value):
        return math.log(value / optimum) ** 2

    losses = search(loss, centre)
    assert best_of(losses) == min(ONE_DIGIT, key=loss)
    assert set(losses) <= set(ONE_DIGIT)


def test_a_good_start_takes_few_steps():
    def loss(value):
        return abs(math.log(value / 110))

    assert set(search(loss, 100.0)) == {50.0, 90.0, 100.0, 200.0}
    coarse = {value: loss(value) for value in next_to_try({}, 100.0)}
    assert set(coarse) == {50.0, 100.0, 200.0}
    assert next_to_try(coarse, 100.0, fine=False) == []


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (100.0, FINE, (90.0, 200.0)),
        (9e-5, FINE, (8e-5, 1e-4)),
        (100.0, COARSE, (50.0, 200.0)),
        (500.0, COARSE, (200.0, 1000.0)),
        (300.0, COARSE, (200.0, 500.0)),
    ],
)
def test_neighbours(value, digits, expected):
    assert neighbours(value, digits) == expected


def test_a_flat_end_and_numbers_that_cannot_be_used_end_the_search():
    flat = search(lambda value: max(value, 10.0), 100.0)
    assert best_of(flat) == 10.0
    assert min(flat) == 5.0
    assert best_of(search(lambda v: math.inf if v < 20 else v, 100.0)) == 20.0
    assert len(search(lambda value: math.inf, 100.0)) == 3


# -- the cells of a table, with a stand-in for the runs --------------------------------------------

RUNS: list[Case] = []
BEST = {None: 300.0, "sparsity": 40.0}


def stand_in(case: Case):
    """A validation error with its optimum where BEST says; a test error that tells row and run."""
    RUNS.append(case)
    penalty, kind = case.params["penalty"], case.params["normalize"]

    def work():
        if case.dataset == "broken":
            raise ValueError("no such ratings")
        if case.protocol["part"] == "validation":
            return Measured({"valid_rmse": 1 + math.log(penalty / BEST[kind]) ** 2})
        gain = 0.01 * (1 + case.fold) if kind else 0.0
        return Measured({"rmse": 0.9 + 0.1 * case.fold - gain})

    return record(case, work)


@pytest.fixture
def table(monkeypatch):
    RUNS.clear()
    monkeypatch.setattr(protocol, "_load", lambda dataset: None)
    known = {found.id: found for found in tables()}
    whole = known["sn/table1"]
    made = replace(
        whole,
        id="test/ratings",
        rows=tuple(row for row in whole.rows if row.name.startswith("AutoRec item")),
        columns=(*whole.columns[:2], Heading("Lost", dataset="broken")),
        run=stand_in,
        scales={
            "smoke": {**SCALES["smoke"], "runs": {"ml_100k": 3, "broken": 3}},
            "laptop": {**SCALES["smoke"], "runs": {"ml_100k": 3, "ml_1m": 3}},
        },
    )
    monkeypatch.setattr(papers, "_TABLES", {**known, made.id: made})
    return made


def cell(facts, row, column="Movielens 100K"):
    place = facts["columns"].index(column)
    return next(r for r in facts["rows"] if r["name"] == row)["cells"][place]


PAIR = ["AutoRec item w/ SN − w/o SN", "Movielens 100K"]


def test_the_search_comes_first_and_once(table):
    facts = reproduce("test/ratings", "smoke", only=PAIR)
    parts = Counter((c.protocol["part"], c.params["normalize"]) for c in RUNS)
    assert parts["test", None] == parts["test", "sparsity"] == 3
    probes = [c for c in RUNS if c.protocol["part"] == "validation"]
    assert {(c.fold, c.seed, c.params["refit"]) for c in probes} == {(0, 0, False)}
    final = {(c.params["normalize"], c.params["penalty"]) for c in RUNS if c not in probes}
    assert final == {(None, 300.0), ("sparsity", 40.0)}
    assert all(c.params["refit"] for c in RUNS if c not in probes)
    (note,) = (n for n in facts["notes"] if n.startswith("AutoRec item w/o SN, Movielens 100K"))
    assert "λ = 300, by validation RMSE (50: 4.2104, 100: 2.2069" in note


def test_differences_are_paired_by_run(table):
    facts = reproduce("test/ratings", "smoke", only=PAIR)
    found = cell(facts, PAIR[0])
    half = 4.302652729911275 * 0.01 / math.sqrt(3)  # gains of 0.01, 0.02, 0.03
    assert found["ours"] == {"mean": pytest.approx(-0.02), "ci": pytest.approx(half), "n": 3}
    assert found["published"] == {"mean": pytest.approx(0.8809 - 0.8835), "ci": None}
    assert found["verdict"] == "paired difference"
    assert cell(facts, PAIR[0], "Movielens 1M")["verdict"] == "not measured"
    assert cell(facts, PAIR[0], "Movielens 1M")["published"]["mean"] == pytest.approx(-0.0026)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_a_killed_search_goes_on_where_it_was(table, tmp_path, monkeypatch):
    def killed_after_five(case):
        if len(RUNS) == 5:
            raise KeyboardInterrupt
        return stand_in(case)

    monkeypatch.setitem(papers._TABLES, table.id, replace(table, run=killed_after_five))
    with pytest.raises(KeyboardInterrupt):
        reproduce("test/ratings", "smoke", out=tmp_path, only=PAIR)
    before = {case.key for case in RUNS}
    assert len(before) == 5
    RUNS.clear()
    monkeypatch.setitem(papers._TABLES, table.id, table)
    facts = reproduce("test/ratings", "smoke", out=tmp_path, only=PAIR)
    assert not before & {case.key for case in RUNS}
    RUNS.clear()
    again = reproduce("test/ratings", "smoke", out=tmp_path, only=PAIR)
    assert RUNS == []
    assert again["rows"] == facts["rows"]
    assert again["notes"] == facts["notes"]


def test_what_fails_is_told_and_tried_again_the_next_time(table, tmp_path):
    for _ in range(2):
        RUNS.clear()
        facts = reproduce("test/ratings", "smoke", out=tmp_path, only=["Lost"])
        assert cell(facts, "AutoRec item w/o SN", "Lost")["error"] == "ValueError: no such ratings"
        assert cell(facts, "AutoRec item w/o SN", "Lost")["ours"] is None
        assert cell(facts, PAIR[0], "Lost")["verdict"] == "not measured"
        assert Counter(c.params["normalize"] for c in RUNS) == {None: 3, "sparsity": 6}


def test_sets_that_are_not_there_or_not_part_of_the_scale(table, monkeypatch):
    def lost(dataset):
        raise DataError(f"{dataset} is nowhere")

    monkeypatch.setattr(protocol, "_load", lost)
    facts = reproduce("test/ratings", "laptop")
    assert RUNS == []
    assert cell(facts, "AutoRec item w/ SN")["error"] == "ml_100k is nowhere"
    assert (
        cell(facts, "AutoRec item w/ SN", "Lost")["error"] == "broken is not run at scale 'laptop'"
    )
    assert cell(facts, "AutoRec item w/ SN")["published"] == {"mean": 0.8809, "ci": 0.0011}


def test_rows_without_a_method_are_only_shown(table, monkeypatch):
    others = replace(table, rows=(*table.rows, Heading("Others")), published={})
    monkeypatch.setitem(papers._TABLES, table.id, others)
    facts = reproduce("test/ratings", "smoke", only=["Others"])
    assert RUNS == []
    assert cell(facts, "Others") == {
        "ours": None,
        "published": None,
        "verdict": "not measured",
        "error": None,
    }


def test_without_a_published_interval_only_the_figure_counts():
    assert reproducing._verdict({"mean": 0.88}, {"mean": 0.89, "ci": None}, "") == "below"
    assert reproducing._verdict({"mean": 0.9}, {"mean": 0.89, "ci": None}, "") == "above"


# -- the published tables --------------------------------------------------------------------------


def test_all_tables_are_there():
    assert set(IDS) <= {found.id for found in tables()}


@pytest.mark.parametrize(
    ("id", "row", "column", "expected"),
    [
        ("sn/table1", "AutoRec user w/ SN", "Movielens 10M", (0.8462, 0.0005)),
        ("sn/table1", "CF-NADE item w/o SN", "Movielens 1M", (0.8405, 0.0007)),
        ("sn/table1", "CF-UIcA w/ SN", "Movielens 100K", (0.8793, 0.0017)),
        ("sn/table2", "AutoRec w/ SN (ours.)", "Movielens 1M", (0.8260, 0.0023)),
        ("sn/table2", "CF-UIcA w/ SN (ours.)", "Movielens 100K", (0.8779, 0.0159)),
        ("sn/table2", "Dziugaite & Roy (2015)", "Movielens 100K", (0.903, None)),
        ("sn/table2", "Li et al. (2017)", "Movielens 10M", (0.7634, 0.0002)),
        ("sn/table4", "RProp", "Movielens 1M user vector", (0.8804, None)),
        ("sn/table7", "SoftImpute", "Item vector", (0.8867, 0.0007)),
        ("sn/table7", "GAIN", "User vector", (1.0470, 0.0098)),
        ("draft/table1", "CF-NADE w/ SN", "Movielens 1M item vector", (0.8383, 0.0020)),
        ("draft/table1", "AutoRec w/ SN, K = 500", "Movielens 100K user vector", (0.9217, 0.0217)),
        ("draft/table7", "w/o SN", "Movielens 10M user vector", (0.8859, None)),
        ("draft/table8", "w/o SN", "Movielens 100K user vector", (0.9171, None)),
        ("draft/table8", "w/ SN", "Movielens 1M item vector", (0.8271, None)),
    ],
)
def test_published_figures(id, row, column, expected):
    assert find_table(id).published[row, column] == expected


def test_what_was_not_published_has_no_figure():
    assert ("CF-NADE item w/ SN", "Movielens 10M") not in find_table("sn/table1").published
    rows = {row for row, _ in find_table("sn/table1").published}
    assert rows == {
        f"{model} w/{end}"
        for model in ("AutoRec user", "AutoRec item", "CF-NADE user", "CF-NADE item", "CF-UIcA")
        for end in (" SN", "o SN")
    }
    assert ("AutoRec w/o SN", "Movielens 1M") not in find_table("sn/table2").published
    with pytest.raises(ValueError):
        printed(["one"], find_table("sn/table2").columns, "0.1 0.2")


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("scale", ["smoke", "laptop", "paper"])
def test_every_cell_is_one_that_its_method_accepts(id, scale):
    table = find_table(id)
    for row in table.rows:
        for column in table.columns:
            there = (row.dataset or column.dataset) in table.sizes(scale)["runs"]
            if there and row.method and not row.minus:
                for case in table.cases(row, column, scale):
                    penalty = case.params["penalty"]
                    pair = [1.0, 2.0] if isinstance(penalty, list) else 1.0
                    check_params(case.method, {**case.params, "penalty": pair})
                    assert case.fold == case.seed


def test_rows_that_are_the_same_in_two_tables_share_their_runs():
    def first(id, row, column):
        table = find_table(id)
        heading = {h.name: h for h in (*table.rows, *table.columns)}
        return table.cases(heading[row], heading[column], "laptop")[0]

    one = first("sn/table1", "AutoRec item w/o SN", "Movielens 100K")
    column = "Movielens 100K item vector"
    assert one == first("sn/table4", "Adam", column)
    assert one == first("draft/table1", "AutoRec w/o SN", column)
    assert one == first("draft/table7", "w/o SN", column)
    assert one == first("sn/table7", "Zero Imputation w/o Sparsity Normalization", "Item vector")
    second = first("draft/table8", "w/ SN", column)
    assert (second.params["K"], second.params["penalty"]) == (1.0, [0.0, FIND])
    assert first("sn/fig1a", "w/ SN: slope", "weak (λ = 50)").params["penalty"] == 50.0


def test_the_penalty_of_fig6_is_found_at_one_width():
    table = find_table("sn/fig6")
    row = table.rows[0]
    found = [table.search(row, column, "laptop", lambda case: None) for column in table.columns]
    assert {case.params["hidden"] for each in found for case in each.cases} == {500}
    assert len({case.key for each in found for case in each.cases}) == 3
    assert all(each.open and each.best is None for each in found)
    assert [table.cases(row, c, "laptop")[0].params["hidden"] for c in table.columns] == [
        400, 500, 600, 700, 800, 900, 1000
    ]  # fmt: skip


@pytest.mark.parametrize("method", CENTRES)
def test_the_search_starts_where_the_method_says_that_it_may_lie(method):
    space = find(method, kind="recommender").space["penalty"]
    assert min(space) <= CENTRES[method] <= max(space)


def test_rows_that_stop_later():
    table = find_table("sn/table7")
    rows = {row.name: row for row in table.rows}
    case = table.cases(rows["Zero Imputation w/ Batch Normalization"], table.columns[0], "paper")[0]
    plain = table.cases(rows["Dropout"], table.columns[0], "paper")[0]
    assert case.params["plan"]["patience"] == 10 * plain.params["plan"]["patience"]
    assert "patient" not in case.protocol


# -- one run ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return synthetic_ratings(60, 50, 1200, random_state=0)


@pytest.fixture
def loaded(monkeypatch, ratings):
    protocol._parts.cache_clear()
    monkeypatch.setattr(protocol, "_load", lambda dataset: ratings)
    yield ratings
    protocol._parts.cache_clear()


def small(part="test", fold=0, users=None, **params):
    given = {"by": "user", "hidden": 6, "penalty": 5.0, "plan": {"epochs": 5, "lr": 0.01}}
    shared = {"kind": "ratings", "test": 0.1, "part": part, "users": users}
    return Case("ml_100k", "autorec", {**given, **params}, shared, fold, fold)


def test_a_run_is_scored_on_the_test_ratings_of_its_split(loaded):
    found = run_ratings(small(fold=1))
    train, test = split_ratings(loaded, 0.1, random_state=1)
    model = check_params("autorec", {**small().params}).set_params(random_state=1)
    model.set_params(plan=model.default_plan(train).set_params(epochs=5, lr=0.01)).fit(train)
    assert found.error is None
    assert found.scores["rmse"] == pytest.approx(-model.score(test), rel=1e-6)
    best = min(epoch["valid_loss"] for epoch in model.history_)
    assert found.scores["valid_rmse"] == pytest.approx(math.sqrt(best))
    assert found.facts == {"best_epoch": model.best_epoch_, "epochs": model.n_iter_}


def test_a_step_of_the_search_never_sees_test_ratings(loaded, monkeypatch):
    before = {part: run_ratings(small(part)).scores for part in ("validation", "test")}
    train, test = parts_of(small())
    wrong = test.matrix.copy()
    wrong.data[:] = 1.0
    monkeypatch.setattr(protocol, "parts_of", lambda case: (train, replace(test, matrix=wrong)))
    after = {part: run_ratings(small(part)).scores for part in before}
    assert set(before["validation"]) == {"valid_rmse"}
    assert after["validation"] == before["validation"]
    assert after["test"]["rmse"] > before["test"]["rmse"] + 0.5


def test_a_small_scale_takes_the_fullest_rows(loaded):
    train, test = parts_of(small(users=20))
    whole = loaded.matrix
    assert train.matrix.shape == (20, 20)
    counts = np.diff(whole.indptr)
    left = np.isin(loaded.users, train.users)
    assert counts[left].min() >= counts[~left].max()
    assert len(train) + len(test) == whole[left][:, np.isin(loaded.items, train.items)].nnz


def test_what_a_run_cannot_do_is_its_result(loaded):
    found = run_ratings(small(hidden=0))
    assert found.failed
    assert "hidden" in found.reason


# -- predictions against the number of known ratings -----------------------------------------------


class Sum:
    """Predicts the sum of what is known of a user, whatever the item."""

    def seeing(self, seen):
        self.sums = seen.sum(axis=1)
        return self

    def predict_matrix_at(self, cells):
        return np.repeat(self.sums, np.diff(cells.indptr))


def test_a_point_is_predicted_from_random_parts_of_what_is_known(ratings):
    train, test = split_ratings(ratings, 0.1, random_state=0)
    point = _point(Sum(), train, test, np.random.default_rng(0))
    counts = np.diff(train.matrix.indptr)
    user = np.flatnonzero(counts == point["known"][-1])
    totals = train.matrix.sum(axis=1)[user]
    assert point["mean"][-1] in totals
    assert point["low"][-1] == point["high"][-1] == point["mean"][-1]
    per_rating = np.array(point["mean"]) / np.array(point["known"])
    assert per_rating == pytest.approx(np.full(len(per_rating), per_rating[-1]), rel=0.1)
    assert point["known"] == sorted(set(point["known"]))
    assert all(low <= mean <= high for low, mean, high in zip(*_bounds(point), strict=True))


def _bounds(line):
    return line["low"], line["mean"], line["high"]


def test_a_point_seen_whole_is_predicted_as_in_the_test(loaded):
    train, test = parts_of(small())
    model = check_params("autorec", small().params).set_params(random_state=0).fit(train)
    rng = np.random.default_rng(3)
    user, item = _choose(train, test, np.random.default_rng(3))
    point = _point(model, train, test, rng)
    assert point["known"][-1] == np.diff(train.matrix.indptr)[user]
    expected = model.predict([train.users[user]], [train.items[item]])
    assert point["mean"][-1] == pytest.approx(expected[0], rel=1e-6)
    assert point["low"][0] < point["high"][0]


def test_mean_test_rating_by_how_much_is_known():
    """Two users with 25 known ratings, two with 60: means of users, not of ratings."""
    known = sparse.csr_array(np.where(np.arange(70) < np.array([[25], [25], [60], [60]]), 3.0, 0))
    held = np.zeros((4, 70))
    held[0, 65], held[1, 65:68] = 2.0, 4.0
    held[2, 65], held[3, 65] = 5.0, 3.0
    blank = synthetic_ratings(4, 70, 100, random_state=0)
    train, test = (replace(blank, matrix=sparse.csr_array(m)) for m in (known, held))
    found = _targets(train, test)
    assert found["known"] == [25.0, 60.0]
    assert found["mean"] == [3.0, 4.0]
    half = 1.96 * math.sqrt(2) / math.sqrt(2)
    assert found["high"] == pytest.approx([3.0 + half, 4.0 + half])


def test_a_sweep_measures_slope_and_spread(loaded):
    found = run_sweep(small("sweep", normalize=None))
    assert found.error is None
    assert set(found.scores) == {"slope", "spread", "rmse"}
    assert found.scores["rmse"] == run_ratings(small(normalize=None)).scores["rmse"]
    assert found.scores["spread"] > 0


def test_figures_are_drawn_from_the_first_run(loaded, monkeypatch, tmp_path):
    sizes = {**SCALES["smoke"], "users": 40, "runs": {"ml_100k": 1}}
    figure = replace(find_table("sn/fig1a"), id="test/fig", scales={"smoke": sizes})
    monkeypatch.setitem(papers._TABLES, figure.id, figure)
    facts = reproduce("test/fig", "smoke", out=tmp_path)
    titles = [chart["title"] for chart in facts["curves"]]
    assert titles == ["Mean test rating", *(column.name for column in figure.columns)]
    for chart in facts["curves"][1:]:
        assert [line["name"] for line in chart["series"]] == ["w/o SN", "w/ SN"]
        assert all(len(line["x"]) == len(line["low"]) > 3 for line in chart["series"])
    part = reproduce("test/fig", "smoke", out=tmp_path, only=["w/ SN: slope", "weak (λ = 50)"])
    assert [chart["title"] for chart in part["curves"]] == titles[:2]
    assert len(part["curves"][1]["series"]) == 1
