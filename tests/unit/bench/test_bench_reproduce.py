from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from nanwise.bench.case import Case
from nanwise.bench.papers import holdout
from nanwise.bench.papers import table as papers
from nanwise.bench.papers.holdout import run_holdout
from nanwise.bench.papers.sn_draft import TABLE_5
from nanwise.bench.papers.table import Heading, PublishedTable, find_table, tables
from nanwise.bench.reproduce import computed, known_tables, reproduce
from nanwise.bench.run import Measured, record
from nanwise.bench.score import METRICS

SIZES = {"runs": 3, "rows": None, "epochs": 1, "patience": 1}
RUNS: list[Case] = []


def stand_in(case: Case):
    """A score that tells which cell it is of: data set a or b, and the run."""
    RUNS.append(case)

    def work():
        if case.dataset == "broken":
            raise ValueError("no such data")
        return Measured({"auroc": (0.5 if case.dataset == "a" else 0.9) + 0.01 * case.fold})

    return record(case, work)


@pytest.fixture
def table(monkeypatch):
    RUNS.clear()
    known = tables()
    made = PublishedTable(
        id="test/table",
        title="A table",
        source="nowhere, p. 0",
        metric=METRICS["auroc"],
        rows=(Heading("Zero", method="zero"), Heading("Nobody", method="not there")),
        columns=(Heading("A", "a"), Heading("B", "b"), Heading("C", "broken"), Heading("D", "a")),
        run=stand_in,
        scales={"smoke": SIZES, "laptop": {**SIZES, "runs": 5}},
        published={
            ("Zero", "A"): (0.515, 0.01),
            ("Zero", "B"): (0.80, 0.05),
            ("Nobody", "A"): (0.7, 0.1),
        },
        params={"plan": {"lr": 0.1}},
    )
    monkeypatch.setattr(papers, "_TABLES", {**{t.id: t for t in known}, made.id: made})
    return made


def cell(facts, row, column):
    place = facts["columns"].index(column)
    return next(r for r in facts["rows"] if r["name"] == row)["cells"][place]


def test_facts_put_ours_beside_the_published(table):
    facts = reproduce("test/table", "smoke")
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    first = cell(facts, "Zero", "A")
    half = 4.302652729911275 * 0.01 / np.sqrt(3)  # Student's t, 2 degrees of freedom
    assert first["ours"] == {"mean": pytest.approx(0.51), "ci": pytest.approx(half), "n": 3}
    assert first["published"] == {"mean": 0.515, "ci": 0.01}
    assert [cell(facts, "Zero", c)["verdict"] for c in "ABCD"] == [
        "within",
        "above",
        "not measured",
        "not published",
    ]
    assert cell(facts, "Zero", "C")["error"] == "ValueError: no such data"
    nobody = cell(facts, "Nobody", "A")
    assert (nobody["ours"], nobody["verdict"]) == (None, "not measured")
    assert "'not there'" in nobody["error"]


def test_below_the_published_interval(table, monkeypatch):
    lower = replace(table, published={("Zero", "A"): (0.9, 0.1)})
    monkeypatch.setitem(papers._TABLES, table.id, lower)
    assert cell(reproduce("test/table", "smoke"), "Zero", "A")["verdict"] == "below"


def test_figures_of_other_data_are_not_judged(table, monkeypatch):
    other = replace(table, stand_in="simulated")
    monkeypatch.setitem(papers._TABLES, table.id, other)
    facts = reproduce("test/table", "smoke")
    assert facts["stand_in"] == "simulated"
    assert cell(facts, "Zero", "A")["verdict"] == "published for other data"
    assert cell(facts, "Zero", "D")["verdict"] == "not published"


def test_methods_of_pictures_are_known_by_their_key(table):
    column = table.columns[0]
    for key in ("zero", "image/zero"):
        assert table.absent(Heading("", method=key), column, "smoke") is None
    assert "'misconv'" in table.absent(Heading("", method="misconv"), column, "smoke")


def test_scales_change_sizes_only(table):
    row, column = table.rows[0], table.columns[0]
    small, large = (table.cases(row, column, scale) for scale in ("smoke", "laptop"))
    assert (len(small), len(large)) == (3, 5)
    assert small[0] == large[0]
    assert small[0].params == {"plan": {"lr": 0.1, "epochs": 1, "patience": 1}}


