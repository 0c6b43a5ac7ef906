"""How good predicted ratings and ranked lists are, without ever holding users × items at once.

Two kinds of questions. *Is the number right?* :func:`rmse` and :func:`mae` at held-out ratings. *Is
the list right?* A :class:`Ranking` of all items a user has not rated, held against the items that
the user turned out to like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

#: numbers of a block of scores (64 MB in float32)
BLOCK_CELLS = 1 << 24

#: positions of users -> their scores of all items, shape (len(positions), n_items)
ScoreBlock = Callable[[np.ndarray], np.ndarray]


def rmse(true: Any, predicted: Any) -> float:
    """Root of the mean squared error; NaN when there is nothing to compare."""
    error = _errors(true, predicted)
    return float(np.sqrt(np.mean(error**2))) if len(error) else float("nan")


def mae(true: Any, predicted: Any) -> float:
    """Mean absolute error; NaN when there is nothing to compare."""
    error = _errors(true, predicted)
    return float(np.mean(np.abs(error))) if len(error) else float("nan")


@dataclass(frozen=True)
class Ranking:
    """How well lists of ``k`` items meet what users turned out to like.

    Attributes
    ----------
    k : int
    ndcg, recall, precision : float
        Means over the users that were ranked; NaN if there are none.
    users : int
        How many were ranked.
    left_out : int
        How many were not, because none of their held-out items is relevant.
    """

    k: int
    ndcg: float
    recall: float
    precision: float
    users: int
    left_out: int


def relevant_cells(held: sparse.csr_array, least: float) -> sparse.csr_array:
    """Held-out ratings of at least ``least`` as a matrix of ones: what a good list contains."""
    users = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    liked = held.data >= least
    ones = np.ones(int(liked.sum()), dtype=np.float32)
    return sparse.csr_array((ones, (users[liked], held.indices[liked])), shape=held.shape)


def rank(
    scores: ScoreBlock,
    seen: sparse.csr_array,
    relevance: sparse.csr_array,
    k: int = 10,
    listed: np.ndarray | None = None,
    block_cells: int = BLOCK_CELLS,
) -> Ranking:
    """Rank all items that a user has not rated, and look for the relevant ones at the top.

    Parameters
    ----------
    scores : callable
        ``scores(users)`` gives the scores of all items for an array of positions of users.
    seen : csr_array, users × items
        Stored cells are no candidates: what the model was trained on.
    relevance : csr_array, users × items
        Stored cells are relevant; their values, which must be positive, are the gains of the NDCG.
    k : int, default=10
    listed : ndarray of bool, shape (n_items,), optional
        Items that may stand in lists; all of them by default. A relevant item that may not is
        missed.
    block_cells : int
        Numbers in memory at a time: only so many users are scored together.

    Returns
    -------
    Ranking
        ``recall`` is the share of a user's relevant items that are among the first ``k``,
        ``precision`` the share of the ``k`` places that hold a relevant item, ``ndcg`` the sum of
        gain / log2(1 + place) over the list, divided by the largest sum any list could have.

    Notes
    -----
    Items of equal score have no order, so whatever order a program gives them is chance. What is
    counted is the mean over all orders, in closed form: of ``m`` items of equal score behind ``a``
    better ones each is equally often at the places a + 1, …, a + m (McSherry and Najork, 2008). A
    model that gives all items the same score gets what a random list would get.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    counts = np.diff(relevance.indptr)
    users = np.flatnonzero(counts)
    listed = np.ones(relevance.shape[1], dtype=bool) if listed is None else listed
    parts = [
        _rank_block(scores(some), seen[some], relevance[some], k, listed, block_cells)
        for some in blocks(users, relevance.shape[1], block_cells)
    ]
    means = np.concatenate(parts).mean(axis=0) if parts else np.full(3, np.nan)
    return Ranking(k, *map(float, means), len(users), len(counts) - len(users))


def ndcg_at_k(
    scores: ScoreBlock, seen: sparse.csr_array, relevance: sparse.csr_array, k: int = 10
) -> float:
    """Normalised discounted cumulative gain of the first ``k``; see :func:`rank`."""
    return rank(scores, seen, relevance, k).ndcg


def recall_at_k(
    scores: ScoreBlock, seen: sparse.csr_array, relevance: sparse.csr_array, k: int = 10
) -> float:
    """Share of the relevant items among the first ``k``; see :func:`rank`."""
    return rank(scores, seen, relevance, k).recall


