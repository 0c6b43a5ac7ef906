"""NeuMissRegressor, NeuMissClassifier and the baselines beside them."""

import warnings

import numpy as np
import pytest
import torch
from scipy import sparse

import nanwise
from nanwise import NanRegressor, NeuMissClassifier, NeuMissRegressor, Plan, TableModel
from nanwise.errors import GapWarning, ModelFileError
from nanwise.estimators.neumiss_start import row_moments, shrinkage_for, some_rows
from nanwise.gaussian.predict import GaussianPredictor
from nanwise.missing import observe
from nanwise.registry import find
from nanwise.saving import decode, encode

FAST = Plan(epochs=5, weight_decay=0.0)


def table(n=400, d=5, share=0.3, seed=1):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n, 2)) @ draw.normal(size=(2, d)) + 0.3 * draw.normal(size=(n, d)) + 3
    y = x @ np.arange(1.0, d + 1) + 0.1 * draw.normal(size=n)
    x[draw.random(x.shape) < share] = np.nan
    return x, y


def classes(y, k=2):
    return np.array(["a", "b", "c", "d"])[np.searchsorted(np.quantile(y, np.arange(1, k) / k), y)]


@pytest.mark.parametrize("start", ["moments", "random"])
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_regression(start, depth):
    x, y = table()
    lr = {"moments": 0.01, "random": 0.05}[start]
    plan = Plan(epochs=50, lr=lr, weight_decay=0.0)
    model = NeuMissRegressor(depth, start=start, plan=plan, random_state=0).fit(x, y)
    assert model.score(x, y) > 0.8
    assert model.net_.layer.depth == depth
    assert model.predict(x[:1]).shape == (1,)
    assert np.isfinite(model.predict(np.full((2, 5), np.nan))).all()


def test_the_moments_are_nearly_enough_without_training():
    x, y = table(n=3000)
    plan = Plan(epochs=1, lr=1e-9)
    model = NeuMissRegressor(20, plan=plan, random_state=0).fit(x[:2000], y[:2000])
    moments = row_moments(*observe(np.column_stack([y, x])[:2000]))
    coef = np.linalg.solve(moments.cov[1:, 1:], moments.cov[1:, 0])
    rest = moments.mean[0] - coef @ moments.mean[1:]
    best = GaussianPredictor((moments.mean[1:], moments.cov[1:, 1:]), coef, rest)
    error = np.mean((best.predict(x[2000:]) - y[2000:]) ** 2)
    assert np.mean((model.predict(x[2000:]) - y[2000:]) ** 2) < 1.1 * error


def test_training_goes_on_from_the_start():
    x, y = table()
    still = NeuMissRegressor(2, plan=Plan(epochs=1, lr=1e-9), random_state=0).fit(x, y)
    trained = NeuMissRegressor(2, plan=Plan(epochs=40, lr=0.01), random_state=0).fit(x, y)
    assert trained.score(x, y) > still.score(x, y)
    chance = NeuMissRegressor(2, start="random", plan=Plan(epochs=1, lr=1e-9), random_state=0)
    assert chance.fit(x, y).score(x, y) < still.score(x, y) - 0.3


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("start", ["moments", "random"])
def test_classification(k, start):
    x, y = table()
    labels = classes(y, k)
    plan = Plan(epochs=60, lr=0.05, weight_decay=0.0)
    model = NeuMissClassifier(3, start=start, plan=plan, random_state=0).fit(x, labels)
    assert model.score(x, labels) > {2: 0.85, 3: 0.7, 4: 0.6}[k]
    probabilities = model.predict_proba(x)
    assert probabilities.shape == (400, k)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert model.net_.layer.out_features == (1 if k == 2 else k)


def test_same_seed_same_model(global_rng_untouched):
    x, y = table()
    one, two = (
        NeuMissRegressor(3, start="random", plan=FAST, random_state=1).fit(x, y) for _ in range(2)
    )
    np.testing.assert_array_equal(one.predict(x), two.predict(x))


def test_several_targets_with_gaps():
    x, y = table()
    both = np.column_stack([y, -y])
    both[::3, 1] = np.nan
    model = NeuMissRegressor(3, plan=FAST, random_state=0).fit(x, both)
    answer = model.predict(x)
    assert answer.shape == (400, 2)
    assert np.corrcoef(answer.T)[0, 1] < -0.98


def test_validation_and_class_weight():
    x, y = table()
    labels = np.where(y > np.quantile(y, 0.8), "rare", "usual")
    plan = Plan(epochs=10, validation=0.2, patience=3)
    plain = NeuMissClassifier(2, plan=plan, random_state=0).fit(x, labels)
    heavy = NeuMissClassifier(2, plan=plan, class_weight="balanced", random_state=0).fit(x, labels)
    assert plain.history_[0]["valid_loss"] is not None
    assert (heavy.predict(x) == "rare").sum() > (plain.predict(x) == "rare").sum()


