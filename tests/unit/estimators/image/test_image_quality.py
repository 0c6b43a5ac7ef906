"""PSNR and SSIM against the formulas, written out window by window."""

import numpy as np
import pytest

from nanwise.estimators.image.quality import psnr, ssim


def pictures(shape=(2, 2, 13, 9), seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random(shape)
    return x, np.clip(x + 0.2 * rng.normal(size=shape), 0, 1)


def by_windows(x, y):
    """Structural similarity at every pixel of one channel."""
    high, wide = x.shape
    out = np.empty(x.shape)
    for i in range(high):
        for j in range(wide):
            rows = np.arange(max(i - 5, 0), min(i + 6, high))
            columns = np.arange(max(j - 5, 0), min(j + 6, wide))
            off = (rows[:, None] - i) ** 2 + (columns[None] - j) ** 2
            w = np.exp(-off / (2 * 1.5**2))
            w /= w.sum()
            a, b = x[np.ix_(rows, columns)], y[np.ix_(rows, columns)]
            ma, mb = (w * a).sum(), (w * b).sum()
            va, vb = (w * (a - ma) ** 2).sum(), (w * (b - mb) ** 2).sum()
            both = (w * (a - ma) * (b - mb)).sum()
            c1, c2 = 0.01**2, 0.03**2
            out[i, j] = (2 * ma * mb + c1) * (2 * both + c2)
            out[i, j] /= (ma**2 + mb**2 + c1) * (va + vb + c2)
    return out


def test_ssim_is_the_formula():
    x, y = pictures()
    maps = np.array(
        [[by_windows(*c) for c in zip(*p, strict=True)] for p in zip(x, y, strict=True)]
    )
    np.testing.assert_allclose(ssim(x, y), maps.mean(axis=(1, 2, 3)), atol=1e-12)
    where = np.random.default_rng(1).random(x.shape) < 0.3
    want = [one[there].mean() for one, there in zip(maps, where, strict=True)]
    np.testing.assert_allclose(ssim(x, y, where), want, atol=1e-12)


def test_psnr_is_the_formula():
    x, y = pictures()
    where = np.random.default_rng(1).random(x.shape) < 0.3
    want = [
        10 * np.log10(1 / np.mean((a - b)[w] ** 2)) for a, b, w in zip(x, y, where, strict=True)
    ]
    np.testing.assert_allclose(psnr(x, y, where), want)
    assert psnr(x, x + 0.1)[0] == pytest.approx(20.0)


def test_the_same_picture_is_perfect_and_nothing_to_compare_is_nan():
    x, y = pictures()
    assert ssim(x, x) == pytest.approx(1.0)
    assert np.isposinf(psnr(x, x)).all()
    nothing = np.zeros(x.shape, dtype=bool)
    assert np.isnan(psnr(x, y, nothing)).all()
    assert np.isnan(ssim(x, y, nothing)).all()


def test_shapes_that_differ_are_refused():
    x, y = pictures()
    with pytest.raises(ValueError, match="one shape"):
        ssim(x, y[:, :1])
