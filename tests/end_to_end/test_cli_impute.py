"""``nanwise impute`` and ``compare-imputers`` through the real command line."""

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from nanwise import load, registry
from nanwise.cli.app import app
from nanwise.estimators.impute.base import Imputer


def run(command, *args):
    return CliRunner().invoke(app, [command, *map(str, args)])


def refused(result, *words):
    """One line, or two with a hint; no traceback; exit code 2; all words are said."""
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert 1 <= len(lines) <= 2, result.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in result.output
    for word in words:
        assert word in lines[0], result.stderr


class Noisy(Imputer):
    """Column means, and normal draws around them: the smallest imputer that samples."""

    samples = True

    def __init__(self, kinds=None, random_state=None):
        self.kinds = kinds
        self.random_state = random_state

    def _learn(self, codes, seed):
        self.mean_, self.sd_ = np.nanmean(codes, axis=0), np.nanstd(codes, axis=0)

    def _fill(self, codes):
        return np.where(np.isnan(codes), self.mean_, codes)

    def _draw(self, codes, n, rng):
        return np.where(np.isnan(codes), rng.normal(self.mean_, self.sd_, (n, *codes.shape)), codes)


@pytest.fixture(autouse=True)
def _noisy(monkeypatch):
    registry.known()
    method = registry.Method("noisy", "imputer", Noisy, "Draws around means.", inputs="mixed")
    monkeypatch.setitem(registry._METHODS, "noisy", method)


