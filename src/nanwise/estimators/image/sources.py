"""Pictures as the training loop sees them, and the densities of their holes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nanwise.completion.mfa import MFA
from nanwise.estimators.image.pictures import blocks, plain
from nanwise.estimators.image.treatment import ImageTreatment
from nanwise.nets.image.regions import SOME, choose, hold_out

#: pictures whose densities are asked for at once
ASKED = 256

Density = Callable[[np.ndarray], MFA | None]


class PictureSource:
    """Batches ``(values, observed, density, target, weight)``, cut from an array when asked for.

    Parameters
    ----------
    X : ndarray, shape (M, C, H, W)
        Prepared pictures; NaN in holes. Not copied.
    rows : ndarray of int, shape (N,)
        Which of them belong to this source.
    target : Tensor, shape (N,)
    weight : ndarray, shape (N,), or None
    density : callable
        ``density(pictures) -> MFA or None``, see ``ImageTreatment.complete``.
    precision : str
        Numbers to train with.
    room : float
        Bytes that may be taken to keep densities; if they need more, they are computed anew for
        every batch.
    """

    def __init__(
        self,
        X: np.ndarray,
        rows: np.ndarray,
        target: Tensor,
        weight: np.ndarray | None,
        density: Density,
        precision: str = "float32",
        room: float = 0.0,
    ) -> None:
        self.X, self.rows, self.target, self.density = X, rows, target, density
        self.dtype = getattr(torch, precision)
        self.weight = None if weight is None else torch.as_tensor(weight, dtype=self.dtype)
        self.kept = Kept.of(X, rows, density, room)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Tensor) -> tuple[Any, ...]:
        pictures = self.X[self.rows[index.numpy()]]
        values, observed = split(pictures, self.dtype)
        asked = self.density(pictures) if self.kept is None else self.kept.take(index, observed)
        return (
            values,
            observed,
            None if asked is None else as_type(asked, self.dtype),
            self.target.index_select(0, index),
            None if self.weight is None else self.weight.index_select(0, index),
        )


class HidingSource:
    """Batches like those of :class:`PictureSource`, of pictures that lose a further region.

    The target is the picture without the further hole: what was hidden and is known can be asked
    for. The hole is another one each time, so a picture is prepared, and its density found, anew.

    Parameters
    ----------
    X : ndarray, shape (M, C, H, W)
        Pictures as they came; NaN in holes. Not copied.
    rows : ndarray of int, shape (N,)
        Which of them belong to this source.
    treatment : ImageTreatment
        Fitted.
    hide : {"auto", "square", "pixels", "others"}
    hide_size : float or None
        What is hidden, see :mod:`nanwise.nets.image.regions`.
    precision : str
        Numbers to train with.
    fixed : bool
        Whether a batch loses the same regions every time, as validation wants it.
    """

    def __init__(
        self,
        X: np.ndarray,
        rows: np.ndarray,
        treatment: ImageTreatment,
        hide: str,
        hide_size: float | None = None,
        precision: str = "float32",
        fixed: bool = False,
    ) -> None:
        self.X, self.rows, self.treatment, self.fixed = X, rows, treatment, fixed
        self.dtype = getattr(torch, precision)
        self.region = choose(hide, hide_size, torch.as_tensor(~np.isnan(X[rows[:SOME]])))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Tensor) -> tuple[Any, ...]:
        pictures = self.X[self.rows[index.numpy()]]
        target = torch.as_tensor(plain(pictures)).to(self.dtype)
        shown = np.where(self._hidden(~target.isnan()).numpy(), np.nan, pictures)
        prepared = self.treatment.prepare(shown.astype(pictures.dtype, copy=False))
        asked = self.treatment.complete(prepared)
        density = None if asked is None else as_type(asked, self.dtype)
        return (*split(prepared, self.dtype), density, target, None)

    def _hidden(self, observed: Tensor) -> Tensor:
        if not self.fixed:
            return hold_out(observed, *self.region)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)
            return hold_out(observed, *self.region)


class Kept:
    """Densities of pictures, of their holes only.

    Holes are a part of a picture, and what a density says elsewhere does not matter: a quarter of
    the pixels in the published setting.

    Parameters
    ----------
    weights : Tensor, shape (N, K)
    cells : Tensor, shape (holes of all pictures, K, 2 + l)
        Mean, noise and factors of each missing value, in the order of the pictures.
    first : Tensor of int, shape (N + 1,)
        Where the missing values of each picture begin in ``cells``.
    """

    def __init__(self, weights: Tensor, cells: Tensor, first: Tensor) -> None:
        self.weights, self.cells, self.first = weights, cells, first

    @classmethod
    def of(cls, X: np.ndarray, rows: np.ndarray, density: Density, room: float) -> Kept | None:
        """Densities of the pictures ``X[rows]``; None if there are none, or no room for them."""
        some = density(X[rows[:2]])
        if some is None or not room:
            return None
        number = np.concatenate([_holes(X[rows[part]]) for part in blocks(len(rows))])
        each = some.weights.shape[1] * (2 + some.factors.shape[2])
        if float(number.sum()) * each * 4 > room:
            return None
        parts = [_compact(X[rows[part]], density) for part in blocks(len(rows), ASKED)]
        weights, cells = (torch.cat(list(same)) for same in zip(*parts, strict=True))
        first = torch.from_numpy(np.concatenate([[0], np.cumsum(number)]))
        return cls(weights, cells, first)

    def take(self, index: Tensor, observed: Tensor) -> MFA:
        """Densities of some pictures, ``observed`` (N, C, H, W) being theirs."""
        start, end = self.first[index], self.first[index + 1]
        length = end - start
        # within a picture one after the other, from its own beginning
        ahead = length.cumsum(0) - length
        places = torch.arange(int(length.sum())) + (start - ahead).repeat_interleave(length)
        dense = self.cells.new_zeros(*observed.shape, *self.cells.shape[1:])
        dense[~observed] = self.cells.index_select(0, places)
        dense = dense.movedim((-2, -1), (1, 2)).contiguous()
        return MFA(
            self.weights.index_select(0, index),
            dense[:, :, 0],
            dense[:, :, 2:],
            dense[:, :, 1],
            observed,
        )


def split(pictures: np.ndarray, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Values, 0 in holes, and where they are known."""
    x = torch.as_tensor(plain(pictures)).to(dtype)
    observed = ~x.isnan()
    return x.where(observed, 0.0), observed


def as_type(density: MFA, dtype: torch.dtype) -> MFA:
    """The same density in other numbers, without a trace of how it came about."""
    parts = [part.detach().to(dtype) for part in density[:4]]
    return MFA._make([*parts, density.observed.detach()])


def _holes(pictures: np.ndarray) -> np.ndarray:
    return np.isnan(pictures).reshape(len(pictures), -1).sum(axis=1)


def _compact(pictures: np.ndarray, density: Density) -> tuple[Tensor, Tensor]:
    found = density(pictures)
    if found is None:
        raise ValueError("the density of some pictures is None, of others it is not")
    hole = torch.as_tensor(np.isnan(pictures))
    parts = torch.cat([found.means[:, :, None], found.noise[:, :, None], found.factors], 2)
    cells = parts.movedim((1, 2), (-2, -1))[hole]
    return found.weights.detach(), cells.detach().float()
