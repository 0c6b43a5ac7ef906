"""Filling holes from the nearest training pictures, which have holes themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nanwise.estimators.image.pictures import blocks
from nanwise.estimators.image.treatment import ImageTreatment
from nanwise.registry import method
from nanwise.train.checks import whole

if TYPE_CHECKING:
    from torch import nn

#: pictures filled at once
FILLED = 128


@method(
    "knn",
    kind="treatment",
    inputs="image",
    role="rival",
    tasks=("classification",),
    summary="A missing pixel is its mean in the k nearest training pictures that have it.",
    paper="a baseline of Przewięźlikowski et al., WACV 2022, whose donors had no holes",
    when="Aligned pictures of few kinds. Each picture is compared with all donors, which the "
    "saved model contains.",
    space={"k": [1, 5]},
    tiny={"k": 2, "max_donors": 50},
    fills=True,
)
class KNNPictures(ImageTreatment):
    """Nearest neighbours by the mean squared difference over the pixels that both know.

    A donor must have the pixel itself, and another that the picture has too; donors are training
    pictures with their own holes. A training picture never lends to its own holes. Where nobody
    near can lend, the pixel gets its mean over the training pictures, or 0 if it was never known.

    Parameters
    ----------
    k : int, default=5
        Number of pictures that lend a pixel.
    max_donors : int, default=5000
        Most training pictures that are kept, drawn without replacement.
    near : int, default=64
        Only that many nearest donors of a picture are asked, at least ``k``.
    random_state : int or None, default=None
        For the draw of donors.

    Attributes
    ----------
    donors_ : ndarray, shape (n_donors, C, H, W)
        In float32; NaN in holes.
    fill_ : ndarray, shape (C, H, W)
        Means of the pixels.
    """

    def __init__(
        self,
        k: int = 5,
        max_donors: int = 5000,
        near: int = 64,
        random_state: int | None = None,
    ) -> None:
        self.k = k
        self.max_donors = max_donors
        self.near = near
        self.random_state = random_state

    def fit(self, X: np.ndarray) -> Self:
        """Keep training pictures."""
        for name in ("k", "max_donors", "near"):
            whole(name, getattr(self, name))
        kept = np.arange(len(X))
        if len(X) > self.max_donors:
            draw = np.random.default_rng(self.random_state)
            kept = np.sort(draw.choice(len(X), self.max_donors, replace=False))
        self.donors_ = X[kept].astype(np.float32)
        self.fill_ = _pixel_means(X).astype(np.float32)
        return self

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Fill the holes."""
        donors = _Donors(self.donors_)
        filled = X.copy()
        broken = np.flatnonzero(np.isnan(X).any(axis=(1, 2, 3)))
        for part in blocks(len(broken), FILLED):
            rows = broken[part]
            filled[rows] = self._filled(donors, X[rows])
        return filled

    def _filled(self, donors: _Donors, X: np.ndarray) -> np.ndarray:
        flat = X.reshape(len(X), -1)
        lent = donors.lend(flat.astype(np.float32), self.k, max(self.near, self.k))
        lent = np.where(np.isnan(lent), self.fill_.ravel(), lent)
        return np.where(np.isnan(flat), lent, flat).reshape(X.shape)

    def layer(self, channels: int, width: int) -> nn.Module:
        """Plain convolution and ReLU."""
        from nanwise.nets.image.first import Filled

        return Filled(channels, width)


class _Donors:
    """Donors as matrices, so that all distances of a block of pictures are three products."""

    def __init__(self, donors: np.ndarray) -> None:
        flat = donors.reshape(len(donors), -1)
        known = ~np.isnan(flat)
        self.known = known
        self.values = np.where(known, flat, np.float32(0))
        self.marks = known.astype(np.float32)
        self.squares = self.values**2

    def lend(self, flat: np.ndarray, k: int, near: int) -> np.ndarray:
        """Mean over the k nearest donors that have a pixel, (N, P); NaN where there is none."""
        order, comparable = self._nearest(flat, near)
        has = self.known[order] & comparable[..., None]
        # the first k that have the pixel, nearest first
        lends = has & (has.cumsum(axis=1, dtype=np.int16) <= k)
        number = lends.sum(axis=1, dtype=np.float32)
        total = np.where(lends, self.values[order], np.float32(0)).sum(axis=1)
        return np.divide(total, number, out=np.full_like(total, np.nan), where=number > 0)

    def _nearest(self, flat: np.ndarray, near: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the nearest donors, nearest first, and which share a pixel, (N, near)."""
        distance = self._distances(flat)
        near = min(near, distance.shape[1])
        found = np.argpartition(distance, near - 1, axis=1)[:, :near]
        apart = np.take_along_axis(distance, found, axis=1)
        order = apart.argsort(axis=1, kind="stable")
        apart = np.take_along_axis(apart, order, axis=1)
        return np.take_along_axis(found, order, axis=1), np.isfinite(apart)

    def _distances(self, flat: np.ndarray) -> np.ndarray:
        """Mean squared difference over common pixels, (N, donors); infinite if there is none."""
        known = ~np.isnan(flat)
        values, marks = np.where(known, flat, np.float32(0)), known.astype(np.float32)
        squares = (values**2) @ self.marks.T + marks @ self.squares.T
        total = squares - 2 * values @ self.values.T
        common = marks @ self.marks.T
        return np.divide(total, common, out=np.full_like(total, np.inf), where=common > 0)


def _pixel_means(X: np.ndarray) -> np.ndarray:
    """Mean of each pixel where it is known, (C, H, W); 0 if it never is."""
    total, number = np.zeros(X.shape[1:]), np.zeros(X.shape[1:])
    for part in blocks(len(X)):
        total += np.nansum(X[part], axis=0, dtype=np.float64)
        number += (~np.isnan(X[part])).sum(axis=0)
    return total / np.maximum(number, 1)
