"""Holes cut into pictures: how large, where, and always the same for the same picture."""

import numpy as np
import pytest
import torch

from nanwise.data.images import hide_pixels
from nanwise.data.images.masks import KINDS, SHARES
from nanwise.errors import DataError


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).random((300, 2, 14, 18), dtype=np.float32)


def hidden(X, *args, **kwargs):
    return np.isnan(hide_pixels(X, *args, **kwargs))


@pytest.mark.parametrize("kind", KINDS)
def test_known_pixels_stay_and_channels_share_the_hole(X, kind, global_rng_untouched):
    before = X.copy()
    out = hide_pixels(X, kind)
    holes = np.isnan(out)
    assert np.array_equal(X, before)
    assert out.dtype == X.dtype
    assert np.array_equal(out[~holes], X[~holes])
    assert np.array_equal(holes[:, 0], holes[:, 1])
    assert holes.any(axis=(1, 2, 3)).all()
    assert not holes.all(axis=(1, 2, 3)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_has_the_same_hole_in_any_company(X, kind, monkeypatch):
    whole = hidden(X, kind, 3)
    order = np.random.default_rng(1).permutation(len(X))
    assert np.array_equal(hidden(X[order], kind, 3), whole[order])
    assert np.array_equal(hidden(X[7:8], kind, 3), whole[7:8])
    assert np.array_equal(hidden(X[:20].astype(np.float64), kind, 3), whole[:20])
    monkeypatch.setattr("nanwise.data.images.masks._BLOCK", 1)
    assert np.array_equal(hidden(X[:9], kind, 3), whole[:9])


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_and_pictures_differ(X, kind):
    first, second = hidden(X, kind, 0), hidden(X, kind, 1)
    # A square of half the side has 8 * 10 places here, so few pictures agree by chance.
    assert (first != second).any(axis=(1, 2, 3)).mean() > 0.95
    assert len(np.unique(first[:, 0].reshape(len(X), -1), axis=0)) > 20
    assert np.array_equal(hidden(np.concatenate([X[:1], X[:1]]), kind)[0], first[0])


def test_the_square_is_half_the_side_and_anywhere(X):
    holes = hidden(X, "square")[:, 0]
    rows, columns = holes.any(axis=2), holes.any(axis=1)
    assert (rows.sum(axis=1) == 7).all()
    assert (columns.sum(axis=1) == 9).all()
    assert (holes.sum(axis=(1, 2)) == 63).all()
    tops, lefts = rows.argmax(axis=1), columns.argmax(axis=1)
    for places, n in ((tops, 8), (lefts, 10)):
        counts = np.bincount(places, minlength=n)
        assert len(counts) == n
        expected = len(X) / n
        chi2 = ((counts - expected) ** 2 / expected).sum()
        assert chi2 < 30  # beyond the 0.999 quantile for 9 degrees of freedom


def test_noise_and_strokes_hide_the_share_to_the_pixel(X):
    pixels = 14 * 18
    for kind, share in (("noise", 0.75), ("noise", 0.1), ("strokes", 0.25), ("strokes", 0.9)):
        counts = hidden(X, kind, share=share)[:, 0].sum(axis=(1, 2))
        assert (counts == round(share * pixels)).all()


def test_noise_is_uniform():
    X = np.random.default_rng(2).random((4000, 1, 6, 6), dtype=np.float32)
    rates = hidden(X, "noise").mean(axis=(0, 1))
    sd = np.sqrt(0.75 * 0.25 / len(X))
    assert np.abs(rates - 0.75).max() < 4.5 * sd
    both = (hidden(X, "noise")[:, 0, 0, 0] & hidden(X, "noise")[:, 0, 5, 5]).mean()
    assert abs(both - 27 / 36 * 26 / 35) < 0.03


def test_the_trapezoid_is_half_the_area_with_straight_edges():
    X = np.random.default_rng(3).random((200, 1, 64, 64), dtype=np.float32)
    holes = hidden(X, "trapezoid")[:, 0]
    shares = holes.mean(axis=(1, 2))
    assert np.abs(shares - 0.5).max() < 0.03
    for picture in holes:
        spans = [_span(picture), _span(picture.T)]
        assert any(span is not None and _straight(span) for span in spans)


def _span(picture):
    """First and last hidden pixel of the rows with any; None if a row has a gap inside."""
    rows = picture[picture.any(axis=1)]
    first = rows.argmax(axis=1)
    last = rows.shape[1] - rows[:, ::-1].argmax(axis=1)
    return (first, last) if np.array_equal(rows.sum(axis=1), last - first) else None


def _straight(span):
    """Both edges lie within a pixel of a straight line."""
    at = np.arange(len(span[0]))
    if len(at) < 3:
        return True
    return all(np.abs(np.polyval(np.polyfit(at, e, 1), at) - e).max() < 1.0 for e in span)


def test_strokes_are_thicker_than_single_pixels():
    X = np.random.default_rng(4).random((100, 1, 40, 40), dtype=np.float32)

    def like_the_right_neighbour(kind):
        holes = hidden(X, kind, share=0.25)[:, 0]
        return (holes[..., 1:] == holes[..., :-1]).mean()

    assert like_the_right_neighbour("strokes") > 0.85
    assert like_the_right_neighbour("noise") < 0.7


def test_holes_that_are_there_stay(X):
    torn = X[:5].copy()
    torn[:, 0, :2] = np.nan
    out = hide_pixels(torn, "square")
    assert np.isnan(out[np.isnan(torn)]).all()
    assert np.array_equal(out, hide_pixels(torn, "square"), equal_nan=True)


def test_defaults_are_those_of_the_papers():
    assert SHARES == {"square": 0.25, "trapezoid": 0.5, "noise": 0.75, "strokes": 0.25}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("circle",), "square, trapezoid, noise, strokes"),
        (("square", 0, 1.0), "below 1"),
        (("square", 0, 0.0), "above 0"),
    ],
)
def test_wrong_arguments_are_named(X, args, words):
    kind, seed, share = (*args, 0, None)[:3]
    with pytest.raises(DataError, match=words):
        hide_pixels(X, kind, seed, share=share)


def test_tensors_and_lists_are_taken(X):
    torn = hide_pixels(X[:2])
    for same in (torch.from_numpy(X[:2]), X[:2].tolist()):
        np.testing.assert_array_equal(hide_pixels(same), torn)


def test_bytes_are_no_pictures_with_holes(X):
    with pytest.raises(DataError, match="floats of shape"):
        hide_pixels((X * 255).astype(np.uint8))
    with pytest.raises(DataError, match=r"\(300, 14, 18\)"):
        hide_pixels(X[:, 0])
