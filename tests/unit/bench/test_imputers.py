"""The grid of imputers: same cells for all, failures kept, ranks, resume."""

import numpy as np
import pandas as pd
import pytest

from nanwise import compare_imputers, registry
from nanwise.bench.case import Record
from nanwise.bench.imputer_board import Line, Setting, leaderboard
from nanwise.bench.imputing import default_method, impute, samplers
from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.table_imputer import TableImputer, decimals_of, imputer_of

SETTINGS = [Setting("mcar", 0.2), Setting("mnar", 0.5)]


class Gaussian(Imputer):
    """Independent normal columns."""

    samples = True

    def __init__(self, shift=0.0, kinds=None, random_state=None):
        self.shift = shift
        self.kinds = kinds
        self.random_state = random_state

    def _learn(self, codes, seed):
        if self.shift > 90:
            raise RuntimeError("too far\nsecond line")
        self.mean_, self.sd_ = np.nanmean(codes, axis=0) + self.shift, np.nanstd(codes, axis=0)

    def _fill(self, codes):
        return np.where(np.isnan(codes), self.mean_, codes)

    def _draw(self, codes, n, rng):
        return np.where(np.isnan(codes), rng.normal(self.mean_, self.sd_, (n, *codes.shape)), codes)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    registry.known()
    made = registry.Method("independent", "imputer", Gaussian, "Normal columns.", inputs="mixed")
    monkeypatch.setitem(registry._METHODS, "independent", made)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 1))
    x = z + 0.4 * rng.normal(size=(300, 3))
    frame = pd.DataFrame(x, columns=list("abc"))
    return frame.assign(level=np.where(z[:, 0] > 0, "up", "down"))


def test_correlated_columns_are_filled_better_than_by_means(frame):
    found = compare_imputers(frame, ["mean", "iterative"], [0.3], ["mcar", "mar"]).facts
    board = {row["method"]: row for row in found["leaderboard"]}
    assert [row["method"] for row in found["leaderboard"]] == ["iterative", "mean"]
    assert board["mean"]["relative"] == pytest.approx(1)
    assert board["iterative"]["relative"] < 0.8
    assert board["mean"]["settings"][0] == pytest.approx(
        (3 * board["mean"]["by_setting"][0]["rmse_column"] + board["mean"]["by_setting"][0]["pfc"])
        / 4
    )
    assert [setting["name"] for setting in found["settings_facts"]] == ["MCAR 30 %", "MAR 30 %"]
    assert {setting["best"] for setting in found["settings_facts"]} == {"iterative"}


def test_samplers_have_the_scores_of_draws_and_others_have_none(frame):
    numbers = frame[list("abc")]
    found = compare_imputers(numbers, ["mean", "independent"], [0.3], ["mcar"], draws=10).facts
    board = {row["method"]: row["scores"] for row in found["leaderboard"]}
    assert board["mean"]["crps"] is None
    # independent normal draws: CRPS of N(0, 1) under itself is 1 / sqrt(pi)
    assert board["independent"]["crps"] == pytest.approx(1 / np.sqrt(np.pi), rel=0.15)
    assert board["independent"]["wasserstein_draws"] < 0.3 < board["mean"]["wasserstein"]


def test_a_failed_cell_is_told_and_the_method_has_no_rank(frame):
    numbers = frame[list("abc")]
    params = {"independent": {"shift": 99.0}}
    found = compare_imputers(numbers, ["mean", "independent"], [0.2], ["mcar"], params=params)
    last = found.facts["leaderboard"][-1]
    assert (last["method"], last["rank"], last["mean"]) == ("independent", None, None)
    assert last["error"] == "RuntimeError: too far"
    assert found.facts["failures"] == [
        {"method": "independent", "fold": "MCAR 20 %, repeat 1", "error": "RuntimeError: too far"}
    ]


def test_finished_cells_are_not_run_again(frame, tmp_path, monkeypatch):
    numbers = frame[list("abc")]
    first = compare_imputers(numbers, ["mean"], [0.2], ["mcar"], out=tmp_path)
    monkeypatch.setattr(Imputer, "fit", None)  # whoever fits now breaks
    again = compare_imputers(numbers, ["mean"], [0.2], ["mcar"], out=tmp_path)
    assert again.records == first.records


def test_every_method_gets_a_setting_before_any_gets_the_next(frame):
    numbers = frame[list("abc")]
    found = compare_imputers(numbers, ["mean", "median"], [0.2, 0.5], ["mcar"], repeats=2)
    order = [(r.fold, r.case["hide"]["share"], r.method) for r in found.records]
    assert order == sorted(order)
    assert len({record.key for record in found.records}) == 8


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": []}, "empty"),
        ({"methods": ["men"]}, "men"),
        ({"rates": [0.0]}, "between 0 and 1"),
        ({"mechanisms": ["moon"]}, "moon"),
        ({"repeats": 0}, "repeats"),
        ({"params": {"knn": {}}}, "not among"),
        ({"params": {"mean": {"k": 1}}}, "no parameter 'k'"),
    ],
)
def test_bad_asks_are_refused(frame, change, words):
    asked = {"methods": ["mean"], "rates": [0.2], "mechanisms": ["mcar"]} | change
    with pytest.raises(ValueError, match=words):
        compare_imputers(frame, **asked)


