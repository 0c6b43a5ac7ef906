"""``nanwise recommend`` through the real command line: the job, one user, and bad input."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from nanwise.cli.app import app
from nanwise.cli.recommend import known_user
from nanwise.data.ratings import synthetic_ratings

TINY = ["-q", "--set", "hidden=4", "--set", "penalty=5", "--epochs", "5"]


def run(*args):
    return CliRunner().invoke(app, ["recommend", *map(str, args)])


def refused(result, *words):
    """One line, or two with a hint; no traceback; exit code 2; all words are said."""
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert 1 <= len(lines) <= 2, result.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in result.output
    for word in words:
        assert word in lines[0], result.stderr


def frame_of(ratings):
    return ratings.to_frame().assign(time=np.arange(len(ratings)))


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "ratings.csv"
    frame_of(synthetic_ratings(60, 40, 900, random_state=0)).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def done(good, tmp_path_factory):
    """Folder and output of one whole run."""
    out = tmp_path_factory.mktemp("out") / "rec"
    result = run(good, "--out", out, "--top", 5, *TINY)
    assert result.exit_code == 0, result.output
    return out, result


@pytest.fixture
def text(tmp_path):
    """A function that writes text and gives the path."""

    def write(content, name="r.csv"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return write


def quick(path, tmp_path, *args):
    """With a baseline, as the network is not what is tested."""
    return run(path, "--out", tmp_path / "out", "--method", "biases", "-q", *args)


# -- the job --------------------------------------------------------------------------------------


def test_the_folder_holds_lists_report_and_model(done):
    out, result = done
    there = sorted(p.name for p in out.iterdir())
    assert there == ["model", "report.html", "report.json", "report.md", "top.csv"]
    for word in ("RMSE", "NDCG@5", "recall@5", "coverage", "autorec", "biases", "popularity"):
        assert word in result.stdout
    assert "trained again on all ratings" in result.stdout


def test_every_user_has_a_list_without_what_was_rated(done, good):
    out, _ = done
    lists, ratings = pd.read_csv(out / "top.csv"), pd.read_csv(good)
    assert list(lists.columns) == ["user", "rank", "item", "score"]
    assert set(lists["user"]) == set(ratings["user"])
    rated = set(map(tuple, ratings[["user", "item"]].to_numpy().tolist()))
    assert not rated & set(map(tuple, lists[["user", "item"]].to_numpy().tolist()))
    for _, part in lists.groupby("user"):
        assert part["rank"].tolist() == list(range(1, len(part) + 1))
        assert part["score"].is_monotonic_decreasing
        assert len(part) <= 5


def test_the_report_has_the_stress_curve_of_both_models(done):
    out, _ = done
    facts = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert set(facts["stress"]) == {"autorec", "autorec, not normalised"}
    assert len(facts["stress"]["autorec"]["outputs"][0]["mean"]) == 10
    assert facts["title"] == "Recommendations from ratings.csv"
    assert facts["top"]["rows"] == len(pd.read_csv(out / "top.csv"))
    assert "Prediction against ratings known" in (out / "report.html").read_text(encoding="utf-8")


def test_one_user_of_the_saved_model_gets_the_list_of_the_file(done):
    out, _ = done
    result = run(out / "model", "--user", 7, "--top", 5)
    assert result.exit_code == 0, result.output
    lists = pd.read_csv(out / "top.csv")
    own = lists[lists["user"] == 7]
    printed = [line.split() for line in result.stdout.splitlines() if line.split()[:1] != ["rank"]]
    rows = [cells for cells in printed if len(cells) == 3]
    assert [int(cells[1]) for cells in rows] == own["item"].tolist()
    np.testing.assert_allclose([float(c[2]) for c in rows], own["score"], atol=6e-4)


def test_the_report_can_be_written_again(done, tmp_path):
    out, _ = done
    result = CliRunner().invoke(app, ["report", str(out), "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.md").read_text() == (out / "report.md").read_text()


def test_a_second_run_replaces_the_first(good, tmp_path):
    assert quick(good, tmp_path).exit_code == 0
    assert quick(good, tmp_path, "--top", 2).exit_code == 0
    assert pd.read_csv(tmp_path / "out/top.csv")["rank"].max() == 2


@pytest.mark.parametrize("split", ["rating", "time", "leave-k-out"])
def test_every_split(good, tmp_path, split):
    assert quick(good, tmp_path, "--split", split, "--leave", 2).exit_code == 0
    facts = json.loads((tmp_path / "out/report.json").read_text())
    assert facts["protocol"]["split"] == split.replace("-", "_")
    assert facts["protocol"]["held"] == (120 if split == "leave-k-out" else 90)


def test_rows_of_users_and_other_columns(tmp_path, text):
    ratings = frame_of(synthetic_ratings(40, 30, 500, random_state=1))
    named = ratings.rename(columns={"user": "who", "item": "what", "rating": "stars"})
    path = text(named[["stars", "what", "who"]].to_csv(index=False))
    out = tmp_path / "out"
    result = run(path, "--columns", "who,what,stars", "--by", "user", "--out", out, *TINY)
    assert result.exit_code == 0, result.output
    facts = json.loads((out / "report.json").read_text())
    assert facts["stress"]["autorec"]["rows_are"] == "user"
    assert facts["model"]["params"]["by"] == "user"


def test_a_set_of_ratings_by_its_name_is_offered(tmp_path):
    refused(run("ml_100", "--out", tmp_path / "x"), "no such file", "ml_100k")
    assert not (tmp_path / "x").exists()


# -- ids ------------------------------------------------------------------------------------------

IDS = ['Doe, "J"', "007", "7", "Ångström 北京 🎬", "a;b", "0x1F", "1e5", "x\ty"]


def test_odd_ids_come_back_exactly(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "odd.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "item", "rating"])
        for user in IDS:
            for item in rng.choice(IDS, size=5, replace=False):
                writer.writerow([user, f"film {item}", rng.integers(1, 6)])
    assert quick(path, tmp_path).exit_code == 0
    with open(tmp_path / "out/top.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["user"] for row in rows} == set(IDS)
    assert {row["item"] for row in rows} <= {f"film {item}" for item in IDS}
    for user in IDS:
        result = run(tmp_path / "out/model", "--user", user)
        assert result.exit_code == 0, (user, result.output)


def test_a_number_that_is_typed_finds_numbers_and_texts():
    def model(*ids):
        users = np.empty(len(ids), dtype=object)
        users[:] = ids
        return type("Model", (), {"users_": users})

    assert known_user(model(7, 8), "7") == 7
    assert known_user(model("7", "07"), "07") == "07"
    assert known_user(model(-3), "-3") == -3
    with pytest.raises(ValueError, match="no user has the id '07'"):
        known_user(model("7", "8"), "07")


# -- bad input ------------------------------------------------------------------------------------

HEAD = "user,item,rating\n"
ROWS = "".join(f"u{u},i{i},{(u + i) % 5 + 1}\n" for u in range(6) for i in range(6) if u != i)


def test_an_unknown_user(done):
    out, _ = done
    refused(run(out / "model", "--user", "nobody"), "'nobody'")
    refused(run(out / "model", "--user", "999"), "'999'")


def test_a_model_needs_a_user_and_a_user_needs_a_model(done, good, tmp_path):
    out, _ = done
    refused(run(out / "model"), "--user")
    refused(run(good, "--user", "7"), "is a file")
    refused(run(tmp_path / "nowhere", "--user", "7"), "nowhere")
    refused(run(tmp_path), "folder")


def test_a_model_that_is_no_recommender(tmp_path):
    frame = pd.DataFrame({"a": np.arange(30.0), "y": np.arange(30) % 2})
    frame.to_csv(tmp_path / "t.csv", index=False)
    fit = ["fit", tmp_path / "t.csv", "--target", "y", "--method", "zero", "-o", tmp_path / "m"]
    small = ["-q", "--set", "plan.epochs=1", "--set", "hidden=2"]
    assert CliRunner().invoke(app, [*map(str, fit), *small]).exit_code == 0
    refused(run(tmp_path / "m", "--user", "7"), "no recommender")


def test_text_in_the_rating_column(text, tmp_path):
    refused(quick(text(HEAD + ROWS + "u1,i1,good\n"), tmp_path), "line 32", "'good'")


def test_a_rating_outside_the_scale(text, tmp_path):
    path = text(HEAD + ROWS + "u1,i1,9\n")
    refused(quick(path, tmp_path, "--scale", "1,5"), "line 32", "1 to 5", "got 9")
    assert quick(path, tmp_path).exit_code == 0
    refused(quick(path, tmp_path, "--scale", "five"), "--scale", "'five'")


def test_an_infinite_rating(text, tmp_path):
    refused(quick(text(HEAD + ROWS + "u1,i1,inf\n"), tmp_path), "line 32", "infinite")


def test_a_user_without_rating_is_refused_or_dropped(text, tmp_path):
    path = text(HEAD + ROWS + "u9,i1,\n")
    refused(quick(path, tmp_path), "line 32", "rating is missing", "drop")
    result = quick(path, tmp_path, "--missing", "drop")
    assert result.exit_code == 0, result.output
    assert "warning: 1 rows without" in result.stderr
    assert "u9" not in set(pd.read_csv(tmp_path / "out/top.csv")["user"])


@pytest.mark.parametrize("rows", ["", "u1,i1,3\n", "u1,i1,3\nu2,i2,4\n"])
def test_no_rating_one_rating_two_ratings(text, tmp_path, rows):
    refused(quick(text(HEAD + rows), tmp_path))
    assert not (tmp_path / "out/top.csv").exists()


@pytest.mark.parametrize("method", ["autorec", "biases", "popularity"])
def test_items_and_users_with_a_single_rating(text, tmp_path, method):
    path = text(HEAD + ROWS + "lonely,i1,2\nu1,odd,5\n")
    small = TINY if method == "autorec" else ["-q"]
    result = run(path, "--method", method, "--out", tmp_path / "out", "--test", 0.4, *small)
    assert result.exit_code == 0, result.output
    lists = pd.read_csv(tmp_path / "out/top.csv")
    assert "lonely" in set(lists["user"])
    assert np.isfinite(lists["score"]).all()


def test_a_user_who_rated_everything_has_an_empty_list(text, tmp_path):
    path = text(HEAD + ROWS + "".join(f"all,i{i},3\n" for i in range(6)))
    assert quick(path, tmp_path).exit_code == 0
    assert "all" not in set(pd.read_csv(tmp_path / "out/top.csv")["user"])
    result = run(tmp_path / "out/model", "--user", "all")
    assert result.exit_code == 0
    assert "rated every item" in result.stdout


def test_duplicates_are_counted_or_refused(text, tmp_path):
    path = text(HEAD + ROWS + "u0,i1,1\nu0,i1,5\n")
    result = quick(path, tmp_path)
    assert result.exit_code == 0
    assert "2 rows repeat" in result.stderr
    assert "last" in result.stderr
    refused(quick(path, tmp_path, "--duplicates", "error"), "2 rows repeat", "'u0'")


def test_a_split_by_time_without_times(text, tmp_path):
    refused(quick(text(HEAD + ROWS), tmp_path, "--split", "time"), "time")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--columns", "user,item"], ["--columns"]),
        (["--columns", "user,item,stars"], ["stars"]),
        (["--method", "autorek"], ["did you mean 'autorec'"]),
        (["--method", "sparsity_norm"], ["sparsity_norm"]),
        (["--method", "popularity", "--epochs", "3"], ["popularity", "epochs"]),
        (["--method", "popularity", "--by", "item"], ["popularity", "'by'"]),
        (["--method", "autorec", "--set", "hiden=3"], ["'hiden'", "hidden"]),
        (["--method", "autorec", "--set", "plan.lr=-1"], ["plan.lr"]),
        (["--method", "autorec", "--set", "hidden=x"], ["hidden"]),
        (["--test", "1"], ["--test"]),
        (["--top", "0"], ["--top"]),
        (["--duplicates", "best"], ["--duplicates"]),
    ],
)
def test_arguments_that_cannot_be_used(text, tmp_path, args, words):
    refused(quick(text(HEAD + ROWS), tmp_path, *args), *words)
    assert not (tmp_path / "out/top.csv").exists()


def test_the_input_is_never_overwritten(text, tmp_path):
    (tmp_path / "out").mkdir()
    path = text(HEAD + ROWS, "out/top.csv")
    before = path.read_bytes()
    refused(quick(path, tmp_path), "overwritten")
    refused(run(path, "--out", path, "-q"), "input file")
    assert path.read_bytes() == before


def test_a_full_disk_leaves_the_older_lists(good, tmp_path, monkeypatch):
    assert quick(good, tmp_path).exit_code == 0
    before = (tmp_path / "out/top.csv").read_bytes()

    def full(*args, **kwargs):
        yield from ()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nanwise.bench.recommend.top_lists", full)
    monkeypatch.setattr("nanwise.bench.recommend._coverage", lambda *args: 0.0)
    refused(quick(good, tmp_path, "--top", 3), "No space left")
    assert (tmp_path / "out/top.csv").read_bytes() == before
    assert sorted(p.name for p in (tmp_path / "out").iterdir() if p.name.startswith(".")) == []


# -- how files are written ------------------------------------------------------------------------


TABLE = "user,item,rating\n" + "".join(f"{k % 9},{k % 7},{k % 5 + 1}\n" for k in range(40))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (TABLE + "1,99,five\n", ["line 42", "'five' is not a number", "with --columns"]),
        (TABLE + "1,99,\n", ["line 42", "the rating is missing; --missing drop drops such rows"]),
        ("a,b,c\n1,2,3\n", ["'a', 'b', 'c'", "with --columns user,item,rating"]),
        (TABLE.replace(",", "~"), ["'user~item~rating'", "with --sep"]),
        (TABLE.encode("utf-16"), ["is written in UTF-16; read it with --encoding utf-16"]),
        (TABLE.replace("1,", "Jörg,").encode("latin-1"), ["not UTF-8", "--encoding latin-1"]),
    ],
    ids=["text", "gap", "names", "delimiter", "utf-16", "latin-1"],
)
def test_what_to_do_is_said_in_options(content, words, tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(quick(path, tmp_path), *words)


@pytest.mark.parametrize(
    ("content", "option"),
    [
        (TABLE.replace(",", "~"), ("--sep", "~")),
        (TABLE.encode("utf-16"), ("--encoding", "utf-16")),
        (TABLE.replace("\n1,", "\nJörg,").encode("latin-1"), ("--encoding", "latin-1")),
    ],
    ids=["delimiter", "utf-16", "latin-1"],
)
def test_other_delimiters_and_encodings(content, option, tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = quick(path, tmp_path, *option)
    assert result.exit_code == 0, result.output
    listed = pd.read_csv(tmp_path / "out" / "top.csv")
    assert len(listed) == sum(7 - len({k % 7 for k in range(40) if k % 9 == u}) for u in range(9))
    assert ("Jörg" in set(listed["user"])) == ("latin-1" in option)


def test_an_unknown_encoding(text, tmp_path):
    refused(quick(text(TABLE), tmp_path, "--encoding", "latin-99"), "no encoding is called")


@pytest.mark.parametrize("content", ["", "\n\n", "user,item,rating\n", "user,item,rating"])
def test_nothing_in_the_file(content, text, tmp_path):
    refused(quick(text(content), tmp_path))


def test_a_row_without_user_is_not_told_its_rating(text, tmp_path):
    result = quick(text(TABLE + ",3,4\n"), tmp_path)
    refused(result, "line 42: the user is missing")
    assert "got" not in result.stderr


def test_a_model_of_filled_rows_through_the_command(good, tmp_path):
    out = tmp_path / "out"
    result = run(
        good, "--out", out, "--method", "autorec_filled", "--set", "fill=softimpute", *TINY
    )
    assert result.exit_code == 0, result.output
    facts = json.loads((out / "report.json").read_text())
    assert facts["model"]["params"]["fill"] == "softimpute"
    assert facts["contrast"] is None
    shown = run(out / "model", "--user", 3, "--top", 2)
    assert shown.exit_code == 0, shown.output
    refused(
        run(good, "--out", out, "--method", "autorec_filled", "--set", "fill=men", *TINY), "men"
    )
