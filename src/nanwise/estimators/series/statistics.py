"""What treatments of series learn and do in numpy, over steps that stand below each other."""

from __future__ import annotations

import numpy as np


def variable_means(values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Mean of what is observed of each variable, (D,); 0 for one that is never observed.

    Parameters
    ----------
    values, observed : ndarray, shape (S, D)
        Values are 0 in gaps.
    """
    counts = observed.sum(axis=0)
    return values.sum(axis=0, dtype=np.float64) / np.maximum(counts, 1)


def last_values(
    values: np.ndarray, observed: np.ndarray, lengths: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """The last value of each variable at every step, within its sequence.

    Parameters
    ----------
    values, observed : ndarray, shape (S, D)
    lengths : ndarray of int, shape (N,)
        Steps of each sequence.
    start : ndarray, shape (D,)
        What stands before the first value.
    """
    number = np.arange(len(values))
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    out = np.empty_like(values)
    for j, there in enumerate(observed.T):  # by variable: the places of all cells would be large
        place = np.maximum.accumulate(np.where(there, number, -1))
        out[:, j] = np.where(place >= first, values[place, j], start[j])
    return out