def test_one_column_has_nothing_to_be_hidden_by(frame):
    with pytest.raises(ValueError, match="one column only"):
        compare_imputers(frame[["a"]], ["mean"], [0.2], ["mar"])


def record(method, setting, error, fold=0, failed=False):
    case = {"method": method, "fold": fold, "hide": setting.to_dict()}
    why = {"type": "ValueError", "text": "no"} if failed else None
    return Record(case, f"{method}{setting}{fold}", {"error": error}, 1.0, 0.5, error=why)


def test_ranks_go_by_the_mean_over_settings_of_the_mean_over_repeats():
    methods = [registry.find(name) for name in ("mean", "median", "knn")]
    records = [
        record("mean", SETTINGS[0], 1.0),
        record("mean", SETTINGS[0], 3.0, fold=1),
        record("mean", SETTINGS[1], 2.0),
        record("mean", SETTINGS[1], 2.0, fold=1),
        *(record("median", s, 1.5, fold) for s in SETTINGS for fold in (0, 1)),
        record("knn", SETTINGS[0], 0.1),
        record("knn", SETTINGS[1], None, failed=True),
    ]
    lines = [Line(method, records, SETTINGS, 2) for method in methods]
    board = leaderboard(lines, lines[0])
    assert [(row["method"], row["rank"]) for row in board] == [
        ("median", 1),
        ("mean", 2),
        ("knn", None),
    ]
    assert [row["mean"] for row in board] == pytest.approx([1.5, 2.0, 0.1])
    assert board[0]["relative"] == pytest.approx(0.75)
    assert board[2]["settings"] == [pytest.approx(0.1), None]
    assert board[2]["error"] == "ValueError: no"


def test_a_budget_that_ran_out_is_the_reason():
    line = Line(registry.find("mean"), [record("mean", SETTINGS[0], 1.0)], SETTINGS, 1)
    assert line.error == "not run: budget (1 of 2 cells)"


# -- one table, filled ----------------------------------------------------------------------------


def test_the_check_measures_what_would_be_measured_by_hand(frame):
    hidden = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2)
    found = impute(hidden, "iterative", check=0.2)
    columns = {row["name"]: row for row in found.facts["check"]["columns"]}
    # residual of a column given the two others: the truth is z plus noise of sd 0.4
    assert columns["a"]["error"] == pytest.approx(0.5, abs=0.15)
    assert columns["a"]["mean_error"] == pytest.approx(1, abs=0.2)
    assert columns["level"]["error"] < columns["level"]["mean_error"]
    assert found.facts["data"]["filled"] == int(hidden.isna().to_numpy().sum())
    assert found.tables[0].notna().all().all()


def test_densities_have_area_one_and_shares_sum_to_one(frame):
    hidden = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2)
    for found in impute(hidden, "independent", check=0, schema={"level": "drop"}, m=2).facts[
        "densities"
    ]:
        for side in ("observed", "imputed"):
            assert np.trapezoid(found[side], found["x"]) == pytest.approx(1, abs=0.05)
    (level,) = (
        d for d in impute(hidden, "mean", check=0).facts["densities"] if d["name"] == "level"
    )
    assert sum(level["observed"]) == pytest.approx(1)
    assert sorted(level["imputed"]) == [0, 1]


def test_defaults_are_imputers_and_several_draws_come_from_one_that_samples():
    assert imputer_of(default_method())
    assert imputer_of(default_method(5)).samples
    assert default_method(5) in samplers()


def test_same_seed_same_tables(frame):
    hidden = frame[list("abc")].mask(np.random.default_rng(1).random((300, 3)) < 0.2)
    one, two, other = (
        impute(hidden, "independent", m=2, check=0, seed=seed).tables for seed in (3, 3, 4)
    )
    assert all(a.equals(b) for a, b in zip(one, two, strict=True))
    assert not one[0].equals(other[0])
    assert not one[0].equals(one[1])


@pytest.mark.parametrize(
    ("values", "decimals"),
    [([1, 2, np.nan], 0), ([0.5, 2], 1), ([0.1 + 0.2, 1e6], 1), ([1 / 3], None), ([np.nan], 0)],
)
def test_decimals_of_a_column(values, decimals):
    assert decimals_of(np.array(values, dtype=float)) == decimals


def test_whole_numbers_are_filled_by_whole_numbers():
    model = TableImputer("mean").fit(pd.DataFrame({"a": [1.0, 2, np.nan], "b": [1.0, 2, 3]}))
    assert model.samples is False
    assert model.transform(pd.DataFrame({"a": [np.nan], "b": [1.0]}))["a"].tolist() == [2.0]
