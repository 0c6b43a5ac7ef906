"""Fit, predict and stress a model through the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import nanwise
from nanwise.cli.app import app

SMALL = ["--set", "plan.epochs=5", "--set", "hidden=8"]


def run(*args):
    return CliRunner().invoke(app, [str(a) for a in args])


def make_frame(rows=50):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["a", "b"])
    frame["town"] = rng.choice(["Rome", "Oslo", "Lima"], rows)
    frame["y"] = np.where(frame["a"] + frame["b"] > 0, "yes", "no")
    return frame.mask(rng.random(frame.shape) < 0.2 * (frame.columns != "y"))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    make_frame().to_csv(folder / "train.csv", index=False)
    args = ["--target", "y", "--method", "sparsity_norm", "-q", *SMALL]
    result = run("fit", folder / "train.csv", *args, "-o", folder / "model")
    assert result.exit_code == 0, result.output
    assert f"model: {folder / 'model'}" in result.stdout
    return folder / "model"


@pytest.fixture
def predict(model, tmp_path):
    """A function: frame and options in, result and the predictions out."""

    def call(frame, *args, out="p.csv"):
        frame.to_csv(tmp_path / "new.csv", index=False)
        result = run("predict", model, tmp_path / "new.csv", "-o", tmp_path / out, *args)
        assert result.exit_code == 0, result.output
        return result, pd.read_csv(tmp_path / out)

    return call


def test_settings_reach_the_model(model):
    loaded = nanwise.load(model)
    assert len(loaded.history_) == 5
    assert tuple(loaded.estimator_.hidden) == (8,)


def test_predictions_are_those_of_the_library(model, predict):
    frame = make_frame()
    _, got = predict(frame, "-q")
    assert list(got.columns) == ["prediction"]
    assert list(got["prediction"]) == list(nanwise.load(model).predict(frame))


@pytest.mark.parametrize("rows", [1, 7, 50, 1000])
def test_chunks_change_nothing(predict, rows):
    frame = make_frame()
    _, whole = predict(frame, "--proba", "-q")
    _, parts = predict(frame, "--proba", "-q", "--chunk-rows", rows)
    pd.testing.assert_frame_equal(parts, whole, check_exact=False, atol=1e-9)


def test_probabilities_by_class_sum_to_one(predict):
    _, got = predict(make_frame(), "--proba", "-q")
    assert list(got.columns) == ["prediction", "probability_no", "probability_yes"]
    np.testing.assert_allclose(got[["probability_no", "probability_yes"]].sum(axis=1), 1)
    likelier = np.where(got["probability_yes"] > 0.5, "yes", "no")
    assert list(got["prediction"]) == list(likelier)


def test_kept_columns_come_first_and_are_not_strange(predict):
    frame = make_frame().assign(id=[f"k{i:03}" for i in range(50)])
    result, got = predict(frame, "--keep", "id", "-q")
    assert list(got.columns) == ["id", "prediction"]
    assert list(got["id"]) == list(frame["id"])
    assert result.stderr == ""


def test_the_target_may_be_there_or_not(predict):
    frame = make_frame()
    there, with_target = predict(frame, "-q")
    gone, without = predict(frame.drop(columns="y"), "-q")
    assert there.stderr == gone.stderr == ""
    pd.testing.assert_frame_equal(with_target, without)


def test_columns_in_another_order_change_nothing(predict):
    frame = make_frame()
    _, got = predict(frame, "-q")
    _, turned = predict(frame[frame.columns[::-1]], "-q")
    pd.testing.assert_frame_equal(got, turned)


def test_an_extra_column_is_warned_about_once(predict):
    result, _ = predict(make_frame().assign(extra=1), "-q", "--chunk-rows", 10)
    assert result.stderr.count("warning: ") == 1
    assert "extra" in result.stderr


def test_unknown_categories_are_counted_over_all_chunks(predict):
    frame = make_frame()
    frame.loc[[0, 17, 33, 49], "town"] = "Atlantis"
    result, got = predict(frame, "-q", "--chunk-rows", 10)
    assert result.stderr.count("warning: ") == 1
    assert "'town': 4 cells" in result.stderr
    _, missing = predict(frame.replace("Atlantis", None), "-q")
    pd.testing.assert_frame_equal(got, missing)


def test_parquet_in_and_out(model, tmp_path, predict):
    frame = make_frame()
    _, expected = predict(frame, "-q")
    frame.to_parquet(tmp_path / "new.parquet")
    result = run("predict", model, tmp_path / "new.parquet", "-o", tmp_path / "p.parquet", "-q")
    assert result.exit_code == 0, result.output
    assert list(pd.read_parquet(tmp_path / "p.parquet")["prediction"]) == list(
        expected["prediction"]
    )


def test_output_into_a_new_folder(model, tmp_path):
    make_frame().to_csv(tmp_path / "n.csv", index=False)
    result = run("predict", model, tmp_path / "n.csv", "-o", tmp_path / "deep/er/p.csv", "-q")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "deep/er/p.csv").exists()


def test_keep_errors(model, tmp_path):
    make_frame().assign(prediction=1).to_csv(tmp_path / "n.csv", index=False)
    base = ["predict", model, tmp_path / "n.csv", "-o", tmp_path / "p.csv", "-q"]
    for keep, word in (("twon", "did you mean 'town'?"), ("prediction", "of that name already")):
        result = run(*base, "--keep", keep)
        assert result.exit_code == 2
        assert word in result.stderr


def test_proba_of_a_regression_is_refused(tmp_path):
    frame = make_frame()
    frame["y"] = frame["a"].fillna(0) + 0.1
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert (
        run(
            "fit", tmp_path / "t.csv", "--target", "y", "--method", "linear", "-o", tmp_path / "m"
        ).exit_code
        == 0
    )
    result = run("predict", tmp_path / "m", tmp_path / "t.csv", "-o", tmp_path / "p.csv", "--proba")
    assert result.exit_code == 2
    assert "numbers, not classes" in result.stderr


def test_same_seed_same_model(tmp_path):
    make_frame().to_csv(tmp_path / "t.csv", index=False)
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        args = ["--target", "y", "--method", "zero", "-q", "--seed", seed, *SMALL]
        assert run("fit", tmp_path / "t.csv", *args, "-o", tmp_path / name).exit_code == 0
        run(
            "predict", tmp_path / name, tmp_path / "t.csv", "-o", tmp_path / f"{name}.csv",
            "--proba", "-q",
        )  # fmt: skip
    one, two, other = (
        pd.read_csv(tmp_path / f"{n}.csv")["probability_yes"] for n in ("one", "two", "other")
    )
    assert (one == two).all()
    assert (one != other).any()


def test_stress_of_a_saved_model(model, tmp_path):
    make_frame().to_csv(tmp_path / "t.csv", index=False)
    result = run("stress", model, tmp_path / "t.csv", "--repeats", 3, "-o", tmp_path / "s")
    assert result.exit_code == 0, result.output
    assert "slope" in result.stdout
    assert result.stderr == ""
    facts = json.loads((tmp_path / "s/stress.json").read_text())
    assert facts["kind"] == "stress"
    assert facts["scores"], "the model knows its target, so there are scores"
    assert "<svg" in (tmp_path / "s/stress.html").read_text()


def test_stress_of_any_function(tmp_path, monkeypatch):
    (tmp_path / "my_stress_model.py").write_text(
        "def total(X):\n    return X[['a', 'b']].fillna(0).sum(axis=1)\n"
    )
    make_frame().to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    result = run("stress", "my_stress_model:total", "t.csv", "--repeats", 3)
    assert result.exit_code == 0, result.output
    assert "sparsity bias" in result.stdout


def test_a_bar_is_shown_once_and_not_saved(tmp_path):
    make_frame().to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "m", *SMALL)
    assert "5/5" in result.stderr
    loaded = nanwise.load(tmp_path / "m")
    assert "progress" not in loaded.params["plan"]
    assert loaded.estimator_.plan.progress is False
