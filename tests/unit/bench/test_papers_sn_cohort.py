"""Tables 3 and 5 of the sparsity normalisation paper, on a simulated cohort."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nanwise.bench.papers import sn_cohort
from nanwise.bench.papers.sn_cohort import run_cohort
from nanwise.bench.papers.table import find_table
from nanwise.bench.reproduce import OTHER_DATA, reproduce
from nanwise.report import render

IDS = ("sn/table3", "sn/table5")


@pytest.mark.parametrize("id", IDS)
def test_simulated_stands_everywhere(id):
    table = find_table(id)
    assert "simulated" in table.title
    assert "simulated" in table.stand_in
    assert table.notes[0].startswith("SIMULATED")
    assert len(table.published) == (len(table.rows) - 1) * len(table.columns)


@pytest.mark.parametrize(
    ("id", "row", "column", "expected"),
    [
        ("sn/table3", "Zero Imputation w/ SN (ours.)", "Cardiovascular", (0.7106, 0.0005)),
        ("sn/table3", "Zero Imputation w/ BN", "Hypertension", (0.7828, 0.0136)),
        ("sn/table3", "GAIN", "Diabetes", (0.9091, 0.0067)),
        ("sn/table5", "Zero Imputation w/o SN", "Fatty Liver", (0.6858, 0.0065)),
        ("sn/table5", "Zero Imputation w/ SN (ours.)", "Heart Failure", (0.7922, 0.0015)),
    ],
)
def test_published_figures(id, row, column, expected):
    assert find_table(id).published[row, column] == expected


def test_settings_of_the_paper_reach_the_cases():
    table = find_table("sn/table5")
    case = table.cases(table.rows[1], table.columns[3], "paper")[4]
    assert (case.dataset, case.method, case.seed) == ("heart failure", "sparsity_norm", 4)
    assert case.params["hidden"] == [50, 30]
    assert case.params["dropout"] == 0.8
    assert case.params["class_weight"] == "balanced"
    assert case.params["scale"] == "minmax"
    plan = case.params["plan"]
    assert (plan["optimizer"], plan["lr"], plan["batch"]) == ("adam", 1e-2, None)
    assert case.protocol == {"kind": "cohort", "test": 0.25, "rows": None}


def test_all_people_of_the_paper_where_nothing_else_is_said(monkeypatch):
    asked = []

    def people(n, seed):
        asked.append((n, seed))
        return sn_cohort.screening_cohort(300, random_state=seed)

    monkeypatch.setattr(sn_cohort, "_people", people)
    table = find_table("sn/table3")
    case = table.cases(table.rows[0], table.columns[2], "smoke")[0]
    whole = replace(case, protocol={**case.protocol, "rows": None})
    assert not run_cohort(whole).failed
    assert asked == [(300_000, 0)]


def test_smoke_from_start_to_end():
    names = ["Zero Imputation w/o SN", "Zero Imputation w/ SN (ours.)", "w/ SN − w/o SN"]
    facts = reproduce("sn/table3", "smoke", only=["Hypertension", *names])
    place = facts["columns"].index("Hypertension")
    cells = {row["name"]: row["cells"][place] for row in facts["rows"]}
    without, with_sn, difference = (cells[name] for name in names)
    assert without["verdict"] == with_sn["verdict"] == OTHER_DATA
    assert 0.3 < with_sn["ours"]["mean"] < 1
    assert difference["ours"]["mean"] == pytest.approx(
        with_sn["ours"]["mean"] - without["ours"]["mean"]
    )
    assert "simulated cohort instead of NHIS" in render(facts, "md")
