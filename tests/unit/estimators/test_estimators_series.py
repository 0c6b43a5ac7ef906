"""Classifier and regressor of series: input, settings, statics, validation, saving."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.model_selection import cross_val_score

import nanwise
from nanwise import NanSeriesClassifier, NanSeriesRegressor, Plan
from nanwise.errors import DataError, GapWarning, ModelFileError, TrainingError
from nanwise.estimators.series.inputs import Sequences, read_sequences
from nanwise.estimators.series.sources import Prepared, SeriesInputs

QUICK = Plan(epochs=1, batch=16)


def series(n=40, steps=6, width=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = rng.normal(size=(n, steps, width)) + 2 * y[:, None, None]
    x[rng.random(x.shape) < 0.5] = np.nan
    return x, y


def tiny(**params):
    return NanSeriesClassifier("zero", 4, **{"plan": QUICK, "random_state": 0} | params)


# -- what is read ----------------------------------------------------------------------------------


def test_an_array_a_list_and_an_array_of_arrays_are_the_same():
    x, _ = series(3)
    objects = np.empty(3, dtype=object)
    objects[:] = list(x)
    for given in (x, list(x), tuple(x), objects, torch.from_numpy(x), np.ma.masked_invalid(x)):
        found = read_sequences(given)
        np.testing.assert_array_equal(found.steps, x.reshape(-1, 2))
        assert found.lengths.tolist() == [6, 6, 6]


def test_none_is_a_gap_and_whole_numbers_are_numbers():
    found = read_sequences([[[1, None]], [[3, 4], [5, 6]]])
    np.testing.assert_array_equal(found.steps, [[1, np.nan], [3, 4], [5, 6]])
    assert found.lengths.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([np.zeros((2, 3)), np.zeros((0, 3))], r"X\[1\] has no time step"),
        ([np.zeros((2, 3)), np.zeros((2, 4))], r"X\[1\] has the shape \(2, 4\)"),
        ([np.zeros(3)], r"X\[0\] has the shape \(3,\)"),
        ([], "empty list"),
        (
            [pd.DataFrame({"a": [1.0], "b": [2.0]}), pd.DataFrame({"b": [2.0], "a": [1.0]})],
            r"X\[1\] has the columns \['b', 'a'\]",
        ),
        (np.zeros((3, 0, 2)), "none of these 0"),
        (np.zeros((3, 2)), r"got the shape \(3, 2\)"),
        (np.array([[["a", "b"]]]), "must hold numbers"),
        (np.zeros((2, 3, 1), dtype="datetime64[s]"), "must hold numbers"),
        (np.zeros((2, 3, 1), dtype=complex), "not complex128"),
        (5, "got int"),
    ],
)
def test_what_is_no_series_is_refused(given, words):
    with pytest.raises(DataError, match=words):
        read_sequences(given)


def test_infinity_is_found_in_its_sequence():
    x = [np.zeros((2, 3)), np.zeros((4, 3))]
    x[1][2, 1] = np.inf
    with pytest.raises(DataError, match="sequence 1, step 2, variable 1"):
        read_sequences(x)


def test_some_sequences_of_many():
    x = [np.full((k + 1, 1), float(k)) for k in range(4)]
    data = read_sequences(x, np.arange(4.0)[:, None])
    for rows in ([2, 0], np.array([False, True, False, True]), slice(1, 3)):
        part = data[rows]
        chosen = np.arange(4)[rows]
        np.testing.assert_array_equal(part.steps, np.concatenate([x[k] for k in chosen]))
        np.testing.assert_array_equal(part.statics[:, 0], chosen)


def test_batches_of_ragged_sequences_have_gaps_behind_their_ends():
    data = Prepared(
        np.arange(1.0, 7.0)[:, None], np.ones((6, 1), dtype=bool), np.array([1, 3, 2]), None
    )
    values, observed, lengths, statics = SeriesInputs(data)[torch.tensor([2, 0])]
    assert values[:, :, 0].tolist() == [[5, 6], [1, 0]]
    assert observed[:, :, 0].tolist() == [[True, True], [True, False]]
    assert lengths.tolist() == [2, 1]
    assert statics is None


# -- fitting ---------------------------------------------------------------------------------------


def test_scaling_is_learnt_from_the_training_steps_only():
    x, y = series()
    plan = Plan(epochs=1, validation=0.25)
    far = x.copy()
    model = tiny(plan=plan).fit(x, y)
    held = model._split(y, 0.25, int(np.random.RandomState(0).randint(2**31 - 1)))[1]
    far[held] += 1e3
    again = tiny(plan=plan).fit(far, y)
    np.testing.assert_array_equal(again.scaler_.shift_, model.scaler_.shift_)
    kept = np.setdiff1d(np.arange(len(y)), held)
    np.testing.assert_allclose(model.scaler_.shift_, np.nanmean(x[kept], axis=(0, 1)))
    np.testing.assert_allclose(model.scaler_.width_, np.nanstd(x[kept], axis=(0, 1)))


def test_balanced_classes_weigh_the_same_in_the_loss():
    x, _ = series(40)
    y = (np.arange(40) < 4).astype(int)
    model = tiny(class_weight="balanced").fit(x, y)
    weight = model._row_weight(y, None)
    assert weight[y == 1].sum() == pytest.approx(weight[y == 0].sum())


def test_given_validation_sequences_decide_by_auroc():
    x, y = series(60)
    held, target = series(40, seed=1)
    plan = Plan(epochs=8, batch=16, lr=0.05, monitor="auroc", schedule=None)
    labels = np.array(["alive", "dead"])
    model = tiny(plan=plan).fit(x, labels[y], validation=(held, labels[target]))
    best = max(step["valid_auroc"] for step in model.history_)
    from sklearn.metrics import roc_auc_score

    found = roc_auc_score(target, model.predict_proba(held)[:, 1])
    assert found == pytest.approx(best, abs=1e-9)


def test_classes_count_in_validation_as_in_training():
    """Half of the training sequences are 1, of those held back none: weights stay 1."""
    x, _ = series(40)
    y = np.arange(40) % 2
    held = x[y == 0][:10]
    plan = Plan(epochs=1, batch=40, schedule=None)
    model = tiny(plan=plan, class_weight="balanced")
    model.fit(x, y, validation=(held, np.zeros(10, dtype=int)))
    loss = -np.log(model.predict_proba(held)[:, 0]).mean()
    assert model.history_[0]["valid_loss"] == pytest.approx(loss, rel=1e-5)
    y = (np.arange(40) < 4).astype(int)  # weights 5 / 9 and 5, 1 on average
    model.fit(x, y, validation=(held, np.zeros(10, dtype=int)))
    loss = -np.log(model.predict_proba(held)[:, 0]).mean()
    np.testing.assert_allclose(model._held_weight(np.array([0, 1]), y), [5 / 9, 5])
    assert model.history_[0]["valid_loss"] == pytest.approx(5 / 9 * loss, rel=1e-5)


@pytest.mark.parametrize(
    ("validation", "error", "words"),
    [
        ([1, 2], TypeError, "must be a tuple"),
        ((series(4)[0], ["x"] * 4), ValueError, "class 'x'"),
        ((series(4, width=3)[0], [0, 1, 0, 1]), DataError, "3 variables per step"),
        ((series(4)[0], [0, 1]), ValueError, "inconsistent numbers"),
    ],
)
def test_validation_that_does_not_fit_is_refused(validation, error, words):
    x, y = series()
    labels = y if words != "class 'x'" else y.astype(str)
    with pytest.raises(error, match=words):
        tiny().fit(x, labels, validation=validation)


def test_statics_help_and_may_have_gaps(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 4, 2))
    y = np.arange(80) % 2
    statics = np.stack([y + 0.1 * rng.normal(size=80), np.full(80, 3.0)], axis=1)
    statics[::7] = np.nan
    plan = Plan(epochs=25, batch=16, lr=0.05)
    model = tiny(plan=plan).fit(x, y, statics=statics)
    assert (model.predict(x, statics) == y)[~np.isnan(statics[:, 0])].mean() > 0.95
    assert model.n_statics_ == 2
    assert model.score(x, y, statics=statics) == (model.predict(x, statics) == y).mean()
    with pytest.raises(DataError, match="fitted on 2; pass the same statics"):
        model.predict(x)
    with pytest.raises(DataError, match="one row of numbers for each of 80"):
        model.predict(x, statics[:3])
    nanwise.save(model, tmp_path / "m")
    again = nanwise.load(tmp_path / "m")
    np.testing.assert_array_equal(
        again.decision_function(x, statics), model.decision_function(x, statics)
    )


def test_one_time_step_and_sequences_without_a_value():
    x, y = series(steps=1)
    x[:5] = np.nan
    assert np.isfinite(tiny().fit(x, y).predict_proba(x)).all()


def test_a_variable_that_is_never_observed_is_named():
    x, y = series()
    x[:, :, 1] = np.nan
    with pytest.warns(GapWarning, match="nothing was observed in column 1"):
        model = tiny().fit(x, y)
    assert np.isfinite(model.predict_proba(x)).all()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"cell": "rnn"}, "cell must be one of 'lstm', 'gru'"),
        ({"units": 0}, "units must be at least 1"),
        ({"scale": "quantile"}, "scale must be one of"),
        ({"gaps": "forwardfill"}, "did you mean 'forward_fill'"),
    ],
)
def test_settings_are_checked(params, words):
    x, y = series()
    with pytest.raises(ValueError, match=words):
        tiny().set_params(**params).fit(x, y)
    with pytest.raises(TypeError, match="SeriesTreatment, got the class"):
        tiny().set_params(gaps=Sequences).fit(x, y)


def test_a_regressor_refuses_to_watch_classes():
    x, y = series()
    model = NanSeriesRegressor("zero", 4, plan=Plan(epochs=1, monitor="auroc"))
    with pytest.raises(ValueError, match="a regressor watches the loss"):
        model.fit(x, y)


def test_several_outputs_and_validation_of_a_regressor():
    x, y = series()
    target = np.stack([y, 2.0 * y], axis=1)
    target[0, 1] = np.nan
    plan = Plan(epochs=2, batch=16)
    model = NanSeriesRegressor("zero", 4, plan=plan, random_state=0)
    with pytest.raises(ValueError, match="has 1 outputs per sequence"):
        model.fit(x, target, validation=(x[:10], target[:10, 0]))
    model.fit(x, target, validation=(x[:10], target[:10]))
    assert model.predict(x).shape == (40, 2)
    assert all(step["valid_loss"] > 0 for step in model.history_)


def test_cross_validation_and_nested_parameters():
    x, y = series()
    model = NanSeriesClassifier(units=4, plan=QUICK).set_params(gaps__power=0.5, plan__lr=0.01)
    assert model.gaps.power == 0.5
    assert np.isfinite(cross_val_score(model, x, y, cv=2, error_score="raise")).all()
    assert np.isfinite(cross_val_score(model, list(x), y, cv=2, error_score="raise")).all()


def test_a_loss_that_is_not_finite_is_said():
    x, y = series()
    plan = Plan(epochs=5, batch=8, lr=1e30, schedule=None, precision="float32")
    with pytest.raises(TrainingError, match="not finite any more in epoch"):
        NanSeriesRegressor("zero", 4, plan=plan, random_state=0).fit(1e3 * x, y)


def test_three_classes():
    x, _ = series()
    y = np.array(["a", "b", "c", "a"] * 10)
    model = tiny().fit(x, y)
    assert model.decision_function(x).shape == (40, 3)
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1)


def test_a_file_whose_parts_do_not_fit_is_refused(tmp_path):
    x, y = series()
    model = tiny().fit(x, y)
    model.units = 5
    nanwise.save(model, tmp_path / "m")
    with pytest.raises(ModelFileError):
        nanwise.load(tmp_path / "m")