def test_a_class_of_weight_0_keeps_its_column():
    x, y = table()
    for k in (3, 4):
        labels = classes(y, k)
        weight = (labels != "b").astype(float)
        model = NeuMissClassifier(2, plan=FAST, random_state=0).fit(x, labels, weight)
        assert "b" not in model.predict(x)
        assert model.predict_proba(x).shape[1] == k


# -- bad input -----------------------------------------------------------------------------------


def test_one_column():
    x, y = table()
    for start in ("moments", "random"):
        model = NeuMissRegressor(3, start=start, plan=FAST, random_state=0).fit(x[:, :1], y)
        assert np.isfinite(model.predict(x[:, :1])).all()


def test_constant_column_and_equal_columns():
    x, y = table()
    odd = np.column_stack([x, np.full(len(x), 7.0), x[:, 0], x[:, 0]])
    model = NeuMissRegressor(5, plan=FAST, random_state=0).fit(odd, y)
    assert model.score(odd, y) > 0.85
    everything = np.full((30, 2), 4.0)
    flat = NeuMissRegressor(5, plan=FAST, random_state=0).fit(everything, np.arange(30.0))
    np.testing.assert_allclose(flat.predict(everything), 14.5, atol=0.5)


def test_column_never_observed():
    x, y = table()
    x[:, 2] = np.nan
    with pytest.warns(GapWarning, match="column 2"):
        model = NeuMissRegressor(4, plan=FAST, random_state=0).fit(x, y)
    before = model.predict(x)
    assert np.isfinite(before).all()
    x[:, 2] = 1.0
    assert np.isfinite(model.predict(x)).all()


@pytest.mark.parametrize("start", ["moments", "random"])
def test_fewer_rows_than_columns(start):
    x, y = table(n=12, d=40, share=0.4)
    model = NeuMissRegressor(5, start=start, plan=FAST, random_state=0).fit(x, y)
    assert np.isfinite(model.predict(x)).all()
    labels = classes(y)
    model = NeuMissClassifier(5, start=start, plan=FAST, random_state=0).fit(x, labels)
    assert np.isfinite(model.predict_proba(x)).all()


def test_nothing_observed_at_all():
    with pytest.warns(GapWarning):
        model = NeuMissRegressor(2, plan=FAST, random_state=0).fit(
            np.full((20, 3), np.nan), np.arange(20.0)
        )
    np.testing.assert_allclose(model.predict(np.full((1, 3), np.nan)), 9.5, atol=0.5)


@pytest.mark.parametrize(
    ("params", "error", "says"),
    [
        (dict(depth=-1), ValueError, "depth must be at least 0, got -1"),
        (dict(depth=2.0), TypeError, "depth must be a whole number"),
        (dict(start="zero"), ValueError, "start must be one of 'moments', 'random'"),
        (dict(residual=False), ValueError, "set residual=True or start='random'"),
        (dict(scale="loud"), ValueError, "scale must be one of"),
        (dict(plan="long"), TypeError, "plan must be a Plan"),
    ],
)
def test_bad_settings(params, error, says):
    with pytest.raises(error, match=says):
        NeuMissRegressor(**params).fit(*table())


def test_sparse_rows_are_refused_with_a_way_out():
    with pytest.raises(TypeError, match=r"absent means missing, pass nanwise.missing.from_sparse"):
        NeuMissRegressor().fit(sparse.csr_array(np.eye(4)), np.arange(4.0))


def test_without_residual():
    x, y = table()
    plan = Plan(epochs=50, lr=0.05, weight_decay=0.0)
    settings = dict(residual=False, plan=plan, random_state=0)
    assert NeuMissRegressor(3, start="random", **settings).fit(x, y).score(x, y) > 0.8
    assert NeuMissRegressor(1, **settings).fit(x, y).score(x, y) > 0.8


def test_the_default_plan_can_be_reached_into():
    model = NeuMissRegressor().set_params(plan__epochs=3)
    assert (model.plan.epochs, model.plan.batch) == (3, 256)
    assert model.set_params(plan__lr=0.5).plan.epochs == 3


def test_one_setting_of_the_plan_leaves_the_decay_as_it_was():
    x, y = table()
    usual = NeuMissRegressor(2, random_state=0).fit(x, y)
    same = NeuMissRegressor(2, random_state=0).set_params(plan__lr=3e-3)
    np.testing.assert_array_equal(same.fit(x, y).predict(x), usual.predict(x))
    assert same.plan.weight_decay is None
    free = NeuMissRegressor(2, random_state=0).set_params(plan__weight_decay=0.0)
    assert np.abs(free.fit(x, y).predict(x) - usual.predict(x)).max() > 1e-6