def test_shared_cells_are_run_once_and_stored_ones_not_again(table, tmp_path):
    reproduce("test/table", "smoke", out=tmp_path)
    assert len(RUNS) == 9  # A and D are the same three runs
    RUNS.clear()
    reproduce("test/table", "laptop", out=tmp_path)
    assert sorted((c.dataset, c.fold) for c in RUNS if c.dataset != "broken") == [
        ("a", 3),
        ("a", 4),
        ("b", 3),
        ("b", 4),
    ]


def test_more_runs_than_the_scale_has_go_on_from_those(table, tmp_path):
    reproduce("test/table", "smoke", out=tmp_path, only=["A"])
    RUNS.clear()
    facts = reproduce("test/table", "smoke", out=tmp_path, only=["A", "Zero"], runs=5)
    assert [(c.dataset, c.fold) for c in RUNS] == [("a", 3), ("a", 4)]
    assert cell(facts, "Zero", "A")["ours"]["n"] == 5
    assert facts["settings"]["sizes"]["runs"] == 5
    with pytest.raises(ValueError, match="runs must be at least 1, got 0"):
        reproduce("test/table", "smoke", runs=0)


def test_every_table_has_as_many_runs_as_asked_for():
    for known in tables():
        asked = known.with_runs("laptop", 7)
        for row, column in computed(known):
            # none where a scale leaves out a capacity or a data set, one where nothing is random
            assert len(asked.cases(row, column, "laptop")) in (0, 1, 7), (known.id, row, column)
        most = max(len(asked.cases(*cell, "laptop")) for cell in computed(known))
        assert most == 7, known.id


def test_only_some_rows_and_columns(table):
    facts = reproduce("test/table", "smoke", only=["B", "Zero"])
    assert {c.dataset for c in RUNS} == {"b"}
    assert cell(facts, "Zero", "A")["verdict"] == "not measured"
    assert cell(facts, "Zero", "A")["error"] is None
    with pytest.raises(ValueError, match="did you mean 'Zero'"):
        reproduce("test/table", "smoke", only=["Zeros"])


def test_a_figure_becomes_curves(table, monkeypatch):
    columns = (Heading("1", "a"), Heading("10", "b"))
    figure = replace(table, columns=columns, published={}, axis="copies")
    monkeypatch.setitem(papers._TABLES, table.id, figure)
    facts = reproduce("test/table", "smoke")
    (chart,) = facts["curves"]
    lines = {line["name"]: line for line in chart["series"]}
    assert chart["x_label"] == "copies"
    assert lines["Zero"]["x"] == [1.0, 10.0]
    assert lines["Zero"]["y"] == pytest.approx([0.51, 0.91])
    assert lines["Nobody"]["y"] == []


def test_unknown_ids_and_scales(table):
    with pytest.raises(ValueError, match="did you mean 'sn/table9'"):
        reproduce("sn/tabel9")
    with pytest.raises(ValueError, match="scale must be one of"):
        reproduce("test/table", "huge")


def test_two_tables_of_one_name_are_refused(table):
    with pytest.raises(ValueError, match="two published tables"):
        papers.publish(table)


def test_known_tables():
    ids = {facts["id"] for facts in known_tables()}
    expected = {"sn/table9", "sn/table10", "draft/table5", "draft/fig2", "draft/fig6", "draft/fig7"}
    assert expected <= ids
    for found in tables():
        assert set(found.scales) == {"smoke", "laptop", "paper"}
        assert len({row.name for row in found.rows}) == len(found.rows)


@pytest.mark.parametrize(
    ("id", "row", "column", "expected"),
    [
        ("sn/table9", "Zero Imputation w/ SN (ours.)", "Breast", (0.9992, 0.0023)),
        ("sn/table9", "MICE", "Crashes", (0.9760, 0.0424)),
        ("sn/table9", "GAIN", "Heart", (0.8879, 0.0196)),
        ("sn/table9", "Zero Imputation w/ BN", "Credit", (0.7178, 0.0143)),
        ("sn/table10", "Zero Imputation w/ SN (ours.)", "Hepartitis", (0.8556, 0.1300)),
        ("sn/table10", "SoftImpute", "Pima", (0.5912, 0.0341)),
        ("sn/table10", "GAIN", "Bands", (0.7993, 0.0785)),
        ("draft/table5", "Observation indicator", "Diabetes", (105.197, 16.793)),
        ("draft/table5", "Sparsity normalization", "Wine", (0.0889, 0.1116)),
    ],
)
def test_published_figures(id, row, column, expected):
    assert find_table(id).published[row, column] == expected