def precision_at_k(
    scores: ScoreBlock, seen: sparse.csr_array, relevance: sparse.csr_array, k: int = 10
) -> float:
    """Share of the first ``k`` that is relevant; see :func:`rank`."""
    return rank(scores, seen, relevance, k).precision


def coverage(lists: Iterable[Any], n_items: int) -> float:
    """Share of all items that stand in at least one list.

    Parameters
    ----------
    lists : iterable of int arrays
        Positions of items, some users at a time; negative numbers are empty places.
    n_items : int
    """
    shown = np.zeros(n_items, dtype=bool)
    for places in lists:
        places = np.asarray(places, dtype=np.int64).ravel()
        shown[places[places >= 0]] = True
    return float(shown.mean()) if n_items else float("nan")


def blocks(users: np.ndarray, n_items: int, cells: int = BLOCK_CELLS) -> Iterator[np.ndarray]:
    """The users, as many at a time as may be scored together."""
    step = max(1, cells // max(1, n_items))
    for start in range(0, len(users), step):
        yield users[start : start + step]


def _rank_block(
    scores: np.ndarray,
    seen: sparse.csr_array,
    relevance: sparse.csr_array,
    k: int,
    listed: np.ndarray,
    block_cells: int,
) -> np.ndarray:
    """NDCG, recall and precision of each user of a block."""
    counts = np.diff(relevance.indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    scores = _of_candidates(scores, seen)
    own = scores[rows, relevance.indices]
    if np.isneginf(own).any():
        raise ValueError("a relevant item is among the seen ones; hold it out of the training part")
    scores[:, ~listed] = -np.inf
    above, equal = _places(scores, rows, own, block_cells)
    # What may not be listed stands behind every list, and is equal to itself only.
    missed = ~listed[relevance.indices]
    above[missed], equal[missed] = k, 1
    hits = np.clip((k - above) / equal, 0.0, 1.0)
    gains = relevance.data * _mean_discount(above, equal, k)
    total = np.bincount(rows, hits, minlength=len(counts))
    dcg = np.bincount(rows, gains, minlength=len(counts))
    return np.stack([dcg / _best_dcg(relevance, k), total / counts, total / k], axis=1)


def _of_candidates(scores: np.ndarray, seen: sparse.csr_array) -> np.ndarray:
    """A copy in which seen items are behind all others."""
    if not np.isfinite(scores).all():
        raise ValueError("a score is not a finite number; every item must get one")
    scores = np.array(scores)
    rows = np.repeat(np.arange(len(scores)), np.diff(seen.indptr))
    scores[rows, seen.indices] = -np.inf
    return scores


def _places(
    scores: np.ndarray, rows: np.ndarray, own: np.ndarray, block_cells: int
) -> tuple[np.ndarray, np.ndarray]:
    """How many candidates are better than each relevant item, and how many as good, with itself.

    Counting is cheaper than sorting as long as few of the items are relevant, which they are.
    """
    above, equal = np.empty(len(own), np.int64), np.empty(len(own), np.int64)
    for some in blocks(np.arange(len(own)), scores.shape[1], block_cells):
        rivals, mine = scores[rows[some]], own[some, None]
        above[some] = (rivals > mine).sum(axis=1)
        equal[some] = (rivals == mine).sum(axis=1)
    return above, equal


def _mean_discount(above: np.ndarray, equal: np.ndarray, k: int) -> np.ndarray:
    """Mean of 1 / log2(1 + place) over the places an item may have; 0 beyond ``k``."""
    sums = np.concatenate([[0.0], np.cumsum(_discounts(k))])
    return (sums[np.minimum(above + equal, k)] - sums[np.minimum(above, k)]) / equal


def _best_dcg(relevance: sparse.csr_array, k: int) -> np.ndarray:
    """What a list with the largest gains first would get, per user."""
    rows = np.repeat(np.arange(relevance.shape[0]), np.diff(relevance.indptr))
    order = np.lexsort((-relevance.data, rows))
    place = np.arange(len(rows)) - relevance.indptr[rows]
    discount = np.concatenate([_discounts(k), [0.0]])[np.minimum(place, k)]
    return np.bincount(rows, relevance.data[order] * discount, minlength=relevance.shape[0])


def _discounts(k: int) -> np.ndarray:
    return 1.0 / np.log2(np.arange(2, k + 2))


def _errors(true: Any, predicted: Any) -> np.ndarray:
    true, predicted = np.asarray(true, np.float64), np.asarray(predicted, np.float64)
    if true.shape != predicted.shape:
        raise ValueError(f"{true.shape} ratings cannot be held against {predicted.shape} answers")
    return (true - predicted).ravel()
