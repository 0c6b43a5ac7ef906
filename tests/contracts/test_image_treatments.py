"""The contract of treatments of pictures, over the registry."""

import copy

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn
from torch.nn import functional as F

import nanwise
from nanwise import NanImageClassifier, Plan
from nanwise.estimators.image.choice import choices
from nanwise.registry import find, known

ENTRIES = known("treatment", inputs="image")
NAMES = {"filled", "knn", "mask_channel", "misconv", "partial_conv", "sn_conv", "zero"}
#: convolutions for which what lies outside of a picture is as missing as a hole
COUNTING = {"partial_conv", "sn_conv"}
TOLERANCE = 1e-5


def pictures(n=24, channels=1, side=8, share=0.4, seed=0):
    """A bright cross or a bright frame, with a square hole and some single pixels missing."""
    draw = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = 0.3 * draw.random((n, channels, side, side), dtype=np.float32)
    x[y == 0, :, side // 2] += 0.6
    x[y == 1, :, 0] += 0.6
    row, column = draw.integers(0, side - 3, (2, n))
    for i in range(n):
        x[i, :, row[i] : row[i] + 3, column[i] : column[i] + 3] = np.nan
    x[:, :, draw.random((side, side)) < share / 4] = np.nan
    return x, y


@pytest.fixture(scope="module")
def density():
    """A density to share: fitted once on pictures of one channel."""
    made = find("image/dmfa").make(factors=2, width=8, plan=Plan(epochs=1, batch=16))
    return made.set_params(random_state=0).fit(pictures()[0])


def make(entry, density, **params):
    own = {"misconv": {"density": density}, "filled": {"imputer": density}}
    return entry.make(**entry.tiny | own.get(entry.name, {}) | params)


def answers(treatment, x, layer):
    prepared = treatment.prepare(x)
    values = torch.from_numpy(np.nan_to_num(prepared, nan=0.0))
    with torch.no_grad():
        return layer(values, torch.from_numpy(~np.isnan(prepared)), treatment.complete(prepared))


each = pytest.mark.parametrize("entry", ENTRIES, ids=lambda m: m.name)


def test_all_are_registered_with_their_facts():
    assert {m.name for m in ENTRIES} >= NAMES
    assert set(choices()) >= NAMES | {"dmfa"}
    for entry in ENTRIES:
        assert entry.summary.endswith(".")
        assert entry.paper
        assert entry.when
        assert set(entry.space) <= set(entry.make().get_params(deep=False))


@each
def test_without_a_hole_it_is_a_plain_convolution(entry, density):
    x, _ = pictures()
    whole = np.nan_to_num(x, nan=0.5)
    treatment = make(entry, density, **({"K": 9.0} if entry.name == "sn_conv" else {})).fit(x)
    layer = treatment.layer(1, 5)
    conv = next(m for m in layer.modules() if isinstance(m, nn.Conv2d))
    seen = torch.from_numpy(whole)
    if conv.in_channels == 2:  # one more channel that says: all is known
        seen = torch.cat([seen, torch.ones_like(seen)], 1)
    expected = F.conv2d(seen, conv.weight, conv.bias, padding=1).relu().detach()
    inner = slice(1, -1) if entry.name in COUNTING else slice(None)
    torch.testing.assert_close(
        answers(treatment, whole, layer)[..., inner, inner],
        expected[..., inner, inner],
        atol=TOLERANCE,
        rtol=TOLERANCE,
    )


@each
def test_a_picture_is_treated_by_itself(entry, density):
    x, _ = pictures()
    new, _ = pictures(seed=1)
    treatment = make(entry, density).fit(x)
    layer = treatment.layer(1, 5).eval()
    whole = answers(treatment, new, layer)
    for some in (slice(3, 4), slice(None, None, -1)):
        alone = answers(treatment, np.ascontiguousarray(new[some]), layer)
        there = whole[np.r_[some]] if some.step is None else whole.flip(0)
        torch.testing.assert_close(alone, there, atol=TOLERANCE, rtol=TOLERANCE)


@each
def test_what_stands_behind_a_hole_is_ignored(entry, density):
    x, _ = pictures()
    treatment = make(entry, density).fit(x)
    layer = treatment.layer(1, 5)
    prepared = treatment.prepare(x)
    observed = torch.from_numpy(~np.isnan(prepared))
    asked = treatment.complete(prepared)
    values = torch.from_numpy(np.nan_to_num(prepared, nan=0.0))
    rubbish = values.where(observed, 1e3)
    with torch.no_grad():
        clean, other = (layer(v, observed, asked) for v in (values, rubbish))
    torch.testing.assert_close(other, clean)


@each
def test_known_pixels_are_kept_and_input_is_not_modified(entry, density):
    x, _ = pictures()
    treatment = make(entry, density).fit(x)
    for dtype in (np.float32, np.float64):
        given = x.astype(dtype)
        before = given.copy()
        prepared = treatment.prepare(given)
        np.testing.assert_array_equal(given, before)
        known_pixels = ~np.isnan(before)
        np.testing.assert_array_equal(prepared[known_pixels], before[known_pixels])
        assert prepared.dtype == dtype
        assert entry.fills != np.isnan(prepared).any()


@each
def test_clone_and_fresh_treatments_are_unfitted(entry, density):
    treatment = make(entry, density).fit(pictures()[0])
    copied = clone(treatment)
    learnt = {k for k in vars(treatment) if k.endswith("_")}
    assert set(copied.get_params(deep=False)) == set(treatment.get_params(deep=False))
    assert not learnt & set(vars(copied))


@each
def test_classifier_learns_from_incomplete_pictures_and_is_saved(entry, density, tmp_path):
    x, y = pictures(60)
    x[0] = np.nan  # nothing known
    x[1] = np.nan_to_num(x[1], nan=0.2)  # nothing missing
    plan = Plan(epochs=12, batch=15, lr=0.01, optimizer="adam", weight_decay=0.0)
    model = NanImageClassifier(make(entry, density), width=4, plan=plan, random_state=0)
    first = model.fit(x, y).predict_proba(x)
    new, target = pictures(60, seed=3)
    assert model.score(new, target) > 0.75
    assert np.isfinite(first).all()
    np.testing.assert_allclose(first.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_proba(x[5:6]), first[5:6], atol=TOLERANCE)

    nanwise.save(model, tmp_path / "model")
    np.testing.assert_array_equal(nanwise.load(tmp_path / "model").predict_proba(x), first)

    state = torch.random.get_rng_state()
    again = copy.deepcopy(model).set_params(gaps=make(entry, density)).fit(x, y)
    np.testing.assert_array_equal(again.predict_proba(x), first)
    assert torch.equal(torch.random.get_rng_state(), state)
