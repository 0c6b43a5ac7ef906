"""Scores of the NeuMiss experiments, once more from our own parts.

Test R² of repetition 0 with d = 10 and n = 10,000 training rows, as logged by the authors: rows 0
to 9,999 are for testing, 10,000 to 19,999 for validation, the other 10,000 for training.
"""

from functools import cache

import numpy as np
import pytest
from sklearn.metrics import r2_score

from nanwise.data.simulate import linear_gaussian
from nanwise.estimators.table_model import make_estimator
from nanwise.gaussian.predict import GaussianPredictor

MECHANISMS = ("mcar", "mar", "gaussian_self_masking", "probit_self_masking")

GAPS = dict(zip(MECHANISMS, (0.498, 0.449, 0.500, 0.500), strict=True))
ZERO = dict(zip(MECHANISMS, (0.661454, 0.739505, 0.719520, 0.745700), strict=True))
MICE = dict(zip(MECHANISMS, (0.773148, 0.801477, 0.618011, 0.609545), strict=True))
EM = dict(zip(MECHANISMS, (0.81861, 0.84873, 0.73636, 0.73312), strict=True))
BAYES = dict(zip(MECHANISMS[:3], (0.818671, 0.848794, 0.835059), strict=True))

TEST, TRAIN = slice(10_000), slice(20_000, None)


@cache
def rows(mechanism):
    return linear_gaussian(30_000, 10, mechanism, random_state=0)


def score(method, mechanism):
    data = rows(mechanism)
    model = make_estimator(method, "regression", random_state=0)
    model.fit(data.X[TRAIN], data.y[TRAIN])
    return r2_score(data.y[TEST], model.predict(data.X[TEST]))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_share_of_gaps(mechanism):
    assert np.isnan(rows(mechanism).X).mean() == pytest.approx(GAPS[mechanism], abs=5e-4)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_zero_filling_and_indicators(mechanism):
    assert score("zero_linear", mechanism) == pytest.approx(ZERO[mechanism], abs=6e-7)


# The authors' settings: ten rounds, however far they come.
@pytest.mark.filterwarnings("ignore:.*Early stopping criterion not reached")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_chained_equations(mechanism):
    assert score("mice_linear", mechanism) == pytest.approx(MICE[mechanism], abs=6e-7)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_em(mechanism):
    assert score("em_regression", mechanism) == pytest.approx(EM[mechanism], abs=5e-4)


@pytest.mark.parametrize("mechanism", BAYES)
def test_bayes(mechanism):
    data = rows(mechanism)
    predictor = GaussianPredictor(data.moments, data.coef, data.intercept, masking=data.masking)
    got = r2_score(data.y[TEST], predictor.predict(data.X[TEST]))
    assert got == pytest.approx(BAYES[mechanism], abs=6e-7)
