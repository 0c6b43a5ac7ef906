"""Treatments of pictures compared: what is scored, what fails, and what a report is told."""

import base64

import numpy as np
import pytest
import torch

from nanwise.bench.image_facts import picture_facts, wilson
from nanwise.bench.image_sheets import HOLE, sheet
from nanwise.bench.images import TREATMENTS, compare_images, density_in
from nanwise.completion import MFA
from nanwise.data.images import hide_pixels
from nanwise.errors import DataError
from nanwise.estimators.image.choice import choices


class Brightness:
    """Calls a picture bright if the mean of its known pixels is above a threshold."""

    def __init__(self, sure=0.9, fails=False):
        self.sure, self.fails = sure, fails

    def fit(self, X, y):
        if self.fails:
            raise RuntimeError("no such luck")
        self.classes_ = np.unique(y)
        self.rows_ = len(X)
        return self

    def predict_proba(self, X):
        bright = np.nanmean(X, axis=(1, 2, 3)) > 0.5
        second = np.where(bright, self.sure, 1 - self.sure)
        return np.stack([1 - second, second], axis=1)


class Flat:
    """An imputer whose density is 0.5 everywhere, with a standard deviation of 0.1."""

    def transform(self, X):
        return np.where(np.isnan(X), np.float32(0.5), X)

    def sample(self, X, n, random_state=None):
        return np.repeat(self.transform(X)[None], n, axis=0)

    def complete(self, X):
        shape = X.shape[1:]
        density = MFA(
            weights=torch.ones(len(X), 1),
            means=torch.full((len(X), 1, *shape), 0.5),
            factors=torch.zeros(len(X), 1, 1, *shape),
            noise=torch.full((len(X), 1, *shape), 0.01),
            observed=torch.as_tensor(~np.isnan(X)),
        )
        return density.pin(torch.as_tensor(X))


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.array(["dark", "bright"])[np.arange(60) % 2]
    X = rng.random((60, 1, 8, 10)) * 0.4 + 0.6 * (y == "bright")[:, None, None, None]
    return hide_pixels(X.astype(np.float32), "square"), y, X.astype(np.float32)


def made(name):
    sure = {"sure": 0.1, "half": 0.2}.get(name, 0.1)
    return Brightness(sure, fails=name == "broken")


def test_the_table_is_ranked_and_failures_are_kept(data):
    X, y, truth = data
    found = compare_images(X, y, ["half", "broken", "sure"], truth=truth, make=made)
    rows = found.facts["leaderboard"]
    # "bright" sorts before "dark", so a low number for the second class is right
    assert [(r["rank"], r["method"]) for r in rows] == [(1, "sure"), (2, "half"), (None, "broken")]
    assert [r["accuracy"] for r in rows] == [1.0, 1.0, None]
    assert rows[0]["log_loss"] == pytest.approx(-np.log(0.9))
    assert rows[2]["error"] == "RuntimeError: no such luck"
    assert found.facts["failures"] == [{"method": "broken", "error": "RuntimeError: no such luck"}]
    assert found.facts["winner"]["method"] == "sure"
    assert found.model.rows_ == found.facts["protocol"]["train"] == 48
    assert found.facts["protocol"]["test"] == 12


def test_all_may_fail(data):
    X, y, _ = data
    found = compare_images(X, y, ["broken"], make=made)
    assert found.model is None
    assert found.facts["winner"] is None
    assert found.facts["sheets"][0]["lines"][0]["name"] == "hole"


def test_what_cannot_be_compared(data):
    X, y, _ = data
    with pytest.raises(DataError, match="60 pictures and 59 labels"):
        compare_images(X, y[:-1])
    with pytest.raises(DataError, match="the class a; at least two classes"):
        compare_images(X, np.full(60, "a"))
    with pytest.raises(DataError, match="of 2 pictures 1 are held out"):
        compare_images(X[:2], y[:2])
    with pytest.raises(DataError, match="no pictures"):
        compare_images(X[:0], y[:0])
    with pytest.raises(ValueError, match="did you mean 'zero'"):
        compare_images(X, y, ["zeroo"])


def test_the_default_treatments_are_known():
    assert set(TREATMENTS) <= set(choices())


def test_facts_of_pictures(data):
    X, y, _ = data
    X = X.copy()
    X[0], X[1] = np.nan, 0.5
    facts = picture_facts(X, y)
    assert (facts["pictures"], facts["channels"], facts["height"], facts["width"]) == (60, 1, 8, 10)
    assert (facts["whole"], facts["empty"]) == (1, 1)
    assert facts["classes"] == {"bright": 30, "dark": 30}
    assert facts["missing_share"] == pytest.approx(np.isnan(X).mean())


def test_the_interval_of_a_share():
    low, high = wilson(0.9, 100)
    assert (round(low, 4), round(high, 4)) == (0.8256, 0.9448)
    assert wilson(1.0, 10)[1] == pytest.approx(1.0)
    assert 0.6 < wilson(1.0, 10)[0] < 0.8


def tiles(line):
    shape = line["shape"]
    return [np.frombuffer(base64.b64decode(t), np.uint8).reshape(shape) for t in line["tiles"]]


def test_a_sheet_shows_picture_hole_mean_draws_and_uncertainty(data):
    X, _, truth = data
    found = sheet(X[:3], truth=truth[:3], imputer=Flat(), draws=2, names=["a", "b", "c"])
    lines = {line["name"]: line for line in found["lines"]}
    assert list(lines) == ["picture", "hole", "mean", "draw 1", "draw 2", "uncertainty", ""]
    holes = np.isnan(X[:3, 0])
    for k in range(3):
        assert (tiles(lines["hole"])[k][holes[k]] == HOLE).all()
        assert (tiles(lines["mean"])[k][holes[k]] == 128).all()
        assert np.array_equal(
            tiles(lines["picture"])[k][..., 0], np.rint(255 * truth[k, 0]).astype(np.uint8)
        )
        heat = tiles(lines["uncertainty"])[k].sum(axis=-1, dtype=int)
        assert heat[holes[k]].min() > heat[~holes[k]].max()
    assert "bright: 0.10" in found["caption"]


def test_large_pictures_become_small_tiles():
    X = np.random.default_rng(0).random((1, 3, 200, 100), dtype=np.float32)
    assert sheet(X)["lines"][0]["shape"] == [64, 32, 3]


@pytest.mark.parametrize("channels", [2, 4])
def test_channels_that_are_neither_grey_nor_colours_are_shown_as_their_mean(channels):
    X = np.random.default_rng(0).random((2, channels, 6, 5), dtype=np.float32)
    X[:, 0, 1, 1] = np.nan
    lines = sheet(X, imputer=Flat())["lines"]
    for tile, picture in zip(tiles(lines[0]), X, strict=True):
        expected = np.rint(255 * picture.mean(axis=0))
        assert (tile[1, 1] == HOLE).all()
        known = ~np.isnan(expected)
        np.testing.assert_allclose(tile[known], expected[known][:, None].repeat(3, 1), atol=1)


def test_the_density_of_a_fitted_classifier_is_found():
    class Model:
        pass

    bare, carrying = Model(), Model()
    bare.treatment_ = Model()
    carrying.treatment_ = Model()
    carrying.treatment_.density_ = Flat()
    assert density_in([Model(), bare]) is None
    assert density_in([bare, carrying]) is carrying.treatment_.density_
