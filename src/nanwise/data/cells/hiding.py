"""Entries hidden on purpose: of those that were seen, some become 0."""

from __future__ import annotations

import numpy as np

from nanwise.errors import DataError


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

    Raises
    ------
    DataError
        If so few entries were seen that none or all of them would be hidden.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must be above 0 and below 1, got {share!r}")
    seen = np.flatnonzero(values)
    number = round(share * len(seen))
    if not 0 < number < len(seen):
        raise DataError(
            f"a share of {share:g} of {len(seen)} entries that were seen is {number}: something "
            "must be hidden and something left; take another share, or more cells"
        )
    held = np.random.default_rng(seed).choice(seen, number, replace=False)
    rows, columns = np.unravel_index(held, values.shape)
    part = np.array(values)
    part[rows, columns] = 0
    return part, rows, columns
