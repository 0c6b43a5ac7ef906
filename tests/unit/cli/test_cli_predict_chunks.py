import numpy as np
import pandas as pd
import pytest

from nanwise.cli.predict import Predictor
from nanwise.data.schema import Column, Schema


class Model:
    """Predicts the sign of column a; a stand-in with what a TableModel shows."""

    target = "y"
    classes_ = np.array(["minus", "plus"])
    schema_ = Schema((Column("a", "numeric"), Column("town", "categorical", ("Oslo", "Rome"))))

    def predict(self, X):
        assert list(X.columns) == ["a", "town"]
        return self.classes_[(X["a"].to_numpy() > 0).astype(int)]

    def predict_proba(self, X):
        p = (X["a"].to_numpy() > 0).astype(float)
        return np.column_stack([1 - p, p])


def chunk(**columns):
    return pd.DataFrame({"a": ["1", "-1"], "town": ["Oslo", "Rome"]} | columns)


def test_answers_come_chunk_by_chunk_and_are_counted():
    predictor = Predictor(Model(), proba=True)
    answers = list(predictor.answers([chunk(), chunk()], quiet=True))
    assert [list(a["prediction"]) for a in answers] == [["plus", "minus"]] * 2
    assert list(answers[0].columns) == ["prediction", "probability_minus", "probability_plus"]
    assert predictor.rows == 4


def test_notes_of_all_chunks_are_added_up():
    predictor = Predictor(Model())
    for town in ("Lima", "Rome", "Lima"):
        predictor(chunk(town=["Oslo", town], extra=[1, 2]))
    said = sorted(map(str, predictor.notes))
    assert len(said) == 2
    assert "extra" in said[0]
    assert "'town': 2 cells" in said[1]


def test_target_and_kept_columns_are_not_noted():
    predictor = Predictor(Model(), keep=["id"])
    answer = predictor(chunk(y=["plus", "plus"], id=[7, 8]))
    assert list(answer["id"]) == [7, 8]
    assert predictor.notes == []


def test_a_kept_feature_is_still_a_feature():
    answer = Predictor(Model(), keep=["a"])(chunk())
    assert list(answer.columns) == ["a", "prediction"]
    assert list(answer["a"]) == ["1", "-1"]


def test_a_model_that_does_not_predict():
    with pytest.raises(ValueError, match="does not predict"):
        Predictor(object())


def test_probabilities_need_classes():
    class Numbers:
        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(ValueError, match="numbers, not classes"):
        Predictor(Numbers(), proba=True)
    assert list(Predictor(Numbers())(chunk())["prediction"]) == [0, 0]


def test_chunks_of_wide_tables_have_fewer_rows():
    wide = Model()
    wide.schema_ = Schema(tuple(Column(f"x{k}", "numeric") for k in range(10_000)))
    assert Predictor(wide).chunk_rows == 1000
    assert Predictor(Model()).chunk_rows == 50_000


def test_columns_that_are_carried_over_are_not_read_as_numbers():
    assert Predictor(Model()).numeric == {"a"}
    assert Predictor(Model(), keep=["a"]).numeric == set()
