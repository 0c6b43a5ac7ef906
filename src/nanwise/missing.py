"""What "missing" means, decided once.

Outside a layer a gap is NaN in a float array or tensor, or a cell that a SciPy CSR matrix does not
store. Inside, data travels as :class:`Observed`: values that are 0 in gaps and never NaN, with a
boolean mask that is **True where there is a value**. NaN is taken out *before* any arithmetic:
selecting afterwards leaves NaN gradients, and ``x * observed`` keeps NaN.

This file needs numpy only. Tensors are handled through their own methods, so torch is not imported.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Observed(NamedTuple):
    """Values and where they are.

    Attributes
    ----------
    values : array or tensor
        The data, 0 wherever nothing was observed, never NaN.
    observed : array or tensor of bool
        True where there is a value. Same shape as ``values``.
    """

    values: Any
    observed: Any


def observe(x: Any, observed: Any = None) -> Observed:
    """Split data with gaps into values and mask.

    Parameters
    ----------
    x : ndarray, Tensor or Observed
        Floating data in which NaN means missing. An ``Observed`` is returned as it is.
    observed : ndarray or Tensor of bool, optional
        True where there is a value. What stands behind a False is ignored, whatever it is; a NaN
        behind a True is missing all the same.

    Returns
    -------
    Observed
    """
    if isinstance(x, Observed):
        return x
    there = is_observed(x)
    if observed is not None:
        if tuple(observed.shape) != tuple(x.shape):
            raise ValueError(
                f"observed has shape {tuple(observed.shape)}, the values {tuple(x.shape)}; "
                "both must be equal"
            )
        there = there & _as_bool(observed)
    if isinstance(x, np.ndarray):
        return Observed(np.where(there, x, x.dtype.type(0)), there)
    if observed is None:
        # Vectorised, unlike masked_fill, which stumbles over every random gap (30 times slower).
        inf = float("inf")
        return Observed(x.nan_to_num(nan=0.0, posinf=inf, neginf=-inf), there)
    return Observed(x.masked_fill(~there, 0), there)


def is_observed(x: Any) -> Any:
    """Boolean mask of an array or tensor, True where there is a value."""
    if isinstance(x, np.ndarray):
        return ~np.isnan(x) if x.dtype.kind == "f" else np.ones(x.shape, dtype=bool)
    return x.isnan().logical_not()


def is_gap(value: Any) -> bool:
    """Whether one Python value stands for a gap: None, pandas' NA, or NaN and NaT."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def gaps_to_nan(x: np.ndarray) -> np.ndarray:
    """Copy of an array of objects in which every kind of gap is NaN; other arrays as they are."""
    if x.dtype.kind != "O":
        return x
    flat = [float("nan") if is_gap(value) else value for value in x.ravel()]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(x.shape)


def hide(x: Any, held: Any) -> Any:
    """Copy of ``x`` in which the cells where ``held`` is True are gaps (NaN)."""
    if isinstance(x, np.ndarray):
        x = x.astype(np.result_type(x.dtype, np.float32), copy=True)
        x[held] = np.nan
        return x
    return x.masked_fill(held, float("nan"))


def reopen(data: Observed) -> Any:
    """The NaN form of an :class:`Observed`; the inverse of :func:`observe`."""
    return hide(data.values, ~data.observed)


def from_sparse(matrix: Any, dtype: Any = np.float64) -> np.ndarray:
    """Dense NaN form of a SciPy sparse matrix: stored cells are observed (a stored 0 is a 0).

    Only for matrices that are small enough; everything that can stay sparse should.
    """
    coo = matrix.tocoo()
    dense = np.full(coo.shape, np.nan, dtype=dtype)
    dense[coo.row, coo.col] = coo.data
    return dense


def refuse_infinite(x: np.ndarray, names: Any = None, first_row: int = 0) -> None:
    """Raise a ValueError that names row and column of the first infinite value.

    ``first_row`` is the number of the first of these rows in the user's data.
    """
    if x.dtype.kind != "f" or not np.isinf(x).any():
        return
    row, column = (int(i) for i in np.argwhere(np.isinf(np.atleast_2d(x)))[0])
    name = f"column {names[column]!r}" if names is not None else f"column {column}"
    raise ValueError(
        f"Input X contains infinity, first in row {first_row + row}, {name}. "
        "Infinity is neither a number nor a gap: replace it by NaN or a finite value."
    )


def _as_bool(mask: Any) -> Any:
    return mask.astype(bool) if isinstance(mask, np.ndarray) else mask.bool()
