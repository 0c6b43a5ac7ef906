"""Ratings made up in the shape and skew of MovieLens, to measure speed and memory at scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nanwise.data.ratings.core import Ratings
from nanwise.data.ratings.scale import Scale

# Chosen to look like MovieLens 10M, whose shape gives 143 ratings per user and 937 per item on
# average and whose users have at least 20. The skew is a guess: half of the users have fewer than
# 70 ratings, half of the items fewer than 140, the most popular one 0.35 % of all.
_LEAST_SHARE, _USER_TAIL = 0.14, 1.9
_ITEM_OFFSET, _ITEM_TAIL = 0.0187, 1.68
_MOST_SHARE = 0.7
_RANK = 8
_MEAN, _NOISE = 3.5, 0.75
_USER_SPREAD, _ITEM_SPREAD, _TASTE = 0.4, 0.45, 0.45
_PIECE = 1 << 20
_ROUNDS = 4


def synthetic_ratings(
    n_users: int = 69_878,
    n_items: int = 10_677,
    n_ratings: int = 10_000_000,
    random_state: Any = None,
) -> Ratings:
    """Ratings from 0.5 to 5 in half stars; the defaults have the shape of MovieLens 10M.

    How many ratings a user gives and an item gets follows power laws. A rating is the sum of a
    mean, an inclination of the user, the quality of the item, a product of ``8`` tastes, and noise
    of standard deviation 0.75, rounded to the scale: no model can have a much smaller RMSE.

    Parameters
    ----------
    n_users, n_items, n_ratings : int
        Exactly so many ratings; each user has at least one. Items may have none.
    random_state : int, Generator or None
    """
    _refuse_impossible(n_users, n_items, n_ratings)
    rng = np.random.default_rng(random_state)
    counts = _user_counts(n_users, n_items, n_ratings, rng)
    matrix = _cells(counts, _popularity(n_items, rng), rng)
    matrix.data = _stars(matrix, rng)
    return Ratings(
        np.arange(1, n_users + 1),
        np.arange(1, n_items + 1),
        matrix,
        Scale(0.5, 5.0, 0.5, tuple(k / 2 for k in range(1, 11))),
        None,
        {"source": "synthetic", "rows_read": n_ratings, "rows_dropped": 0, "duplicates": 0},
    )


def _refuse_impossible(n_users: int, n_items: int, n_ratings: int) -> None:
    most = n_users * int(max(1, _MOST_SHARE * n_items))
    if min(n_users, n_items) < 1 or not n_users <= n_ratings <= most:
        raise ValueError(
            f"{n_users} users can give {n_users} to {most} ratings on {n_items} items "
            f"(each at least one, at most {_MOST_SHARE:.0%} of the items), not {n_ratings}"
        )


def _user_counts(
    n_users: int, n_items: int, n_ratings: int, rng: np.random.Generator
) -> np.ndarray:
    """Ratings per user: a Lomax law above a least number, cut at a share of the items."""
    mean = n_ratings / n_users
    most = int(max(1, _MOST_SHARE * n_items))
    tail = (1 - _LEAST_SHARE) * (_USER_TAIL - 1) * rng.pareto(_USER_TAIL, n_users)
    wanted = mean * (_LEAST_SHARE + tail)
    counts = np.clip(wanted * n_ratings / wanted.sum(), 1, most).astype(np.int64)
    while short := n_ratings - int(counts.sum()):
        # Users who can still take or give one, by chance; a few rounds meet the number exactly.
        able = np.flatnonzero(counts < most if short > 0 else counts > 1)
        chosen = rng.choice(able, min(abs(short), len(able)), replace=False)
        counts[chosen] += np.sign(short)
    return counts


def _popularity(n_items: int, rng: np.random.Generator) -> np.ndarray:
    weight = (np.arange(1, n_items + 1) + _ITEM_OFFSET * n_items) ** -_ITEM_TAIL
    return rng.permutation(weight / weight.sum())


def _cells(counts: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> sparse.csr_array:
    """Items of each user, drawn one after another without putting back.

    Drawing with putting back and forgetting what comes twice is the same thing. After some rounds
    few users lack items, and these are dealt with one by one.
    """
    shape = (len(counts), len(weight))
    keys = np.empty(0, dtype=np.int64)
    lacking = counts.copy()
    for _ in range(_ROUNDS):
        keys = _once(np.concatenate([keys, _draw(lacking, weight, rng)]))
        lacking = counts - np.bincount(keys // shape[1], minlength=shape[0])
    keys = np.sort(np.concatenate([keys, _rest(keys, lacking, weight, rng)]))
    pointers = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    items = (keys % shape[1]).astype(np.int32)
    return sparse.csr_array((np.zeros(len(items), np.float32), items, pointers), shape=shape)


def _once(keys: np.ndarray) -> np.ndarray:
    """Each number once, ascending; with many different ones ten times faster than np.unique."""
    keys.sort()
    fresh = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return keys[fresh]


def _draw(counts: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """User and item in one number, ``user * n_items + item``, for so many draws per user."""
    users = np.repeat(np.arange(len(counts)), counts)
    upto = np.cumsum(weight)
    upto[-1] = 1.0
    keys = users * len(weight)
    for start in range(0, len(keys), _PIECE):
        piece = keys[start : start + _PIECE]
        piece += np.searchsorted(upto, rng.random(len(piece)), side="right")
    return keys


def _rest(
    keys: np.ndarray, lacking: np.ndarray, weight: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """What users still lack: the items that come first when arrival times are exponential."""
    found = [np.empty(0, dtype=np.int64)]
    users = np.flatnonzero(lacking)
    starts = np.searchsorted(keys, users * len(weight))
    ends = np.searchsorted(keys, (users + 1) * len(weight))
    for user, start, end in zip(users, starts, ends, strict=True):
        arrival = rng.standard_exponential(len(weight)) / weight
        arrival[keys[start:end] % len(weight)] = np.inf
        need = lacking[user]
        found.append(np.argpartition(arrival, need - 1)[:need] + user * len(weight))
    return np.concatenate(found)


def _stars(matrix: sparse.csr_array, rng: np.random.Generator) -> np.ndarray:
    n_users, n_items = matrix.shape
    user_part = rng.normal(0, _USER_SPREAD, n_users).astype(np.float32)
    item_part = rng.normal(_MEAN, _ITEM_SPREAD, n_items).astype(np.float32)
    scale = np.sqrt(_TASTE / np.sqrt(_RANK))
    user_taste = rng.normal(0, scale, (n_users, _RANK)).astype(np.float32)
    item_taste = rng.normal(0, scale, (n_items, _RANK)).astype(np.float32)
    counts = np.diff(matrix.indptr)
    users = np.repeat(np.arange(n_users, dtype=np.int32), counts)
    out = np.empty(matrix.nnz, dtype=np.float32)
    for start in range(0, matrix.nnz, _PIECE):
        here = slice(start, start + _PIECE)
        u, i = users[here], matrix.indices[here]
        exact = user_part[u] + item_part[i] + np.einsum("nk,nk->n", user_taste[u], item_taste[i])
        exact += _NOISE * rng.standard_normal(len(exact), dtype=np.float32)
        out[here] = np.clip(np.rint(2 * exact) / 2, 0.5, 5.0)
    return out
