"""Diagnostics of imputations: densities, traces and over-imputation, against what is known."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from nanwise import GaussianImputer, MICEImputer, impute_many, make_imputer
from nanwise.errors import DataError
from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.diagnose import convergence, coverage, densities


class Certain(Imputer):
    """Draws around a centre with a spread that is too small or too large."""

    samples = True

    def __init__(self, factor=1.0, kinds=None, random_state=None):
        self.factor = factor
        self.kinds = kinds
        self.random_state = random_state

    def _learn(self, codes, seed):
        self.moments_ = np.nanmean(codes, axis=0), np.nanstd(codes, axis=0)

    def _draw(self, codes, n, rng):
        mean, std = self.moments_
        drawn = mean + self.factor * std * rng.normal(size=(n, *codes.shape))
        drawn = np.where(self._levelled(), np.clip(np.rint(drawn), 0, 1), drawn)
        return np.where(np.isnan(codes), drawn, codes)

    def _levelled(self):
        return np.array([a.kind == "categorical" for a in self.layout_.attributes])


def gaussian(n=600, d=3, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = 5 + rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, d))
    X[rng.random(X.shape) < share] = np.nan
    return X


@pytest.mark.parametrize(
    ("factor", "expected"), [(1.0, (0.5, 0.9)), (0.5, (0.264, 0.589)), (2.0, (0.823, 0.999))]
)
def test_coverage_of_draws_that_are_right_too_narrow_or_too_wide(factor, expected):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    facts = coverage(Certain(factor), X, share=0.5, draws=60, at=(0.5, 0.9), random_state=0)
    np.testing.assert_allclose(facts["coverage"], expected, atol=0.035)
    width = 2 * factor * stats.norm.ppf([0.75, 0.95])
    np.testing.assert_allclose(facts["columns"][0]["width"], width, rtol=0.05)
    assert sum(column["cells"] for column in facts["columns"]) == pytest.approx(2000, rel=0.1)


def test_coverage_is_exact_with_few_draws():
    X = np.random.default_rng(1).normal(size=(3000, 2))
    facts = coverage(Certain(), X, share=0.9, draws=9, at=(0.8,), random_state=0)
    assert facts["coverage"][0] == pytest.approx(0.8, abs=0.03)


def test_coverage_of_the_gaussian_imputer():
    facts = coverage(GaussianImputer(), gaussian(), draws=100, share=0.3, random_state=0)
    assert facts["at"] == [0.5, 0.8, 0.9, 0.95]
    np.testing.assert_allclose(facts["coverage"], facts["at"], atol=0.06)
    assert json.loads(json.dumps(facts)) == facts
    assert [column["name"] for column in facts["columns"]] == ["x0", "x1", "x2"]


def test_coverage_of_levels_and_of_frames():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=300), "word": rng.permutation(["left"] * 90 + ["right"] * 210)}
    )
    facts = coverage(Certain(), frame, share=0.4, draws=50, random_state=0)
    word = facts["columns"][1]
    assert word["kind"] == "categorical"
    # 0.7 + 0.46 z is rounded to 1 with probability 0.67.
    assert word["probability"] == pytest.approx(0.7 * 0.67 + 0.3 * 0.33, abs=0.06)
    assert word["hits"] == pytest.approx(0.7, abs=0.1)
    alone = coverage(Certain(), frame[["word"]], share=0.4, draws=5, random_state=0)
    assert alone["coverage"] is None
    by_polars = coverage(Certain(), pl.DataFrame(frame.to_dict("list")), 0.4, 50, random_state=0)
    assert by_polars == facts


def test_coverage_refuses_what_cannot_be_measured():
    with pytest.raises(DataError, match="no cell could be hidden"):
        coverage(GaussianImputer(), np.eye(2), share=0.5, random_state=0)
    with pytest.raises(ValueError, match="share"):
        coverage(GaussianImputer(), gaussian(), share=0)
    with pytest.raises(ValueError, match="at must"):
        coverage(GaussianImputer(), gaussian(), at=(90,))
    with pytest.raises(TypeError, match="those that sample"):
        coverage("mean", gaussian())


def test_densities_of_numbers():
    X = gaussian()
    tables = impute_many(GaussianImputer(), X, 3, random_state=0)
    facts = densities(X, tables)
    assert json.loads(json.dumps(facts)) == facts
    column = facts["columns"][1]
    gap = np.isnan(X[:, 1])
    assert (column["n_observed"], column["n_imputed"]) == ((~gap).sum(), 3 * gap.sum())
    for part in ("observed", "imputed"):
        step = np.diff(column["edges"])
        assert (np.array(column[part]["histogram"]) * step).sum() == pytest.approx(1)
        assert np.trapezoid(column[part]["curve"], column["x"]) == pytest.approx(1, abs=0.05)
    assert column["observed"]["mean"] == pytest.approx(np.nanmean(X[:, 1]))
    here, new = X[~gap, 1], np.concatenate([table[gap, 1] for table in tables])
    assert column["distance"] == pytest.approx(stats.ks_2samp(here, new).statistic)
    assert column["distance"] < 0.15


def test_densities_show_a_column_filled_by_one_value():
    X = gaussian()
    mean = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    column = densities(X, mean)["columns"][0]
    assert column["imputed"]["std"] == pytest.approx(0, abs=1e-12)
    peak = np.array(column["imputed"]["curve"])
    assert np.trapezoid(peak, column["x"]) == pytest.approx(1, abs=0.02)
    assert column["x"][peak.argmax()] == pytest.approx(column["imputed"]["mean"], abs=0.1)
    assert peak.max() > 3 * max(column["observed"]["curve"])
    assert column["distance"] > 0.4


@pytest.mark.parametrize("library", [pd, pl])
def test_densities_of_levels(library):
    columns = {
        "word": ["a", "a", "b", None],
        "flag": [True, None, False, True],
        "full": [1, 2, 3, 4],
        "empty": [None, None, None, None],
    }
    done = columns | {"word": ["a", "a", "b", "b"], "flag": [True, True, False, True]}
    facts = densities(library.DataFrame(columns), library.DataFrame(done))
    word, flag = facts["columns"]
    assert word["levels"] == ["a", "b"]
    assert word["observed"] == pytest.approx([2 / 3, 1 / 3])
    assert word["imputed"] == [0.0, 1.0]
    assert flag["levels"] == [False, True]
    assert flag["imputed"] == [0.0, 1.0]


def test_the_trace_of_drawn_equations_is_that_of_what_they_draw():
    x = gaussian()
    model = MICEImputer(burn_in=4, sets=3, thin=2, random_state=0).fit(x)
    found = convergence(model)
    assert found["unit"] == "round"
    assert {name: len(line) for name, line in found["trace"].items()} == {
        "mean": 10,
        "standard deviation": 10,
    }
    # in standard deviations of the columns: about those of what was observed
    assert abs(np.mean(found["trace"]["mean"][4:])) < 0.5
    assert 0.5 < np.mean(found["trace"]["standard deviation"][4:]) < 1.5


def test_traces():
    gaussian_one = GaussianImputer().fit(gaussian())
    steps = convergence(gaussian_one)
    assert steps["unit"] == "step"
    assert steps["trace"] == {"log_likelihood": gaussian_one.log_likelihood_}
    assert 0 <= steps["change"] < 0.5
    net = Certain()
    net.history_ = [
        {"epoch": i, "train_loss": 1 / i, "valid_loss": None if i == 1 else 2 / i}
        for i in range(1, 41)
    ]
    epochs = convergence(net)
    assert epochs["unit"] == "epoch"
    assert epochs["trace"]["valid_loss"][:3] == [None, 1.0, 2 / 3]
    assert epochs["change"] == pytest.approx((2 / 38 - 2 / 40) / (1 - 2 / 40))
    em = convergence(make_imputer("em").fit(gaussian()))
    assert em["unit"] == "step"
    assert np.diff(em["trace"]["log_likelihood"]).min() > -1e-9
    soft = make_imputer("softimpute").fit(gaussian())
    changes = convergence(soft)["trace"]["change"]
    assert len(changes) == soft.treatment_.n_iter_ - 1
    assert changes[-1] < soft.treatment_.tol
    del net.history_
    net.changes_ = [(1.0, 0.5), (0.1, float("nan"))]
    assert convergence(net)["trace"] == {"numbers": [1.0, 0.1], "levels": [0.5, None]}
    assert convergence(Certain()) == {
        "kind": "convergence",
        "unit": None,
        "trace": {},
        "change": None,
    }
