"""Table 6 of sparsity normalisation: published figures, and a run on small sets of that layout."""

import numpy as np
import pytest

from nanwise.bench.papers import sn_series
from nanwise.bench.papers.table import find_table
from nanwise.bench.reproduce import reproduce
from nanwise.data.series import SeriesData


def sets(split, steps):
    rng = np.random.default_rng("abc".index(split))
    y = np.arange(80) % 4 == 0
    X = rng.normal(size=(80, steps, 3)) + y[:, None, None]
    X[rng.random(X.shape) < 0.8] = np.nan
    return SeriesData(X.astype(np.float32), np.arange(80), ["a", "b", "c"], y=y.astype(int))


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(sn_series, "_load", sets)
    return find_table("sn/table6")


def test_published_figures_and_rows(table):
    assert table.published["Zero Imputation w/o SN", "Test AUROC"] == (0.8177, 0.0071)
    assert table.published["Zero Imputation w/ SN (ours.)", "Test AUROC"] == (0.8152, 0.0010)
    for row in table.rows:
        assert table.absent(row, table.columns[0], "smoke") is None


def test_a_run_learns_from_a_stops_on_b_and_is_scored_on_c(table):
    facts = reproduce("sn/table6", "smoke", only=[row.name for row in table.rows[:2]])
    for row in facts["rows"][:2]:
        area, epochs, seconds, memory = (cell["ours"]["mean"] for cell in row["cells"])
        assert 0 <= area <= 1
        assert epochs == 1
        assert seconds > 0
        assert memory > 10
        assert row["cells"][0]["error"] is None
    assert facts["rows"][2]["cells"][0]["ours"] is None


def test_runs_of_a_cell_differ_by_their_seeds_and_rows_share_stays(table):
    first, second = (table.cases(row, table.columns[0], "laptop") for row in table.rows[:2])
    assert [case.seed for case in first] == [case.seed for case in second] == [*range(5)]
    small = [
        sn_series._stays(table.cases(row, table.columns[0], "smoke")[0], "c")
        for row in table.rows[:2]
    ]
    np.testing.assert_array_equal(small[0].ids, small[1].ids)
    assert len(small[0]) == 60
