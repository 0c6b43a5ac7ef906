"""What papers print, what was measured of it, and the figures that come with the package."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from click.testing import CliRunner

from nanwise.bench import contents, states
from nanwise.bench.case import Case
from nanwise.bench.contents import DRAFT, ICLR, families, papers_of
from nanwise.bench.measured import FOLDER, collect, file_name, measured
from nanwise.bench.papers import table as papers
from nanwise.bench.papers.table import Heading, PublishedTable, find_table, tables
from nanwise.bench.reproduce import computed, reproduce, stored
from nanwise.bench.run import Measured, record
from nanwise.bench.score import METRICS
from nanwise.bench.states import overview
from nanwise.bench.store import Store
from nanwise.cli.app import app
from nanwise.errors import DataError
from nanwise.report import write

SIZES = {"runs": 2, "rows": None, "epochs": 1, "patience": 1}
BUNDLED = sorted(path.name for path in FOLDER.glob("*"))


def score(case: Case):
    return record(case, lambda: Measured({"auroc": 0.6 + 0.1 * case.fold}))


class Lacking(PublishedTable):
    """Data of column C are not there."""

    def absent(self, row, column, scale):
        lacks = f"{papers.NO_DATA}: no folder c; get it" if column.dataset == "c" else None
        return super().absent(row, column, scale) or lacks


def make(**changes):
    facts = {
        "id": "test/table",
        "title": "A table",
        "source": "A paper, Table 1",
        "metric": METRICS["auroc"],
        "rows": (
            Heading("Zero", method="zero"),
            Heading("Mean", method="mean"),
            Heading("Printed"),
            Heading("Zero − Mean", method="zero", minus=("Zero", "Mean")),
        ),
        "columns": (Heading("A", "a"), Heading("B", "b")),
        "run": score,
        "scales": {scale: SIZES for scale in ("smoke", "laptop", "paper")},
        "published": {("Zero", "A"): (0.65, 0.01), ("Zero", "B"): (0.5, 0.1)},
    }
    return Lacking(**{**facts, **changes})


@pytest.fixture
def known(monkeypatch):
    """Only what a test publishes is there."""
    found: dict[str, PublishedTable] = {}
    tables()
    monkeypatch.setattr(papers, "_TABLES", found)
    monkeypatch.setattr(states, "measured", lambda id: None)
    return found


def line_of(table, out=None):
    papers._TABLES[table.id] = table
    (line,) = overview("test", out)
    return line


# -- contents --------------------------------------------------------------------------------------


def test_the_papers_are_listed_whole():
    names = [item.name for item in ICLR.items]
    assert names == [*(f"Table {k}" for k in range(1, 11)), *(f"Figure {k}" for k in range(1, 10))]
    names = [item.name for item in DRAFT.items]
    assert names == [*(f"Table {k}" for k in range(1, 9)), *(f"Figure {k}" for k in range(1, 11))]
    assert all(bool(item.ids) != bool(item.instead) for item in (*ICLR.items, *DRAFT.items))


@pytest.mark.parametrize(("family", "paper"), [("sn", ICLR), ("draft", DRAFT)])
def test_no_table_of_ours_is_left_out(family, paper):
    listed = {id for item in paper.items for id in item.ids}
    assert {table.id for table in tables() if contents.family_of(table) == family} <= listed


def test_an_id_is_that_of_the_printed_name():
    for item, id in ((i, id) for p in (ICLR, DRAFT) for i in p.items for id in i.ids):
        known = {table.id: table.source for table in tables()}
        if id in known and "later" not in item.what and "same" not in item.what:
            assert re.search(rf"{item.name}\b", known[id]), (item.name, known[id])


def test_every_family_has_contents():
    for family in families():
        assert any(item.ids for paper in papers_of(family) for item in paper.items)
    with pytest.raises(ValueError, match=r"'nobody'; there are .*'sn'"):
        papers_of("nobody")


def test_tables_are_in_the_order_of_their_numbers():
    ids = [item.ids[0] for paper in papers_of("vsae") for item in paper.items]
    assert ids == sorted(ids, key=lambda id: int(id.removeprefix("vsae/table")))
    assert len(ids) > 5


# -- states ----------------------------------------------------------------------------------------


def test_not_measured(known):
    line = line_of(make())
    assert (line["state"], line["measured"], line["cells"]) == ("not measured", 0, 4)


def test_not_in_this_version(known):
    line = line_of(make(rows=(Heading("Nobody", method="not there"),)))
    assert line["state"] == "not in this version"
    assert "'not there'" in line["remark"]


def test_data_not_available(known):
    line = line_of(make(columns=(Heading("C", "c"),)))
    assert (line["state"], line["remark"]) == ("data not available", "no folder c; get it")
    line = line_of(make(columns=(Heading("A", "a"), Heading("C", "c"))))
    assert line["state"] == "not measured"


@pytest.mark.parametrize(
    ("scale", "stand_in", "state", "judged"),
    [
        ("laptop", "", "laptop scale", 2),
        ("paper", "", "reproduced", 2),
        ("laptop", "simulated rows", "simulated, laptop scale", 0),
        ("smoke", "", "not measured", 0),
    ],
)
def test_measured_in_a_folder(known, tmp_path, scale, stand_in, state, judged):
    table = make(stand_in=stand_in)
    known[table.id] = table
    write(reproduce(table.id, scale), tmp_path, ["json"], name="test-table")
    line = line_of(table, tmp_path)
    assert line["state"] == state
    assert line["judged"] == judged
    assert line["measured"] == (0 if scale == "smoke" else 4)
    if judged:
        # A is within the published interval, B above it: better.
        assert line["good"] == 2
        assert line["where"] == str(tmp_path / "test-table.html")


def test_cells_without_data_are_counted_apart(known, tmp_path):
    table = make(columns=(Heading("A", "a"), Heading("C", "c")))
    known[table.id] = table
    write(reproduce(table.id, "laptop"), tmp_path, ["json"], name="test-table")
    line = line_of(table, tmp_path)
    assert 0 < line["absent"] == line["cells"] - line["measured"]


def test_reports_that_say_nothing(known, tmp_path, monkeypatch):
    table = make(rows=(Heading("Zero", method="zero"),))
    known[table.id] = table
    bundled = json.loads(json.dumps(reproduce(table.id, "laptop")))
    monkeypatch.setattr(states, "measured", lambda id: bundled)
    failed = {**bundled, "rows": [{"name": "Zero", "cells": [{"ours": None}, {"ours": None}]}]}
    (tmp_path / "test-table.json").write_text(json.dumps(failed))
    assert line_of(table, tmp_path)["where"] == "site/published/#test-table"
    # cut off; no object; without columns; a row that is too short; a figure without a verdict
    short = {**bundled, "rows": [{"name": "Zero", "cells": [{"ours": None}]}]}
    bare = {**bundled, "rows": [{"name": "Zero", "cells": [{"ours": {"mean": 1.0}}] * 2}]}
    headless = {name: value for name, value in bundled.items() if name != "columns"}
    for torn in ('{"rows": ', "[]", *map(json.dumps, (headless, short, bare))):
        (tmp_path / "test-table.json").write_text(torn)
        with pytest.raises(DataError, match=r"test-table\.json is no report"):
            overview("test", tmp_path)


def test_worse_is_not_good(known, tmp_path):
    table = make(metric=replace(METRICS["auroc"], higher_is_better=False))
    known[table.id] = table
    write(reproduce(table.id, "laptop"), tmp_path, ["json"], name="test-table")
    assert line_of(table, tmp_path)["good"] == 1


def test_nothing_to_compute():
    (line,) = (one for one in overview("draft") if one["name"] == "Figure 5")
    assert (line["id"], line["state"], line["remark"]) == (None, "nothing to compute", "a drawing")


# -- collecting ------------------------------------------------------------------------------------


def test_stored_runs_nothing_and_takes_whole_cells_only(known, tmp_path):
    table = make()
    known[table.id] = table
    assert stored(table.id, "laptop", Store())["rows"][0]["cells"][0]["ours"] is None
    reproduce(table.id, "laptop", out=tmp_path, only=["A"])
    facts = stored(table.id, "laptop", Store(tmp_path))
    again = reproduce(table.id, "laptop", out=tmp_path, only=["A"])
    assert facts["rows"] == again["rows"]
    longer = {**SIZES, "runs": 3}
    known[table.id] = make(scales={**table.scales, "laptop": longer})
    assert stored(table.id, "laptop", Store(tmp_path))["rows"][0]["cells"][0]["ours"] is None


def test_collected_cells_are_added_to_those_there(known, tmp_path):
    table = make()
    known[table.id] = table
    for name in "AB":
        reproduce(table.id, "laptop", out=tmp_path / name, only=[name])
    folder = tmp_path / "measured"
    assert collect([tmp_path / "A"], folder=folder) == {table.id: 3}
    assert collect([tmp_path / "B"], folder=folder) == {table.id: 3}
    facts = measured(table.id, folder)
    ours = [[cell["ours"] for cell in row["cells"]] for row in facts["rows"]]
    assert ours[0] == [{"mean": 0.65, "ci": pytest.approx(0.635310, abs=1e-6), "n": 2}] * 2
    assert ours[3][0]["mean"] == 0
    assert "curves" not in facts
    # The same stores again, both at once, make the same file.
    before = (folder / file_name(table.id)).read_text()
    collect([tmp_path / "A", tmp_path / "B"], folder=folder)
    assert (folder / file_name(table.id)).read_text() == before


def test_folders_of_a_machine_are_not_collected(known, tmp_path, monkeypatch):
    table = make(columns=(Heading("A", "a"), Heading("C", "c")))
    known[table.id] = table
    reasons = {"C": f"{papers.NO_DATA}: no file c.csv in {tmp_path}"}
    monkeypatch.setattr(Lacking, "absent", lambda s, r, column, _: reasons.get(column.name))
    reproduce(table.id, "laptop", out=tmp_path / "store")
    collect([tmp_path / "store"], "laptop", tmp_path)
    text = (tmp_path / file_name(table.id)).read_text()
    assert papers.NO_DATA in text
    assert str(tmp_path) not in text


def test_another_scale_starts_anew(known, tmp_path):
    table = make()
    known[table.id] = table
    reproduce(table.id, "laptop", out=tmp_path / "a", only=["A"])
    collect([tmp_path / "a"], folder=tmp_path)
    known[table.id] = make(scales={**table.scales, "paper": {**SIZES, "runs": 3}})
    reproduce(table.id, "paper", out=tmp_path / "b", only=["B"])
    collect([tmp_path / "b"], "paper", tmp_path)
    facts = measured(table.id, tmp_path)
    assert facts["scale"] == "paper"
    assert [cell["ours"] is None for cell in facts["rows"][0]["cells"]] == [True, False]


def test_what_cannot_be_collected(tmp_path):
    with pytest.raises(ValueError, match="smoke"):
        collect([tmp_path], "smoke")
    with pytest.raises(DataError, match="no --out folder"):
        collect([tmp_path])


# -- what comes with the package -------------------------------------------------------------------


def test_there_are_measured_figures():
    assert {"sn-table9.json", "sn-table10.json", "draft-table5.json"} <= set(BUNDLED)


@pytest.mark.parametrize("name", BUNDLED)
def test_measured_figures_are_of_the_tables_of_today(name):
    """Rows, columns and published figures as in the code: a file that went stale shows here."""
    facts = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    table = find_table(facts["id"])
    assert file_name(table.id) == name
    assert facts["scale"] in ("laptop", "paper")
    assert facts["stand_in"] == table.stand_in
    places = {(row.name, column.name) for row, column in computed(table)}
    for row in facts["rows"]:
        for column, cell in zip(facts["columns"], row["cells"], strict=True):
            place = row["name"], column
            if cell["ours"] is None or cell["verdict"] == "paired difference":
                continue
            assert place in places
            printed, shown = table.published.get(place), cell["published"]
            assert (printed is None) == (shown is None)
            if printed is not None:
                assert shown["mean"] == pytest.approx(printed[0], rel=1e-5)
                assert (shown["ci"] or 0) == pytest.approx(printed[1] or 0, rel=1e-5)


# -- the command line ------------------------------------------------------------------------------


def test_a_family_is_listed(tmp_path):
    done = CliRunner().invoke(app, ["reproduce", "draft", "--out", str(tmp_path / "none")])
    assert done.exit_code == 0, done.output
    assert "laptop scale: 30 of 30 cells, 29 of 30 within" in done.stdout
    assert "nothing to compute: a drawing" in done.stdout
    assert not (tmp_path / "none").exists()


def test_a_family_nearly_named():
    done = CliRunner().invoke(app, ["reproduce", "neumis"])
    assert done.exit_code == 2
    assert "did you mean 'neumiss'" in done.stderr


def test_a_family_has_no_rows():
    done = CliRunner().invoke(app, ["reproduce", "draft", "--only", "zero"])
    assert done.exit_code == 2
    assert "--only needs the ID of a table" in done.stderr
