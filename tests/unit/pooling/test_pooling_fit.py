"""pool_fit: the models against others' figures, tables of any kind, what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from nanwise import GaussianImputer, pool_fit
from nanwise.errors import DataError
from nanwise.pooling.models import linear, logistic


def table(n=200, seed=0, share=0.25):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    y = 1 + X @ [2.0, -1.0] + rng.normal(size=n)
    gappy = X.copy()
    gappy[rng.random(X.shape) < share] = np.nan
    return X, gappy, y


def design_of(x):
    return np.column_stack([np.ones(len(x)), x])


def test_linear_model_against_the_textbook():
    X, _, y = table()
    A = design_of(X)
    coef, covariance = linear(A, y)
    expected = np.linalg.inv(A.T @ A)
    residual = y - A @ (expected @ A.T @ y)
    np.testing.assert_allclose(coef, expected @ A.T @ y, rtol=1e-9)
    np.testing.assert_allclose(covariance, residual @ residual / 197 * expected, rtol=1e-9)


def test_logistic_model_against_scikit_learn():
    X, _, y = table()
    label = (y > 1).astype(float)
    A = design_of(X * [1.0, 1000.0] + [5.0, 2e4])
    coef, covariance = logistic(A, label)
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, label)
    np.testing.assert_allclose(coef[1:] * [1, 1000], reference.coef_[0], rtol=1e-5)
    p = reference.predict_proba(X)[:, 1]
    information = (A * (p * (1 - p))[:, None]).T @ A
    np.testing.assert_allclose(covariance, np.linalg.inv(information), rtol=1e-3)


def test_without_gaps_it_is_the_ordinary_model():
    X, _, y = table()
    found = pool_fit("linear", X, y, imputer=GaussianImputer(), refit=None)
    coef, covariance = linear(design_of(X), y)
    np.testing.assert_allclose(found.pooled.estimate, coef)
    np.testing.assert_allclose(found.pooled.covariance, covariance)
    np.testing.assert_allclose(found.pooled.fmi, 0, atol=1e-12)


def test_table_of_results():
    _, X, y = table()
    found = pool_fit("linear", X, y, imputer=GaussianImputer(), random_state=0)
    frame = found.to_frame()
    assert list(frame.index) == ["intercept", "x0", "x1"]
    assert (frame["low"] < frame["estimate"]).all()
    assert (found.to_frame(0.5)["low"] > frame["low"]).all()
    lines = repr(found).splitlines()
    assert "200 rows, 5 tables completed by GaussianImputer" in lines[0]
    assert len({len(line) for line in lines[1:]}) == 1
    assert "<0.001" in lines[3]
    assert found.wald().df[0] == 2
    assert found.wald(["x1"]).p_value == pytest.approx(frame.loc["x1", "p_value"], rel=1e-6)
    with pytest.raises(ValueError, match="terms"):
        found.wald(["x7"])


def test_same_seed_same_answer_and_inputs_untouched():
    _, X, y = table()
    before, imputer = X.copy(), GaussianImputer()
    first = pool_fit("linear", X, y, imputer=imputer, random_state=3)
    again = pool_fit("linear", X, y, imputer=imputer, random_state=3)
    other = pool_fit("linear", X, y, imputer=imputer, random_state=4)
    np.testing.assert_array_equal(first.pooled.estimate, again.pooled.estimate)
    assert (first.pooled.estimate != other.pooled.estimate).all()
    np.testing.assert_array_equal(X, before)
    assert not hasattr(imputer, "mean_")


def test_the_target_takes_part_in_the_imputation():
    _, X, y = table(n=4000, share=0.5)
    found = pool_fit("linear", X, y, imputer=GaussianImputer(), random_state=0)
    np.testing.assert_allclose(found.pooled.estimate, [1, 2, -1], atol=0.12)


def test_rows_without_a_target_help_and_are_left_out():
    _, X, y = table()
    y[:20] = np.nan
    found = pool_fit("linear", X, y, imputer=GaussianImputer(), random_state=0)
    assert found.n_rows == 180
    assert found.pooled.df_complete == 177


def test_scikit_learn_models_stand_for_their_names():
    _, X, y = table()
    label = np.where(y > 1, "yes", "no")
    by_name = pool_fit("logistic", X, label, imputer=GaussianImputer(), random_state=0)
    model = LogisticRegression(C=np.inf)
    by_object = pool_fit(model, X, label, imputer=GaussianImputer(), random_state=0)
    np.testing.assert_array_equal(by_name.pooled.estimate, by_object.pooled.estimate)
    bare = LinearRegression(fit_intercept=False)
    assert pool_fit(bare, X, y, imputer=GaussianImputer()).terms == ["x0", "x1"]
    for wrong in (LogisticRegression(), "ridge", None):
        with pytest.raises(ValueError, match="LogisticRegression"):
            pool_fit(wrong, X, y, imputer=GaussianImputer())


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_of_numbers(library):
    _, X, y = table()
    frame = library.DataFrame({"a": X[:, 0], "target": X[:, 1]})
    found = pool_fit("linear", frame, y, imputer=GaussianImputer(), random_state=0)
    assert found.terms == ["intercept", "a", "target"]
    plain = pool_fit("linear", X, y, imputer=GaussianImputer(), random_state=0)
    np.testing.assert_allclose(found.pooled.estimate, plain.pooled.estimate)


def test_a_column_that_says_nothing_new_is_refused():
    X, _, y = table()
    with pytest.raises(DataError, match="follows from the others"):
        pool_fit("linear", np.column_stack([X, X[:, 0]]), y, imputer=GaussianImputer(), refit=None)


def test_classes_told_apart_without_error_are_refused():
    X, _, _ = table()
    with pytest.raises(DataError, match="without error"):
        pool_fit("logistic", X, X[:, 0] > 0, imputer=GaussianImputer(), refit=None)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(4), np.arange(3.0), "4 rows"),
        (np.arange(4.0), np.arange(4.0), "rows and columns"),
        (np.eye(4), np.eye(4), "one value per row"),
    ],
)
def test_shapes_that_do_not_fit(X, y, message):
    with pytest.raises(ValueError, match=message):
        pool_fit("linear", X, y, imputer=GaussianImputer())


def test_more_coefficients_than_rows_and_three_classes():
    with pytest.raises(DataError, match="more rows"):
        pool_fit("linear", np.eye(3), np.arange(3.0), imputer=GaussianImputer(), refit=None)
    with pytest.raises(DataError, match="two classes"):
        pool_fit("logistic", np.eye(3), ["a", "b", "c"], imputer=GaussianImputer())
