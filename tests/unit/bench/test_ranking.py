"""Metrics of ratings and ranked lists: by hand, by brute force, and over all orders of ties."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import ndcg_score

from nanwise.bench.ranking import (
    coverage,
    mae,
    ndcg_at_k,
    precision_at_k,
    rank,
    recall_at_k,
    relevant_cells,
    rmse,
)


def csr(table):
    """Stored where the table is not NaN."""
    table = np.asarray(table, dtype=float)
    rows, columns = np.nonzero(~np.isnan(table))
    return sparse.csr_array((table[rows, columns], (rows, columns)), shape=table.shape)


def nothing(shape):
    return sparse.csr_array(shape, dtype=np.float32)


def block_of(table):
    table = np.asarray(table, dtype=float)
    return lambda users: table[users]


def by_listing(scores, seen, relevance, k):
    """One user at a time, mean over all orders of equal scores: only for very few items."""
    out = []
    for s, no, gain in zip(scores, seen, relevance, strict=True):
        if not gain.any():
            continue
        candidates = np.flatnonzero(~no)
        orders = [
            p
            for p in itertools.permutations(candidates)
            if all(s[a] >= s[b] for a, b in itertools.pairwise(p))
        ]
        ideal = sum(g / math.log2(i + 2) for i, g in enumerate(sorted(gain, reverse=True)[:k]))
        found = []
        for order in orders:
            top = order[:k]
            hits = sum(gain[i] > 0 for i in top)
            dcg = sum(gain[i] / math.log2(place + 2) for place, i in enumerate(top))
            found.append((dcg / ideal, hits / (gain > 0).sum(), hits / k))
        out.append(np.mean(found, axis=0))
    return np.mean(out, axis=0)


def test_errors_by_hand():
    assert rmse([1, 2, 3], [1, 4, 1]) == pytest.approx(math.sqrt(8 / 3))
    assert mae([1, 2, 3], [1, 4, 1]) == pytest.approx(4 / 3)


def test_errors_of_nothing_are_not_a_number():
    assert math.isnan(rmse([], []))
    assert math.isnan(mae([], []))


def test_errors_are_computed_in_double_precision():
    true = np.full(10_000_000, 3.0, dtype=np.float32)
    assert mae(true, true + np.float32(0.25)) == 0.25


def test_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        rmse([1, 2], [1, 2, 3])


def test_one_list_by_hand():
    scores = [[9, 8, 7, 6, 5]]
    relevance = csr([[np.nan, 1, np.nan, 1, 1]])
    found = rank(block_of(scores), nothing((1, 5)), relevance, k=4)
    best = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found.ndcg == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / best)
    assert found.recall == pytest.approx(2 / 3)
    assert found.precision == pytest.approx(2 / 4)
    assert (found.k, found.users, found.left_out) == (4, 1, 0)


def test_seen_items_are_no_candidates():
    scores = [[9, 8, 7]]
    relevance = csr([[np.nan, np.nan, 1]])
    seen = csr([[5, 1, np.nan]])
    assert rank(block_of(scores), seen, relevance, k=1).ndcg == 1.0
    assert rank(block_of(scores), nothing((1, 3)), relevance, k=1).ndcg == 0.0


def test_users_without_relevant_items_are_left_out_and_counted():
    scores = [[1, 2], [2, 1], [1, 2]]
    relevance = csr([[np.nan, 1], [np.nan, np.nan], [1, np.nan]])
    found = rank(block_of(scores), nothing((3, 2)), relevance, k=1)
    assert (found.users, found.left_out) == (2, 1)
    assert found.recall == 0.5


def test_nobody_has_relevant_items():
    found = rank(block_of(np.zeros((2, 3))), nothing((2, 3)), nothing((2, 3)))
    assert math.isnan(found.ndcg)
    assert (found.users, found.left_out) == (0, 2)


def test_without_ties_it_is_scikit_learns_ndcg():
    rng = np.random.default_rng(0)
    scores, gains = rng.normal(size=(30, 40)), rng.integers(0, 4, size=(30, 40)).astype(float)
    relevance = csr(np.where(gains > 0, gains, np.nan))
    for k in (1, 5, 40, 60):
        mine = ndcg_at_k(block_of(scores), nothing((30, 40)), relevance, k)
        assert mine == pytest.approx(ndcg_score(gains, scores, k=k), abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("seed", range(4))
def test_ties_count_as_the_mean_over_all_orders(k, seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, size=(6, 6)).astype(float)
    seen = rng.random((6, 6)) < 0.2
    gains = np.where(seen, 0, rng.integers(0, 3, size=(6, 6))).astype(float)
    expected = by_listing(scores, seen, gains, k)
    data = (csr(np.where(seen, 1, np.nan)), csr(np.where(gains > 0, gains, np.nan)), k)
    found = rank(block_of(scores), *data)
    assert (found.ndcg, found.recall, found.precision) == pytest.approx(tuple(expected), abs=1e-12)
    assert recall_at_k(block_of(scores), *data) == found.recall
    assert precision_at_k(block_of(scores), *data) == found.precision


def test_equal_scores_are_worth_a_random_list():
    relevance = csr([[1, *[np.nan] * 99]])
    found = rank(block_of(np.ones((1, 100))), nothing((1, 100)), relevance, k=10)
    assert found.recall == pytest.approx(0.1)


def test_the_size_of_blocks_does_not_matter():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(50, 30)).round(1)
    seen = rng.random((50, 30)) < 0.3
    liked = ~seen & (rng.random((50, 30)) < 0.1)
    sizes = []

    def block(users):
        sizes.append(len(users))
        return scores[users]

    data = csr(np.where(seen, 1, np.nan)), csr(np.where(liked, 1, np.nan))
    whole = rank(block_of(scores), *data)
    assert rank(block, *data, block_cells=70) == whole
    assert max(sizes) == 2


def test_scores_of_the_caller_stay_as_they_are():
    scores = np.arange(6.0).reshape(2, 3)
    before = scores.copy()
    rank(lambda users: scores, csr([[1, np.nan, np.nan]] * 2), csr([[np.nan, 1, np.nan]] * 2))
    np.testing.assert_array_equal(scores, before)


def test_a_relevant_item_that_was_seen_is_refused():
    with pytest.raises(ValueError, match="seen"):
        rank(block_of([[1, 2]]), csr([[1, np.nan]]), csr([[1, np.nan]]))


def test_items_that_may_not_be_listed_are_missed_and_take_no_place():
    scores = [[9, 8, 7, 6]]
    listed = np.array([False, True, True, True])
    missed = rank(block_of(scores), nothing((1, 4)), csr([[1, *[np.nan] * 3]]), 10, listed)
    assert (missed.ndcg, missed.recall, missed.precision) == (0, 0, 0)
    second = csr([[np.nan, 1, np.nan, np.nan]])
    assert rank(block_of(scores), nothing((1, 4)), second, 1, listed).ndcg == 1.0
    assert rank(block_of(scores), nothing((1, 4)), second, 1).ndcg == 0.0


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="finite"):
        rank(block_of([[np.nan, 2]]), nothing((1, 2)), csr([[1, np.nan]]))


def test_k_below_one_is_refused():
    with pytest.raises(ValueError, match="got 0"):
        rank(block_of([[1, 2]]), nothing((1, 2)), csr([[1, np.nan]]), k=0)


def test_relevant_cells_keep_a_liking_of_zero():
    held = csr([[0.0, -1.0], [np.nan, 2.0]])
    found = relevant_cells(held, 0.0)
    assert found.nnz == 2
    np.testing.assert_array_equal(found.toarray(), [[1, 0], [0, 1]])


def test_coverage_counts_items_once_and_skips_empty_places():
    assert coverage([[[0, 1], [1, -1]], [[3, 3]]], 5) == pytest.approx(3 / 5)
    assert coverage([], 4) == 0.0
