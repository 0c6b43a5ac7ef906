"""What the user hands over, as sequences below each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nanwise.data.series.core import SeriesData
from nanwise.errors import DataError
from nanwise.missing import gaps_to_nan


@dataclass(frozen=True)
class Sequences:
    """Sequences of any lengths, their steps below each other.

    Attributes
    ----------
    steps : ndarray of float32 or float64, shape (S, D)
        NaN in gaps.
    lengths : ndarray of int, shape (N,)
        Steps of each sequence; their sum is S.
    statics : ndarray of float64, shape (N, P), or None
        What does not change over time; NaN in gaps.
    variables : tuple of str, or None
        Names of the D variables, where the source has them.
    reading : dict or None
        How a long table was cut into steps, see :class:`nanwise.data.series.SeriesData`.
    """

    steps: np.ndarray
    lengths: np.ndarray
    statics: np.ndarray | None = None
    variables: tuple[str, ...] | None = None
    reading: dict[str, float | None] | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of sequences and of variables."""
        return len(self.lengths), self.steps.shape[1]

    def __getitem__(self, rows: Any) -> Sequences:
        """Some of the sequences: a slice, numbers or a boolean array."""
        chosen = np.arange(len(self))[rows]
        lengths = self.lengths[chosen]
        first = (np.cumsum(self.lengths) - self.lengths)[chosen]
        ahead = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) + np.repeat(first - ahead, lengths)
        statics = None if self.statics is None else self.statics[chosen]
        return replace(self, steps=self.steps[places], lengths=lengths, statics=statics)


def read_sequences(X: Any, statics: Any = None, name: str = "X") -> Sequences:
    """Sequences as they came if they can be used; else an error that says what to do.

    Parameters
    ----------
    X : array or tensor (N, T, D), list of arrays or data frames (T_i, D), SeriesData or Sequences
        NaN, and what a masked array hides, is missing. Every step of an array counts, also an
        empty one at the end; sequences of different lengths are given as a list.
    statics : array of shape (N, P), optional
        Numbers that belong to a whole sequence; NaN is missing.
    name : str
        What an error calls it.
    """
    if isinstance(X, Sequences):
        return X
    if isinstance(X, SeriesData):
        found = read_sequences(X.X, X.statics if statics is None else statics, name)
        return replace(found, variables=tuple(X.variables), reading=X.reading)
    if _is_array(X):
        found = _of_array(_floats(X, name), name)
    else:
        _refuse_other_columns(X, name)
        found = _of_list([_floats(part, f"{name}[{i}]") for i, part in enumerate(X)], name)
        found = replace(found, variables=_names(X))
    _refuse_infinite(found, name)
    if statics is None:
        return found
    return replace(found, statics=read_statics(statics, len(found)))


def read_statics(statics: Any, n: int) -> np.ndarray:
    """Statics of n sequences as float64 (n, P) with NaN in gaps."""
    read = _floats(statics, "statics").astype(np.float64)
    if read.ndim != 2 or len(read) != n or not read.shape[1]:
        raise DataError(
            f"statics must have one row of numbers for each of {n} sequences, shape ({n}, P); got "
            f"the shape {read.shape}"
        )
    if np.isinf(read).any():
        row, column = (int(i) for i in np.argwhere(np.isinf(read))[0])
        raise DataError(f"statics hold infinity, first in row {row}, column {column}; use NaN")
    return read


def _is_array(X: Any) -> bool:
    """Whether all sequences come in one array; one of objects holds an array per sequence."""
    if isinstance(X, list | tuple):
        return False
    if not hasattr(X, "shape"):
        raise DataError(
            f"series are an array (N, T, D) or a list of arrays (T_i, D), got {type(X).__name__}"
        )
    return not (isinstance(X, np.ndarray) and X.dtype.kind == "O" and X.ndim == 1)


def _refuse_other_columns(parts: Any, name: str) -> None:
    """DataError for data frames whose columns differ: numbers go by their place."""
    frames = [(i, list(part.columns)) for i, part in enumerate(parts) if hasattr(part, "columns")]
    for i, columns in frames[1:]:
        if columns != frames[0][1]:
            raise DataError(
                f"{name}[{i}] has the columns {columns}, {name}[{frames[0][0]}] {frames[0][1]}; "
                "bring the variables of all sequences into the same order"
            )


def _names(parts: Any) -> tuple[str, ...] | None:
    """Names of the columns if all sequences are data frames; as in scikit-learn, texts only."""
    if not all(hasattr(part, "columns") for part in parts):
        return None
    names = tuple(parts[0].columns)
    return names if all(isinstance(name, str) for name in names) else None


def _floats(x: Any, name: str) -> np.ndarray:
    """float32 or float64 with NaN in gaps."""
    if hasattr(x, "detach"):  # of tensors numpy takes neither gradients nor GPUs
        x = x.detach().cpu().numpy()
    if isinstance(x, np.ma.MaskedArray):
        x = np.where(np.ma.getmaskarray(x), np.nan, x.data)
    try:
        x = gaps_to_nan(np.asarray(x))
        if x.dtype.kind in "cmM":
            raise TypeError(f"not {x.dtype}")
        return x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers (and NaN in gaps): {error}") from error


def _of_array(X: np.ndarray, name: str) -> Sequences:
    if X.ndim != 3 or 0 in X.shape:
        raise DataError(
            f"{name} must be series (sequences, time steps, variables), none of these 0, or a list "
            f"of arrays (steps, variables); got the shape {X.shape}. One variable per step: "
            "X[:, :, None]"
        )
    n, length, width = X.shape
    return Sequences(np.ascontiguousarray(X).reshape(-1, width), np.full(n, length))


def _of_list(parts: list[np.ndarray], name: str) -> Sequences:
    if not parts:
        raise DataError(f"{name} is an empty list; at least one sequence is needed")
    width = parts[0].shape[-1] if parts[0].ndim == 2 else -1
    for i, part in enumerate(parts):
        if part.ndim != 2 or part.shape[1] != width or not width:
            raise DataError(
                f"every sequence must be an array (steps, variables) with the same variables; "
                f"{name}[{i}] has the shape {part.shape}, {name}[0] {parts[0].shape}"
            )
        if not len(part):
            raise DataError(
                f"{name}[{i}] has no time step; leave the sequence out, or give it one step of NaN"
            )
    return Sequences(np.concatenate(parts), np.array([len(part) for part in parts]))


def _refuse_infinite(found: Sequences, name: str) -> None:
    infinite = np.isinf(found.steps)
    if infinite.any():
        row, variable = (int(i) for i in np.argwhere(infinite)[0])
        ends = np.cumsum(found.lengths)
        sequence = int(np.searchsorted(ends, row, side="right"))
        step = row - int(ends[sequence] - found.lengths[sequence])
        raise DataError(
            f"{name} contains infinity, first in sequence {sequence}, step {step}, variable "
            f"{variable}. Infinity is neither a number nor a gap: replace it by NaN or a number"
        )
