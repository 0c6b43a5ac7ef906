"""Forests of regression trees as plain arrays.

scikit-learn grows them; what is kept are the nodes of all trees, one after the other, in arrays
that can be saved, and a prediction that equals scikit-learn's to the bit. Several targets share
their trees. Levels as targets of 0 and 1 make the squared error of a node its Gini impurity, so
one kind of tree serves numbers and categories alike.
"""

from __future__ import annotations

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
    """A forest of scikit-learn and what it says of the rows that it did not learn from.

    Attributes
    ----------
    model : estimator
    unseen : ndarray of shape (N, K)
        Mean prediction of those trees whose sample did not have the row; NaN where there is none.
    """

    model: Any
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
    from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

    kind = ExtraTreesRegressor if extra else RandomForestRegressor
    model = kind(
        trees,
        min_samples_leaf=leaf,
        max_features=inputs,
        bootstrap=bootstrap,
        max_samples=None if not bootstrap or sample is None or sample >= len(x) else sample,
        random_state=seed,
        n_jobs=n_jobs,
    )
    x = np.asarray(x, dtype=np.float32)
    model.fit(x, y[:, 0] if y.shape[1] == 1 else y)
    return Grown(model, _out_of_bag(model, x, y.shape[1]) if unseen else np.empty((0, y.shape[1])))


def ask(model: Any, x: np.ndarray) -> np.ndarray:
    """(N, K) predictions of scikit-learn's forest."""
    return model.predict(np.asarray(x, dtype=np.float32)).reshape(len(x), -1)


def keep(model: Any, trees: int | None = None) -> Forest:
    """The first ``trees`` trees (None: all) of a forest of scikit-learn as arrays."""
    parts = [estimator.tree_ for estimator in model.estimators_[:trees]]
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


def _out_of_bag(model: Any, x: np.ndarray, n_targets: int) -> np.ndarray:
    total, count = np.zeros((len(x), n_targets)), np.zeros(len(x))
    for tree, sample in zip(model.estimators_, model.estimators_samples_, strict=True):
        out = np.ones(len(x), dtype=bool)
        out[sample] = False
        if out.any():
            total[out] += tree.predict(x[out], check_input=False).reshape(-1, n_targets)
            count[out] += 1
    return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], np.nan)
