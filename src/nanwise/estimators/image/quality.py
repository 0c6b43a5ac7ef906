"""How close one picture is to another: PSNR and SSIM, everywhere or in some places."""

from __future__ import annotations

from typing import Any

import numpy as np

#: constants and window of Wang et al. (2004), for values between 0 and 1
_C1, _C2 = 0.01**2, 0.03**2
_SIGMA, _RADIUS = 1.5, 5


def psnr(truth: Any, found: Any, where: Any = None) -> np.ndarray:
    """Peak signal-to-noise ratio of each picture, in decibel.

    Parameters
    ----------
    truth, found : array of shape (N, C, H, W)
        Between 0 and 1.
    where : array of bool, same shape, optional
        Which pixels count, for example the holes.

    Returns
    -------
    ndarray of shape (N,)
        Infinite where both are the same; NaN for a picture in which nothing counts.
    """
    truth, found, where = _read(truth, found, where)
    with np.errstate(divide="ignore", invalid="ignore"):
        return -10 * np.log10(_mean((truth - found) ** 2, where))


def ssim(truth: Any, found: Any, where: Any = None) -> np.ndarray:
    """Structural similarity of each picture, with Gaussian windows.

    Parameters
    ----------
    truth, found : array of shape (N, C, H, W)
        Between 0 and 1.
    where : array of bool, same shape, optional
        Centres of the windows that count, for example the holes.

    Returns
    -------
    ndarray of shape (N,)
        At most 1; NaN for a picture in which nothing counts.

    Notes
    -----
    Windows of 11 x 11 weights with a standard deviation of 1.5, as published. At the border a
    window is cut off and its weights are scaled to a sum of 1, so that every pixel has a value, a
    hole at the border too; other programs leave the border out, or mirror the picture.

    References
    ----------
    Wang, Bovik, Sheikh, Simoncelli (2004). Image quality assessment: from error visibility to
    structural similarity. IEEE Transactions on Image Processing.
    """
    x, y, where = _read(truth, found, where)
    mean_x, mean_y = _smooth(x), _smooth(y)
    var_x, var_y = _smooth(x * x) - mean_x**2, _smooth(y * y) - mean_y**2
    both = _smooth(x * y) - mean_x * mean_y
    light = (2 * mean_x * mean_y + _C1) / (mean_x**2 + mean_y**2 + _C1)
    shape = (2 * both + _C2) / (var_x + var_y + _C2)
    with np.errstate(invalid="ignore"):
        return _mean(light * shape, where)


def _read(truth: Any, found: Any, where: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    truth, found = (np.asarray(part, dtype=np.float64) for part in (truth, found))
    where = np.ones(truth.shape, dtype=bool) if where is None else np.asarray(where, dtype=bool)
    if truth.ndim != 4 or not truth.shape == found.shape == where.shape:
        raise ValueError(
            "pictures to compare must have one shape (N, C, H, W), got "
            f"{truth.shape}, {found.shape} and places {where.shape}"
        )
    return truth, found, where


def _mean(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Mean of each picture over the places that count."""
    axes = (1, 2, 3)
    return np.where(where, values, 0.0).sum(axis=axes) / where.sum(axis=axes)


def _smooth(x: np.ndarray) -> np.ndarray:
    """Weighted mean of the window around every pixel."""
    from scipy.ndimage import correlate1d

    line = np.exp(-0.5 * (np.arange(-_RADIUS, _RADIUS + 1) / _SIGMA) ** 2)
    for axis in (2, 3):
        inside = correlate1d(np.ones(x.shape[axis]), line, mode="constant")
        x = correlate1d(x, line, axis=axis, mode="constant")
        x = x / (inside[:, None] if axis == 2 else inside)
    return x
