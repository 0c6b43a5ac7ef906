"""Commands that list and write: methods, datasets, ampute, reproduce."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import nanwise
from nanwise.cli.ampute import MECHANISMS
from nanwise.cli.app import app
from nanwise.data import ampute
from nanwise.registry import everything


def run(*args):
    return CliRunner().invoke(app, [str(a) for a in args])


def test_methods_are_listed():
    result = run("methods")
    assert result.exit_code == 0, result.output
    for method in everything():
        assert method.name in result.stdout


def test_methods_as_json_are_the_registry():
    listed = json.loads(run("methods", "--json").stdout)
    assert [m["name"] for m in listed] == [m.name for m in everything()]
    one = json.loads(run("methods", "--json", "hist_gradient_boosting").stdout)
    assert one == next(m for m in listed if m["name"] == "hist_gradient_boosting")
    same = json.loads(run("methods", "--json", "zero").stdout)
    assert [m["key"] for m in same] == ["zero", "image/zero", "series/zero"]
    assert json.loads(run("methods", "--json", "image/zero").stdout) == same[1]


def test_one_method_is_told_about():
    text = run("methods", "sparsity_norm").stdout
    assert "sparsity_norm" in text
    assert "paper" in text


def test_unknown_method_is_refused():
    result = run("methods", "sparsity")
    assert result.exit_code == 2
    assert "did you mean 'sparsity_norm'" in result.stderr


def test_datasets_are_listed_and_told_about():
    assert "pima" in run("datasets").stdout
    listed = json.loads(run("datasets", "--json").stdout)
    assert "pima" in [facts["name"] for facts in listed]
    assert "pima" in run("datasets", "pima").stdout
    result = run("datasets", "pimma")
    assert result.exit_code == 2
    assert "did you mean 'pima'" in result.stderr


def test_a_data_set_is_written_to_a_file(tmp_path):
    result = run("datasets", "pima", "-o", tmp_path / "new/pima.csv")
    assert result.exit_code == 0, result.output
    dataset = nanwise.load_dataset("pima")
    written = nanwise.read_table(tmp_path / "new/pima.csv")
    assert list(written.columns) == list(dataset.frame.columns)
    assert written.isna().to_numpy().sum() == dataset.frame.isna().to_numpy().sum()
    assert run("datasets", "-o", tmp_path / "x.csv").exit_code == 2


@pytest.fixture
def numbers(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 1000, size=(200, 4)), columns=list("abcy"))
    path = tmp_path / "numbers.csv"
    frame.to_csv(path, index=False)
    return path


def test_the_command_line_offers_every_mechanism_and_explains_it():
    assert MECHANISMS == ampute.MECHANISMS
    words = [
        line.split()[0] for line in run("ampute", "--help").output.splitlines() if line.strip()
    ]
    assert [word for word in words if word in MECHANISMS] == list(MECHANISMS)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_ampute_hides_the_share_and_keeps_the_rest(numbers, tmp_path, mechanism):
    out = tmp_path / "out.csv"
    result = run(
        "ampute", numbers, "-o", out, "--share", 0.4, "--mechanism", mechanism,
        "--target", "y", "--columns", "a,b,y",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    before = pd.read_csv(numbers, dtype=str)
    after = pd.read_csv(out, dtype=str)
    gone = after.isna()
    assert list(gone.columns[gone.any()]) == ["a", "b"]
    assert abs(gone[["a", "b"]].to_numpy().mean() - 0.4) < 0.1
    assert (after == before).to_numpy()[~gone.to_numpy()].all()


def test_ampute_repeats_with_the_seed(numbers, tmp_path):
    for name, seed in (("one", 5), ("two", 5), ("three", 6)):
        run("ampute", numbers, "-o", tmp_path / name, "--seed", seed)
    one, two, three = ((tmp_path / n).read_bytes() for n in ("one", "two", "three"))
    assert one == two
    assert one != three


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["--columns", "z"], "'z'"),
        (["--target", "z"], "'z'"),
        (["--target", "a", "--columns", "a"], "kept whole"),
        (["--share", "1.5"], "share"),
        (["--mechanism", "magic"], "magic"),
    ],
)
def test_ampute_refuses_nonsense(numbers, tmp_path, args, word):
    result = run("ampute", numbers, "-o", tmp_path / "o.csv", *args)
    assert result.exit_code == 2
    assert word in result.stderr
    assert not (tmp_path / "o.csv").exists()


def test_tables_are_listed_and_an_unknown_one_is_refused():
    assert "sn/table9" in run("reproduce").stdout
    result = run("reproduce", "sn/table99")
    assert result.exit_code == 2
    assert "did you mean 'sn/table9" in result.stderr


def test_a_table_is_computed_and_written(tmp_path):
    result = run(
        "reproduce", "sn/table9", "--scale", "smoke", "--only", "Breast", "--only",
        "Zero Imputation w/o SN", "--only", "GAIN", "--out", tmp_path, "-q",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    facts = json.loads((tmp_path / "sn-table9.json").read_text())
    assert facts["scale"] == "smoke"
    assert facts["rows"][0]["cells"][0]["ours"]["n"] == 2
    assert f"report: {tmp_path / 'sn-table9.html'}" in result.stdout
    again = run("report", tmp_path / "sn-table9.json", "-o", tmp_path / "again")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again/sn-table9.html").exists()
