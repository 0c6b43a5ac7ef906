"""``nanwise compare --series``: a long table and outcomes in, a ranking and a model out."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import nanwise
from nanwise.bench.series import compare_series
from nanwise.cli.app import app
from nanwise.data.series import SeriesData, read_series
from nanwise.errors import DataError

SMALL = ["--folds", "2", "--set", "plan.epochs=2", "--set", "units=4", "-q"]


def run(*args):
    return CliRunner().invoke(app, [str(a) for a in args])


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        (f"p{i}", time, name, rng.normal() + 2 * (i % 2))
        for i in range(40)
        for time in sorted(rng.uniform(0, 6, 5))
        for name in ("hr", "bp")
        if rng.random() < 0.7
    ]
    frame = pd.DataFrame(lines, columns=["id", "time", "variable", "value"])
    frame.sample(frac=1, random_state=0).to_csv(tmp_path / "long.csv", index=False)
    outcomes = pd.DataFrame({"id": [f"p{i}" for i in range(41)], "died": np.arange(41) % 2})
    outcomes["stay"] = np.arange(41) * 0.5
    outcomes[["id", "died"]].to_csv(tmp_path / "outcomes.csv", index=False)
    outcomes.to_csv(tmp_path / "both.csv", index=False)
    return tmp_path


def test_ragged_series_are_ranked_saved_and_reported(files):
    out = files / "out"
    series = files / "long.csv"
    methods = ["--methods", "zero,sparsity_norm,decay"]
    done = run(
        "compare", "--series", series, "--target", files / "outcomes.csv", "--out", out,
        *methods, *SMALL,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    facts = json.loads((out / "report.json").read_text())
    assert {row["method"] for row in facts["leaderboard"]} == {"zero", "sparsity_norm", "decay"}
    assert facts["metric"]["name"] == "auroc"
    assert facts["data"]["rows"] == 40
    assert facts["title"] == "outcomes from long.csv"
    assert any("1 outcomes have no sequence" in note for note in facts["data"]["notes"])
    assert any("stress test was left out" in note for note in facts["data"]["notes"])
    model = nanwise.load(out / "model")
    assert type(model).__name__ == "NanSeriesClassifier"
    assert model.units == 4
    assert model.plan.epochs == 2
    variables = [column["name"] for column in facts["data"]["column_facts"]]
    new = read_series(series, variables=variables)
    assert model.predict(new.X).shape == (40,)
    assert "<svg" in (out / "report.html").read_text()
    assert "Rows are sequences of" in (out / "report.html").read_text()
    assert "Rows are sequences of" not in done.output


def test_a_grid_of_steps_is_stressed_and_numbers_are_predicted(files):
    out = files / "out"
    done = run(
        "compare", "--series", files / "long.csv", "--target", f"{files / 'both.csv'}:stay",
        "--step", "1", "--end", "6", "--out", out, "--methods", "zero", *SMALL,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    facts = json.loads((out / "report.json").read_text())
    assert facts["metric"]["name"] == "rmse"
    assert facts["stress"]["zero"]["rows"] == 20
    assert facts["stress"]["zero"]["columns"] == 12


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["table.csv", "--series", "long.csv", "--target", "outcomes.csv"], "not both"),
        (["--series", "long.csv"], "Say what to predict"),
        (["--series", "long.csv", "--target", "nothing.csv"], "no such file"),
        (["--series", "long.csv", "--target", "both.csv"], "one column beside 'id'"),
        (
            ["--series", "long.csv", "--target", "outcomes.csv", "--methods", "zeros"],
            "did you mean",
        ),
        (["--series", "long.csv", "--target", "outcomes.csv", "--set", "unit=3"], "'units'"),
        (["--series", "long.csv", "--target", "outcomes.csv", "--schema", "s.json"], "--schema"),
        (["table.csv", "--target", "y", "--step", "2"], "--step is for --series"),
        ([], "Missing argument 'DATA'"),
    ],
)
def test_what_cannot_be_is_said(files, monkeypatch, args, words):
    monkeypatch.chdir(files)
    done = run("compare", *args)
    assert done.exit_code != 0
    assert words in done.output
    assert "Traceback" not in done.output


def test_series_with_statics_are_compared_from_python():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4, 2))
    y = np.arange(30) % 2
    data = SeriesData(X, np.arange(30), ["a", "b"], y=y, statics=y[:, None] + 0.0)
    params = {"*": {"units": 3, "plan": {"epochs": 20, "lr": 0.05}}}
    found = compare_series(data, methods=["zero"], folds=2, params=params)
    assert found.model.n_statics_ == 1
    assert found.facts["leaderboard"][0]["mean"] > 0.8
    with pytest.raises(DataError, match="no target"):
        compare_series(SeriesData(X, np.arange(30), ["a", "b"]))
    with pytest.raises(ValueError, match="task must be one of"):
        compare_series(data, task="guess")
