"""Zero filling drifts when values vanish, sparsity normalisation does not: two sets with real gaps.

The network is the paper's (4 x 256 ReLU, Adam 1e-4, class weights, early stopping) on standardised
columns. ``benchmarks/stress_sets.py`` measures more sets and scalings, also those where it is less.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from nanwise import NanClassifier, Plan, load_dataset, stress

PLAN = Plan(
    optimizer="adam",
    weight_decay=0.0,
    schedule=None,
    lr=1e-4,
    epochs=300,
    validation=0.2,
    patience=30,
)


def mean_slope(name: str, gaps: str) -> float:
    data = load_dataset(name)
    X, y = data.X.to_numpy(float), np.asarray(data.y)
    slopes = []
    for seed in range(2):
        a, b, ya, yb = train_test_split(X, y, stratify=y, test_size=0.3, random_state=seed)
        model = NanClassifier(
            gaps,
            hidden=(256,) * 4,
            dropout=0.0,
            class_weight="balanced",
            plan=PLAN,
            random_state=seed,
        ).fit(a, ya)
        slopes.append(stress(model, b, yb, repeats=20, rows=200, random_state=seed).slope)
    return float(np.mean(np.abs(slopes)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pima", "hepatitis"])
def test_slope_is_five_times_smaller(name):
    assert mean_slope(name, "sparsity_norm") * 5 <= mean_slope(name, "zero")
