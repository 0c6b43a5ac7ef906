"""Curves and shares for pictures of imputed columns, against a reference implementation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde

from nanwise.data.kinds import Column
from nanwise.estimators.impute.densities import MOST_LEVELS, MOST_VALUES, curves, density, shares
from nanwise.estimators.impute.diagnose import densities


def test_curves_are_those_of_a_kernel_density():
    rng = np.random.default_rng(0)
    here, new = rng.normal(2, 3, size=400), rng.normal(0, 1, size=90)
    found = curves(here, new, points=30)
    assert len(found["x"]) == 30
    # Silverman's rule: 0.9 min(sd, IQR / 1.34) n^-1/5, for both curves that of what was observed
    quartiles = np.subtract(*np.quantile(here, [0.75, 0.25])) / 1.34
    width = 0.9 * min(here.std(), quartiles) * 400**-0.2
    for side, values in (("observed", here), ("imputed", new)):
        expected = gaussian_kde(values, bw_method=width / values.std(ddof=1))(found["x"])
        np.testing.assert_allclose(found[side], expected, rtol=1e-9, atol=1e-12)


def test_many_values_are_thinned_alike_every_time_and_none_is_no_density():
    values = np.random.default_rng(0).normal(size=3 * MOST_VALUES)
    found = curves(values, values[:0])
    assert found == curves(values, values[:0])
    assert found["imputed"] == [0.0] * len(found["x"])
    assert np.trapezoid(found["observed"], found["x"]) == pytest.approx(1, abs=0.02)


def test_the_report_and_the_diagnosis_draw_the_same_curve_and_shares():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=120), "word": rng.choice(list("abc"), size=120)})
    gap = rng.random(frame.shape) < 0.3
    number, word = densities(frame.mask(gap), frame)["columns"]
    for j, (name, kind) in enumerate((("x", "numeric"), ("word", "categorical"))):
        drawn = density(Column(name, kind), frame[name][~gap[:, j]], frame[name][gap[:, j]])
        if kind == "numeric":
            assert drawn["x"] == number["x"]
            assert drawn["observed"] == number["observed"]["curve"]
            assert drawn["imputed"] == number["imputed"]["curve"]
        else:
            for side in ("observed", "imputed"):
                by_name = dict(zip(drawn["levels"], drawn[side], strict=True))
                assert by_name == dict(zip(word["levels"], word[side], strict=True))


def test_shares_count_and_an_empty_sample_has_none():
    assert shares(np.array([0, 0, 2, 1]), np.array([], dtype=int), 4) == {
        "observed": [0.5, 0.25, 0.25, 0.0],
        "imputed": [0.0, 0.0, 0.0, 0.0],
    }


def test_rare_levels_are_told_together():
    words = pd.Series([f"w{k:02d}" for k in range(20) for _ in range(20 - k)])
    found = density(Column("word", "categorical"), words, words[:20])
    assert found["levels"] == [f"w{k:02d}" for k in range(MOST_LEVELS)] + ["8 others"]
    assert sum(found["observed"]) == pytest.approx(1)
    assert found["observed"][0] == pytest.approx(20 / len(words))
    assert found["observed"][-1] == pytest.approx(sum(range(1, 9)) / len(words))
    assert found["imputed"] == [1.0] + [0.0] * MOST_LEVELS
