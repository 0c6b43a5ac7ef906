"""What a completion is, and that of a table."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Completion(Protocol):
    """Anything that can fill the gaps it was asked about, once or many times."""

    @property
    def observed(self) -> Any:
        """Which cells are there: True = observed. Mean and draws agree with these."""

    def mean(self) -> Any:
        """The best single completion."""

    def sample(self, n: int = 1, random: Any = None, /) -> Any:
        """``n`` random completions; draws lead, (n, rows, …). ``random``: seed or generator."""


class TableCompletion:
    """The completion of one table by a fitted imputer.

    Parameters
    ----------
    imputer : Imputer
        Fitted, one that samples.
    X : array or DataFrame of shape (n_rows, n_columns)
        Rows with gaps.
    observed : ndarray of bool of shape (n_rows, n_columns)
        Which cells of ``X`` the imputer takes as they are.
    """

    def __init__(self, imputer: Any, X: Any, observed: np.ndarray) -> None:
        self.imputer, self.X = imputer, X
        self._observed = observed

    @property
    def observed(self) -> np.ndarray:
        """Which cells are there, True = observed, (n_rows, n_columns)."""
        return self._observed

    def mean(self) -> Any:
        """The table with gaps filled by expected numbers and likeliest levels."""
        return self.imputer.transform(self.X)

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """``n`` tables filled by draws: an array (n, rows, columns), or a list of frames."""
        return self.imputer.sample(self.X, n, random_state=random_state)
