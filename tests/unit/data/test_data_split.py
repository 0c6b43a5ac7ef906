import numpy as np
import pytest

from nanwise.data.split import folds, holdout
from nanwise.errors import DataError


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_row_is_tested_once(task):
    y = np.arange(103) % 3 if task == "classification" else np.linspace(0, 1, 103)
    made = folds(y, task, 5, seed=1)
    assert made.note is None
    assert sorted(np.concatenate([test for _, test in made])) == list(range(103))
    for train, test in made:
        assert not set(train) & set(test)
        assert len(train) + len(test) == 103


def test_folds_are_stratified_and_shuffled():
    y = np.array(["a"] * 90 + ["b"] * 10)
    made = folds(y, "classification", 5, seed=0)
    assert [int((y[test] == "b").sum()) for _, test in made] == [2] * 5
    again = folds(y, "classification", 5, seed=0)
    other = folds(y, "classification", 5, seed=1)
    assert all((a[1] == b[1]).all() for a, b in zip(made, again, strict=True))
    assert any((a[1] != b[1]).any() for a, b in zip(made, other, strict=True))


def test_rare_class_and_too_few_rows():
    made = folds(["a"] * 20 + ["b"], "classification", 5, seed=0)
    assert "class b has 1 row" in made.note
    assert len(made) == 5
    with pytest.raises(DataError, match="3 rows are too few for 5 folds"):
        folds([1, 2, 3], "regression", 5)
    with pytest.raises(ValueError, match="n_folds"):
        folds([1, 2, 3], "regression", 1)


def test_holdout():
    y = np.array([0] * 80 + [1] * 20)
    train, test = holdout(y, "classification", 0.25, seed=0)
    assert (len(train), len(test), int(y[test].sum())) == (75, 25, 5)
    assert not set(train) & set(test)
    train, test = holdout(["a", "b", "b"], "classification", 0.5, seed=0)
    assert sorted([*train, *test]) == [0, 1, 2]
    for share in (0, 1, 2.0):
        with pytest.raises(ValueError, match="share"):
            holdout(y, "classification", share)
    with pytest.raises(DataError, match="too few"):
        holdout([1.0], "regression")
