"""Pictures of another size: a new pixel is the mean of what it covers, a hole if any is missing.

And the way back: what fills a hole in the size and channels of the file.
"""

from __future__ import annotations

import numpy as np

from nanwise.errors import need


def resize(
    values: np.ndarray, hidden: np.ndarray, size: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Resample by area.

    Parameters
    ----------
    values : array of shape (C, H, W)
        What stands in a hole is not looked at.
    hidden : array of shape (H, W)
    size : (height, width)

    Returns
    -------
    values : array of shape (C, height, width)
    hidden : array of shape (height, width)
        True where a new pixel covers any part of a hidden one.
    """
    if hidden.shape == size:
        return values, hidden
    down, across = cover(hidden.shape[0], size[0]), cover(hidden.shape[1], size[1])
    known = np.where(hidden, 0, values).astype(np.float64)
    mixed = np.clip(down @ known @ across.T, 0, 1).astype(values.dtype)
    touched = (down > 0).astype(np.float64) @ hidden @ (across > 0).T.astype(np.float64) > 0
    return mixed, touched


def cover(old: int, new: int) -> np.ndarray:
    """(new, old): which share of each new pixel lies on which old one."""
    # In units in which both grids have whole numbers, so that touching edges do not overlap.
    starts, ends = np.arange(new) * old, np.arange(1, new + 1) * old
    left, right = np.arange(old) * new, np.arange(1, old + 1) * new
    overlap = np.minimum(ends[:, None], right) - np.maximum(starts[:, None], left)
    return np.clip(overlap, 0, None) / old


def in_channels(values: np.ndarray, channels: int) -> np.ndarray:
    """(C, H, W) with another C: grey repeated, or the brightness of colours (Rec. 601)."""
    if len(values) == channels:
        return values
    if channels == 3:
        return np.repeat(values, 3, axis=0)
    parts = np.array([0.299, 0.587, 0.114], dtype=np.float32)
    return np.tensordot(parts, values, axes=1)[None].astype(values.dtype)


def as_in_file(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(C, H, W) in the size and channels of a file; nothing must be NaN."""
    return in_channels(_at_size(values, shape[1:]), shape[0])


def _at_size(values: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    if values.shape[1:] == size:
        return values
    pillow = need("PIL.Image", "images")
    height, width = size
    maps = (pillow.fromarray(np.ascontiguousarray(v, dtype=np.float32)) for v in values)
    turned = [v.resize((width, height), pillow.Resampling.BILINEAR) for v in maps]
    return np.stack([np.asarray(v) for v in turned])
