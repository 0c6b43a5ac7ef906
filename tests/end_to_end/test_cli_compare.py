"""The main job: a table with gaps in, a ranking, a report and a model out."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from nanwise.cli.app import app

SMALL = ["--folds", "2", "--set", "plan.epochs=4", "--set", "hidden=8"]


def run(*args):
    return CliRunner().invoke(app, [str(a) for a in args])


def make_frame(rows=60):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    frame["town"] = rng.choice(["Rome", "Oslo", "Lima"], rows)
    frame["y"] = np.where(frame["a"] + frame["b"] > 0, "yes", "no")
    return frame.mask(rng.random(frame.shape) < 0.2 * (frame.columns != "y"))


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "table.csv"
    make_frame().to_csv(path, index=False)
    return path


@pytest.fixture
def finished(data, tmp_path):
    """A finished comparison with a stress test."""
    out = tmp_path / "out"
    result = run(
        "compare", data, "--target", "y", "--methods", "zero,linear", "--out", out, "-q", *SMALL
    )
    assert result.exit_code == 0, result.output
    return result, out


def test_compare_ranks_reports_and_saves(finished):
    result, out = finished
    assert "zero" in result.stdout
    assert "linear" in result.stdout
    assert f"report: {out / 'report.html'}" in result.stdout
    assert {"report.html", "report.json", "report.md", "model"} <= set(os.listdir(out))
    facts = json.loads((out / "report.json").read_text())
    assert [row["rank"] for row in facts["leaderboard"]] == [1, 2]
    assert facts["title"] == "y from table.csv"
    assert facts["command"].split()[0] == "nanwise"
    assert "zero" in facts["stress"]


def test_the_saved_winner_predicts(finished, data, tmp_path):
    _, out = finished
    result = run("predict", out / "model", data, "-o", tmp_path / "p.csv", "-q")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(tmp_path / "p.csv")) == 60


def test_a_second_run_computes_nothing_again(finished, data):
    _, out = finished
    cells = (out / "cells.jsonl").read_bytes()
    result = run(
        "compare", data, "--target", "y", "--methods", "zero,linear", "--out", out, "-q", *SMALL
    )
    assert result.exit_code == 0
    assert (out / "cells.jsonl").read_bytes() == cells


def test_report_is_rendered_again_from_its_facts(finished, tmp_path):
    _, out = finished
    html = (out / "report.html").read_text()
    (out / "report.html").unlink()
    result = run("report", out)
    assert result.exit_code == 0, result.output
    assert (out / "report.html").read_text() == html
    result = run("report", out / "report.json", "-o", tmp_path / "elsewhere")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "elsewhere/report.html").read_text() == html


def test_quiet_is_quiet_and_progress_goes_to_standard_error(data, tmp_path):
    args = ["compare", data, "--target", "y", "--methods", "linear", "--no-stress", *SMALL]
    loud = run(*args, "--out", tmp_path / "loud")
    assert "cell" in loud.stderr
    assert "cell/s" not in loud.stdout
    quiet = run(*args, "--out", tmp_path / "quiet", "--quiet")
    assert quiet.exit_code == 0
    assert quiet.stderr == ""


def test_a_method_that_fails_is_shown_with_its_reason(data, tmp_path):
    # knn is for rows that have near ones; a learning rate that explodes fails in training
    result = run(
        "compare", data, "--target", "y", "--methods", "zero,linear", "--out", tmp_path / "o",
        "--no-stress", "-q", "--folds", "2", "--set", "plan.lr=1e30", "--set", "plan.optimizer=sgd",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "TrainingError" in result.stdout
    facts = json.loads((tmp_path / "o/report.json").read_text())
    assert facts["winner"]["method"] == "linear"


def test_schema_file_decides_the_kind_of_a_column(tmp_path):
    path = tmp_path / "t.csv"
    make_frame().assign(code=np.arange(60) % 4, junk=range(60)).to_csv(path, index=False)
    schema = tmp_path / "s.json"
    schema.write_text('{"columns": {"code": "categorical", "junk": "drop"}}')
    result = run(
        "compare", path, "--target", "y", "--methods", "linear", "--schema", schema,
        "--out", tmp_path / "o", "--no-stress", "-q", *SMALL,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    facts = json.loads((tmp_path / "o/report.json").read_text())
    kinds = {c["name"]: c["kind"] for c in facts["data"]["column_facts"]}
    assert kinds["code"] == "categorical"
    assert kinds["a"] == "numeric"
    assert "junk" not in kinds


def test_regression_and_two_jobs(tmp_path):
    path = tmp_path / "t.csv"
    frame = make_frame()
    frame.assign(y=frame["a"].fillna(0) * 2 + 0.1).to_csv(path, index=False)
    result = run(
        "compare", path, "--target", "y", "--methods", "linear,zero", "--jobs", "2",
        "--out", tmp_path / "o", "--no-stress", "-q", *SMALL,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "RMSE ± 95 %" in result.stdout
    assert "Lower is better." in result.stdout


def test_a_data_set_by_name_knows_its_target(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("compare", "pima", "--methods", "linear", "--no-stress", "-q", "--folds", "2")
    assert result.exit_code == 0, result.output
    facts = json.loads((tmp_path / "nanwise-pima/report.json").read_text())
    assert facts["title"].endswith("from pima")


def test_interrupt_keeps_finished_cells_and_says_how_to_go_on(data, tmp_path):
    out = tmp_path / "out"
    args = [
        sys.executable, "-m", "nanwise", "compare", data, "--target", "y", "--methods", "zero",
        "--folds", "10", "--out", out, "--set", "plan.epochs=300", "-q",
        "--set", "plan.patience=300",
    ]  # fmt: skip
    child = subprocess.Popen(list(map(str, args)), stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not (out / "cells.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130
    assert said.splitlines()[0] == "error: interrupted"
    assert f"finished cells are kept in {out}" in said
    assert (out / "cells.jsonl").read_text().count("\n") >= 1
