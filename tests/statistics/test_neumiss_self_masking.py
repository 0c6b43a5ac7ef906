"""Where values hide themselves, NeuMiss learns what EM and chained equations cannot know."""

import warnings

import numpy as np
import pytest

from nanwise import EMRegressor, NeuMissRegressor, Plan
from nanwise.data.simulate import linear_gaussian
from nanwise.gaussian.predict import GaussianPredictor
from nanwise.registry import find

N_TRAIN = 6000
PLAN = Plan(epochs=30, batch=256, lr=5e-3, weight_decay=0.0)


def scores(mechanism, d=8, seed=0):
    """R² on new rows, by method."""
    data = linear_gaussian(N_TRAIN + 4000, d, mechanism, random_state=seed)
    x, y = data.X[:N_TRAIN], data.y[:N_TRAIN]
    x_new, y_new = data.X[N_TRAIN:], data.y[N_TRAIN:]
    models = {
        "neumiss": NeuMissRegressor(5, plan=PLAN, random_state=0),
        "em": EMRegressor(),
        "mice": find("mice_linear").make("regression"),
        "zero": find("zero_linear").make("regression"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: model.fit(x, y).score(x_new, y_new) for name, model in models.items()}
    if mechanism != "probit_self_masking":
        best = GaussianPredictor(data.moments, data.coef, data.intercept, data.masking)
        found["bayes"] = 1 - np.mean((best.predict(x_new) - y_new) ** 2) / np.var(y_new)
    return found


@pytest.mark.parametrize("mechanism", ["gaussian_self_masking", "probit_self_masking"])
def test_neumiss_beats_em_and_mice_under_self_masking(mechanism):
    found = scores(mechanism)
    assert found["neumiss"] > found["em"] + 0.05
    assert found["neumiss"] > found["mice"] + 0.1
    assert found["neumiss"] > found["zero"] + 0.03
    if "bayes" in found:
        assert found["bayes"] - 0.04 < found["neumiss"] < found["bayes"] + 0.01


def test_under_mcar_it_is_close_to_bayes_and_em_is_right():
    found = scores("mcar")
    assert found["em"] == pytest.approx(found["bayes"], abs=0.01)
    assert found["neumiss"] > found["bayes"] - 0.04
    assert found["neumiss"] > found["mice"] + 0.01
