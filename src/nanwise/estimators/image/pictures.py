"""Walking through many pictures without a copy of them all."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from nanwise.errors import GapWarning

BLOCK = 1024


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Slices that cover n rows."""
    return (slice(start, start + size) for start in range(0, n, size))


def plain(X: np.ndarray) -> np.ndarray:
    """The same pictures as torch takes them: a mirrored or read-only array (memmap) is copied."""
    return np.require(X, requirements=["C", "W"])


def warn_about_pixels(X: np.ndarray) -> None:
    """One warning if some pixels are known in no picture at all."""
    seen = np.zeros(X.shape[1:], dtype=bool)
    for part in blocks(len(X)):
        seen |= ~np.isnan(X[part]).all(axis=0)
    if not seen.all():
        first = tuple(int(i) for i in np.argwhere(~seen)[0])
        warnings.warn(
            f"{int((~seen).sum())} of {seen.size} pixels are known in no picture, the first at "
            f"(channel, row, column) {first}: they cannot be learnt from",
            GapWarning,
            stacklevel=3,
        )