@pytest.mark.parametrize("id", ["sn/table9", "sn/table10", "draft/table5"])
def test_every_cell_of_a_table_is_published(id):
    found = find_table(id)
    assert len(found.published) == len(found.rows) * len(found.columns)


@pytest.mark.parametrize(
    ("id", "column", "pairs"),
    [
        ("sn/table9", "Heart", 13 * 14),
        ("sn/table9", "Crashes", 4 * 50),
        ("sn/table10", "Hepartitis", 3 * 12),
    ],
)
def test_published_means_come_from_one_split(id, column, pairs):
    """Multiples of 1/(5 · pairs), ties counting half: the note on the published runs."""
    found = find_table(id)
    steps = np.array([found.published[row.name, column][0] for row in found.rows]) * 5 * pairs * 2
    rounding = 5e-5 * 5 * pairs * 2
    assert (abs(steps - np.rint(steps)) <= rounding * 1.01).all()


def test_paper_settings_reach_the_cases():
    found = find_table("sn/table9")
    spam = found.cases(found.rows[1], found.columns[1], "paper")
    assert len(spam) == 5
    assert spam[0].hide == {"mechanism": "mcar", "share": 0.2}
    assert spam[0].params["scale"] == "minmax"
    assert spam[0].params["hidden"] == [256] * 4
    assert spam[0].params["class_weight"] == "balanced"
    assert spam[0].params["plan"]["lr"] == 1e-4
    assert spam[0].protocol == {"kind": "holdout", "test": 0.1, "rows": None}
    heart = found.cases(found.rows[1], found.columns[4], "paper")
    assert heart[0].hide["share"] == 0.5
    assert heart[0].params["scale"] == "symmetric"


def test_holdout_measures_both_groups():
    row, column = TABLE_5.rows[4], TABLE_5.columns[3]
    case = TABLE_5.cases(row, column, "smoke")[0]
    case = replace(case, protocol={**case.protocol, "replicate": 2})
    found = run_holdout(case)
    assert not found.failed, found.reason
    assert 0 <= found.scores["error"] <= 1
    assert found.scores["error"] == pytest.approx(1 - found.scores["accuracy"])
    assert {"output_0", "output_1"} <= set(found.scores)
    assert len(found.history) == 3
    assert run_holdout(case).scores == found.scores


def test_holdout_knows_the_mean_predictor():
    row, column = TABLE_5.rows[0], TABLE_5.columns[1]
    case = TABLE_5.cases(row, column, "smoke")[0]
    case = replace(case, protocol={**case.protocol, "replicate": 1}, hide=None)
    scores = run_holdout(case).scores
    assert 50 < scores["mean_predictor"] < 110
    assert "output_0" not in scores


def test_the_protocol_leaves_the_target_as_it_is():
    case = TABLE_5.cases(TABLE_5.rows[0], TABLE_5.columns[1], "smoke")[0]
    assert not holdout._model(case, "regression").scale_target
    usual = replace(case, protocol={"test": 0.2})
    assert holdout._model(usual, "regression").scale_target


def test_a_missing_data_set_is_a_result_not_a_crash():
    case = Case("no such set", "zero", {}, {"test": 0.2})
    assert run_holdout(case).error["type"] == "DataError"


@pytest.mark.slow
def test_smoke_scale_from_start_to_end(tmp_path):
    facts = reproduce(
        "draft/table5", "smoke", out=tmp_path, only=["Iris", "Wine", "Sparsity normalization"]
    )
    found = cell(facts, "Sparsity normalization", "Iris")
    assert found["ours"]["n"] == 2
    assert found["verdict"] in {"within", "above", "below"}
    assert cell(facts, "Zero imputation", "Iris")["ours"] is None
