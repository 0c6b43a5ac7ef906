"""Dropout scaled by the number of units that survived, through the estimators."""

from __future__ import annotations

import numpy as np
import pytest

import nanwise
from nanwise import NanClassifier, NanRegressor, Plan
from nanwise.nn import SNDropout

RNG = np.random.default_rng(0)
X = np.where(RNG.random((60, 4)) < 0.2, np.nan, RNG.normal(size=(60, 4)))
Y = np.nansum(X, axis=1)
SMALL = {"hidden": (12, 8), "plan": Plan(epochs=2), "random_state": 0}


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("kind", ["plain", "sn"])
def test_every_hidden_layer_has_the_dropout_asked_for(kind: str, members: int) -> None:
    model = NanRegressor(dropout=0.3, dropout_kind=kind, members=members, **SMALL).fit(X, Y)
    layers = [layer for layer in model.net_.modules() if isinstance(layer, SNDropout)]
    assert [layer.p for layer in layers] == ([0.3, 0.3] if kind == "sn" else [])
    assert np.array_equal(model.predict(X), model.predict(X))


def test_the_kinds_learn_differently_and_only_if_something_is_dropped() -> None:
    def predictions(**settings: object) -> np.ndarray:
        return NanClassifier(**SMALL, **settings).fit(X, Y > 0).predict_proba(X)

    assert not np.allclose(predictions(dropout_kind="sn"), predictions(dropout_kind="plain"))
    none = [predictions(dropout=0.0, dropout_kind=kind) for kind in ("plain", "sn")]
    np.testing.assert_array_equal(*none)


def test_a_saved_model_keeps_it(tmp_path) -> None:
    model = NanRegressor(dropout_kind="sn", **SMALL).fit(X, Y)
    nanwise.save(model, tmp_path / "model")
    again = nanwise.load(tmp_path / "model")
    assert again.dropout_kind == "sn"
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"dropout": 1.0, "dropout_kind": "sn"}, "dropout must be at least 0 and below 1"),
        ({"dropout_kind": "SN"}, "dropout_kind must be one of 'plain', 'sn', got 'SN'"),
        ({"dropout_kind": None}, "dropout_kind must be one of"),
    ],
)
def test_what_cannot_be_used_is_refused_before_training(settings: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        NanRegressor(**SMALL, **settings).fit(X, Y)
