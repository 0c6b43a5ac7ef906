"""What readers of series give."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class SeriesData:
    """Sequences with their names.

    Attributes
    ----------
    X : ndarray of shape (N, T, D), or list of N arrays of shape (T_i, D)
        NaN is missing; steps in the order of time.
    ids : ndarray, shape (N,)
        What the source calls each sequence.
    variables : list of str
        Names of the D variables.
    y : ndarray, shape (N,), or None
        The target.
    statics : ndarray, shape (N, P), or None
        Numbers that belong to a whole sequence; NaN is missing.
    static_names : list of str
    times : list of ndarray, shape (T_i,), or None
        Time of each step, where steps are not of equal length.
    notes : list of str
        What was left out or decided while reading.
    reading : dict or None
        What :func:`read_series` was told of time, ``{"step": …, "end": …}``; None where the series
        come from elsewhere. A model that learns from them remembers it.
    """

    X: Any
    ids: np.ndarray
    variables: list[str]
    y: np.ndarray | None = None
    statics: np.ndarray | None = None
    static_names: list[str] = field(default_factory=list)
    times: list[np.ndarray] | None = None
    notes: list[str] = field(default_factory=list)
    reading: dict[str, float | None] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> np.ndarray:
        """Number of steps of each sequence."""
        return np.array([len(steps) for steps in self.X])

    def take(self, rows: Any) -> SeriesData:
        """Some of the sequences, by number."""
        rows = np.asarray(rows)
        return replace(
            self,
            X=self.X[rows] if isinstance(self.X, np.ndarray) else [self.X[i] for i in rows],
            ids=self.ids[rows],
            y=None if self.y is None else self.y[rows],
            statics=None if self.statics is None else self.statics[rows],
            times=None if self.times is None else [self.times[i] for i in rows],
        )


def id_text(id: Any) -> str:
    """An id as text; whole numbers that a gap in their column made floats are whole numbers."""
    if isinstance(id, float) and id.is_integer():
        return str(int(id))
    return re.sub(r"^(\d+)\.0$", r"\1", str(id))
