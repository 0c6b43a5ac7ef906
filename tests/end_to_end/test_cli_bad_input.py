"""Bad input through the real command line: the right answer, or one clear line and exit code 2."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from nanwise.cli.app import app
from nanwise.estimators.table_imputer import imputer_settings
from nanwise.saving import load

TINY = ["--folds", "2", "--no-stress", "--quiet", "--set", "plan.epochs=3", "--set", "hidden=4"]
ROWS = 24


def run(*args):
    return CliRunner().invoke(app, [str(a) for a in args])


def refused(result, *words):
    """One line, or two with a hint; no traceback; exit code 2; all words are said."""
    assert result.exit_code == 2, result.output
    lines = result.stderr.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert len(errors) == 1, result.stderr
    assert len(lines) - sum(line.startswith("warning: ") for line in lines) <= 2, result.stderr
    assert "Traceback" not in result.output
    for word in words:
        assert word in errors[0], result.stderr


def good_frame(rows=ROWS):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    frame["colour"] = np.where(np.arange(rows) % 3 == 0, "red", "blue")
    frame["y"] = np.where(frame["a"] + frame["b"] > 0, "yes", "no")
    frame.loc[::5, "a"] = np.nan
    return frame


@pytest.fixture
def table(tmp_path):
    """A function that writes a frame (or text, or bytes) and gives the path."""

    def write(content, name="data.csv"):
        path = tmp_path / name
        if isinstance(content, pd.DataFrame):
            content.to_csv(path, index=False)
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8")
        return path

    return write


@pytest.fixture
def compare(tmp_path):
    def call(path, *args, target="y", methods="zero,linear"):
        out = tmp_path / "out"
        return run(
            "compare", path, "--target", target, "--methods", methods, "--out", out, *TINY, *args
        )

    return call


@pytest.fixture
def fit(tmp_path):
    def call(path, *args, target="y", method="zero"):
        small = ["--set", "plan.epochs=2", "--set", "hidden=4"] if method == "zero" else []
        out = tmp_path / "model"
        return run(
            "fit", path, "--target", target, "--method", method, "-o", out, "-q", *small, *args
        )

    return call


def board(tmp_path):
    facts = json.loads((tmp_path / "out/report.json").read_text())
    return {row["method"]: row for row in facts["leaderboard"]}


# -- values ------------------------------------------------------------------------------------


def test_infinity_is_refused_with_its_place(table, compare, fit):
    frame = good_frame()
    frame.loc[7, "b"] = np.inf
    refused(fit(table(frame)), "infinit", "'b'", "7")
    refused(compare(table(frame)), "infinit", "'b'")


def test_a_column_without_values_is_allowed_with_a_warning(table, compare, tmp_path):
    result = compare(table(good_frame().assign(empty=np.nan)))
    assert result.exit_code == 0, result.output
    assert "'empty'" in result.stderr
    assert board(tmp_path)["zero"]["error"] is None


def test_a_row_without_values_gets_an_answer(table, fit, tmp_path):
    frame = good_frame()
    assert fit(table(frame)).exit_code == 0
    frame.loc[3, ["a", "b", "colour"]] = None
    result = run(
        "predict", tmp_path / "model", table(frame, "new.csv"), "-o", tmp_path / "p.csv", "-q"
    )
    assert result.exit_code == 0, result.output
    answers = pd.read_csv(tmp_path / "p.csv")["prediction"]
    assert len(answers) == ROWS
    assert set(answers) <= {"yes", "no"}


def test_a_constant_column_is_allowed(table, compare, tmp_path):
    result = compare(table(good_frame().assign(constant=7)))
    assert result.exit_code == 0, result.output
    assert all(row["error"] is None for row in board(tmp_path).values())


# -- target ------------------------------------------------------------------------------------


def test_one_class_only_is_refused(table, compare, fit):
    refused(compare(table(good_frame().assign(y="yes"))), "'y'", "yes")
    refused(fit(table(good_frame().assign(y="yes"))), "yes")


def test_fewer_rows_than_folds(table, compare):
    refused(compare(table(good_frame(4)), "--folds", "7"), "4 rows", "7 folds")


def test_target_with_gaps_leaves_rows_out_and_says_so(table, compare, tmp_path):
    frame = good_frame()
    frame.loc[[1, 5], "y"] = None
    result = compare(table(frame))
    assert result.exit_code == 0, result.output
    assert "warning: 2 rows" in result.stderr
    facts = json.loads((tmp_path / "out/report.json").read_text())
    assert facts["data"]["rows"] == ROWS - 2


def test_target_without_any_value(table, compare):
    refused(compare(table(good_frame().assign(y=np.nan))), "'y'")


def test_target_that_is_no_column(table, compare, fit):
    refused(compare(table(good_frame()), target="colur"), "'colur'", "did you mean 'colour'?")
    refused(fit(table(good_frame()), target="z"), "'z'", "there are: a, b, colour, y")


def test_target_not_given(table):
    refused(run("compare", table(good_frame())), "--target")


def test_target_of_words_for_regression(table, compare):
    refused(compare(table(good_frame()), "--task", "regression"), "'y'", "numeric")


# -- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", "\n\n", "a,b,y\n"], ids=["empty", "blank", "header"])
def test_a_file_without_rows(table, compare, content):
    refused(compare(table(content)), "data.csv")


def test_binary_junk(table, compare):
    refused(compare(table(np.random.default_rng(0).bytes(4096))), "data.csv")


def test_a_gzip_file_that_is_cut_off(table, compare):
    import gzip

    whole = gzip.compress(good_frame(200).to_csv(index=False).encode())
    refused(compare(table(whole[: len(whole) // 2], "data.csv.gz")), "data.csv.gz")


def test_a_parquet_file_that_is_none(table, compare):
    refused(compare(table(b"PAR1 and then nothing of it PAR1", "data.parquet")), "data.parquet")


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_another_delimiter_is_found(table, compare, sep):
    result = compare(table(good_frame().to_csv(index=False, sep=sep)))
    assert result.exit_code == 0, result.output


def test_a_delimiter_that_is_not_found_is_one_line(table, compare):
    refused(compare(table(good_frame().to_csv(index=False, sep="^"))), "'y'")


def test_not_utf_8_is_named(table, compare):
    content = good_frame().replace("red", "rosé").to_csv(index=False).encode("latin-1")
    refused(compare(table(content)), "data.csv", "UTF-8")


def test_rows_of_different_length(table, compare):
    refused(compare(table(good_frame().to_csv(index=False) + "1,2,red,yes,5,6\n")), "data.csv")


def test_duplicate_column_names(table, compare):
    text = good_frame().to_csv(index=False).replace("a,b,colour,y", "a,a,colour,y", 1)
    refused(compare(table(text)), "'a'")


def test_ten_thousand_columns(table, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 10_000)).round(2))
    frame.columns = [f"c{i}" for i in range(10_000)]
    frame["y"] = np.arange(20) % 2
    small = ["--set", "plan.epochs=1", "--set", "hidden=2"]
    path = table(frame)
    result = run(
        "fit", path, "--target", "y", "--method", "zero", "-o", tmp_path / "m", "-q", *small
    )
    assert result.exit_code == 0, result.output
    result = run("predict", tmp_path / "m", path, "-o", tmp_path / "p.csv", "-q")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(tmp_path / "p.csv")) == 20


def test_a_file_that_is_not_there(compare, tmp_path):
    refused(compare(tmp_path / "nothing.csv"), "nothing.csv", "no such file")


def test_a_folder_instead_of_a_file(compare, tmp_path):
    refused(compare(tmp_path), str(tmp_path))


def test_a_file_that_vanishes_before_it_is_read(table, fit, monkeypatch):
    import nanwise.data.table as data_table

    path, read = table(good_frame()), data_table.read_table

    def vanish(*args, **kwargs):
        os.unlink(path)
        return read(*args, **kwargs)

    monkeypatch.setattr(data_table, "read_table", vanish)
    refused(fit(path), "data.csv")


def test_a_file_that_vanishes_between_chunks_leaves_no_half_output(
    table, fit, monkeypatch, tmp_path
):
    import nanwise.data.table as data_table

    assert fit(table(good_frame())).exit_code == 0
    new, read = table(good_frame(), "new.csv"), data_table.read_chunks

    def vanish(*args, **kwargs):
        chunks = read(*args, **kwargs)
        yield next(chunks)
        raise FileNotFoundError(2, "No such file or directory", str(new))

    monkeypatch.setattr(data_table, "read_chunks", vanish)
    result = run(
        "predict", tmp_path / "model", new, "-o", tmp_path / "p.csv", "--chunk-rows", 5, "-q"
    )
    refused(result, "new.csv", "No such file")
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "model", "new.csv"]


# -- arguments ---------------------------------------------------------------------------------


def test_unknown_method(table, compare, fit):
    refused(compare(table(good_frame()), methods="zero,lineer"), "'lineer'", "'linear'")
    refused(fit(table(good_frame()), method="sparsity_nrom"), "did you mean 'sparsity_norm'")


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("hiden=4", "did you mean 'hidden'?"),
        ("plan.epoch=4", "did you mean 'epochs'?"),
        ("plan.epochs=many", "plan.epochs"),
        ("plan.lr=-1", "plan.lr"),
        ("plan=5", "plan"),
        ("epochs", "NAME=VALUE"),
        ("gaps=mean", "--method"),
        ("gaps.unheard=1", "unheard"),
    ],
)
def test_settings_that_do_not_exist(table, fit, setting, word):
    refused(fit(table(good_frame()), "--set", setting), word)


def test_settings_that_an_imputer_does_not_have(table, fit, tmp_path):
    path = table(good_frame())
    refused(
        fit(path, "--set", "gaps.rounds=3", method="mice"),
        "--set gaps.rounds: no such parameter",
        *imputer_settings("mice"),
    )
    assert not (tmp_path / "model").exists()
    small = ["gaps.plan.epochs=1", "gaps.hidden=4", "plan.epochs=1", "hidden=4"]
    result = fit(path, *(word for pair in small for word in ("--set", pair)), method="ae")
    assert result.exit_code == 0, result.output
    assert load(tmp_path / "model").estimator_.gaps.hidden == (4,)


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"columns": {"a": "colour"}}', '{"columns": {"nowhere": "numeric"}}'],
    ids=["json", "list", "kind", "column"],
)
def test_a_schema_that_cannot_be_used(table, compare, fit, content):
    schema = table(content, "schema.json")
    refused(compare(table(good_frame()), "--schema", schema))
    refused(fit(table(good_frame()), "--schema", schema))


def test_a_schema_file_that_is_not_there(table, compare):
    refused(compare(table(good_frame()), "--schema", "no/schema.json"), "no/schema.json")


def test_a_broken_text_in_a_numeric_column(table, fit, tmp_path):
    assert fit(table(good_frame())).exit_code == 0
    frame = good_frame().astype({"a": object})
    frame.loc[4, "a"] = "tall"
    result = run(
        "predict", tmp_path / "model", table(frame, "new.csv"), "-o", tmp_path / "p.csv", "-q"
    )
    refused(result, "'a'", "'tall'")


# -- models ------------------------------------------------------------------------------------


def test_a_foreign_folder_is_no_model(table, tmp_path):
    path = table(good_frame())
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/meta.json").write_text('{"name": "something else"}')
    refused(run("predict", tmp_path / "foreign", path, "-o", tmp_path / "p.csv"), "foreign")
    refused(run("predict", tmp_path / "absent", path, "-o", tmp_path / "p.csv"), "absent")
    refused(run("predict", path, path, "-o", tmp_path / "p.csv"))
    assert not (tmp_path / "p.csv").exists()


def test_a_tampered_model_is_refused(table, fit, tmp_path):
    path = table(good_frame())
    assert fit(path).exit_code == 0
    for file in sorted((tmp_path / "model").iterdir()):
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        refused(run("predict", tmp_path / "model", path, "-o", tmp_path / "p.csv"), "model")
        file.write_bytes(whole)
    assert run("predict", tmp_path / "model", path, "-o", tmp_path / "p.csv").exit_code == 0


def test_a_missing_column_is_named(table, fit, tmp_path):
    assert fit(table(good_frame())).exit_code == 0
    new = table(good_frame().drop(columns="b"), "new.csv")
    refused(run("predict", tmp_path / "model", new, "-o", tmp_path / "p.csv", "-q"), "'b'")
    assert not (tmp_path / "p.csv").exists()


# -- outputs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["compare", "fit", "ampute"])
def test_an_output_folder_that_cannot_be_made(table, tmp_path, command):
    path = table(good_frame())
    out = path / "below_a_file" / "x"
    flag = "--out" if command == "compare" else "-o"
    target = ["--target", "y"] if command != "ampute" else []
    refused(run(command, path, *target, flag, out), "cannot create", "below_a_file")


@pytest.mark.parametrize("command", ["ampute", "predict", "fit", "compare"])
def test_the_input_is_never_overwritten(table, fit, tmp_path, command):
    path = table(good_frame())
    assert fit(path).exit_code == 0
    before = path.read_bytes()
    calls = {
        "ampute": ["ampute", path, "-o", path],
        "predict": ["predict", tmp_path / "model", path, "-o", path],
        "fit": ["fit", path, "--target", "y", "-o", path],
        "compare": ["compare", path, "--target", "y", "--out", path],
    }
    refused(run(*calls[command]), "input file")
    assert path.read_bytes() == before


def test_a_folder_with_other_files_is_not_made_a_model(table, tmp_path):
    path = table(good_frame())
    refused(run("fit", path, "--target", "y", "-o", tmp_path), "other files")


# -- the real program --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        ["compare", "nothing.csv", "--target", "y"],
        ["fit", "data.csv", "--target", "z", "-o", "model"],
        ["comapre"],
        ["report", "nowhere"],
    ],
    ids=lambda args: args[0],
)
def test_the_program_itself_ends_with_code_2(table, tmp_path, args):
    table(good_frame())
    done = subprocess.run(
        [sys.executable, "-m", "nanwise", *args],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert 1 <= len(done.stderr.splitlines()) <= 2


def test_debug_shows_the_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "nanwise", "report", "nowhere"],
        cwd=tmp_path,
        env={**os.environ, "NANWISE_DEBUG": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr
