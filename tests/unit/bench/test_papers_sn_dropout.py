"""Figure 4 of the paper: the settings of its cells, and that its two rows differ as they should."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nanwise.bench.papers.table import find_table
from nanwise.bench.reproduce import reproduce

TABLE = find_table("sn/fig4")
ROWS = {row.name: row for row in TABLE.rows}
COLUMNS = {column.name: column for column in TABLE.columns}


def test_settings_of_the_paper():
    (case, *_) = TABLE.cases(ROWS["Boston w/ SN"], COLUMNS["0.9"], "paper")
    plan = case.params["plan"]
    assert case.params["hidden"] == [256] * 4
    assert (case.params["dropout"], case.params["dropout_kind"]) == (0.9, "sn")
    assert (plan["optimizer"], plan["lr"], plan["batch"], plan["validation"]) == (
        "adam",
        1e-4,
        128,
        0.2,
    )
    assert case.protocol["test"] == 0.1
    assert list(COLUMNS) == [f"0.{tenth}" for tenth in range(10)]


def test_rows_differ_in_the_dropout_only():
    one, other = (
        TABLE.cases(ROWS[f"Diabetes {label}"], COLUMNS["0.5"], "laptop")[3]
        for label in ("w/ SN", "w/o SN")
    )
    same = {**other.params, "dropout_kind": "sn"}
    assert one == replace(other, params=same)
    assert one.seed == 3


@pytest.fixture(scope="module")
def smoke():
    return reproduce("sn/fig4", "smoke", only=["Diabetes w/ SN − w/o SN", "0.0", "0.9"])


def test_without_dropout_both_are_the_same_network(smoke):
    cells = {row["name"]: row["cells"] for row in smoke["rows"]}
    none, most = (
        [cells[f"Diabetes {label}"][place]["ours"]["mean"] for label in ("w/o SN", "w/ SN")]
        for place in (0, 9)
    )
    assert none[0] == none[1]
    assert most[0] != most[1]
    assert cells["Diabetes w/ SN − w/o SN"][9]["ours"]["mean"] == pytest.approx(most[1] - most[0])
    assert cells["Boston w/ SN"][9]["verdict"] == "not measured"


def test_differences_have_a_chart_of_their_own(smoke):
    names = [[line["name"] for line in chart["series"]] for chart in smoke["curves"]]
    assert ["w/o SN", "w/ SN"] in names
    assert ["Diabetes w/ SN − w/o SN"] in names
