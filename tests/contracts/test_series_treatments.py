"""The contract of treatments of series, over the registry."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

import nanwise
from nanwise import NanSeriesClassifier, NanSeriesRegressor, Plan
from nanwise.registry import find, known

ENTRIES = known("treatment", inputs="series")
NAMES = {"sparsity_norm", "zero", "mean", "forward_fill", "observation_indicator", "decay"}
PLAN = Plan(epochs=15, batch=20, lr=0.02, optimizer="adam", weight_decay=0.0)
each = pytest.mark.parametrize("entry", ENTRIES, ids=lambda m: m.name)


def series(n=60, seed=0, ragged=False):
    """Class 1 rises; most cells are missing."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = rng.normal(size=(n, 10, 3)) + 3 * y[:, None, None] * np.linspace(0, 1, 10)[:, None]
    x[rng.random(x.shape) < 0.6] = np.nan
    x[0] = np.nan  # nothing known
    if ragged:
        x = [one[:length] for one, length in zip(x, rng.integers(1, 11, n), strict=True)]
    return x, y


def steps(x):
    observed = ~np.isnan(x)
    return np.nan_to_num(x), observed, np.array([4, 1, len(x) - 5])


def test_all_are_registered_with_their_facts():
    assert {m.name for m in ENTRIES} >= NAMES
    for entry in ENTRIES:
        assert entry.summary.endswith(".")
        assert entry.paper
        assert entry.when
        assert set(entry.space) <= set(entry.make().get_params(deep=False))


@each
def test_a_sequence_is_treated_by_itself_and_never_looks_ahead(entry):
    x, y = series(ragged=True)
    model = NanSeriesClassifier(entry.make(), 6, plan=Plan(epochs=1), random_state=0).fit(x, y)
    whole = model.predict_proba(x)
    np.testing.assert_allclose(model.predict_proba(x[7:8]), whole[7:8], atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(x[::-1]), whole[::-1], atol=1e-6)
    # what comes after a step does not change the state at that step
    long = [np.concatenate([x[7], np.full((3, 3), 5.0)])]
    data = model._prepared(nanwise.estimators.series.inputs.read_sequences(long))
    short = model._prepared(nanwise.estimators.series.inputs.read_sequences(x[7:8]))
    np.testing.assert_array_equal(data.values[: len(x[7])], short.values)


@each
def test_nothing_is_written_to_and_observed_values_are_kept(entry):
    x = series(4)[0][1]
    values, observed, lengths = steps(x)
    treatment = entry.make().fit(values, observed, lengths)
    before = values.copy(), observed.copy()
    filled, there = treatment.prepare(values, observed, lengths)
    np.testing.assert_array_equal(values, before[0])
    np.testing.assert_array_equal(observed, before[1])
    np.testing.assert_array_equal(filled[observed], values[observed])
    assert there.all() == entry.fills


@each
def test_what_stands_behind_a_gap_is_ignored(entry):
    values, observed, lengths = steps(series(4)[0][1])
    treatment = entry.make().fit(values, observed, lengths)
    encoder = treatment.encoder(3, 5, "gru").double()
    prepared = treatment.prepare(values, observed, lengths)
    out = encoder(*(torch.from_numpy(part)[None] for part in prepared))
    assert torch.isfinite(out).all()


@each
def test_clone_is_unfitted(entry):
    values, observed, lengths = steps(series(4)[0][1])
    treatment = entry.make().fit(values, observed, lengths)
    assert not [name for name in vars(clone(treatment)) if name.endswith("_")]


@each
@pytest.mark.parametrize("ragged", [False, True])
def test_a_classifier_learns_is_saved_and_repeated(entry, ragged, tmp_path):
    x, y = series(ragged=ragged)
    model = NanSeriesClassifier(entry.make(), 8, plan=PLAN, random_state=0)
    first = model.fit(x, y).predict_proba(x)
    if not ragged:
        assert model.score(*series(seed=3)) > 0.8
    assert np.isfinite(first).all()
    nanwise.save(model, tmp_path / "model")
    np.testing.assert_array_equal(nanwise.load(tmp_path / "model").predict_proba(x), first)
    state = torch.random.get_rng_state()
    np.testing.assert_array_equal(clone(model).fit(x, y).predict_proba(x), first)
    assert torch.equal(torch.random.get_rng_state(), state)


@each
def test_a_regressor_learns(entry):
    x, y = series(100)
    model = NanSeriesRegressor(entry.make(), 8, plan=PLAN, random_state=0)
    new, target = series(100, seed=5)
    assert model.fit(x, 100 + 10 * y).score(new, 100 + 10 * target) > 0.4


def test_k_is_the_mean_count_of_the_steps_that_have_any_value():
    nan = np.nan
    x = np.array([[1.0, 2.0, nan], [nan, nan, nan], [nan, 4.0, nan], [nan, nan, nan]])
    made = find("series/sparsity_norm").make().fit(*steps(x)[:2], np.array([4]))
    assert made.K_ == 1.5
    layer = made.layer(3)
    out = layer(nanwise.Observed(torch.tensor(np.nan_to_num(x)), torch.tensor(~np.isnan(x))))
    np.testing.assert_allclose(out.numpy(), [[0.75, 1.5, 0], [0, 0, 0], [0, 6.0, 0], [0, 0, 0]])


def test_forward_fill_stays_within_a_sequence():
    nan = np.nan
    x = np.array([[nan, 1.0], [2.0, nan], [nan, nan], [nan, nan], [3.0, nan]])
    observed, lengths = ~np.isnan(x), np.array([3, 2])
    made = find("series/forward_fill").make().fit(np.nan_to_num(x), observed, lengths)
    filled, _ = made.prepare(np.nan_to_num(x), observed, lengths)
    mean = 2.5
    np.testing.assert_array_equal(filled, [[mean, 1], [2, 1], [2, 1], [mean, 1], [3, 1]])