@pytest.mark.parametrize("residual", [True, False])
def test_random_weights_have_a_plan_that_trains_them(residual):
    x, y = table()
    model = NeuMissRegressor(3, start="random", residual=residual, random_state=0).fit(x, y)
    assert model.score(x, y) > 0.8


# -- the start -----------------------------------------------------------------------------------


def test_row_moments_know_weights_by_their_ratios():
    values, observed = observe(table(n=80)[0])
    weight = np.random.default_rng(0).integers(0, 4, 80).astype(float)
    repeated = (np.repeat(part, weight.astype(int), axis=0) for part in (values, observed))
    plain = row_moments(*repeated)
    for scale in (1.0, 1e-3, 50.0):
        for a, b in zip(row_moments(values, observed, scale * weight), plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_shrinkage_counts_distinct_rows():
    values, observed = observe(table(n=50)[0])
    twice = np.repeat(values, 2, axis=0), np.repeat(observed, 2, axis=0)
    assert shrinkage_for(*twice) == shrinkage_for(values, observed)
    more = observe(table(n=500)[0])
    assert shrinkage_for(*more) < shrinkage_for(values, observed)


def test_some_rows():
    assert some_rows(7).tolist() == list(range(7))
    many = some_rows(50_000)
    assert len(np.unique(many)) == len(many) == 20_000
    np.testing.assert_array_equal(many, some_rows(50_000))


# -- saving --------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_save_and_load(tmp_path, depth):
    x, y = table()
    for model, target in (
        (NeuMissRegressor(depth, plan=FAST, random_state=0), y),
        (NeuMissClassifier(depth, scale="quantile", random_state=0), classes(y, 3)),
    ):
        model.fit(x, target)
        nanwise.save(model, tmp_path / "model")
        again = nanwise.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(x), model.predict(x))
        assert again.get_params()["depth"] == depth


def test_a_file_whose_depth_does_not_fit_its_weights_is_refused():
    x, y = table(n=50)
    tree, arrays = encode(NeuMissRegressor(2, plan=FAST, random_state=0).fit(x, y))
    for depth in (3, 10**12, -1, "2"):
        tree["state"]["params"]["depth"] = depth
        with pytest.raises(ModelFileError):
            decode(tree, arrays)


# -- methods -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["neumiss_net", "zero_linear", "mice_linear"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_predictors(name, task, tmp_path):
    x, y = table()
    target = y if task == "regression" else classes(y)
    x[:, 3] = np.nan
    entry = find(name, "predictor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableModel(name, task, params=dict(entry.tiny), random_state=0).fit(x, target)
    assert model.score(x, target) > 0.65
    nanwise.save(model, tmp_path / "model")
    np.testing.assert_array_equal(nanwise.load(tmp_path / "model").predict(x), model.predict(x))
    with pytest.raises(ValueError, match="clustering"):
        entry.make("clustering")


def test_zero_linear_is_least_squares_on_values_and_marks():
    x, y = table()
    design = np.column_stack([np.ones(len(x)), np.nan_to_num(x), np.isnan(x)])
    want = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    made = find("zero_linear").make("regression").fit(x, y)
    np.testing.assert_allclose(made.predict(x), want, rtol=1e-8)


def test_neumiss_net_takes_a_plan_of_either_kind():
    make = find("neumiss_net").make
    by_dict = make("regression", plan={"epochs": 3})
    assert (by_dict.plan.epochs, by_dict.plan.batch) == (3, 256)
    assert make("classification", plan=FAST, depth=2).plan is FAST
    assert make("regression").plan is None


@pytest.mark.parametrize("start", ["moments", "random"])
def test_treatment(start, tmp_path):
    x, y = table()
    gaps = find("neumiss").make(depth=3, start=start)
    model = NanRegressor(gaps, hidden=(32,), plan=Plan(epochs=30, lr=0.01), random_state=0)
    model.fit(x, y)
    assert model.score(x, y) > 0.85
    nanwise.save(model, tmp_path / "model")
    np.testing.assert_array_equal(nanwise.load(tmp_path / "model").predict(x), model.predict(x))


def test_the_block_of_the_treatment_is_trained():
    x, y = table()
    model = NanRegressor("neumiss", hidden=(8,), plan=FAST, random_state=0).fit(x, y)
    first = model.treatment_.layer(5)
    assert not torch.allclose(model.net_.layer.weight, first.weight)
    with pytest.raises(ValueError, match="start must be one of"):
        NanRegressor(find("neumiss").make(start="warm")).fit(x, y)


def test_without_gaps_the_start_is_the_linear_model():
    x, y = table(share=0.0)
    model = NeuMissRegressor(3, plan=Plan(epochs=1, lr=1e-12), random_state=0).fit(x, y)
    design = np.column_stack([np.ones(len(x)), x])
    want = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(x), want, rtol=1e-2)
