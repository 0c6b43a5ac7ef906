"""What the rest of a row says about an attribute, as if the attribute itself had not been seen.

A model that predicts attribute a from filled rows must not meet, in training, fills that were made
with the help of a: where it is needed, a is missing and nothing was filled with it. Under a
Gaussian model fills without a are cheap. With K the inverse of the covariance of what is observed
in a row and c = x - mean there,

- the prediction of a from the other observed values is ``x_a - r`` with ``r = K_aa⁻¹ (K c)_a``;
- a gap that is filled by ``B c`` given all that is observed, ``B = Σ_gap,observed K``, is filled by
  ``B c - B_a r`` without a, since the expectation of an expectation is the expectation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nanwise.estimators.impute_core.blocks import LEVELLED, Blocks

#: numbers in one stack of matrices
CELLS = 2**21


class Left(NamedTuple):
    """Rows with their gaps filled, and what changes without one of their values.

    Attributes
    ----------
    filled : ndarray of shape (N, F)
        Expectations in gaps, given all that is observed.
    lost : ndarray of shape (N, F)
        In observed features: what the others do not predict; 0 in gaps.
    pull : ndarray of shape (N, F, F)
        How much the gap in the first axis owes to the value in the second; else 0.
    """

    filled: np.ndarray
    lost: np.ndarray
    pull: np.ndarray


def conditional(
    mean: np.ndarray, cov: np.ndarray, features: np.ndarray, there: np.ndarray
) -> np.ndarray:
    """Features (N, F) with expectations where they are not ``there``; each row by itself."""
    filled = np.array(features, dtype=np.float64)
    for part in _chunks(*features.shape):
        _, score = _score(mean, cov, features[part], there[part])
        filled[part] = np.where(there[part], features[part], mean + _times(cov, score))
    return filled


def leave_out(
    blocks: Blocks, mean: np.ndarray, cov: np.ndarray, features: np.ndarray, there: np.ndarray
) -> Left:
    """Fills of features (N, F), and what they owe to each observed value."""
    n, f = features.shape
    left = Left(np.empty((n, f)), np.zeros((n, f)), np.empty((n, f, f), dtype=np.float32))
    for part in _chunks(n, f):
        seen = there[part]
        inverse, score = _score(mean, cov, features[part], seen)
        left.filled[part] = np.where(seen, features[part], mean + _times(cov, score))
        left.lost[part] = _lost(blocks, inverse, score, seen)
        both = inverse * seen[:, :, None] * seen[:, None, :]
        left.pull[part] = np.where(seen[:, :, None], 0.0, np.matmul(cov, both))
    return left


def expectations(
    blocks: Blocks, mean: np.ndarray, cov: np.ndarray, features: np.ndarray, there: np.ndarray
) -> np.ndarray:
    """Every feature (N, F), there or not, as the other attributes of its row predict it."""
    out = np.empty(features.shape)
    for part in _chunks(*features.shape):
        seen = there[part]
        inverse, score = _score(mean, cov, features[part], seen)
        filled = np.where(seen, features[part], mean + _times(cov, score))
        out[part] = filled - _lost(blocks, inverse, score, seen)
    return out


def given_all(
    blocks: Blocks, mean: np.ndarray, cov: np.ndarray, filled: np.ndarray, a: int
) -> np.ndarray:
    """Expectation (N, width) of attribute ``a`` given all others, of rows without gaps."""
    own = blocks.place(a)
    rest = np.delete(np.arange(len(mean)), own)
    slope = np.linalg.solve(cov[np.ix_(rest, rest)], cov[rest, own])
    # over rows in one piece, einsum adds a row's terms in the same order whatever is beside it
    off = blocks.others(filled, a) - mean[rest]
    return mean[own] + np.einsum("nf,fk->nk", off, slope)


def jitter(blocks: Blocks) -> np.ndarray:
    """What keeps covariances regular (F,): the levels of an attribute always sum to 1."""
    widths = np.diff((0, *blocks.stops))
    own = [1e-3 if kind in LEVELLED else 1e-8 for kind in blocks.kinds]
    return np.repeat(own, widths)


def without(left: Left, blocks: Blocks, a: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Other features (n, F - width), and the prediction (n, width) of attribute ``a``.

    Of rows in which it is observed as if it were not; of the others as they are.
    """
    own = blocks.place(a)
    lost = left.lost[rows, own]
    filled = left.filled[rows]
    filled -= np.einsum("nfk,nk->nf", left.pull[rows][:, :, own], lost)
    return blocks.others(filled, a), left.filled[rows, own] - lost


def _lost(blocks: Blocks, inverse: np.ndarray, score: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """K_aa⁻¹ (K c)_a for every attribute that is observed."""
    out = np.zeros_like(score)
    for a in range(len(blocks.kinds)):
        own = blocks.place(a)
        if own.stop - own.start == 1:
            out[:, own] = score[:, own] / inverse[:, own, own][:, 0]
        elif own.stop > own.start:
            out[:, own] = np.linalg.solve(inverse[:, own, own], score[:, own, None])[..., 0]
    return np.where(seen, out, 0.0)


def _score(
    mean: np.ndarray, cov: np.ndarray, features: np.ndarray, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """K (N, F, F), beside it the unit matrix, and K c (N, F), 0 in gaps."""
    both = seen[:, :, None] & seen[:, None, :]
    inverse = np.linalg.inv(np.where(both, cov, np.eye(len(cov))))
    centred = np.where(seen, features - mean, 0.0)
    return inverse, np.einsum("nij,nj->ni", inverse, centred) * seen


def _times(cov: np.ndarray, score: np.ndarray) -> np.ndarray:
    # einsum adds a row's terms in the same order whatever rows are beside it
    return np.einsum("nj,ji->ni", score, cov)


def _chunks(n: int, f: int) -> Iterator[slice]:
    size = max(CELLS // max(f * f, 1), 1)
    for start in range(0, n, size):
        yield slice(start, start + size)
