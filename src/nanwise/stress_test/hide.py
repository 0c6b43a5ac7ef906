"""Hide more and more of each row, in arrays and in data frames; nothing is ever revealed.

Rows may be pictures (N, C, H, W): what is hidden is then a pixel, in all of its channels, and the
cells of a row are its H x W pixels. They may be series (N, T, D), whose cells are the D values of
all T steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.errors import DataError
from nanwise.missing import hide, is_gap, is_observed

MECHANISMS = ("mcar", "mar", "mnar")


def as_table(X: Any) -> Any:
    """``X`` as a data frame, a two-dimensional array, series or pictures that can hold gaps.

    Whole numbers and booleans become float64, because they have no room for NaN; data frames and
    arrays of objects are kept.
    """
    if is_pandas(X):
        return X
    if hasattr(X, "tocsr") or hasattr(X, "lazy"):
        raise TypeError(
            f"stress takes a numpy array or a pandas data frame, got {type(X).__name__}; convert "
            "it first (nanwise.missing.from_sparse for a sparse matrix, .to_pandas() for polars)"
        )
    X = np.asarray(X)
    if X.ndim not in (2, 3, 4):
        raise DataError(
            "X must have two dimensions (rows, columns), be series (N, T, D) or pictures "
            f"(N, C, H, W), got shape {X.shape}"
        )
    return X if X.dtype.kind in "fO" else X.astype(np.float64)


def is_pandas(X: Any) -> bool:
    """Whether ``X`` is a pandas data frame (pandas itself is not imported)."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def are_pictures(X: Any) -> bool:
    """Whether rows are pictures."""
    return isinstance(X, np.ndarray) and X.ndim == 4


def observed_cells(X: Any) -> np.ndarray:
    """Boolean (N, D), True where the table holds a value, or any channel of a pixel does."""
    if are_pictures(X):
        return is_observed(X).any(axis=1).reshape(len(X), -1)
    if is_pandas(X):
        return X.notna().to_numpy(dtype=bool)
    if X.dtype.kind == "f":
        return is_observed(X).reshape(len(X), -1)
    return np.array([[not is_gap(v) for v in row] for row in X], dtype=bool).reshape(X.shape)


def take(X: Any, rows: np.ndarray) -> Any:
    """The given rows, by position."""
    return X.iloc[rows] if is_pandas(X) else X[rows]


def with_gaps(X: Any, held: np.ndarray) -> Any:
    """Copies of the table below each other, copy ``r`` without the cells ``held[r]``.

    Parameters
    ----------
    X : ndarray or DataFrame of shape (N, D), pictures (N, C, H, W) of D = H * W pixels, or series
        (N, T, C) of D = T * C values
    held : ndarray of bool, shape (R, N, D)
        True = hidden.

    Returns
    -------
    ndarray or DataFrame of shape (R * N, D), pictures (R * N, C, H, W) or series (R * N, T, C)
        Columns of a frame keep their dtype as far as it has room for a gap: whole numbers become
        float64, booleans nullable booleans, everything else stays what it was.
    """
    repeats, n_rows, n_columns = held.shape
    tall = take(X, np.tile(np.arange(n_rows), repeats))
    held = held.reshape(repeats * n_rows, n_columns)
    if are_pictures(X):
        pixels = held.reshape(len(held), 1, *X.shape[2:])
        return hide(tall, np.broadcast_to(pixels, tall.shape))
    if is_pandas(X):
        return _frame_with_gaps(tall.reset_index(drop=True), held)
    if tall.dtype.kind == "O":
        tall[held] = None
        return tall
    return hide(tall, held.reshape(tall.shape))


def _frame_with_gaps(frame: Any, held: np.ndarray) -> Any:
    """By position, so that columns of the same name are no trouble."""
    hidden = {j: _nullable(frame.iloc[:, j]).mask(held[:, j]) for j in range(frame.shape[1])}
    out = type(frame)(hidden, index=frame.index)
    out.columns = frame.columns
    return out


def _nullable(column: Any) -> Any:
    """A plain boolean column as a nullable one; pandas would turn it to objects otherwise."""
    return column.astype("boolean") if column.dtype == bool else column


class Hiding:
    """Which cells are hidden, for every repeat and share.

    Parameters
    ----------
    X : ndarray or DataFrame
        Rows, pictures or series.
    mechanism : {"mcar", "mar", "mnar"}
    repeats : int
    seed : int

    Notes
    -----
    MCAR draws one random order of the observed cells per row and repeat and keeps the first
    ``round(share * count)``: within a repeat a smaller share keeps a subset of a larger one, so
    that the curves differ by what is hidden and not by the luck of a new draw. MAR and MNAR ask
    :func:`nanwise.data.ampute.held_cells`, with one seed per repeat for all shares.
    """

    def __init__(self, X: Any, mechanism: str, repeats: int, seed: int):
        if mechanism not in MECHANISMS:
            raise ValueError(f"mechanism must be one of {MECHANISMS}, got {mechanism!r}")
        if np.ndim(X) > 2 and mechanism != "mcar":
            what = "pixels of pictures" if are_pictures(X) else "values of series"
            raise ValueError(f'{what} are hidden by "mcar" only, got {mechanism!r}')
        self.X = X
        self.mechanism = mechanism
        self.observed = observed_cells(X)
        self.seeds = np.random.SeedSequence(seed).generate_state(repeats)

    def held(self, share: float, repeat: int) -> np.ndarray:
        """Boolean (N, D), True where an observed cell is hidden so that ``share`` of them stay."""
        if share >= 1:
            return np.zeros_like(self.observed)
        if share <= 0:
            return self.observed.copy()
        if self.mechanism == "mcar":
            return self._held_at_random(share, repeat)
        return self._held_by_ampute(share, repeat) & self.observed

    def _held_at_random(self, share: float, repeat: int) -> np.ndarray:
        rng = np.random.default_rng(self.seeds[repeat])
        order = np.where(self.observed, rng.random(self.observed.shape), np.inf)
        rank = order.argsort(axis=1).argsort(axis=1)
        kept = np.rint(share * self.observed.sum(axis=1))
        return self.observed & (rank >= kept[:, None])

    def _held_by_ampute(self, share: float, repeat: int) -> np.ndarray:
        from nanwise.data.ampute import held_cells

        return held_cells(
            self.X,
            share=1 - share,
            mechanism=self.mechanism,
            random_state=int(self.seeds[repeat] % 2**31),
        )