def frame_of(n=120):
    rng = np.random.default_rng(0)
    z = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "id": [f"p{k:03}" for k in range(n)],
            "age": np.rint(50 + 10 * z).astype(int),
            "height": (170 + 8 * z + rng.normal(size=n)).round(1),
            "colour": np.where(z > 0, "red", "dark blue"),
            "smokes": np.where(rng.random(n) < 0.3, "yes", "no"),
        }
    ).astype(object)
    gaps = rng.random(frame.shape) < 0.15
    gaps[:, 0] = False
    return frame.mask(gaps, ""), gaps


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file with quotes, Windows line ends and gaps; the frame behind it; where the gaps are."""
    frame, gaps = frame_of()
    path = tmp_path_factory.mktemp("data") / "people.csv"
    lines = [",".join(f'"{c}"' if " " in str(c) else str(c) for c in row) for row in frame.values]
    path.write_bytes("\r\n".join([",".join(frame.columns), *lines, ""]).encode())
    schema = path.with_name("schema.json")
    schema.write_text(json.dumps({"columns": {"id": "drop"}}))
    return path, frame, gaps


@pytest.fixture(scope="module")
def done(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "filled"
    schema = table[0].with_name("schema.json")
    result = run(
        "impute",
        table[0],
        "--method",
        "iterative",
        "--out",
        out,
        "--save",
        "-q",
        "--schema",
        schema,
    )
    assert result.exit_code == 0, result.output
    return out, result


# -- the job --------------------------------------------------------------------------------------


def test_the_folder_holds_the_table_the_report_and_the_model(done):
    out, result = done
    names = sorted(path.name for path in out.iterdir())
    assert names == ["completed.csv", "model", "report.html", "report.json", "report.md"]
    for word in ("iterative", "gaps filled", "height", "mean filling", "completed.csv"):
        assert word in result.stdout


def test_observed_cells_are_untouched_to_the_byte(done, table):
    path, _, gaps = table
    before = path.read_bytes().split(b"\r\n")
    after = (done[0] / "completed.csv").read_bytes().split(b"\r\n")
    assert before[0] == after[0]
    assert len(before) == len(after)
    for old, new, gap in zip(before[1:-1], after[1:-1], gaps, strict=True):
        for a, b, hole in zip(old.split(b","), new.split(b","), gap, strict=True):
            assert (a == b) != hole
            assert b not in (b"", b'""')


def test_filled_cells_look_like_the_others(done):
    found = pd.read_csv(done[0] / "completed.csv")
    assert found.notna().all().all()
    assert found["age"].dtype.kind == "i"
    assert set(found["colour"]) == {"red", "dark blue"}
    assert set(found["smokes"]) == {"yes", "no"}
    assert (found["height"] == found["height"].round(1)).all()


def test_the_facts_say_what_was_filled_and_how_well(done, table):
    facts = json.loads((done[0] / "report.json").read_text(encoding="utf-8"))
    assert facts["data"]["filled"] == facts["data"]["missing"] == int(table[2].sum())
    errors = {row["name"]: row for row in facts["check"]["columns"]}
    assert errors["height"]["error"] < 0.7 * errors["height"]["mean_error"]
    assert errors["colour"]["measure"] == "share wrong"
    assert {d["name"] for d in facts["densities"]} == {"age", "height", "colour", "smokes"}
    html = (done[0] / "report.html").read_text(encoding="utf-8")
    assert html.count("<svg") == 4
    assert "Observed against imputed" in html
    assert CliRunner().invoke(app, ["report", str(done[0])]).exit_code == 0


def test_new_rows_are_filled_by_the_saved_model_whatever_the_chunks(done, table, tmp_path):
    path, _, gaps = table
    lines = path.read_bytes().split(b"\r\n")
    new = tmp_path / "new.csv"
    new.write_bytes(b"\r\n".join(lines[:40]) + b"\r\n")
    found = []
    for rows in (7, 1000):
        result = run(
            "impute",
            done[0] / "model",
            new,
            "--out",
            tmp_path / f"o{rows}",
            "--chunk-rows",
            rows,
            "-q",
        )
        assert result.exit_code == 0, result.output
        found.append((tmp_path / f"o{rows}" / "completed.csv").read_bytes())
    assert found[0] == found[1]
    whole = (done[0] / "completed.csv").read_bytes().split(b"\r\n")
    assert found[0].split(b"\r\n")[:40] == whole[:40]
    assert f"{int(gaps[:39].sum())} gaps filled in 39 rows" in result.stdout


def test_the_saved_model_works_in_python(done, table):
    model = load(done[0] / "model")
    filled = model.transform(pd.read_csv(table[0]))
    expected = pd.read_csv(done[0] / "completed.csv")
    np.testing.assert_array_equal(filled["age"], expected["age"])
    assert filled["colour"].tolist() == expected["colour"].tolist()


def test_several_files_differ_in_gaps_only(tmp_path):
    path = tmp_path / "small.csv"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)).round(2), columns=list("abc"))
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    frame.to_csv(path, index=False)
    result = run("impute", path, "-m", 3, "--method", "noisy", "--out", tmp_path / "o", "-q")
    assert result.exit_code == 0, result.output
    draws = [pd.read_csv(tmp_path / "o" / f"completed-{k}.csv") for k in (1, 2, 3)]
    gap = frame.isna().to_numpy()
    stack = np.stack([draw.to_numpy() for draw in draws])
    assert (stack[:, ~gap] == frame.to_numpy()[~gap]).all()
    assert (stack[0, gap] != stack[1, gap]).mean() > 0.9
    facts = json.loads((tmp_path / "o" / "report.json").read_text(encoding="utf-8"))
    assert facts["draws"] == 3
    assert facts["check"]["scores"]["crps"] > 0
    assert "CRPS" in (tmp_path / "o" / "report.html").read_text(encoding="utf-8")


def test_draws_of_a_saved_model_are_as_many_as_it_has_parameters_for(tmp_path):
    path = tmp_path / "small.csv"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)).round(2), columns=list("ab"))
    frame.mask(rng.random(frame.shape) < 0.2).to_csv(path, index=False)
    out, mice = tmp_path / "o", ["--method", "mice", "--set", "sets=2", "--set", "burn_in=2"]
    result = run("impute", path, "-m", 3, *mice, "--out", out, "--save", "--check", 0, "-q")
    assert result.exit_code == 0, result.output
    assert load(out / "model").imputer_.own_draws_ == 3
    new = ["impute", out / "model", path, "-q", "--out", tmp_path / "n", "-m"]
    assert run(*new, 3).exit_code == 0
    result = run(*new, 4)
    assert result.exit_code == 2
    assert "parameters for 3 draws" in result.stderr


def test_parquet_keeps_its_types(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {
        "k": pa.array([1, None, 3, 4, 5, None], pa.int32()),
        "x": pa.array([1.0, 2, None, 4, 5, 6]),
        "c": pa.array(["a", "b", None, "a", "b", "a"]).dictionary_encode(),
    }
    pq.write_table(pa.table(columns), path)
    result = run("impute", path, "--out", tmp_path / "o", "-q", "--method", "mean", "--check", 0)
    assert result.exit_code == 0, result.output
    found = pq.read_table(tmp_path / "o" / "completed.parquet")
    assert found.schema.equals(pq.read_schema(path))
    assert sum(column.null_count for column in found.columns) == 0
    assert found["k"].to_pylist()[:1] == [1]


def test_packed_tsv_and_data_sets_go_in_too(tmp_path):
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n1\t2\n\t3\n4\t5\n5\t6\n"))
    assert run("impute", path, "--out", tmp_path / "o", "-q", "--check", 0).exit_code == 0
    text = gzip.decompress((tmp_path / "o" / "completed.tsv.gz").read_bytes())
    assert text.splitlines()[0] == b"a\tb"
    assert text.splitlines()[2].endswith(b"\t3")
    result = run("impute", "pima", "--method", "mean", "--out", tmp_path / "p", "-q", "--check", 0)
    assert result.exit_code == 0, result.output
    assert pd.read_csv(tmp_path / "p" / "completed.csv").notna().all().all()


def test_no_gaps_is_said_and_copied(tmp_path):
    path = tmp_path / "full.csv"
    path.write_bytes(b'a,b\r\n1,"x"\r\n2,y\r\n')
    result = run("impute", path, "--out", tmp_path / "o", "-q")
    assert result.exit_code == 0, result.output
    assert "no gaps" in result.stdout
    assert (tmp_path / "o" / "completed.csv").read_bytes() == path.read_bytes()


def test_columns_without_any_value_and_identifiers_stay_as_they_are(tmp_path):
    frame, _ = frame_of(150)
    frame["id"] = frame["id"].mask(frame.index % 10 == 0, "")
    frame["nothing"] = ""
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    result = run("impute", path, "--out", tmp_path / "o", "-q", "--check", 0, "--method", "mean")
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "o" / "completed.csv")
    assert found["nothing"].isna().all()
    assert found["id"].isna().sum() == 15
    assert found["age"].notna().all()
    assert "nothing was observed in column 'nothing'" in result.stderr
    assert "column 'id': 15 gaps stay" in result.stderr


# -- bad input ------------------------------------------------------------------------------------


def test_bad_asks_are_refused(table, tmp_path):
    path, out = table[0], ["--out", tmp_path / "o", "-q"]
    refused(run("impute", path, "-m", 0, *out), "-m")
    refused(run("impute", path, "--method", "men", *out), "no imputer is called 'men'")
    refused(run("impute", path, "-m", 2, "--method", "mean", *out), "one answer", "noisy")
    refused(run("impute", path, "--method", "mean", "--set", "width=3", *out), "width")
    refused(run("impute", path, "--method", "mean", "--device", "cuda", *out), "no network")
    refused(run("impute", tmp_path / "none.csv", *out), "no such file")
    assert not (tmp_path / "o" / "completed.csv").exists()


def test_a_graphics_card_that_is_not_there_is_refused(table, tmp_path, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    found = [m.name for m in registry.known("imputer") if m.name != "noisy"]
    args = ["--method", found[0], "--device", "cuda", "--out", tmp_path / "o", "-q"]
    result = run("impute", table[0], *args)
    refused(result)
    assert "CUDA" in result.stderr or "no network" in result.stderr


def test_nothing_to_learn_from_is_refused(tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text("a,b\n,\n,\n")
    refused(run("impute", empty, "--out", tmp_path / "o", "-q"), "nothing is observed")
    single = tmp_path / "single.csv"
    single.write_text("a,b\n1,\n")
    refused(run("impute", single, "--out", tmp_path / "o", "-q"), "two rows")


def test_the_input_is_never_overwritten(table, tmp_path):
    path = tmp_path / "completed.csv"
    path.write_bytes(table[0].read_bytes())
    refused(run("impute", path, "--out", tmp_path, "-q"), "overwritten")
    assert path.read_bytes() == table[0].read_bytes()


def test_completed_files_of_two_runs_are_never_mixed(table, tmp_path):
    (tmp_path / "completed-3.csv").write_text("of a run with three")
    told = run("impute", table[0], "--method", "mice", "-m", "2", "--out", tmp_path, "-q")
    refused(told, "completed-3.csv of an earlier run")
    assert not (tmp_path / "completed-1.csv").exists()


def test_a_model_is_used_as_it_is(done, table, tmp_path):
    model, path = done[0] / "model", table[0]
    refused(run("impute", model), "saved model")
    refused(run("impute", model, path, "--method", "mean", "--out", tmp_path), "--method")
    refused(run("impute", model, path, "-m", 2, "--out", tmp_path), "one answer")
    refused(run("impute", tmp_path / "no", path, "--out", tmp_path), "no such model")
    other = tmp_path / "other.csv"
    other.write_text("age,height\n1,2\n")
    refused(run("impute", model, other, "--out", tmp_path), "colour")


# -- comparison -----------------------------------------------------------------------------------


def test_imputers_are_ranked_stored_and_shown(table, tmp_path):
    schema = table[0].with_name("schema.json")
    args = [
        "--methods",
        "mean,iterative",
        "--rates",
        ".2,.4",
        "--mechanisms",
        "mcar,mnar",
        "--out",
        tmp_path / "o",
        "-q",
        "--schema",
        schema,
    ]
    result = run("compare-imputers", table[0], *args)
    assert result.exit_code == 0, result.output
    for word in ("iterative", "MCAR 20 %", "MNAR 40 %", "RMSE/range", "PFC", "seconds"):
        assert word in result.stdout
    lines = (tmp_path / "o" / "cells.jsonl").read_text().splitlines()
    assert len(lines) == 8
    facts = json.loads((tmp_path / "o" / "report.json").read_text(encoding="utf-8"))
    assert [row["method"] for row in facts["leaderboard"]] == ["iterative", "mean"]
    assert "<svg" in (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert run("compare-imputers", table[0], *args).exit_code == 0
    assert len((tmp_path / "o" / "cells.jsonl").read_text().splitlines()) == 8


def test_bad_comparisons_are_refused(table, tmp_path):
    out = ["--out", tmp_path / "o", "-q", "--methods", "mean"]
    refused(run("compare-imputers", table[0], "--rates", "x", *out), "--rates")
    refused(run("compare-imputers", table[0], "--rates", "1.5", *out), "between 0 and 1")
    refused(run("compare-imputers", table[0], "--mechanisms", "mcra", *out), "mcra")
    refused(run("compare-imputers", table[0], "--methods", "men", "-q"), "men")
    refused(run("compare-imputers", table[0], "--set", "epochs=3", *out), "METHOD.NAME")
    refused(run("compare-imputers", table[0], "--set", "knn.k=3", *out), "not compared")
