"""Entries hidden on purpose: of those that were seen, some become 0."""

from __future__ import annotations

import numpy as np


def hide_seen(
    values: np.ndarray, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hide a share of the entries that are not 0, at random.

    Parameters
    ----------
    values : ndarray of shape (n_cells, n_genes)
    share : float
        Above 0 and below 1; of the entries that are not 0.
    seed : int

    Returns
    -------
    part : ndarray
        A copy in which the hidden entries are 0.
    rows, columns : ndarray of int
        Where they are.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must be above 0 and below 1, got {share!r}")
    seen = np.flatnonzero(values)
    held = np.random.default_rng(seed).choice(seen, round(share * len(seen)), replace=False)
    rows, columns = np.unravel_index(held, values.shape)
    part = np.array(values)
    part[rows, columns] = 0
    return part, rows, columns
