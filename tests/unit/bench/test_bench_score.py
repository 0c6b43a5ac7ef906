from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from nanwise.bench.score import METRICS, classification_scores, regression_scores

rng = np.random.default_rng(0)


def test_two_classes_agree_with_scikit_learn():
    y = np.array(["no", "yes"])[rng.integers(0, 2, 60)]
    p = rng.random(60)
    got = classification_scores(y, np.column_stack([1 - p, p]), np.array(["no", "yes"]))
    said = np.where(p > 0.5, "yes", "no")
    assert got["auroc"] == pytest.approx(metrics.roc_auc_score(y == "yes", p))
    assert got["accuracy"] == pytest.approx(metrics.accuracy_score(y, said))
    assert got["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(y, said))
    assert got["log_loss"] == pytest.approx(metrics.log_loss(y == "yes", p))


def test_several_classes_are_one_against_the_rest():
    y = rng.integers(0, 3, 80)
    p = rng.dirichlet(np.ones(3), 80)
    got = classification_scores(y, p, np.arange(3))
    expected = metrics.roc_auc_score(y, p, multi_class="ovr", average="macro")
    assert got["auroc"] == pytest.approx(expected)
    assert got["log_loss"] == pytest.approx(metrics.log_loss(y, p))


def test_a_class_absent_from_the_test_rows_is_left_out_of_the_mean():
    y = np.array([0, 1, 0, 1])
    p = np.array([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.5, 0.4, 0.1], [0.3, 0.6, 0.1]])
    assert classification_scores(y, p, np.arange(3))["auroc"] == 1.0


def test_one_class_among_the_test_rows_has_no_auroc():
    got = classification_scores(np.array([1, 1]), np.array([[0.2, 0.8], [0.6, 0.4]]), np.arange(2))
    assert got["auroc"] is None
    assert got["accuracy"] == 0.5


def test_a_class_the_model_never_saw_counts_as_missed():
    y = np.array(["b", "a", "c"])
    p = np.array([[0.1, 0.9], [0.7, 0.3], [0.2, 0.8]])
    got = classification_scores(y, p, np.array(["a", "c"]))
    assert got["accuracy"] == pytest.approx(2 / 3)
    assert got["balanced_accuracy"] == pytest.approx(2 / 3)
    assert got["log_loss"] > 5


def test_regression_agrees_with_scikit_learn():
    y, predicted = rng.normal(size=(2, 50))
    got = regression_scores(y, predicted)
    assert got["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, predicted))
    assert got["mae"] == pytest.approx(metrics.mean_absolute_error(y, predicted))
    assert got["r2"] == pytest.approx(metrics.r2_score(y, predicted))


def test_r2_of_a_constant_target_is_not_defined():
    assert regression_scores([1.0, 1.0], [1.0, 2.0])["r2"] is None


def test_directions():
    assert METRICS["auroc"].sign == 1
    assert METRICS["rmse"].sign == -1
