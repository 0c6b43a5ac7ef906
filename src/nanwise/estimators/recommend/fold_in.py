"""A new person beside items whose vectors are known."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def fold_in(
    items: np.ndarray,
    users: np.ndarray,
    bias: np.ndarray,
    rows: sparse.csr_array,
    noise: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and biases of people who were not there in training.

    A rating is taken for ``item vector · person vector + bias`` plus noise. Vector and bias of a
    person come from a normal distribution with mean and covariance of those of the trained users;
    the answer is their expectation given the ratings. Without ratings it is the average user.

    Parameters
    ----------
    items : ndarray of shape (n_items, d)
    users : ndarray of shape (n_users, d)
        Vectors of the trained users.
    bias : ndarray of shape (n_users,)
        Their biases.
    rows : scipy.sparse.csr_array of shape (n_people, n_items)
        The ratings of the new people.
    noise : float
        Variance of a rating around its prediction.

    Returns
    -------
    vectors : ndarray of shape (n_people, d)
    biases : ndarray of shape (n_people,)
    """
    known = np.column_stack([users, bias])
    mean = known.mean(axis=0)
    spread = (known - mean) / np.sqrt(len(known))
    out = np.tile(mean, (rows.shape[0], 1))
    for person in range(rows.shape[0]):
        here = slice(rows.indptr[person], rows.indptr[person + 1])
        seen = items[rows.indices[here]]
        features = np.column_stack([seen, np.ones(len(seen))])
        # covariance of the person's coefficients with the ratings, never as a d × d matrix
        shared = spread.T @ (spread @ features.T)
        among = features @ shared + noise * np.eye(len(seen))
        rest = rows.data[here] - features @ mean
        out[person] += shared @ np.linalg.solve(among, rest)
    return out[:, :-1], out[:, -1]
