"""``nanwise predict`` with models of series."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import nanwise
from nanwise import NanSeriesClassifier, NanSeriesRegressor, Plan, read_series
from nanwise.cli.app import app
from nanwise.errors import DataError, GapWarning

PLAN = Plan(epochs=2)


def run(*args):
    return CliRunner().invoke(app, [str(a) for a in args])


def refused(result, *words):
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) <= 2
    for word in words:
        assert word in result.stderr


def long(n=20, names=("bp", "hr", "temp"), seed=0):
    rng = np.random.default_rng(seed)
    lines = [
        (f"p{i}", time, name, rng.normal() + 3 * (i % 2))
        for i in range(n)
        for time in sorted(rng.uniform(0, 6, 4))
        for name in names
        if rng.random() < 0.8
    ]
    return pd.DataFrame(lines, columns=["id", "time", "variable", "value"])


@pytest.fixture
def files(tmp_path):
    long().to_csv(tmp_path / "long.csv", index=False)
    long(6, seed=1).sample(frac=1, random_state=0).to_csv(tmp_path / "new.csv", index=False)
    ids = [f"p{i}" for i in range(20)]
    table = pd.DataFrame({"id": ids, "died": np.arange(20) % 2})
    table.to_csv(tmp_path / "outcomes.csv", index=False)
    return tmp_path


def compared(files, *args):
    done = run(
        "compare", "--series", files / "long.csv", "--target", files / "outcomes.csv", "--out",
        files / "out", "--methods", "zero", "--folds", "2", "--set", "plan.epochs=1", "--set",
        "units=3", "--no-stress", "-q", *args,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return files / "out" / "model"


@pytest.mark.parametrize("grid", [(), ("--step", "1"), ("--step", "1", "--end", "6")])
def test_a_compared_model_predicts_new_ids_as_it_was_fitted(files, grid):
    folder = compared(files, *grid)
    out = files / "p.csv"
    done = run("predict", folder, files / "new.csv", "-o", out, "--proba")
    assert done.exit_code == 0, done.output
    assert "6 predictions" in done.stdout
    got = pd.read_csv(out)
    options = {"step": 1.0 if grid else None, "end": 6.0 if "--end" in grid else None}
    new = read_series(files / "new.csv", **options)
    model = nanwise.load(folder)
    assert list(model.feature_names_in_) == ["bp", "hr", "temp"]
    assert model.reading_ == options
    assert list(got["id"]) == list(new.ids)
    assert list(got["prediction"]) == list(model.predict(new))
    np.testing.assert_allclose(got["probability_1"], model.predict_proba(new.X)[:, 1], rtol=1e-6)


def test_variables_go_by_name_and_what_is_odd_is_told(files):
    folder, out = compared(files), files / "p.csv"
    frame = long(6, names=("hr", "bp", "age"), seed=1)
    pd.concat([frame, frame.iloc[:1]]).to_csv(files / "new.csv", index=False)
    done = run("predict", folder, files / "new.csv", "-o", out)
    assert done.exit_code == 0, done.output
    assert "lines of other variables were not used" in done.stderr
    assert "no value of temp: taken as missing" in done.stderr
    assert "1 values have another one for the same id, time and variable" in done.stderr
    new = read_series(files / "new.csv", variables=["bp", "hr", "temp"])
    assert list(pd.read_csv(out)["prediction"]) == list(nanwise.load(folder).predict(new.X))


def test_other_readings_are_refused(files):
    folder, new = compared(files, "--step", "1"), files / "new.csv"
    out = ("-o", files / "p.csv")
    refused(run("predict", folder, new, *out, "--step", "2"), "--step 2", "steps of 1;")
    refused(run("predict", folder, new, *out, "--variables", "hr,bp"), "bp, hr, temp")
    refused(run("predict", folder, new, *out, "--keep", "id"), "--keep is for tables")
    refused(run("predict", folder, new, *out, "--chunk-rows", "9"), "--chunk-rows is for tables")
    refused(run("predict", folder, files / "none.csv", *out), "none.csv")
    refused(run("predict", folder, files / "outcomes.csv", *out), "no column 'time'")
    assert not (files / "p.csv").exists()
    assert run("predict", folder, new, *out, "--step", "1", "--end", "3").exit_code == 0
    model = nanwise.load(folder)
    with pytest.raises(DataError, match=r"read with step=2\.0, but .* step=1\.0"):
        model.predict(read_series(new, step=2.0))
    with pytest.raises(DataError, match="X has the variables hr, bp, temp, but"):
        model.predict(read_series(new, step=1.0, variables=["hr", "bp", "temp"]))


def test_a_model_of_arrays_is_told_the_names(files):
    data = read_series(files / "long.csv", variables=["hr", "bp"], step=1.0)
    model = NanSeriesRegressor("zero", 3, plan=PLAN, random_state=0)
    nanwise.save(model.fit(data.X, np.arange(20.0)), files / "model")
    assert not hasattr(model, "feature_names_in_")
    args = ("predict", files / "model", files / "new.csv", "-o", files / "p.csv")
    refused(run(*args), "bp, hr, temp", "fitted on 2 without names", "--variables A,B")
    refused(run(*args, "--proba"), "predicts numbers")
    done = run(*args, "--step", "1", "--variables", "hr,bp")
    assert done.exit_code == 0, done.output
    new = read_series(files / "new.csv", variables=["hr", "bp"], step=1.0)
    np.testing.assert_allclose(pd.read_csv(files / "p.csv")["prediction"], model.predict(new.X))


def test_several_outputs_have_a_column_each(files):
    data = read_series(files / "long.csv")
    y = np.arange(40.0).reshape(20, 2)
    model = NanSeriesRegressor("zero", 3, plan=PLAN, random_state=0).fit(data, y)
    nanwise.save(model, files / "model")
    done = run("predict", files / "model", files / "new.csv", "-o", files / "p.csv")
    assert done.exit_code == 0, done.output
    got = pd.read_csv(files / "p.csv")
    assert list(got.columns) == ["id", "prediction_0", "prediction_1"]


def test_statics_are_not_in_a_long_table(files):
    data = read_series(files / "long.csv")
    model = NanSeriesClassifier("zero", 3, plan=PLAN, random_state=0)
    model.fit(data, np.arange(20) % 2, statics=np.ones((20, 1)))
    nanwise.save(model, files / "model")
    done = run("predict", files / "model", files / "new.csv", "-o", files / "p.csv")
    refused(done, "1 static feature")


def test_options_of_series_are_refused_for_tables(files):
    frame = pd.DataFrame({"a": np.arange(20.0), "y": np.arange(20) % 2})
    frame.to_csv(files / "table.csv", index=False)
    done = run("fit", files / "table.csv", "--target", "y", "--set", "plan.epochs=1", "-q", "-o",
               files / "model")  # fmt: skip
    assert done.exit_code == 0, done.output
    args = ("predict", files / "model", files / "table.csv", "-o", files / "p.csv")
    refused(run(*args, "--step", "1"), "--step is for models of series, not TableModel")


def test_data_frames_give_names_and_their_order_counts():
    rng = np.random.default_rng(0)
    frames = [pd.DataFrame(rng.normal(size=(3, 2)), columns=["a", "b"]) for _ in range(8)]
    model = NanSeriesClassifier("zero", 3, plan=PLAN, random_state=0).fit(frames, np.arange(8) % 2)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.reading_ is None
    with pytest.raises(DataError, match="in this order"):
        model.predict([frame[["b", "a"]] for frame in frames])
    model.fit([frame.to_numpy() for frame in frames], np.arange(8) % 2)
    assert not hasattr(model, "feature_names_in_")


def test_a_variable_never_observed_is_named_when_fitting():
    X = [pd.DataFrame({"a": [1.0, 2.0], "b": [np.nan, np.nan]}) for _ in range(8)]
    model = NanSeriesClassifier("zero", 3, plan=PLAN, random_state=0)
    with pytest.warns(GapWarning, match="column 'b'"):
        model.fit(X, np.arange(8) % 2)
