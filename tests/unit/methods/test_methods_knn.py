"""Nearest neighbours against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn.impute import KNNImputer

from nanwise.estimators.impute_core.neighbours import Donors
from nanwise.methods.table.knn import KNN
from nanwise.missing import observe
from nanwise.testing.treatments import rows_with_gaps


@pytest.mark.parametrize(("n", "d", "k"), [(80, 4, 5), (300, 8, 3), (40, 3, 1), (60, 6, 60)])
def test_equals_scikit_learn(n, d, k):
    train, new = rows_with_gaps(n, d, 0.25, seed=1), rows_with_gaps(30, d, 0.25, seed=2)
    keep = new.observed.any(axis=1)
    ours, _ = KNN(k=k).fit(*train).prepare(new.values[keep], new.observed[keep])
    reference = KNNImputer(n_neighbors=k).fit(np.where(train.observed, train.values, np.nan))
    theirs = reference.transform(np.where(new.observed, new.values, np.nan)[keep])
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_by_hand():
    train = observe(np.array([[0.0, 1.0], [1.0, 3.0], [5.0, 100.0], [0.2, np.nan]]))
    filled, _ = KNN(k=2).fit(*train).prepare(*observe(np.array([[0.1, np.nan]])))
    assert filled[0, 1] == 2.0


def test_donors_as_far_as_the_kth_share_its_place():
    train = observe(np.array([[0.0, 1.0], [1.0, 3.0], [-1.0, 7.0], [1.0, 5.0], [9.0, 99.0]]))
    filled, _ = KNN(k=2).fit(*train).prepare(*observe(np.array([[0.0, np.nan]])))
    np.testing.assert_allclose(filled[0, 1], (1.0 + (3.0 + 7.0 + 5.0) / 3) / 2, rtol=1e-12)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_the_order_of_the_donors_does_not_matter(share):
    draw = np.random.default_rng(0)
    x = draw.integers(0, 3, (300, 6)).astype(float)
    x[draw.random(x.shape) < share] = np.nan
    rows, turned = observe(x), observe(x[::-1])
    one, other = (KNN(k=4).fit(*donors).prepare(*rows)[0] for donors in (rows, turned))
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_ties_are_shared_alike_whatever_rows_are_passed():
    draw = np.random.default_rng(0)
    x = draw.integers(0, 2, (500, 6)).astype(float)
    x[draw.random(x.shape) < 0.3] = np.nan
    rows = observe(x)
    knn = KNN(k=4).fit(*rows)
    whole, _ = knn.prepare(*rows)
    for row in range(0, 500, 50):
        one, _ = knn.prepare(rows.values[row : row + 1], rows.observed[row : row + 1])
        np.testing.assert_array_equal(one[0], whole[row])


def test_no_donor_gives_the_mean():
    train = observe(np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 4.0], [np.nan, 8.0]]))
    filled, _ = KNN(k=2).fit(*train).prepare(*observe(np.array([[1.0, np.nan]])))
    assert filled[0, 1] == 6.0


def test_fewer_donors_than_k():
    train = observe(np.array([[1.0, 2.0], [3.0, np.nan]]))
    filled, _ = KNN(k=5).fit(*train).prepare(*observe(np.array([[9.0, np.nan]])))
    assert filled[0, 1] == 2.0


def test_donors_are_capped_by_seed():
    rows = rows_with_gaps(100, 3)
    one, same, other = (KNN(max_donors=20, seed=seed).fit(*rows) for seed in (0, 0, 1))
    assert one.donors_.shape == (20, 3)
    np.testing.assert_array_equal(one.donors_, same.donors_)
    assert not np.array_equal(one.donors_, other.donors_)
    np.testing.assert_array_equal(one.fill_, other.fill_)


def test_bad_k():
    with pytest.raises(ValueError, match="k must be"):
        KNN(k=0).fit(*rows_with_gaps())


@pytest.mark.parametrize("k", [1, 3, 2.5])
def test_few_values_give_the_answer_of_the_full_search(k, monkeypatch):
    rng = np.random.default_rng(0)
    observed = rng.random((40, 30)) < 0.15
    values = np.where(observed, rng.integers(1, 6, observed.shape), 0.0)
    weight = rng.integers(1, 3, 40).astype(float)
    sparse_way = Donors(values, observed, weight)
    monkeypatch.setattr("nanwise.estimators.impute_core.neighbours._SPARSE", 0.0)
    full_way = Donors(values, observed, weight)
    assert sparse_way._cells is not None
    assert full_way._cells is None
    for row, there in zip(values, observed, strict=True):
        expected = full_way.estimate(row, there, k)
        np.testing.assert_allclose(sparse_way.estimate(row, there, k), expected, rtol=1e-12)


@pytest.mark.parametrize("sort", ["measured", "whole numbers", "two levels"])
@pytest.mark.parametrize("k", [1, 5, 2.5])
@pytest.mark.parametrize("gaps", [0.2, 0.6])
def test_many_rows_at_once_get_the_answer_of_one_to_the_last_bit(sort, k, gaps):
    rng = np.random.default_rng(0)
    x = {
        "measured": rng.normal(size=(400, 5)),
        "whole numbers": rng.integers(0, 9, (400, 5)) / 3.7,
        "two levels": rng.integers(0, 2, (400, 5)) * 1.1,
    }[sort]
    observed = rng.random(x.shape) > gaps
    values, weight = np.where(observed, x, 0.0), rng.random(400) + 0.3
    donors = Donors(values[:300], observed[:300], weight[:300])
    together = donors.estimate_all(values, observed, k)
    for row in range(400):
        alone = donors.estimate(values[row], observed[row], k)
        np.testing.assert_array_equal(together[row, ~observed[row]], alone)


def test_rounding_of_rough_distances_is_bounded():
    rng = np.random.default_rng(0)
    observed = rng.random((200, 6)) > 0.3
    values = np.where(observed, 1e6 + rng.normal(size=observed.shape), 0.0)
    donors = Donors(values, observed, np.ones(200))
    rough, bound = donors._rough_distances(values, observed)
    exact = np.array([donors.distances(*row) for row in zip(values, observed, strict=True)])
    common = np.isfinite(exact)
    assert (np.isfinite(rough) == common).all()
    error = np.where(common, np.abs(np.where(common, rough, 0) - np.where(common, exact, 0)), 0)
    assert (error <= bound[:, None]).all()
    assert error.max() > 0


@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("digits", [1, 6])
def test_cells_without_ties_get_the_same_bits_as_by_the_way_for_ties(share, digits):
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(200, 5)), digits)
    there = rng.random(x.shape) >= share
    x = np.where(there, x, 0.0)
    donors = Donors(x, there, np.ones(len(x)))
    short = donors.estimate_all(x, there, 5)
    donors._equal = False
    np.testing.assert_array_equal(short, donors.estimate_all(x, there, 5))
