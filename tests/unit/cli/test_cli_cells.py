"""``nanwise cells`` through the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from nanwise.cli.app import app

TINY = ("--genes", "8", "--epochs", "2", "--set", "hidden=3", "-q")


def run(*args):
    return CliRunner().invoke(app, ["cells", *map(str, args)])


def refused(result, *words):
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: "), result.stderr
    for word in words:
        assert word in result.stderr


@pytest.fixture
def raw(tmp_path):
    counts = np.random.default_rng(0).poisson(3.0, (20, 15))
    frame = pd.DataFrame(counts, [f"g{k}" for k in range(20)], [f"c{k}" for k in range(15)])
    frame.to_csv(tmp_path / "raw.csv")
    return tmp_path / "raw.csv", frame


def test_impute_writes_counts_and_keeps_what_was_seen(raw, tmp_path):
    source, frame = raw
    out, report = tmp_path / "filled.csv", tmp_path / "report"
    result = run("impute", source, "--out", out, "--report", report, *TINY)
    assert result.exit_code == 0, result.output
    assert "15 cells, 8 genes" in result.output
    filled = pd.read_csv(out, index_col=0)
    before = frame.loc[filled.index]
    assert list(filled.columns) == list(frame.columns)
    assert (filled.to_numpy()[before.to_numpy() > 0] == before.to_numpy()[before > 0]).all()
    assert (filled.to_numpy()[before.to_numpy() == 0] > 0).any()
    facts = json.loads((report / "report.json").read_text())
    assert (facts["data"]["cells"], facts["data"]["genes"]) == (15, 8)
    assert "filled the zeros" in (report / "report.html").read_text()


def test_impute_in_logarithms_and_of_prepared_values(raw, tmp_path):
    source, frame = raw
    logs = tmp_path / "logs.csv"
    assert run("impute", source, "--out", logs, "--unit", "log", *TINY).exit_code == 0
    assert pd.read_csv(logs, index_col=0).to_numpy().max() < np.log2(frame.to_numpy().max() * 3)
    given = pd.DataFrame(np.log2(frame.T + 1))
    given.to_csv(tmp_path / "prepared.csv")
    result = run(
        "impute", tmp_path / "prepared.csv", "--out", tmp_path / "out.csv", "--prepared",
        "--genes-in", "columns", *TINY,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    filled = pd.read_csv(tmp_path / "out.csv", index_col=0)
    seen = given.to_numpy() > 0
    np.testing.assert_allclose(filled.to_numpy()[seen], given.to_numpy()[seen], rtol=1e-6)


def test_evaluate_ranks_methods_in_a_report(raw, tmp_path):
    out = tmp_path / "report"
    result = run("evaluate", raw[0], "--out", out, "--hide", "0.2,0.6,0.2", "--runs", "2", *TINY)
    assert result.exit_code == 0, result.output
    assert "AutoImpute w/o SN" in result.output
    facts = json.loads((out / "report.json").read_text())
    assert len(facts["rows"]) == 6
    assert facts["settings"]["hidden"] == 3
    page = (out / "report.html").read_text()
    assert "Errors on hidden entries" in page
    assert page.count("<polyline") + page.count("<path") >= 3
    assert "| mean of each gene | 60 % |" in (out / "report.md").read_text()


def test_evaluate_goes_on_after_a_fit_that_fails(raw, tmp_path, monkeypatch):
    from nanwise import AutoImpute

    learn = AutoImpute.fit

    def fit(self, X, y=None):
        if not self.normalize:
            raise MemoryError("no room")
        return learn(self, X, y)

    monkeypatch.setattr(AutoImpute, "fit", fit)
    out = tmp_path / "report"
    result = run("evaluate", raw[0], "--out", out, "--hide", "0.2", "--runs", "1", *TINY)
    assert result.exit_code == 0, result.output
    assert "warning: AutoImpute w/o SN failed with 0.2 hidden, seed 0: MemoryError" in result.stderr
    row = next(line for line in result.stdout.splitlines() if "AutoImpute w/o SN" in line)
    assert "failed" in row
    facts = json.loads((out / "report.json").read_text())
    assert [row["failed"] for row in facts["rows"]] == [0, 1, 0]
    assert "no room" in (out / "report.html").read_text()


def test_bad_input_is_one_line(raw, tmp_path):
    source, frame = raw
    out = tmp_path / "out.csv"
    refused(run("impute", tmp_path / "none.csv", "--out", out), "not there")
    refused(run("impute", source, "--out", source), f"--out {source} is the input file")
    refused(run("impute", source, "--out", out, "--report", source), "with --report")
    refused(run("impute", source, "--out", tmp_path / "a.xlsx"), "can be written as")
    refused(run("impute", source, "--out", out, "--set", "hiden=3"), "did you mean 'hidden'")
    refused(run("evaluate", source, "--hide", "0.5,2"), "--hide")
    refused(run("evaluate", source, "--set", "normalize=true"), "no such parameter")
    (frame - 1).to_csv(source)
    refused(run("impute", source, "--out", out), "in cell", "is -1")
    assert not out.exists()
