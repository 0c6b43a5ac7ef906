"""What the gaps of a row say about its other values, as a shift of a guess.

Where values decide what is missing, as where large ones are hidden, a gap is news: of correlated
columns one that lacks says that the others are large. The shift is linear in which attributes lack.
It is pulled to 0, as strongly as predicts rows best that are left out, so that gaps at random leave
guesses almost as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: pulls that are tried, in rows: a gap that occurs in as many rows has half of its effect
_PULLS = (10.0, 100.0, 1000.0)


class Shift(NamedTuple):
    """``(gaps - usual) @ slope`` for gaps (N, A), as numbers, gives what to add (N, K)."""

    usual: np.ndarray
    slope: np.ndarray

    def __call__(self, gaps: np.ndarray) -> np.ndarray:
        """What to add for each row."""
        # einsum adds a row's terms in the same order whatever rows are beside it
        return np.einsum("na,ak->nk", gaps - self.usual, self.slope)


def learn_shift(gaps: np.ndarray, rest: np.ndarray) -> Shift:
    """Predict what guesses left over (N, K) from which attributes lack (N, A).

    The pull is that with the least squared error of each row by all others, for each of the K; none
    of the shift is taken where that is worse than the mean.
    """
    usual = gaps.mean(axis=0)
    off, rest = gaps - usual, rest - rest.mean(axis=0)
    sizes, axes = np.linalg.eigh(off.T @ off)
    turned = off @ axes
    along = turned.T @ rest
    slopes, errors = [np.zeros((gaps.shape[1], rest.shape[1]))], [_left_out(rest, 0.0)]
    for pull in _PULLS:
        slope = along / (np.maximum(sizes, 0.0) + pull)[:, None]
        own = (turned**2 / (np.maximum(sizes, 0.0) + pull)).sum(axis=1)
        slopes.append(axes @ slope)
        errors.append(_left_out(rest - turned @ slope, own[:, None]))
    best = np.argmin(errors, axis=0)
    return Shift(usual, np.stack(slopes)[best, :, np.arange(len(best))].T)


def _left_out(off: np.ndarray, own: np.ndarray | float) -> np.ndarray:
    """Squared errors of rows that were left out; ``own`` is the pull of each on its answer."""
    return ((off / (1.0 - own - 1.0 / len(off))) ** 2).sum(axis=0)
