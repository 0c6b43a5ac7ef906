"""What every imputer of pictures promises, whatever its method."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import nanwise
from nanwise.errors import DataError
from nanwise.registry import known

METHODS = known("imputer", inputs="image")
SHAPE = (2, 9, 8)


def pictures(n=24, seed=0, dtype=np.float32):
    """Two sorts of stripes, each with a hole at a place of its own; whole pictures too."""
    rng = np.random.default_rng(seed)
    row = np.arange(SHAPE[1])[:, None] + np.zeros(SHAPE[2])
    whole = 0.5 + 0.3 * np.sin(row + np.pi * rng.integers(2, size=(n, 1, 1, 1)))
    whole = (whole + 0.05 * rng.random((n, *SHAPE))).astype(dtype)
    X = whole.copy()
    for i in range(1, n):
        top, left = rng.integers(5), rng.integers(4)
        X[i, :, top : top + 4, left : left + 4] = np.nan
    X[n // 2, 0, 0, 0] = np.nan  # one channel only
    return X, whole


@pytest.fixture(scope="module", params=METHODS, ids=lambda m: m.name)
def fitted(request):
    X, _ = pictures()
    return request.param.make(**request.param.tiny, random_state=0).fit(X)


def test_observed_pixels_are_untouched_and_holes_are_filled(fitted):
    for dtype in (np.float32, np.float64):
        X, _ = pictures(seed=1, dtype=dtype)
        before = X.copy()
        filled = fitted.transform(X)
        there = ~np.isnan(X)
        assert filled.dtype == dtype
        assert filled[there].tobytes() == X[there].tobytes()
        assert ((filled >= 0) & (filled <= 1)).all()
        np.testing.assert_array_equal(X, before)


def test_draws_are_untouched_where_observed_and_differ_elsewhere(fitted):
    X, _ = pictures(seed=1)
    drawn = fitted.sample(X, 3, random_state=0)
    there = ~np.isnan(X)
    assert drawn.shape == (3, *X.shape)
    assert (drawn[:, there] == X[there]).all()
    assert ((drawn >= 0) & (drawn <= 1)).all()
    assert (drawn[0] != drawn[1])[~there].mean() > 0.5
    np.testing.assert_array_equal(drawn, fitted.sample(X, 3, random_state=0))
    assert (drawn != fitted.sample(X, 3, random_state=1)).any()


def test_a_picture_is_answered_by_itself(fitted):
    X, _ = pictures(seed=1)
    alone = np.concatenate([fitted.transform(X[i : i + 1]) for i in range(4)])
    np.testing.assert_allclose(fitted.transform(X)[:4], alone, atol=1e-5)


def test_nothing_observed_and_nothing_missing(fitted):
    X, whole = pictures(seed=1)
    X[0], X[1] = np.nan, whole[1]
    filled = fitted.transform(X[:2])
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[1], whole[1])
    found = fitted.log_prob(X[:2], whole[:2])
    assert np.isfinite(found).all()
    assert found[1] == pytest.approx(0.0, abs=1e-5)


def test_the_density_is_certain_where_there_is_a_value(fitted):
    X, _ = pictures(seed=1)
    density = fitted.complete(X)
    there = torch.as_tensor(~np.isnan(X))
    assert density.check(torch.as_tensor(X)).means.dtype == torch.float32
    assert not any(part.requires_grad for part in density)
    torch.testing.assert_close(density.mean()[there], torch.as_tensor(X)[there])
    assert (density.variance()[there] < 1e-12).all()
    assert (density.variance()[~there] > 0).all()
    np.testing.assert_allclose(density.mean().clamp(0, 1), fitted.transform(X), atol=1e-5)
    assert torch.isfinite(density.log_prob(torch.rand(X.shape))).all()


def test_densities_of_many_pictures_come_in_blocks(fitted, monkeypatch):
    X, _ = pictures(seed=1)
    want = fitted.complete(X)
    monkeypatch.setattr(type(fitted), "at_once", 7)
    for one, other in zip(fitted.complete(X), want, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    X, whole = pictures(seed=1)
    assert fitted.log_prob(X, whole).shape == (24,)
    assert fitted.score(X, whole) == pytest.approx(fitted.log_prob(X, whole).mean())


def test_holes_of_the_truth_do_not_count(fitted):
    X, whole = pictures(seed=1)
    whole[2] = X[2]
    assert fitted.log_prob(X, whole)[2] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("entry", METHODS, ids=lambda m: m.name)
def test_same_seed_same_answer(entry):
    X, _ = pictures(n=10)
    state = torch.get_rng_state(), np.random.get_state()[1].tolist()
    one, two, other = (entry.make(**entry.tiny, random_state=s).fit(X) for s in (3, 3, 4))
    assert torch.equal(torch.get_rng_state(), state[0])
    assert np.random.get_state()[1].tolist() == state[1]
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    assert (one.transform(X) != other.transform(X)).any()


def test_saved_and_brought_back(fitted, tmp_path):
    X, _ = pictures(seed=1)
    nanwise.save(fitted, tmp_path / "model")
    back = nanwise.load(tmp_path / "model")
    assert type(back) is type(fitted)
    np.testing.assert_array_equal(back.transform(X), fitted.transform(X))
    np.testing.assert_array_equal(back.sample(X, 2, 0), fitted.sample(X, 2, 0))


def test_a_state_that_does_not_fit_is_refused(fitted):
    state = fitted.__nanwise_state__()
    for shape in ((7, 9, 8), (2, 9), (2, 9, 0)):
        broken = state | {"learnt": state["learnt"] | {"shape_": shape}}
        with pytest.raises(ValueError, match=r"not fit|three whole numbers"):
            type(fitted).__from_nanwise_state__(broken)


@pytest.mark.parametrize("entry", METHODS, ids=lambda m: m.name)
def test_an_unfitted_one_says_so_and_can_be_cloned_and_saved(entry, tmp_path):
    imputer = clone(entry.make(**entry.tiny, random_state=1))
    with pytest.raises(NotFittedError):
        imputer.transform(pictures()[0])
    nanwise.save(imputer, tmp_path / "model")
    back = nanwise.load(tmp_path / "model").get_params(deep=False)
    assert back.keys() == imputer.get_params(deep=False).keys()
    assert back["random_state"] == 1


def test_bad_pictures_are_refused(fitted):
    X, _ = pictures()
    for bad, words in (
        (X[:, 0], r"\(N, H, W\)"),
        ((X > 0.5).astype(np.uint8), "divide bytes by 255"),
        (X * 255, "between 0 and 1"),
        (np.where(np.isnan(X), np.inf, X), "between 0 and 1"),
        (X[:, :1], "was fitted on"),
        (X[:0], "none of these 0"),
    ):
        with pytest.raises(DataError, match=words):
            fitted.transform(bad)
    with pytest.raises(DataError, match="both must be equal"):
        fitted.log_prob(X, X[:3])
    with pytest.raises(ValueError, match="n must be at least 1"):
        fitted.sample(X, 0)


@pytest.mark.parametrize("entry", METHODS, ids=lambda m: m.name)
def test_pictures_that_teach_nothing_are_refused(entry):
    X, _ = pictures(n=4)
    with pytest.raises(DataError, match="at least two"):
        entry.make(**entry.tiny).fit(X[:1])
    with pytest.raises(DataError, match="nothing to learn"):
        entry.make(**entry.tiny).fit(np.full_like(X, np.nan))
