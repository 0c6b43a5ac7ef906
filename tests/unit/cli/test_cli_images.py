"""``nanwise images`` through the command line: small pictures, small networks."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from nanwise import load
from nanwise.cli import image_args
from nanwise.cli.app import app

SIDE = 8
TINY = ("--set", "width=4", "--epochs", "1", "-q")


def run(*args):
    return CliRunner().invoke(app, ["images", *map(str, args)])


def refused(result, *words):
    """One line, or two with a hint; no traceback; exit code 2; all words are said."""
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert 1 <= len(lines) <= 2, result.stderr
    assert lines[0].startswith("error: ")
    for word in words:
        assert word in lines[0], result.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Dark and bright grey pictures with a hole in each, one of them a JPEG with a mask file."""
    root = tmp_path_factory.mktemp("pictures") / "shades"
    rng = np.random.default_rng(0)
    for k in range(30):
        place = root / ("bright" if k % 2 else "dark")
        place.mkdir(parents=True, exist_ok=True)
        grey = rng.integers(0, 100, (SIDE, SIDE)) + 150 * (k % 2)
        alpha = np.full((SIDE, SIDE), 255)
        alpha[2:5, k % 4 : k % 4 + 3] = 0
        both = np.stack([grey, alpha], axis=-1).astype(np.uint8)
        Image.fromarray(both).save(place / f"{k:02d}.png")
    Image.fromarray(both[..., 0]).save(root / "dark" / "photo.jpg")
    Image.fromarray(255 - both[..., 1]).save(root / "dark" / "photo.mask.png")
    return root


