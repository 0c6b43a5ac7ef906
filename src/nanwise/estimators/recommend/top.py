"""The best of many scores, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def best(scores: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ``n`` largest scores of each row; ties go to the smaller column.

    Parameters
    ----------
    scores : ndarray of shape (rows, columns)
        -inf stands for what must not be chosen.
    n : int

    Returns
    -------
    rows, columns, ranks : ndarray
        One entry per choice, from the first row to the last and from the best to the worst; the
        ranks start at 1. A row with fewer than ``n`` finite scores has fewer entries.
    """
    n = min(n, scores.shape[1])
    chosen = _columns(scores, n)
    found = np.take_along_axis(scores, chosen, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    chosen = np.take_along_axis(chosen, order, axis=1)
    rows, places = np.nonzero(np.isfinite(np.take_along_axis(found, order, axis=1)))
    return rows, chosen[rows, places], places + 1


def _columns(scores: np.ndarray, n: int) -> np.ndarray:
    """Columns of the ``n`` largest of each row, ascending; equal ones from the left."""
    if n == scores.shape[1]:
        return np.broadcast_to(np.arange(n), scores.shape)
    edge = np.partition(scores, -n, axis=1)[:, -n, None]
    above, equal = scores > edge, scores == edge
    room = n - above.sum(axis=1, keepdims=True)
    taken = above | (equal & (np.cumsum(equal, axis=1) <= room))
    return np.nonzero(taken)[1].reshape(len(scores), n)


def forbid(scores: np.ndarray, cells: sparse.csr_array) -> None:
    """Set the stored cells of a matrix of the same shape to -inf."""
    rows = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    scores[rows, cells.indices] = -np.inf


def cosines(vectors: Any, rows: np.ndarray) -> np.ndarray:
    """Cosine of some rows (dense or sparse) with all rows; 0 with a row of length 0."""
    if sparse.issparse(vectors):
        length = np.sqrt(vectors.power(2).sum(axis=1))
        products = (vectors[rows] @ vectors.T).toarray()
    else:
        length = np.linalg.norm(vectors, axis=1)
        products = vectors[rows] @ vectors.T
    length = np.where(length > 0, length, np.inf)
    return products / length[rows, None] / length
