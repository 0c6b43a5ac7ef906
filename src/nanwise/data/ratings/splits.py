"""Ratings for training and for testing, and ratings of the users and items with enough of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from nanwise.data.ratings.core import Ratings, sort_codes
from nanwise.errors import DataError

KINDS = ("rating", "time", "leave_k_out")


def split_ratings(
    ratings: Ratings,
    test: float = 0.1,
    by: Literal["rating", "time", "leave_k_out"] = "rating",
    k: int = 1,
    random_state: Any = None,
) -> tuple[Ratings, Ratings]:
    """Split into training and test ratings on the same axes.

    Users and items are the same in both, at the same positions. So some of them may have no rating
    left in the training part (*cold*): a model must answer for them all the same, and the usual
    protocols count these answers.

    Parameters
    ----------
    ratings : Ratings
    test : float, default=0.1
        Share of the ratings for the test; not used by ``"leave_k_out"``.
    by : {"rating", "time", "leave_k_out"}
        ``"rating"``: ratings at random, whoever gave them. ``"time"``: the latest ones; ratings of
        one moment stay together, so the share is met as nearly as that allows.
        ``"leave_k_out"``: of each user with more than ``k`` ratings the ``k`` latest, or ``k``
        at random where times are unknown or all the same.
    k : int, default=1
    random_state : int, Generator, RandomState or None
        Also decides the order of ratings of one moment in ``"leave_k_out"``.

    Returns
    -------
    train, test : Ratings
    """
    rng = _generator(random_state)
    if by == "rating":
        held = _at_random(len(ratings), _share(test), rng)
    elif by == "time":
        held = _latest(ratings, _share(test))
    elif by == "leave_k_out":
        held = _last_of_each(ratings, k, rng)
    else:
        raise ValueError(f"by must be one of {KINDS}, got {by!r}")
    return _part(ratings, ~held, by, "train"), _part(ratings, held, by, "test")


def time_order(ratings: Ratings) -> np.ndarray:
    """Positions in ``matrix.data``, user by user, from the first rating of each to the last.

    Ratings of one moment keep the order of the items.
    """
    if ratings.time is None:
        raise DataError("these ratings have no times; read them with a time column")
    order = np.argsort(ratings.time, kind="stable")
    return order[sort_codes(ratings.rows[order], len(ratings.users))]


def k_core(ratings: Ratings, users: int = 5, items: int = 5) -> Ratings:
    """Only users with at least ``users`` ratings and items with at least ``items``.

    Leaving out an item takes ratings from users and the other way round, so it is repeated until
    all that are left have enough. ``facts["k_core"]`` tells what was left out.
    """
    rows, columns = ratings.rows, ratings.matrix.indices
    n_users, n_items = ratings.matrix.shape
    kept = np.ones(len(ratings), dtype=bool)
    while True:
        left = int(kept.sum())
        keep_users = np.bincount(rows[kept], minlength=n_users) >= users
        keep_items = np.bincount(columns[kept], minlength=n_items) >= items
        kept &= keep_users[rows] & keep_items[columns]
        if not kept.any():
            raise DataError(
                f"no rating is left when users need {users} ratings and items {items}; ask for less"
            )
        if kept.sum() == left:
            break
    core = ratings.restrict(keep_users, keep_items)
    facts = {
        "users": users,
        "items": items,
        "users_dropped": n_users - len(core.users),
        "items_dropped": n_items - len(core.items),
        "ratings_dropped": len(ratings) - len(core),
    }
    return replace(core, facts={**ratings.facts, "k_core": facts})


def _part(ratings: Ratings, cells: np.ndarray, by: str, name: str) -> Ratings:
    if not cells.any():
        raise DataError(f"no rating is left for the {name} part of a split by {by!r}")
    part = ratings.select(cells)
    return replace(part, facts={**ratings.facts, "part": name, "split_by": by})


def _at_random(n: int, share: float, rng: np.random.Generator) -> np.ndarray:
    if n < 2:
        raise DataError(f"{n} rating{'' if n == 1 else 's'} cannot be split; at least 2 are needed")
    n_test = min(max(1, round(share * n)), n - 1)
    held = np.zeros(n, dtype=bool)
    held[rng.choice(n, n_test, replace=False, shuffle=False)] = True
    return held


def _latest(ratings: Ratings, share: float) -> np.ndarray:
    time = _known_time(ratings)
    n_test = min(max(1, round(share * len(time))), len(time) - 1)
    edge = np.partition(time, len(time) - n_test)[len(time) - n_test]
    ways = [time >= edge, time > edge]
    fit = [held for held in ways if 0 < held.sum() < len(time)]
    return min(fit, key=lambda held: abs(int(held.sum()) - n_test))


def _known_time(ratings: Ratings) -> np.ndarray:
    if ratings.time is None:
        raise DataError("a split by time needs times; read the ratings with a time column")
    if len(ratings) < 2 or ratings.time.min() == ratings.time.max():
        raise DataError(
            f"a split by time needs ratings of different times, but all {len(ratings):,} have "
            "the same; split by 'rating' instead"
        )
    return ratings.time


def _last_of_each(ratings: Ratings, k: int, rng: np.random.Generator) -> np.ndarray:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    order = rng.permutation(len(ratings))
    if ratings.time is not None:
        order = order[np.argsort(ratings.time[order], kind="stable")]
    order = order[sort_codes(ratings.rows[order], len(ratings.users))]
    counts = np.diff(ratings.matrix.indptr)
    # How many ratings of the same user follow in the order.
    behind = np.repeat(ratings.matrix.indptr[1:], counts) - 1 - np.arange(len(order))
    held = np.zeros(len(order), dtype=bool)
    held[order[(behind < k) & np.repeat(counts > k, counts)]] = True
    return held


def _share(test: float) -> float:
    if not 0 < test < 1:
        raise ValueError(f"test is a share between 0 and 1, got {test}")
    return test


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31 - 1)
    return np.random.default_rng(random_state)
