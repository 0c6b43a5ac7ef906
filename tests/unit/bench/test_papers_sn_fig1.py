"""Figure 1 of the sparsity normalisation paper: predictions against the number of known entries."""

from __future__ import annotations

import numpy as np
import pytest

from nanwise.bench.case import Case
from nanwise.bench.papers import sn_fig1, sn_fig1_run, sn_series
from nanwise.bench.papers.sn_fig1 import FIGURE_1
from nanwise.bench.papers.sn_fig1_run import CELLS, RATINGS, STAYS, run_known
from nanwise.bench.papers.sn_ratings_figures import FIGURE_1A
from nanwise.bench.papers.table import Heading
from nanwise.bench.reproduce import reproduce
from nanwise.data.cells import Counts, as_counts
from nanwise.data.fetch import FOLDER
from nanwise.data.series import SeriesData

COLUMNS = {column.dataset: column for column in FIGURE_1.columns}
SETTINGS = {"hidden": 4, "epochs": 2, "normalize": False}


@pytest.fixture
def stays(monkeypatch):
    """Sixty stays of six steps; who has more values dies more often."""

    def load(split, steps):
        draw = np.random.default_rng(ord(split))
        X = draw.normal(size=(60, steps, 3)).astype(np.float32)
        y = np.arange(60) % 2
        X[draw.random(X.shape) < np.where(y, 0.2, 0.6)[:, None, None]] = np.nan
        return SeriesData(X, np.arange(60), ["a", "b", "c"], y=y)

    monkeypatch.setattr(sn_series, "_load", load)
    monkeypatch.setattr(sn_fig1, "locate", lambda *_: None)


@pytest.fixture
def cells(monkeypatch):
    draw = np.random.default_rng(0)
    values = draw.gamma(2.0, 2.0, (20, 15)) * (draw.random((20, 15)) < 0.6)

    def load(name: str) -> Counts:
        return as_counts(values)

    monkeypatch.setattr(sn_fig1_run, "load_cells", load)
    monkeypatch.setattr(sn_fig1, "where", lambda _: None)
    return values


def test_ratings_are_the_runs_of_the_first_column():
    for row, other in zip(FIGURE_1.rows[:2], FIGURE_1A.rows[:2], strict=True):
        assert row.name == other.name
        mine = FIGURE_1.cases(row, COLUMNS[RATINGS], "laptop")
        assert mine == FIGURE_1A.cases(other, FIGURE_1A.columns[1], "laptop")
        assert mine[0].params["penalty"] == 500


def test_settings_reach_the_cases():
    without, with_sn = FIGURE_1.rows[:2]
    stay = FIGURE_1.cases(with_sn, COLUMNS[STAYS], "paper")
    assert (len(stay), stay[0].method) == (5, "series/sparsity_norm")
    assert stay[0].protocol["steps"] == 288
    assert stay[0].params["units"] == 108
    cell = FIGURE_1.cases(without, COLUMNS[CELLS], "paper")[0]
    assert cell.params == {"hidden": 2000, "epochs": 7000, "normalize": False}
    assert FIGURE_1.cases(with_sn, COLUMNS[CELLS], "paper")[0].params["K"] == 1.0


def test_both_rows_of_one_model_share_their_runs():
    slope, spread = FIGURE_1.rows[0], FIGURE_1.rows[2]
    for column in FIGURE_1.columns[1:]:
        assert FIGURE_1.cases(slope, column, "smoke") == FIGURE_1.cases(spread, column, "smoke")


def test_data_that_are_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in (STAYS, CELLS):
        assert name in FIGURE_1.absent(FIGURE_1.rows[0], COLUMNS[name], "smoke")


def test_a_method_that_is_not_there(monkeypatch, stays):
    assert FIGURE_1.absent(FIGURE_1.rows[0], COLUMNS[STAYS], "smoke") is None
    nobody = Heading("nobody", method="series/nobody")
    monkeypatch.setitem(sn_fig1.STAY_ROWS, "w/o SN", nobody)
    said = FIGURE_1.absent(FIGURE_1.rows[0], COLUMNS[STAYS], "smoke")
    assert said == "no method 'series/nobody' in this version"


def test_charts_of_stays_and_cells(stays, cells):
    names = [COLUMNS[name].name for name in (STAYS, CELLS)]
    facts = reproduce("sn/fig1", "smoke", only=names)
    errors = {cell["error"] for row in facts["rows"] for cell in row["cells"][1:]}
    assert errors == {None}
    titles = [chart["title"] for chart in facts["curves"]]
    assert titles == [
        f"{name}: {what}" for name in names for what in ("mean target", "one prediction")
    ]
    assert [line["name"] for line in facts["curves"][1]["series"]] == ["w/o SN", "w/ SN"]
    for chart in facts["curves"]:
        for line in chart["series"]:
            assert len(line["x"]) == len(line["y"]) == len(line["low"]) == len(line["high"])
            assert all(np.array(line["low"]) <= np.array(line["high"]))
    # Those who die have more values: the targets rise.
    targets = facts["curves"][0]["series"][0]["y"]
    assert targets[-1] > targets[0] + 0.5


def test_the_slope_of_a_sum_of_what_is_known(monkeypatch, cells):
    """A model whose answer is the sum of the known entries: its slope is known as well."""

    class Sums:
        def set_params(self, **_):
            return self

        def fit(self, X):
            self.seen = X
            return self

        def predict(self, X):
            return np.repeat(X.sum(axis=1, keepdims=True), X.shape[1], axis=1)

    import nanwise.estimators.cells.autoimpute as home

    monkeypatch.setattr(home.AutoImpute, "published", lambda **_: Sums())
    found = [
        run_known(Case(CELLS, "autoimpute_published", SETTINGS, {"kind": "known"}, seed=seed))
        for seed in range(30)
    ]
    part, rows, _ = sn_fig1_run.hide_seen(cells, sn_fig1_run.HIDDEN, 0)
    expected = 0.1 * part.sum(axis=1)[rows].mean()
    slopes = [one.scores["slope"] for one in found]
    error = 4 * np.std(slopes) / np.sqrt(len(slopes))
    assert np.mean(slopes) == pytest.approx(expected, abs=error + 0.05 * expected)
    point = found[0].facts["point"]
    assert point["low"][-1] == pytest.approx(point["high"][-1])  # nothing is left to chance
    assert np.all(np.diff(point["mean"]) > 0)