@pytest.fixture(scope="module")
def model(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "density"
    result = run("fit", folder, "--out", out, "--set", "factors=2", *TINY)
    assert result.exit_code == 0, result.output
    assert "dmfa: 31 pictures" in result.output
    return out


def test_the_winner_classifies_pictures(folder, model, tmp_path):
    out = tmp_path / "out"
    done = run("compare", folder, "--out", out, "--gaps", "zero", *TINY)
    assert done.exit_code == 0, done.output
    file = tmp_path / "classes.csv"
    done = run("predict", out / "model", folder, "-o", file, "--proba")
    assert done.exit_code == 0, done.output
    lines = [line.split(",") for line in file.read_text().splitlines()]
    assert lines[0] == ["file", "prediction", "probability_bright", "probability_dark"]
    assert len(lines) == 32
    assert lines[1][0] == "bright/01.png"
    assert {line[1] for line in lines[1:]} <= {"bright", "dark"}
    refused(run("predict", model, folder, "-o", file), "DMFAImputer", "does not classify")
    for args in (
        ("predict", out / "model", "x.csv", "-o", file),
        ("stress", out / "model", "x.csv"),
    ):
        told = CliRunner().invoke(app, [*map(str, args)])
        refused(told, "takes pictures, not a table")


def test_compare_writes_a_report_and_a_model(folder, tmp_path):
    table = tmp_path / "labels.csv"
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.*"))
    rows = [f"{n},{n.split('/')[0][0]}" for n in names if ".mask." not in n]
    table.write_text("\n".join(["file,label", *rows]))
    out = tmp_path / "out"
    result = run(
        "compare", folder, "--labels", table, "--gaps", "zero,mask_channel", "--out", out, *TINY
    )
    assert result.exit_code == 0, result.output
    facts = json.loads((out / "report.json").read_text())
    assert {row["method"] for row in facts["leaderboard"]} == {"zero", "mask_channel"}
    assert facts["data"]["classes"] == {"b": 15, "d": 16}
    assert facts["failures"] == []
    assert "data:image/png;base64," in (out / "report.html").read_text()
    assert "held-out pictures" in result.output
    kept = load(out / "model")
    assert set(kept.classes_) == {"b", "d"}


def test_compare_with_a_density_on_whole_pictures_shows_draws(tmp_path):
    rng = np.random.default_rng(1)
    y = np.arange(24) % 2
    X = (rng.random((24, SIDE, SIDE)) * 0.4 + 0.6 * y[:, None, None]).astype(np.float32)
    np.savez(tmp_path / "p.npz", X=X, y=y)
    out = tmp_path / "out"
    result = run(
        *("compare", tmp_path / "p.npz", "--gaps", "misconv,dmfa", "--hide", "square"),
        *("--density-epochs", 1, "--draws", 2, "--out", out, *TINY),
    )
    assert result.exit_code == 0, result.output
    facts = json.loads((out / "report.json").read_text())
    names = [line["name"] for line in facts["sheets"][0]["lines"]]
    assert names[:6] == ["picture", "hole", "mean", "draw 1", "draw 2", "uncertainty"]
    assert facts["data"]["hidden"] == "square"
    assert facts["settings"]["density"] == {"plan__epochs": 1}
    filled = run("inpaint", out / "model", tmp_path / "p.npz", "--out", tmp_path / "filled")
    assert filled.exit_code == 0, filled.output
    with np.load(tmp_path / "filled" / "p.npz") as found:
        assert np.array_equal(found["X"], X)


def test_inpaint_fills_holes_and_nothing_else(folder, model, tmp_path):
    out = tmp_path / "filled"
    result = run("inpaint", model, folder, "--out", out)
    assert result.exit_code == 0, result.output
    before = np.asarray(Image.open(folder / "dark" / "00.png"))
    after = np.asarray(Image.open(out / "dark" / "00.png"))
    hole = before[..., 1] == 0
    assert (after[..., 1] == 255).all()
    assert np.array_equal(before[~hole], after[~hole])
    assert (out / "dark" / "photo.png").exists()
    assert len(list(out.rglob("*.png"))) == 31
    assert "no pixel outside of a hole was changed" in (out / "report.html").read_text()


def test_a_model_is_no_place_for_pictures(folder, model):
    result = run("inpaint", model, folder, "--out", model / "filled")
    refused(result, "is the model, or a folder in it")


def test_an_interrupted_inpaint_says_what_is_there(folder, model, tmp_path, monkeypatch):
    def interrupted(pictures, values, target):
        (target / "first.png").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("nanwise.data.images.write.write_filled", interrupted)
    result = run("inpaint", model, folder, "--out", tmp_path / "out")
    assert result.exit_code == 130
    assert "nothing was written" not in result.stderr
    assert f"in {tmp_path / 'out'}" in result.stderr


def test_an_interrupted_comparison_says_that_the_model_is_saved(folder, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("nanwise.report.write", interrupted)
    out = tmp_path / "out"
    result = run("compare", folder, "--gaps", "zero", "--out", out, *TINY)
    assert result.exit_code == 130
    assert f"saved in {out / 'model'}" in result.stderr
    assert load(out / "model").classes_.tolist() == ["bright", "dark"]


def test_inpaint_draws(folder, model, tmp_path):
    first, again, other = (tmp_path / name for name in "abc")
    for out, seed in ((first, 0), (again, 0), (other, 1)):
        result = run("inpaint", model, folder, "--out", out, "--draws", 2, "--seed", seed)
        assert result.exit_code == 0, result.output

    def pixels(out, draw):
        return np.asarray(Image.open(out / f"draw-{draw}" / "bright" / "01.png"))

    assert np.array_equal(pixels(first, 1), pixels(again, 1))
    assert not np.array_equal(pixels(first, 1), pixels(first, 2))
    assert not np.array_equal(pixels(first, 1), pixels(other, 1))


def test_draws_are_refused_before_the_first_is_written(folder, model, tmp_path):
    source = shutil.copytree(folder, tmp_path / "out" / "draw-2")
    refused(run("inpaint", model, source, "--out", tmp_path / "out", "--draws", 2), "outside")
    assert not (tmp_path / "out" / "draw-1").exists()


def test_pictures_of_another_size_keep_theirs(model, tmp_path):
    pixels = np.full((12, 20, 4), 90, dtype=np.uint8)
    pixels[..., 3] = 255
    pixels[3:6, 3:9, 3] = 0
    (tmp_path / "in").mkdir()
    Image.fromarray(pixels).save(tmp_path / "in" / "a.png")
    result = run("inpaint", model, tmp_path / "in", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    found = np.asarray(Image.open(tmp_path / "out" / "a.png"))
    assert found.shape == (12, 20, 4)
    assert (found[pixels[..., 3] == 255] == [90, 90, 90, 255]).all()


def test_trouble_is_one_line(folder, model, tmp_path):
    refused(run("compare", tmp_path / "nowhere"), "does not exist")
    refused(run("compare", folder, "--gaps", "zeroo"), "zeroo", "did you mean 'zero'")
    refused(run("compare", folder, "--hide", "circle"), "no such kind of hole")
    refused(run("compare", folder, "--hide", "noise:2"), "noise:0.5")
    refused(run("compare", folder, "--size", "big"), "--size", "'big'")
    refused(run("compare", folder, "--set", "widht=3"), "did you mean 'width'")
    refused(run("compare", folder, "--set", "plan.epochs=0"), "epochs")
    refused(run("compare", folder, "--set", "width=-3"), "width must be at least 1")
    refused(run("compare", folder, "--set", "backbone=foo"), "backbone", "'foo'")
    refused(run("compare", folder, "--device", "gpu"), "device must be", "'gpu'")
    refused(run("fit", folder, "--set", "net=foo", "--out", tmp_path / "m"), "net", "'foo'")
    refused(run("compare", folder / "dark", "--out", tmp_path / "o"), "--labels CSV")
    refused(run("fit", folder, "--method", "dfma", "--out", tmp_path / "m"), "'dmfa'")
    refused(run("inpaint", tmp_path / "none", folder, "--out", tmp_path / "o"), "no such model")
    refused(run("inpaint", model, folder, "--out", folder / "filled"), "outside")


def test_damage_and_sizes_are_named(tmp_path):
    for k, side in enumerate((8, 8, 9)):
        (tmp_path / "p" / "a").mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.zeros((side, 8), np.uint8)).save(tmp_path / "p" / "a" / f"{k}.png")
    refused(run("compare", tmp_path / "p"), "a/2.png (8 x 9)", "--size 8x8")
    (tmp_path / "p" / "a" / "2.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    refused(run("compare", tmp_path / "p"), "2.png cannot be read as a picture")


def test_nothing_missing_is_said(tmp_path):
    for k in range(12):
        place = tmp_path / "p" / "ab"[k % 2]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8), 20 * k, np.uint8)).save(place / f"{k}.png")
    result = run("compare", tmp_path / "p", "--gaps", "zero", "--out", tmp_path / "o", *TINY)
    assert result.exit_code == 0, result.output
    assert "no picture has a hole" in result.stderr


@pytest.mark.parametrize(
    ("text", "size"), [("28", (28, 28)), ("32x64", (32, 64)), ("32X64", (32, 64))]
)
def test_sizes_as_typed(text, size):
    assert image_args._pixels(text) == size


def test_kinds_of_holes_as_typed():
    assert image_args.hidden(None) is None
    assert image_args.hidden("noise") == ("noise", None)
    assert image_args.hidden("strokes:0.4") == ("strokes", 0.4)
