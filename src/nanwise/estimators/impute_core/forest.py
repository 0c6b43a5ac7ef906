"""Forests of regression trees as plain arrays.

scikit-learn grows the trees, one by one: in its forests each tree of a small table takes as long to
be prepared as to grow. They are the trees of its forests to the bit. What is kept are the nodes of
all trees, one after the other, in arrays that can be saved, and a prediction that equals
scikit-learn's as well. Several targets share their trees. Levels as targets of 0 and 1 make the
squared error of a node its Gini impurity, so one kind of tree serves numbers and categories alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np


class Forest(NamedTuple):
    """Nodes of T trees; K targets.

    Attributes
    ----------
    roots : ndarray of shape (T,)
        Number of the first node of each tree; the nodes of a tree follow it.
    feature : ndarray of shape (nodes,)
        Input that a node splits by.
    threshold : ndarray of shape (nodes,), float32
        Rows with at most this value go left.
    left, right : ndarray of shape (nodes,)
        Children; -1 in a leaf.
    value : ndarray of shape (nodes, K)
        Mean target of the rows that reached the node in training.
    """

    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray


class Grown(NamedTuple):
    """Trees of scikit-learn and what they say of the rows that they did not learn from.

    Attributes
    ----------
    model : list of Tree
        The ``tree_`` of each.
    unseen : ndarray of shape (N, K)
        Mean prediction of those trees whose sample did not have the row; NaN where there is none.
    """

    model: list[Any]
    unseen: np.ndarray


def grow(
    x: np.ndarray,
    y: np.ndarray,
    seed: int,
    *,
    trees: int,
    leaf: int = 5,
    inputs: float | str = "sqrt",
    sample: int | None = None,
    extra: bool = False,
    bootstrap: bool = True,
    n_jobs: int | None = None,
    unseen: bool = False,
) -> Grown:
    """Grow a forest.

    Parameters
    ----------
    x : ndarray of shape (N, P)
    y : ndarray of shape (N, K)
    seed : int
    trees : int
    leaf : int
        Least number of rows in a leaf.
    inputs : float or "sqrt"
        Number or share of the inputs that a split chooses from.
    sample : int, optional
        Most rows, drawn with replacement, that a tree learns from.
    extra : bool
        Whether thresholds are drawn at random (extremely randomised trees).
    bootstrap : bool
        Whether each tree learns from a sample of the rows, or all from all of them.
    n_jobs : int, optional
        Threads.
    unseen : bool
        Whether to predict the training rows out of bag, for which there must be samples.
    """
    from joblib import effective_n_jobs
    from sklearn.utils.parallel import Parallel, delayed

    _check_inputs(inputs)
    x, y = np.asarray(x, dtype=np.float32), np.ascontiguousarray(y, dtype=np.float64)
    drawn = (len(x) if sample is None else min(sample, len(x))) if bootstrap else None
    make = partial(_tree, extra, min_samples_leaf=leaf, max_features=inputs)
    seeds = _seeds(seed, trees)
    shares = np.array_split(seeds, min(effective_n_jobs(n_jobs), trees))
    grown = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(_grow_some)(x, y, share, drawn, make) for share in shares
    )
    model = [tree for some in grown for tree in some]
    found = _out_of_bag(model, x, y.shape[1], seeds, drawn) if unseen and drawn else None
    return Grown(model, np.empty((0, y.shape[1])) if found is None else found)


def ask(model: Sequence[Any], x: np.ndarray) -> np.ndarray:
    """(N, K) mean over trees of scikit-learn, added up one after the other as its forests do."""
    x = np.asarray(x, dtype=np.float32)
    total = sum(tree.predict(x).reshape(len(x), tree.n_outputs) for tree in model)
    return total / len(model)


def keep(model: Sequence[Any], trees: int | None = None) -> Forest:
    """The first ``trees`` (None: all) of some trees of scikit-learn as arrays."""
    parts = model[:trees]
    sizes = [part.node_count for part in parts]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    pairs = list(zip(parts, roots, strict=True))
    threshold = np.concatenate([part.threshold for part in parts])
    return Forest(
        roots,
        np.concatenate([part.feature for part in parts]).astype(np.int32),
        _round_down(threshold),
        np.concatenate([_shift(part.children_left, root) for part, root in pairs]),
        np.concatenate([_shift(part.children_right, root) for part, root in pairs]),
        np.concatenate([part.value[:, :, 0] for part in parts]),
    )


def predict(forest: Forest, x: np.ndarray) -> np.ndarray:
    """(N, K) mean over the trees; each row by itself."""
    x = np.asarray(x, dtype=np.float32)
    n, trees = len(x), len(forest.roots)
    node = np.tile(forest.roots, n)
    row = np.repeat(np.arange(n), trees)
    active = np.flatnonzero(forest.left[node] >= 0)
    while active.size:
        at = node[active]
        goes_left = x[row[active], forest.feature[at]] <= forest.threshold[at]
        down = np.where(goes_left, forest.left[at], forest.right[at])
        node[active] = down
        active = active[forest.left[down] >= 0]
    total = np.zeros((n, forest.value.shape[1]))
    for leaves in node.reshape(n, trees).T:  # one after the other, as scikit-learn adds them
        total += forest.value[leaves]
    return total / trees


def _shift(children: np.ndarray, root: int) -> np.ndarray:
    return np.where(children >= 0, children + root, -1).astype(np.int32)


def _round_down(threshold: np.ndarray) -> np.ndarray:
    """The largest float32 that is not above: inputs are float32, so no comparison changes."""
    near = threshold.astype(np.float32)
    return np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)


def _check_inputs(inputs: float | str) -> None:
    share = isinstance(inputs, float) and 0 < inputs <= 1
    number = isinstance(inputs, Integral) and inputs >= 1
    if not (inputs == "sqrt" or share or number):
        raise ValueError(
            "inputs must be 'sqrt', a share above 0 and up to 1.0, or a number of columns from 1 "
            f"on, got {inputs!r}"
        )


def _seeds(seed: int, trees: int) -> np.ndarray:
    """What scikit-learn's forests give their trees."""
    return np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=trees)


def _times_drawn(seed: int, n_rows: int, drawn: int) -> np.ndarray:
    """How often each row is in the sample of a tree."""
    rows = np.random.RandomState(seed).randint(0, n_rows, drawn)
    return np.bincount(rows, minlength=n_rows)


def _grow_some(
    x: np.ndarray, y: np.ndarray, seeds: np.ndarray, drawn: int | None, make: Callable[..., Any]
) -> list[Any]:
    from sklearn import config_context

    grown = []
    # what is alike for all trees need not be looked at for each of them
    with config_context(skip_parameter_validation=True, assume_finite=True):
        for seed in seeds:
            weight = None if drawn is None else _times_drawn(seed, len(x), drawn)
            tree = make(random_state=int(seed))
            grown.append(tree.fit(x, y, sample_weight=weight, check_input=False).tree_)
    return grown


def _tree(extra: bool, **settings: Any) -> Any:
    from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

    return (ExtraTreeRegressor if extra else DecisionTreeRegressor)(**settings)


def _out_of_bag(
    model: Sequence[Any], x: np.ndarray, n_targets: int, seeds: np.ndarray, drawn: int
) -> np.ndarray:
    total, count = np.zeros((len(x), n_targets)), np.zeros(len(x))
    for tree, seed in zip(model, seeds, strict=True):
        out = _times_drawn(seed, len(x), drawn) == 0
        total[out] += tree.predict(x[out]).reshape(-1, n_targets)
        count[out] += 1
    return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], np.nan)
