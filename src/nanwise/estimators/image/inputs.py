"""What the user hands over, as pictures (N, C, H, W) with NaN in holes."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.errors import DataError

#: how far a value may be outside of 0 and 1: a rescaled picture may be so by rounding
_SLACK = 1e-3


def read_pictures(X: Any, shape: tuple[int, ...] | None = None, name: str = "X") -> np.ndarray:
    """Pictures as they came if they can be used; else an error that says what to do.

    Parameters
    ----------
    X : array or tensor of floats, shape (N, C, H, W)
        Between 0 and 1; NaN is missing.
    shape : (C, H, W), optional
        What a picture must be like.
    name : str
        What the error calls it.

    Returns
    -------
    ndarray of float32 or float64
    """
    X = np.asarray(X)
    if X.ndim != 4 or 0 in X.shape:
        raise DataError(
            f"{name} must be pictures (number, channels, height, width), none of these 0; got the "
            f"shape {X.shape}. Grey pictures (N, H, W) become such by X[:, None]"
        )
    if X.dtype.kind in "biu":
        raise DataError(
            f"{name} must hold floats between 0 and 1, got {X.dtype}; divide bytes by 255"
        )
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float32 if X.dtype == np.float16 else np.float64)
    _refuse_values(X, name)
    if shape is not None and X.shape[1:] != tuple(shape):
        raise DataError(
            f"{name} has pictures of shape (channels, height, width) = {X.shape[1:]}; this model "
            f"was fitted on {tuple(shape)}: bring them to that size first"
        )
    return X


def _refuse_values(X: np.ndarray, name: str) -> None:
    low, high = np.fmin.reduce(X, axis=None), np.fmax.reduce(X, axis=None)
    if low < -_SLACK or high > 1 + _SLACK:
        strange = (X < -_SLACK) | (X > 1 + _SLACK)
        first = int(np.argwhere(strange)[0, 0])
        raise DataError(
            f"{name} must hold values between 0 and 1 (and NaN in holes), got {low:g} to {high:g}, "
            f"first in picture {first}; divide by the largest possible value, 255 for bytes"
        )
