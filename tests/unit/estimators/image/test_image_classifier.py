"""NanImageClassifier beyond the contract of its treatments."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from torch import nn

import nanwise
from nanwise import NanImageClassifier, Plan
from nanwise.errors import DataError, GapWarning
from nanwise.estimators.image.choice import resolve
from nanwise.estimators.image.inputs import read_pictures
from nanwise.estimators.image.sources import Kept, PictureSource, split
from nanwise.methods.image.dmfa import DMFAImputer
from nanwise.methods.image.filled import FilledPictures
from nanwise.methods.image.misconv import MisConv

QUICK = Plan(epochs=3, batch=16, lr=0.01, optimizer="adam", weight_decay=0.0)
TINY = DMFAImputer(components=2, factors=2, width=8, plan=Plan(epochs=1, batch=16), random_state=0)


def pictures(n=32, channels=1, side=6, classes=2, seed=0):
    draw = np.random.default_rng(seed)
    y = np.arange(n) % classes
    x = 0.3 * draw.random((n, channels, side, side), dtype=np.float32)
    x[np.arange(n), :, y * (side // classes)] += 0.6
    x[np.broadcast_to(draw.random((n, 1, side, side)) < 0.3, x.shape)] = np.nan
    return x, y


def model(gaps="zero", **params):
    return NanImageClassifier(gaps, **{"width": 4, "plan": QUICK, "random_state": 0} | params)


def test_labels_of_any_kind_and_decision():
    x, y = pictures(classes=3)
    named = np.array(["a", "b", "c"])[y]
    fitted = model().fit(x, named)
    assert set(fitted.predict(x)) <= {"a", "b", "c"}
    out = fitted.decision_function(x)
    np.testing.assert_allclose(
        fitted.predict_proba(x), torch.as_tensor(out).softmax(1).numpy(), atol=1e-12
    )
    assert fitted.n_iter_ == 3
    two, y = pictures()
    fitted = model().fit(two, y)
    odds = fitted.decision_function(two)
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), fitted.predict_proba(two)[:, 1], atol=1e-12)


def test_backbones():
    x, y = pictures(channels=3, classes=3)
    own = nn.Sequential(nn.Flatten(), nn.Linear(4 * 36, 3))
    start = own[1].weight.detach().clone()
    for backbone in (
        "small",
        "deep",
        own,
        lambda width, n: nn.Sequential(nn.Flatten(), nn.Linear(width * 36, n)),
    ):
        fitted = model(backbone=backbone).fit(x, y)
        assert fitted.predict_proba(x).shape == (32, 3)
    assert torch.equal(own[1].weight, start)
    with pytest.raises(TypeError, match="backbone"):
        nanwise.save(fitted, "not_written")
    with pytest.raises(ValueError, match="small, deep"):
        model(backbone="large").fit(x, y)


def test_a_backbone_is_tried_before_training():
    x, y = pictures(classes=3)
    lazy = nn.Sequential(nn.Flatten(), nn.LazyLinear(3))
    assert model(backbone=lazy).fit(x, y).predict_proba(x).shape == (32, 3)
    with pytest.raises(ValueError, match=r"must give \(N, 3\).*gave \(2, 144\)"):
        model(backbone=nn.Flatten()).fit(x, y)
    with pytest.raises(ValueError, match=r"maps of shape \(N, 4, 6, 6\)"):
        model(backbone=nn.Linear(5, 3)).fit(x, y)


def test_odd_sizes_fit_the_backbone():
    x, y = pictures(side=7)
    assert model(backbone="deep").fit(x[:, :, :5], y).predict(x[:2, :, :5]).shape == (2,)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x: x[:, 0], "X\\[:, None\\]"),
        (lambda x: (np.nan_to_num(x) * 255).astype(np.uint8), "divide bytes by 255"),
        (lambda x: x * 255, "between 0 and 1"),
        (lambda x: np.where(np.isnan(x), np.inf, x), "between 0 and 1.*a hole is NaN"),
        (lambda x: x.astype(complex), "got complex128"),
        (lambda x: x.astype(str), "got <U"),
        (lambda x: np.where(np.isnan(x), "hole", x.astype(object)), "got objects"),
        (lambda x: [*x[1:], x[0, :, :3]], "one size first"),
    ],
)
def test_what_is_no_picture_is_refused(change, text):
    x, y = pictures()
    with pytest.raises(DataError, match=text):
        model().fit(change(x), y)


def test_what_else_may_hold_pictures_is_read_with_its_holes():
    x, _ = pictures()
    hole = np.isnan(x)
    masked = np.ma.masked_array(np.nan_to_num(x, nan=0.5), hole)
    objects = np.where(hole, None, x.astype(object))
    tensor = torch.tensor(x, requires_grad=True)
    for given in (masked, objects, tensor, x.tolist()):
        np.testing.assert_array_equal(read_pictures(given), x)
    np.testing.assert_allclose(read_pictures(tensor.bfloat16()), x, atol=4e-3)


def test_mirrored_and_read_only_arrays_are_as_good_as_others():
    x, y = pictures()
    x = x.astype(np.float64)  # of which no copy in other numbers is made on the way
    x.setflags(write=False)
    fitted = model(MisConv(density=TINY)).fit(x, y)
    mirrored = x[:, :, ::-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for asked in (fitted.predict_proba, fitted.treatment_.density_.transform):
            np.testing.assert_array_equal(asked(mirrored), asked(mirrored.copy()))
            asked(x)
        model().fit(mirrored, y)
        clone(TINY).fit(mirrored)


def test_channels_that_seem_to_come_last_are_warned_about():
    last = np.zeros((2, 8, 8, 3))
    with pytest.warns(GapWarning, match=r"moveaxis\(X, 3, 1\)"):
        read_pictures(last)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_pictures(np.moveaxis(last, 3, 1))
        read_pictures(last, (8, 8, 3))  # told before, when the model was fitted


def test_a_device_that_is_not_there_is_refused_before_anything_is_learnt(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    x, y = pictures()
    treatment = MisConv(density=TINY)
    for name, words in (("cuda", "0 CUDA devices"), ("gpu", "device must be")):
        late = model(treatment, device=name)
        with pytest.raises(ValueError, match=words):
            late.fit(x, y)
        assert not hasattr(late, "treatment_")
        with pytest.raises(ValueError, match=words):
            clone(TINY).set_params(device=name).fit(x)


def test_other_sizes_and_unfitted_models_are_refused():
    x, y = pictures()
    with pytest.raises(NotFittedError):
        model().predict(x)
    fitted = model().fit(x, y)
    with pytest.raises(DataError, match="fitted on"):
        fitted.predict(x[:, :, :4])
    with pytest.raises(ValueError, match="one class"):
        model().fit(x, np.zeros(len(x)))


def test_names_of_gaps():
    x, y = pictures()
    with pytest.raises(ValueError, match="did you mean 'misconv'"):
        model("misconf").fit(x, y)
    with pytest.raises(TypeError, match="ImageTreatment"):
        model(3).fit(x, y)
    with pytest.raises(TypeError, match="got the class MisConv"):
        model(MisConv).fit(x, y)
    assert isinstance(resolve("dmfa"), FilledPictures)
    assert isinstance(resolve(TINY), FilledPictures)
    assert resolve("misconv", 7).random_state == 7
    assert resolve(MisConv(random_state=1), 7).random_state == 1
    deep = model("partial_conv", plan=clone(QUICK)).set_params(gaps__depth=2, plan__lr=0.5)
    assert deep.gaps.depth == 2
    assert clone(deep).get_params()["gaps__depth"] == 2


def test_pixels_never_known_are_named():
    x, y = pictures()
    x[:, :, 0, 1] = np.nan
    with pytest.warns(GapWarning, match=r"1 of 36 pixels.*\(0, 0, 1\)"):
        model().fit(x, y)


def test_weights_and_validation():
    x, y = pictures()
    heavy = model(class_weight={0: 1.0, 1: 50.0}).fit(x, y).predict_proba(x)[:, 1].mean()
    assert heavy > model().fit(x, y).predict_proba(x)[:, 1].mean()
    kept = np.arange(len(x)) % 4 != 0
    weighted = model().fit(x, y, sample_weight=kept.astype(float))
    np.testing.assert_array_equal(
        weighted.predict_proba(x), model().fit(x[kept], y[kept]).predict_proba(x)
    )
    plan = clone(QUICK).set_params(validation=0.25)
    assert all(e["valid_loss"] is not None for e in model(plan=plan).fit(x, y).history_)


def test_double_precision():
    x, y = pictures()
    fitted = model(plan=clone(QUICK).set_params(precision="float64", epochs=1)).fit(x, y)
    assert next(fitted.net_.parameters()).dtype == torch.float64
    assert fitted.predict(x).shape == (32,)


# -- densities -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def density():
    return clone(TINY).fit(pictures()[0])


def test_kept_densities_are_those_of_the_holes(density):
    x, _ = pictures()
    rows = np.array([4, 9, 2, 30, 11])
    kept = Kept.of(x, rows, density.complete, 1e9)
    index = torch.tensor([3, 0, 4])
    pictured = x[rows[index.numpy()]]
    _, observed = split(pictured, torch.float32)
    found, expected = kept.take(index, observed), density.complete(pictured)
    torch.testing.assert_close(found.weights, expected.weights)
    hole = ~observed[:, None]
    for name in ("means", "noise"):
        torch.testing.assert_close(
            getattr(found, name) * hole, getattr(expected, name) * hole, msg=name
        )
    torch.testing.assert_close(found.factors, expected.factors * hole[:, None])


def test_room_decides_whether_densities_are_kept(density):
    x, y = pictures()
    holes = int(np.isnan(x).sum())
    number = holes * 2 * (2 + 2) * 4
    rows, target = np.arange(len(x)), torch.as_tensor(y)
    for room, is_kept in ((number, True), (number - 1, False), (0, False)):
        source = PictureSource(x, rows, target, None, density.complete, room=room)
        assert (source.kept is not None) == is_kept
    kept = model(MisConv(density), room=1e9).fit(x, y).predict_proba(x)
    np.testing.assert_allclose(
        model(MisConv(density), room=0).fit(x, y).predict_proba(x), kept, atol=1e-4
    )


def test_a_fitted_density_is_used_as_it_is_and_another_one_is_fitted(density):
    x, y = pictures()
    assert model(MisConv(density)).fit(x, y).treatment_.density_ is density
    fitted = model(MisConv(clone(TINY))).fit(x, y)
    for a, b in zip(
        fitted.treatment_.density_.net_.parameters(), density.net_.parameters(), strict=True
    ):
        assert torch.equal(a, b)


def test_a_frozen_density_stays_and_a_joint_one_learns(density):
    x, y = pictures()
    before = [p.clone() for p in density.net_.parameters()]
    model(MisConv(density)).fit(x, y)
    fitted = model(MisConv(density, joint=True)).fit(x, y)
    assert all(torch.equal(a, b) for a, b in zip(before, density.net_.parameters(), strict=True))
    moved = fitted.net_.layer.density.parameters()
    assert any(not torch.equal(a, b) for a, b in zip(before, moved, strict=True))


def test_the_joint_loss_has_both_parts(density):
    x, y = pictures()
    fitted = model(MisConv(density, joint=True, joint_weight=0.5)).fit(x, y)
    net = fitted.net_.eval()
    values, observed = split(x, torch.float32)
    batch = (values, observed, None, torch.as_tensor(y), None)
    total, count = net.validation_step(batch)
    torch.manual_seed(0)
    own = net.layer.density.training_step((values, observed))
    torch.manual_seed(0)
    torch.testing.assert_close(net.training_step(batch), total / count + 0.5 * own)


def test_joint_needs_a_density_that_learns_by_gradients(density):
    class Other(BaseEstimator):
        def fit(self, X):
            return self

        def complete(self, X):
            return density.complete(X)

        def __sklearn_is_fitted__(self):
            return True

    x, y = pictures()
    assert model(MisConv(Other())).fit(x, y).predict(x).shape == (32,)
    with pytest.raises(TypeError, match="DMFAImputer"):
        model(MisConv(Other(), joint=True)).fit(x, y)


def test_joint_and_marks_are_saved(density, tmp_path):
    x, y = pictures()
    fitted = model(MisConv(density, joint=True, marks=True)).fit(x, y)
    nanwise.save(fitted, tmp_path / "m")
    np.testing.assert_array_equal(
        nanwise.load(tmp_path / "m").predict_proba(x), fitted.predict_proba(x)
    )


# -- stress ----------------------------------------------------------------------------------------


def test_stress_hides_whole_pixels():
    x, y = pictures(channels=2)
    fitted = model().fit(x, y)
    seen = []

    class Spy:
        classes_ = fitted.classes_

        def predict_proba(self, pictured):
            seen.append(pictured)
            return fitted.predict_proba(pictured)

    found = nanwise.stress(Spy(), x, y, shares=(1.0, 0.5), repeats=2)
    assert found.facts["columns"] == 36
    assert set(found.scores) >= {"accuracy"}
    whole, half = seen
    assert half.shape == (64, 2, 6, 6)
    gone = np.isnan(half)
    assert (gone[:, 0] == gone[:, 1]).all()
    assert gone[np.isnan(np.concatenate([whole, whole]))].all()
    left = (~gone[:, 0]).sum(axis=(1, 2))
    before = (~np.isnan(whole[:, 0])).sum(axis=(1, 2))
    assert left.tolist() == np.rint(np.tile(before, 2) / 2).astype(int).tolist()
    with pytest.raises(ValueError, match="mcar"):
        nanwise.stress(fitted, x, y, mechanism="mar")
