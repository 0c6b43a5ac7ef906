"""Tables of the NeuMiss experiments: published figures, cases, and what one run measures."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from nanwise.bench.case import Case
from nanwise.bench.papers import simulated
from nanwise.bench.papers.neumiss import CAPACITY_AXIS, DEPTH_STUDY, FIGURE_5
from nanwise.bench.papers.simulated import run_simulated
from nanwise.bench.papers.table import find_table, tables
from nanwise.bench.reproduce import reproduce
from nanwise.data.simulate import linear_gaussian
from nanwise.gaussian.predict import GaussianPredictor

PANELS = ("neumiss/mcar", "neumiss/fig6", "neumiss/gaussian_sm", "neumiss/probit_sm")


def heading(headings, name):
    return next(found for found in headings if found.name == name)


def cases(id, row, column, scale):
    table = find_table(id)
    return table.cases(heading(table.rows, row), heading(table.columns, column), scale)


def small(id, row, column):
    """The first run of a cell at smoke scale, on fewer rows still."""
    case = cases(id, row, column, "smoke")[0]
    return replace(case, protocol={**case.protocol, "holdout": 300, "n_sizes": [1000]})


def test_all_tables_are_there():
    ids = {table.id for table in tables()}
    assert {"neumiss/fig5", "neumiss/depth", *PANELS} <= ids


@pytest.mark.parametrize(
    ("id", "row", "column", "expected"),
    [
        # means of R² as in the authors' logs, to the digits of an independent summary
        ("neumiss/mcar", "NeuMiss R²", "d=20 n=100000", 0.8159),
        ("neumiss/mcar", "MLP R²", "d=50 n=20000", 0.7157),
        ("neumiss/mcar", "Bayes rate R²", "d=10 n=100000", 0.7795),
        ("neumiss/fig6", "MICE + LR R²", "d=20 n=100000", 0.7744),
        ("neumiss/fig6", "EM R²", "d=10 n=100000", 0.8265),
        ("neumiss/gaussian_sm", "NeuMiss R²", "d=50 n=100000", 0.8165),
        ("neumiss/gaussian_sm", "EM R²", "d=20 n=100000", 0.7511),
        ("neumiss/probit_sm", "MLP R²", "d=50 n=100000", 0.8290),
        ("neumiss/probit_sm", "MICE + LR R²", "d=50 n=100000", 0.4893),
    ],
)
def test_published_levels(id, row, column, expected):
    assert find_table(id).published[row, column][0] == pytest.approx(expected, abs=5.1e-5)


@pytest.mark.parametrize("id", PANELS)
def test_published_gaps_are_differences_of_published_levels(id):
    table = find_table(id)
    reference = "Zero + mask LR R²" if id == "neumiss/probit_sm" else "Bayes rate R²"
    checked = 0
    for (row, column), (gap, half) in table.published.items():
        level = table.published.get((f"{row} R²", column))
        if level is not None:
            expected = level[0] - table.published[reference, column][0]
            assert gap == pytest.approx(expected, abs=2e-5)
            assert half > 0
            checked += 1
    # five methods, or four beside the reference, in six columns; EM has nothing at d = 50
    assert checked == 6 * (4 if id == "neumiss/probit_sm" else 5) - 2


def test_published_capacity():
    assert FIGURE_5.published["Gaussian self-masking d=10 n=100000", "8"] == (-0.0037, 0.0005)
    assert FIGURE_5.published["probit self-masking d=50 n=10000", "0"] == (0.0, 0.0)
    assert len(FIGURE_5.published) == 180
    assert DEPTH_STUDY.published["NeuMiss, depth", "5"] == (-0.0201, 0.0018)
    assert DEPTH_STUDY.published["Analytic NeuMiss, order", "100"] == (-0.0055, 0.0009)
    assert DEPTH_STUDY.published["MLP, width / d", "100"] == (-0.0663, 0.0077)
    assert DEPTH_STUDY.published["Deep MLP, layers", "10"] == (-0.0816, 0.0084)
    assert ("NeuMiss, depth", "10") not in DEPTH_STUDY.published


def test_rows_are_those_of_the_authors():
    """10,000, 20,000, then 100,000 training rows behind 20,000 others; the depth study: at once."""
    assert cases("neumiss/mcar", "EM", "d=50 n=100000", "paper")[3] == Case(
        dataset="mcar",
        method="em_regression",
        protocol={
            "kind": "simulated",
            "d": 50,
            "holdout": 10_000,
            "n_sizes": [30_000, 40_000, 120_000],
        },
        fold=3,
        seed=3,
    )
    study = cases("neumiss/depth", "NeuMiss, depth", "3", "paper")
    assert len(study) == 20
    assert study[0].protocol["n_sizes"] == [120_000]


def test_settings_of_the_mlp_reach_the_cases():
    case = cases("neumiss/mcar", "MLP", "d=50 n=20000", "laptop")[0]
    assert case.params["plan"]["lr"] == pytest.approx(2e-4)
    assert case.params["plan"]["epochs"] == 300
    assert case.protocol["values"] == [20]
    assert cases("neumiss/mcar", "MLP", "d=10 n=20000", "smoke")[0].params["plan"]["epochs"] == 2


def test_neumiss_keeps_its_own_plan_but_for_the_smoke_scale():
    assert cases("neumiss/mcar", "NeuMiss", "d=10 n=20000", "laptop")[0].params == {"plan": None}
    smoke = cases("neumiss/mcar", "NeuMiss", "d=10 n=20000", "smoke")[0]
    assert smoke.params == {"plan": {"epochs": 2}}


def test_levels_and_gaps_share_their_runs():
    gap = cases("neumiss/fig6", "NeuMiss", "d=10 n=20000", "laptop")
    level = cases("neumiss/fig6", "NeuMiss R²", "d=10 n=20000", "laptop")
    assert [case.key for case in gap] == [case.key for case in level]


def test_a_depth_of_its_own_or_all_depths_together():
    gaussian = [
        cases("neumiss/fig5", "Gaussian self-masking d=10 n=10000", at, "laptop")[0] for at in "35"
    ]
    assert [case.protocol["values"] for case in gaussian] == [[3], [5]]
    probit = [
        cases("neumiss/fig5", "probit self-masking d=10 n=10000", at, "laptop")[0] for at in "35"
    ]
    assert probit[0].protocol["values"] == [0, 1, 2, 3, 5, 7, 9]
    assert probit[0].key == probit[1].key


def test_capacities_that_a_scale_leaves_out_are_not_run():
    assert cases("neumiss/fig5", "Gaussian self-masking d=10 n=10000", "4", "laptop") == []
    assert cases("neumiss/fig5", "probit self-masking d=10 n=10000", "4", "laptop") == []
    assert cases("neumiss/depth", "NeuMiss, depth", "10", "paper") == []
    assert cases("neumiss/depth", "Deep MLP, layers", "0", "paper") == []
    assert len(cases("neumiss/depth", "Analytic NeuMiss, order", "100", "laptop")) == 5


def test_every_published_capacity_is_run_at_paper_scale():
    for table in (FIGURE_5, DEPTH_STUDY):
        for row in table.rows:
            for column in table.columns:
                there = bool(table.cases(row, column, "paper"))
                assert there == ((row.name, column.name) in table.published)


def test_what_a_run_measures():
    case = small("neumiss/mcar", "Zero + mask LR", "d=10 n=20000")
    found = run_simulated(case)
    assert not found.failed, found.reason
    data = linear_gaussian(1000, 10, "mcar", n_sizes=[1000], random_state=case.seed)
    X = np.hstack([np.nan_to_num(data.X), np.isnan(data.X)])
    r2 = LinearRegression().fit(X[600:], data.y[600:]).score(X[:300], data.y[:300])
    best = GaussianPredictor(data.moments, data.coef, data.intercept).predict(data.X[:300])
    bayes = 1 - ((data.y[:300] - best) ** 2).mean() / data.y[:300].var()
    assert found.scores["r2"] == pytest.approx(r2)
    assert found.scores["bayes"] == pytest.approx(bayes)
    assert found.scores["gap"] == pytest.approx(r2 - bayes)
    assert found.scores["gain"] == pytest.approx(0, abs=1e-9)
    assert run_simulated(case).scores == found.scores


@pytest.mark.parametrize("id", PANELS)
@pytest.mark.parametrize("row", ["EM", "MICE + LR", "MLP", "NeuMiss"])
def test_every_method_runs_on_every_mechanism(id, row):
    table = find_table(id)
    found = run_simulated(small(id, row, "d=10 n=20000"))
    assert not found.failed, found.reason
    score = found.scores[table.metric.name]
    assert np.isfinite(score)
    assert ("bayes" in found.scores) == (id != "neumiss/probit_sm")


def test_the_capacity_is_chosen_on_the_validation_rows(monkeypatch):
    """Three stand-ins: the best on the validation rows is not the best on the test rows."""
    scores = {1: (0.5, 0.9), 2: (0.8, 0.6), 3: (0.7, 0.95)}

    def run(case, value, *rows):
        valid, test = scores[value]
        return simulated.Measured(scores={"r2": test, "valid_r2": valid}, fit_seconds=1.0)

    monkeypatch.setattr(simulated, "_run", run)
    case = small("neumiss/mcar", "NeuMiss", "d=10 n=20000")
    case = replace(case, protocol={**case.protocol, "values": [1, 2, 3]})
    found = run_simulated(case)
    assert found.scores["r2"] == 0.6
    assert found.scores["gap 3"] == pytest.approx(0.95 - found.scores["bayes"])
    assert found.fit_seconds == 3
    probit = run_simulated(replace(case, dataset="probit_self_masking"))
    assert [probit.scores[f"gap {q}"] for q in (1, 2, 3)] == pytest.approx([-0.05, -0.35, 0])
    assert "gap" not in probit.scores


def test_orders_of_the_series():
    case = small("neumiss/depth", "Analytic NeuMiss, order", "100")
    case = replace(case, protocol={**case.protocol, "values": [0, 5, 100, 20_000]})
    scores = run_simulated(case).scores
    gaps = [scores[f"gap {order}"] for order in (0, 5, 100, 20_000)]
    assert gaps == sorted(gaps)
    assert gaps[-1] == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("order", [0, 1, 4])
def test_the_series_of_a_row_after_its_formula(order):
    """S <- (I - A) S + I from S = I, with A the covariance of what is observed over its norm."""
    data = linear_gaussian(150, 4, random_state=2)
    mean, cov = data.moments
    predicted = []
    for x in data.X:
        o, m = ~np.isnan(x), np.isnan(x)
        norm = np.linalg.norm(cov[np.ix_(o, o)], ord=2) if o.any() else 1.0
        inverse = one = np.eye(o.sum())
        for _ in range(order):
            inverse = (one - cov[np.ix_(o, o)] / norm) @ inverse + one
        filled = mean[m] + cov[np.ix_(m, o)] @ inverse @ (x[o] - mean[o]) / norm
        predicted.append(1 + x[o].sum() + filled.sum())
    expected = 1 - np.mean((data.y - predicted) ** 2) / data.y.var()
    assert simulated._neumann(data, (data.X, data.y), order) == pytest.approx(expected)


def test_a_table_from_start_to_end(tmp_path):
    facts = reproduce(
        "neumiss/gaussian_sm",
        "smoke",
        out=tmp_path,
        only=["Bayes rate R²", "Zero + mask LR", "Zero + mask LR R²", "d=10 n=20000"],
    )
    rows = {row["name"]: row["cells"][0] for row in facts["rows"]}
    assert rows["Zero + mask LR"]["ours"]["n"] == 2
    difference = rows["Zero + mask LR R²"]["ours"]["mean"] - rows["Bayes rate R²"]["ours"]["mean"]
    assert rows["Zero + mask LR"]["ours"]["mean"] == pytest.approx(difference)
    assert rows["NeuMiss"]["ours"] is None
    assert rows["NeuMiss"]["published"]["mean"] == pytest.approx(-0.0101, abs=1e-4)
    (panel,) = facts["panels"]
    assert (panel["title"], panel["x_label"]) == ("d=10 n=20000", "R² minus the Bayes rate")
    names = [item["name"] for item in panel["items"]]
    assert names == ["published"] * 2 + ["Zero + mask LR"] + ["published"] * 3
    ours = panel["items"][2]
    assert ours["mean"] == rows["Zero + mask LR"]["ours"]["mean"]
    assert ours["high"] - ours["mean"] == pytest.approx(rows["Zero + mask LR"]["ours"]["ci"])


def test_the_depth_study_becomes_curves(tmp_path):
    facts = reproduce("neumiss/depth", "smoke", out=tmp_path, only=["Analytic NeuMiss, order"])
    (chart,) = facts["curves"]
    lines = {line["name"]: line for line in chart["series"]}
    assert lines["Analytic NeuMiss, order"]["x"] == [0.0, 5.0, 100.0]
    assert lines["NeuMiss, depth"]["x"] == []
    printed = lines["NeuMiss, depth, published"]
    assert printed["x"] == [float(q) for q in range(10)]
    assert (printed["dash"], printed["tone"]) == (True, lines["NeuMiss, depth"]["tone"])
    assert facts["panels"] == []
    assert [float(name) for name in facts["columns"]] == sorted(CAPACITY_AXIS)


def test_the_capacity_study_has_a_chart_for_each_mechanism_and_width(tmp_path):
    facts = reproduce("neumiss/fig5", "smoke", out=tmp_path, only=["9"])
    assert [chart["title"] for chart in facts["curves"]] == [
        f"{name} self-masking d={d}" for name in ("Gaussian", "probit") for d in (10, 20, 50)
    ]
    names = [line["name"] for line in facts["curves"][0]["series"]]
    assert names == [
        f"n={n}{whose}" for whose in ("", ", published") for n in (10000, 20000, 100000)
    ]
