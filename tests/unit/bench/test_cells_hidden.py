"""Imputers of cells on hidden entries, and the figures of the paper."""

import warnings

import numpy as np
import pandas as pd
import pytest

from nanwise import AutoImpute
from nanwise.bench.cells import GeneMeans, evaluate_hidden, hidden_scores, score_hidden
from nanwise.bench.papers.sn_cells import OUR_STEPS, OUR_UNITS
from nanwise.bench.papers.table import find_table
from nanwise.bench.reproduce import reproduce
from nanwise.data.cells import as_counts, write_cells
from nanwise.errors import DataError, TrainingError
from nanwise.report import render


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    return rng.gamma(3.0, 2.0, (12, 20)) * (rng.random((12, 20)) < 0.6)


def test_scores_are_those_of_the_paper():
    found = hidden_scores(np.array([3.0, 4.0]), np.array([3.0, 1.0]))
    assert found == pytest.approx({"rmse": np.sqrt(4.5), "mae": 1.5, "nmse": 3 / 5})


def test_the_mean_of_a_gene_is_that_of_what_was_seen():
    X = np.array([[1.0, 0.0, 0.0], [3.0, 5.0, 0.0]])
    np.testing.assert_allclose(GeneMeans().fit(X).predict(X), [[2.0, 5.0, 3.0]] * 2)


def test_a_model_never_sees_what_it_is_scored_on(values):
    class Spy(GeneMeans):
        def fit(self, X):
            self.left = np.count_nonzero(X)
            return super().fit(X)

    spy = Spy()
    scores, _ = score_hidden(spy, values, 0.25, seed=3)
    seen = np.count_nonzero(values)
    assert spy.left == seen - round(0.25 * seen)
    assert scores["rmse"] > 0


def test_evaluation_has_a_row_for_each_method_and_share(values):
    def tiny(seed):
        return AutoImpute(hidden=3, random_state=seed).set_params(plan__epochs=2)

    facts = evaluate_hidden(
        values, {"tiny": tiny, "means": lambda seed: GeneMeans()}, shares=(0.2, 0.8), runs=3
    )
    assert [(row["method"], row["share"]) for row in facts["rows"]] == [
        ("tiny", 0.2),
        ("tiny", 0.8),
        ("means", 0.2),
        ("means", 0.8),
    ]
    means = [score_hidden(GeneMeans(), values, 0.2, run)[0]["rmse"] for run in range(3)]
    assert facts["rows"][2]["rmse"]["mean"] == pytest.approx(np.mean(means), rel=1e-6)
    assert facts["data"]["zero_share"] == pytest.approx(np.mean(values == 0))
    with pytest.raises(ValueError, match="runs"):
        evaluate_hidden(values, runs=0)
    with pytest.raises(DataError, match="at least 0"):
        evaluate_hidden(-values)


def test_a_fit_that_fails_is_told_and_the_others_go_on(values):
    class Fails(GeneMeans):
        def __init__(self, seed):
            self.seed = seed

        def fit(self, X):
            if self.seed == 1 or np.count_nonzero(X) < 0.5 * np.count_nonzero(values):
                raise FloatingPointError("too little\nto learn from")
            return super().fit(X)

    made = {"fails": Fails, "means": lambda seed: GeneMeans()}
    facts = evaluate_hidden(values, made, shares=(0.2, 0.8), runs=3)
    some, none, *others = facts["rows"]
    left = [score_hidden(GeneMeans(), values, 0.2, seed)[0]["rmse"] for seed in (0, 2)]
    assert some["rmse"]["mean"] == pytest.approx(np.mean(left))
    assert (some["runs"], some["failed"]) == (2, 1)
    assert (none["runs"], none["failed"], none["fit_seconds"]) == (0, 3, None)
    assert none["rmse"] == {"mean": None, "ci": None}
    assert [row["runs"] for row in others] == [3, 3]
    assert [(f["method"], f["fold"]) for f in facts["failures"]] == [
        ("fails", "0.2 hidden, seed 1"),
        *(("fails", f"0.8 hidden, seed {seed}") for seed in range(3)),
    ]
    assert facts["failures"][0]["error"] == "FloatingPointError: too little"
    for form in ("html", "md"):
        assert "0.8 hidden, seed 2" in render(facts, form)
    with pytest.raises(TrainingError, match=r"every fit failed; fails: FloatingPointError"):
        evaluate_hidden(values, {"fails": Fails}, shares=(0.8,), runs=2)


def test_warnings_of_fits_are_notes(values):
    class Loud(GeneMeans):
        def fit(self, X):
            warnings.warn("steps are large", UserWarning, stacklevel=2)
            return super().fit(X)

    facts = evaluate_hidden(values, {"loud": lambda seed: Loud()}, shares=(0.2,), runs=2)
    assert facts["data"]["notes"] == ["UserWarning: steps are large (loud)"]


def test_our_rows_have_our_defaults_at_every_scale():
    own = AutoImpute()
    assert (own.hidden, own._plan().epochs) == (OUR_UNITS, OUR_STEPS)
    table = find_table("sn/fig3")
    ours = next(row for row in table.rows if row.name == "Blakeley our defaults w/ SN")
    for scale in ("laptop", "paper"):
        params = table.cases(ours, table.columns[0], scale)[0].params
        assert params == {"normalize": True, "hidden": OUR_UNITS, "epochs": OUR_STEPS}


def test_figure_3_runs_where_data_are_there_and_says_where_not(tmp_path, monkeypatch):
    monkeypatch.setenv("NANWISE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "scrna").mkdir()
    counts = np.random.default_rng(0).poisson(4.0, (10, 30)).astype(float)
    frame = pd.DataFrame(counts, [f"c{k}" for k in range(10)], [f"g{k}" for k in range(30)])
    write_cells(as_counts(frame), tmp_path / "scrna" / "Blakeley_raw_data.csv")
    facts = reproduce("sn/fig3", scale="smoke", out=tmp_path / "out", only=["0.5"])
    rows = {row["name"]: row["cells"][4] for row in facts["rows"]}
    assert all(rows[name]["ours"]["n"] == 2 for name in rows if name.startswith("Blakeley"))
    assert rows["Zeisel w/o SN"]["ours"] is None
    assert rows["Zeisel w/o SN"]["error"].startswith("data not available")
    assert [chart["title"] for chart in facts["curves"]][:2] == ["Blakeley", "Jurkat"]


def test_figure_7_has_the_tuned_penalty_only_with_sn():
    table = find_table("sn/fig7")
    params = {row.name: table.cases(row, table.columns[0], "paper")[0].params for row in table.rows}
    assert params["Preimplantation w/ SN, K = 1"]["penalty"] == 20.0
    assert "penalty" not in params["Preimplantation w/o SN"]
    assert "penalty" not in params["PBMC w/ SN, K = 1"]
