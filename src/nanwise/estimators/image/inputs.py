"""What the user hands over, as pictures (N, C, H, W) with NaN in holes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from nanwise.errors import DataError, GapWarning
from nanwise.missing import gaps_to_nan

#: how far a value may be outside of 0 and 1: a rescaled picture may be so by rounding
_SLACK = 1e-3
#: numbers of channels that are common
_CHANNELS = (1, 3, 4)


def read_pictures(X: Any, shape: tuple[int, ...] | None = None, name: str = "X") -> np.ndarray:
    """Pictures as they came if they can be used; else an error that says what to do.

    Parameters
    ----------
    X : array or tensor of floats, shape (N, C, H, W)
        Between 0 and 1; NaN is missing, and so is what a masked array hides.
    shape : (C, H, W), optional
        What a picture must be like.
    name : str
        What the error calls it.

    Returns
    -------
    ndarray of float32 or float64
    """
    X = _as_array(X, name)
    if X.ndim != 4 or 0 in X.shape:
        raise DataError(
            f"{name} must be pictures (number, channels, height, width), none of these 0; got the "
            f"shape {X.shape}. Grey pictures (N, H, W) become such by X[:, None]"
        )
    X = _as_floats(X, name)
    _refuse_values(X, name)
    if shape is not None and X.shape[1:] != tuple(shape):
        raise DataError(
            f"{name} has pictures of shape (channels, height, width) = {X.shape[1:]}; this model "
            f"was fitted on {tuple(shape)}: bring them to that size first"
        )
    if shape is None:
        _warn_about_axes(X.shape, name)
    return X


def _as_array(X: Any, name: str) -> np.ndarray:
    if hasattr(X, "detach"):  # of tensors numpy takes neither gradients nor GPUs nor bfloat16
        X = X.detach().cpu()
        X = X.float() if str(X.dtype) == "torch.bfloat16" else X
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind == "f":
        return X.filled(np.nan)
    try:
        return np.asarray(X)
    except ValueError as error:
        raise DataError(
            f"{name} must be pictures of one shape (channels, height, width), got a "
            f"{type(X).__name__} whose parts differ; bring them to one size first"
        ) from error


def _as_floats(X: np.ndarray, name: str) -> np.ndarray:
    """float32 or float64; what is no number between 0 and 1 by its type is refused."""
    if X.dtype in (np.float32, np.float64):
        return X
    if X.dtype.kind in "biu":
        raise DataError(
            f"{name} must hold floats between 0 and 1, got {X.dtype}; divide bytes by 255"
        )
    if X.dtype.kind not in "fO":
        raise DataError(f"{name} must hold floats between 0 and 1, got {X.dtype}")
    try:
        return gaps_to_nan(X).astype(np.float32 if X.dtype == np.float16 else np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold floats between 0 and 1, got objects: {error}") from error


def _warn_about_axes(shape: tuple[int, ...], name: str) -> None:
    """One warning for pictures that look like (N, H, W, C)."""
    _, channels, height, width = shape
    if width in _CHANNELS and min(channels, height) > max(_CHANNELS):
        warnings.warn(
            f"{name} of shape {shape} is read as pictures of {channels} channels, {height} pixels "
            f"high and {width} wide; if channels come last, give np.moveaxis({name}, 3, 1)",
            GapWarning,
            stacklevel=4,
        )


def _refuse_values(X: np.ndarray, name: str) -> None:
    low, high = np.fmin.reduce(X, axis=None), np.fmax.reduce(X, axis=None)
    if low < -_SLACK or high > 1 + _SLACK:
        strange = (X < -_SLACK) | (X > 1 + _SLACK)
        first = int(np.argwhere(strange)[0, 0])
        finite = np.isfinite(low) and np.isfinite(high)
        advice = "divide by the largest possible value, 255 for bytes"
        raise DataError(
            f"{name} must hold values between 0 and 1 (and NaN in holes), got {low:g} to {high:g}, "
            f"first in picture {first}; {advice if finite else 'a hole is NaN, not infinity'}"
        )
