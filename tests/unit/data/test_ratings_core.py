"""The object, its scale, splits, k-core and the simulator, with properties over random ratings."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from nanwise.data.ratings import (
    Ratings,
    Scale,
    from_csr,
    from_frame,
    k_core,
    read_ratings,
    split_ratings,
    synthetic_ratings,
    time_order,
)
from nanwise.data.ratings.core import sort_codes
from nanwise.data.ratings.scale import learn_scale
from nanwise.errors import DataError

# Texts that can stand in a cell; blanks around ids are cut off when a file is read.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1)
TEXTS = TEXTS.filter(lambda text: text == text.strip())
IDS = st.one_of(
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=8, unique=True),
    st.lists(TEXTS, min_size=1, max_size=8, unique=True),
)


@st.composite
def frames(draw, ids=IDS):
    users, items = draw(ids), draw(ids)
    pairs = st.tuples(st.sampled_from(users), st.sampled_from(items))
    pairs = draw(st.lists(pairs, min_size=1, max_size=30, unique=draw(st.booleans())))
    stars = draw(st.lists(st.integers(0, 10), min_size=len(pairs), max_size=len(pairs)))
    times = draw(st.lists(st.integers(0, 50), min_size=len(pairs), max_size=len(pairs)))
    return pd.DataFrame(
        {
            "user": [user for user, _ in pairs],
            "item": [item for _, item in pairs],
            "rating": np.array(stars) / 2,
            "time": times,
        }
    )


def cells(ratings):
    frame = ratings.to_frame()
    keys = zip(frame.user, frame.item, strict=True)
    columns = [frame.rating] if ratings.time is None else [frame.rating, frame.time]
    return dict(zip(keys, zip(*columns, strict=True), strict=True))


def expected(frame, rule="last"):
    """The same by a dictionary and the rows in order of time."""
    rows = frame.sort_values("time", kind="stable")
    rows = rows if rule == "last" else rows[::-1]
    found = {(row.user, row.item): (row.rating, row.time) for row in rows.itertuples()}
    if rule == "first":  # among equal times the first row counts
        for row in frame[::-1].itertuples():
            if found[row.user, row.item][1] == row.time:
                found[row.user, row.item] = (row.rating, row.time)
    return found


@settings(max_examples=60, deadline=None)
@given(frame=frames(), rule=st.sampled_from(["last", "first"]))
def test_from_frame_and_back(frame, rule):
    ratings = from_frame(frame, duplicates=rule)
    assert cells(ratings) == expected(frame, rule)
    assert ratings.users.tolist() == list(dict.fromkeys(frame.user))
    facts = ratings.facts
    assert facts["rows_read"] == len(frame) == len(ratings) + facts["duplicates"]
    again = from_frame(ratings.to_frame())
    assert cells(again) == cells(ratings)
    assert again.facts["duplicates"] == 0


@settings(max_examples=60, deadline=None)
@example(
    frame=pd.DataFrame({"user": [0, 1], "item": ["0\x850", "x\u2028y"], "rating": 0.5, "time": 0}),
    chunk_rows=1,
)
@given(frame=frames(), chunk_rows=st.sampled_from([1, 1000]))
def test_through_a_file_and_back(frame, chunk_rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("r") / "r.csv"
    frame.to_csv(path, index=False)
    ratings = read_ratings(path, chunk_rows=chunk_rows)
    read = {(str(u), str(i)): value for (u, i), value in cells(ratings).items()}
    assert read == {(str(u), str(i)): value for (u, i), value in expected(frame).items()}
    if frame.user.dtype == np.int64:
        assert ratings.users.tolist() == list(dict.fromkeys(frame.user))


@settings(max_examples=40, deadline=None)
@given(frame=frames(), data=st.data())
def test_transpose_and_select(frame, data):
    ratings = from_frame(frame)
    turned = ratings.transpose()
    assert cells(turned) == {(i, u): value for (u, i), value in cells(ratings).items()}
    assert turned.matrix.has_canonical_format
    back = turned.transpose()
    assert cells(back) == cells(ratings)
    np.testing.assert_array_equal(back.matrix.indices, ratings.matrix.indices)
    np.testing.assert_array_equal(back.time, ratings.time)
    kept = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(ratings), max_size=len(ratings)))
    )
    part, rest = ratings.select(kept), ratings.select(np.flatnonzero(~kept))
    assert part.matrix.shape == rest.matrix.shape == ratings.matrix.shape
    assert {**cells(part), **cells(rest)} == cells(ratings)
    assert len(part) == kept.sum()
    assert part.scale == ratings.scale


@settings(max_examples=40, deadline=None)
@given(
    frame=frames(),
    by=st.sampled_from(["rating", "time", "leave_k_out"]),
    seed=st.integers(0, 9),
    share=st.floats(0.05, 0.95),
)
def test_splits_are_partitions_on_the_same_axes(frame, by, seed, share):
    ratings = from_frame(frame)
    try:
        train, test = split_ratings(ratings, share, by, random_state=seed)
    except DataError:
        few = len(ratings) < 2 or np.diff(ratings.matrix.indptr).max() < 2
        assert few or (by == "time" and len(set(ratings.time)) == 1)
        return
    assert {**cells(train), **cells(test)} == cells(ratings)
    assert len(train) + len(test) == len(ratings)
    for part in (train, test):
        np.testing.assert_array_equal(part.users, ratings.users)
        np.testing.assert_array_equal(part.items, ratings.items)
    if by == "time":
        assert train.time.max() < test.time.min()


@settings(max_examples=40, deadline=None)
@given(frame=frames(), users=st.integers(1, 4), items=st.integers(1, 4))
def test_k_core_is_the_largest_part_with_enough_ratings(frame, users, items):
    ratings = from_frame(frame)
    left = set(cells(ratings))
    while True:  # the definition, one user or item at a time
        counts = pd.DataFrame(list(left), columns=["user", "item"])
        few_users = {k for k, n in counts.user.value_counts().items() if n < users}
        few_items = {k for k, n in counts.item.value_counts().items() if n < items}
        smaller = {(u, i) for u, i in left if u not in few_users and i not in few_items}
        if smaller == left:
            break
        left = smaller
    if not left:
        with pytest.raises(DataError, match="no rating is left"):
            k_core(ratings, users, items)
        return
    core = k_core(ratings, users, items)
    assert cells(core) == {key: value for key, value in cells(ratings).items() if key in left}
    assert np.diff(core.matrix.indptr).min() >= users
    assert np.bincount(core.matrix.indices, minlength=len(core.items)).min() >= items
    facts = core.facts["k_core"]
    assert facts["ratings_dropped"] == len(ratings) - len(core)
    assert facts["users_dropped"] == len(ratings.users) - len(core.users)


@given(codes=st.lists(st.integers(0, 5), max_size=50))
def test_sort_codes_is_stable(codes):
    codes = np.array(codes, dtype=np.int32)
    np.testing.assert_array_equal(sort_codes(codes, 6), np.argsort(codes, kind="stable"))


def sample(n=400, seed=0, timed=True):
    rng = np.random.default_rng(seed)
    matrix = sparse.random_array((30, 25), density=n / 750, rng=rng, format="csr")
    matrix.data = rng.integers(1, 6, matrix.nnz).astype(float)
    time = rng.permutation(matrix.nnz) if timed else None
    return from_csr(matrix, time=time)


def test_split_by_rating_has_the_share_and_the_seed():
    ratings = sample()
    train, test = split_ratings(ratings, 0.1, random_state=3)
    assert len(test) == 40
    assert cells(split_ratings(ratings, 0.1, random_state=3)[1]) == cells(test)
    assert cells(split_ratings(ratings, 0.1, random_state=4)[1]) != cells(test)
    assert train.facts["part"] == "train"
    assert test.facts["split_by"] == "rating"
    state = np.random.RandomState(0)
    assert len(split_ratings(ratings, random_state=state)[1]) == 40


def test_split_by_rating_is_uniform():
    ratings = sample(100)
    counts = np.zeros(len(ratings))
    codes = ratings.rows * 25 + ratings.matrix.indices
    for seed in range(400):
        test = split_ratings(ratings, 0.2, random_state=seed)[1]
        counts += np.isin(codes, test.rows * 25 + test.matrix.indices)
    # 400 draws at 0.2: mean 80, standard deviation 8; 100 cells
    assert abs(counts.mean() - 80) < 1e-9
    assert counts.min() > 80 - 4.5 * 8
    assert counts.max() < 80 + 4.5 * 8


def test_split_by_time_keeps_moments_together():
    ratings = from_csr(sparse.csr_array(np.ones((1, 10))), time=[0, 1, 1, 1, 1, 2, 2, 2, 2, 2])
    train, test = split_ratings(ratings, 0.1, by="time")
    assert (len(train), len(test)) == (5, 5)
    train, test = split_ratings(ratings, 0.8, by="time")
    assert (len(train), len(test)) == (1, 9)


def test_leave_k_out_takes_the_last_of_each_user():
    ratings = sample()
    train, test = split_ratings(ratings, by="leave_k_out", k=3)
    for user in range(30):
        before = train.time[train.rows == user]
        after = test.time[test.rows == user]
        assert len(after) == (3 if len(before) + len(after) > 3 else 0)
        assert not len(after) or before.max() < after.min()


def test_leave_k_out_without_times_is_at_random():
    ratings = sample(timed=False)
    tests = [split_ratings(ratings, by="leave_k_out", random_state=s)[1] for s in (0, 0, 1)]
    assert cells(tests[0]) == cells(tests[1]) != cells(tests[2])
    assert np.diff(tests[0].matrix.indptr).max() == 1


def test_time_order():
    ratings = sample()
    order = time_order(ratings)
    np.testing.assert_array_equal(order, np.lexsort((ratings.time, ratings.rows)))
    with pytest.raises(DataError, match="no times"):
        time_order(sample(timed=False))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "user"}, "by must be one of"),
        ({"test": 1.0}, "between 0 and 1"),
        ({"test": 0.0, "by": "time"}, "between 0 and 1"),
        ({"by": "leave_k_out", "k": 0}, "k must be at least 1"),
        ({"by": "leave_k_out", "k": 99}, "no rating is left for the test part"),
    ],
)
def test_splits_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        split_ratings(sample(), **options)


def test_splits_of_data_that_does_not_allow_them():
    one = from_csr(sparse.csr_array(np.ones((1, 1))))
    with pytest.raises(DataError, match="1 rating cannot be split"):
        split_ratings(one)
    with pytest.raises(DataError, match="needs times"):
        split_ratings(one, by="time")
    same = from_csr(sparse.csr_array(np.ones((2, 2))), time=np.zeros(4))
    with pytest.raises(DataError, match="all 4 have the same"):
        split_ratings(same, by="time")


def test_users_and_items_without_ratings_stay():
    matrix = sparse.csr_array(([4.0], [2], [0, 0, 1, 1]), shape=(3, 4))
    ratings = from_csr(matrix, users=["a", "b", "c"])
    assert ratings.transpose().matrix.shape == (4, 3)
    assert cells(ratings) == {("b", 2): (4.0,)}
    assert k_core(ratings, 1, 1).users.tolist() == ["b"]
    assert len(ratings.select([])) == 0


def test_ids_to_positions():
    ratings = from_frame({"user": [5, 9], "item": ["x", "y"], "rating": [1, 2]})
    assert ratings.user_index(9) == 1
    assert ratings.user_index(np.int64(5)) == 0
    assert ratings.item_index(["y", "x", "y"]).tolist() == [1, 0, 1]
    assert ratings.user_index(np.array([9, 5])).tolist() == [1, 0]
    assert ratings.item_index(pd.Series(["x"])).tolist() == [0]
    with pytest.raises(
        ValueError, match=r"no user has the id '9' \(str\); ids here are of type int"
    ):
        ratings.user_index("9")
    with pytest.raises(ValueError, match="no item has the id 'z'"):
        ratings.item_index(["x", "z"])
    with pytest.raises(ValueError, match=r"no item has the id \{\}"):
        ratings.item_index([{}])


def test_what_does_not_fit_together_is_refused():
    matrix = sparse.csr_array(np.ones((2, 3), dtype=np.float32))
    with pytest.raises(ValueError, match="there are 2 users and 2 items"):
        Ratings(np.arange(2), np.arange(2), matrix, Scale(1, 1))
    ratings = from_csr(matrix)
    with pytest.raises(ValueError, match="6 stored cells need 6 truth values"):
        ratings.select(np.ones(5, dtype=bool))
    with pytest.raises(AttributeError):
        ratings.users = None


def test_repr():
    assert repr(sample(50)) == (
        "Ratings(50 of 30 users and 25 items, 1 to 5 in steps of 1, with time)"
    )


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([1, 2, 4, 5], Scale(1, 5, 1, (1, 2, 4, 5))),
        ([0.1, 0.3, 0.7], Scale(0.1, 0.7, 0.2, (0.1, 0.3, 0.7))),
        ([0, 4, 10], Scale(0, 10, 2, (0, 4, 10))),
        ([-10, 9.75], Scale(-10, 9.75, 19.75, (-10, 9.75))),
        ([0, 0.333333, 0.666667], Scale(0, 0.666667, None, (0, 0.333333, 0.666667))),
        ([3], Scale(3, 3, None, (3,))),
    ],
)
def test_scales(values, scale):
    assert learn_scale(np.array(values)) == scale


def test_continuous_scale_and_none():
    values = np.random.default_rng(0).random(5000)
    scale = learn_scale(values)
    assert (scale.step, scale.levels) == (None, ())
    assert (scale.smallest, scale.largest) == (
        pytest.approx(values.min(), abs=1e-7),
        pytest.approx(values.max(), abs=1e-7),
    )
    with pytest.raises(DataError, match="no ratings"):
        learn_scale(np.empty(0))


def test_synthetic_ratings_have_the_shape_and_skew_that_was_asked_for():
    ratings = synthetic_ratings(2000, 800, 100_000, random_state=0)
    assert (len(ratings), ratings.matrix.shape) == (100_000, (2000, 800))
    assert ratings.matrix.has_canonical_format
    assert set(np.unique(ratings.matrix.data)) <= set(ratings.scale.levels)
    per_user = np.diff(ratings.matrix.indptr)
    per_item = np.bincount(ratings.matrix.indices, minlength=800)
    assert per_user.min() >= 1
    for counts in (per_user, per_item):  # skewed to the right, as in MovieLens
        assert np.median(counts) < 0.8 * counts.mean()
        assert counts.max() > 4 * counts.mean()
    same = synthetic_ratings(2000, 800, 100_000, random_state=0)
    assert (same.matrix != ratings.matrix).nnz == 0
    other = synthetic_ratings(2000, 800, 100_000, random_state=1)
    assert (other.matrix != ratings.matrix).nnz > 0


def test_synthetic_ratings_hold_a_signal_of_users_and_items():
    ratings = synthetic_ratings(2000, 800, 200_000, random_state=0)
    stars, rows, columns = ratings.matrix.data, ratings.rows, ratings.matrix.indices
    item = np.bincount(columns, stars) / np.maximum(np.bincount(columns), 1)
    left = stars - item[columns]
    user = np.bincount(rows, left) / np.bincount(rows)
    explained = 1 - (left - user[rows]).var() / stars.var()
    # 0.4² + 0.45² of 0.4² + 0.45² + 0.45² + 0.75² of the variance before rounding and clipping
    assert 0.25 < explained < 0.4


def test_weighted_draws_are_those_of_drawing_without_putting_back():
    """Shares of items over many users with two ratings each, against the closed form."""
    from nanwise.data.ratings.synthetic import _cells

    weight = np.array([0.6, 0.3, 0.1])
    matrix = _cells(np.full(40_000, 2), weight, np.random.default_rng(0))
    seen = np.bincount(matrix.indices) / 40_000
    first_or_second = [
        w + sum(v * w / (1 - v) for j, v in enumerate(weight) if j != k)
        for k, w in enumerate(weight)
    ]
    np.testing.assert_allclose(seen, first_or_second, atol=0.01)


@pytest.mark.parametrize("shape", [(0, 5, 5), (10, 10, 5), (10, 10, 99), (1, 0, 1)])
def test_impossible_synthetic_shapes(shape):
    with pytest.raises(ValueError, match="users can give"):
        synthetic_ratings(*shape, random_state=0)


@pytest.mark.parametrize("shape", [(1, 1, 1), (10, 10, 70), (10, 10, 10)])
def test_extreme_synthetic_shapes(shape):
    assert len(synthetic_ratings(*shape, random_state=0)) == shape[2]
