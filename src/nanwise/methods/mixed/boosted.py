"""Chained equations with gradient-boosted trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.features import Features
from nanwise.estimators.impute_core.blocks import Blocks, make_blocks
from nanwise.estimators.impute_core.boosted import Learnt, Model, Settings, fill, learn
from nanwise.registry import method
from nanwise.train.checks import number, whole


@method(
    "boosted",
    kind="imputer",
    inputs="mixed",
    summary="Each column by gradient-boosted trees on the others, which correct its linear "
    "expectation.",
    paper="Friedman: Greedy Function Approximation: A Gradient Boosting Machine, 2001; van Buuren, "
    "Groothuis-Oudshoorn: mice: Multivariate Imputation by Chained Equations in R, JSS 2011",
    when="Relations that are not linear, in tables so large that chained takes too long. Which "
    "cells of a row lack counts, too. One answer, no draws: for intervals and pooled estimates "
    "take mice or gaussian.",
    space={"trees": [50, 100], "rate": [0.1, 0.2], "leaves": [16, 31]},
    tiny={"trees": 10},
)
class BoostedImputer(Imputer):
    """Fill gaps column by column by boosted trees.

    The trees of a column correct its Gaussian expectation given what is observed in the row
    (moments by expectation maximisation). They learn twice: from rows with their other gaps as
    they are, so that which cells lack counts as well, and from rows that the first have filled;
    the answer is a mean of both.

    Parameters
    ----------
    trees : int, default=50
        Trees per column, twice. Of a categorical or ordinal column: per level, up to 16.
    rate : float, default=0.2
        Share of its correction that each tree adds.
    leaves : int, default=31
        Most leaves of a tree; at most one per 200 rows, but 4.
    leaf : int, default=20
        Least rows in a leaf.
    penalty : float, default=10.0
        Rows of no error that are added to each leaf.
    n_jobs : int or None
        Threads that grow a tree; the result does not depend on it. None is one: on a table of a few
        thousand rows, or beside other work, more of them mostly wait for each other.
    kinds : sequence, mapping or None
        What the columns are, see :class:`nanwise.data.attributes.Layout`.
    random_state : int, RandomState or None

    Attributes
    ----------
    share_ : float
        What columns learnt from filled rows count in the answer: half of the share of cells that
        are there.

    Notes
    -----
    scikit-learn's histogram gradient boosting grows the trees. A saved imputer can be read with the
    same version of scikit-learn only.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import BoostedImputer
    >>> x = np.linspace(-1, 1, 400)
    >>> table = np.column_stack([x, x**2])
    >>> table[50, 1] = np.nan
    >>> filled = BoostedImputer(random_state=0).fit_transform(table)
    >>> bool(abs(filled[50, 1] - x[50] ** 2) < 0.1)
    True
    """

    def __init__(
        self,
        trees: int = 50,
        rate: float = 0.2,
        leaves: int = 31,
        leaf: int = 20,
        penalty: float = 10.0,
        n_jobs: int | None = None,
        kinds: Any = None,
        random_state: Any = None,
    ) -> None:
        self.trees = trees
        self.rate = rate
        self.leaves = leaves
        self.leaf = leaf
        self.penalty = penalty
        self.n_jobs = n_jobs
        self.kinds = kinds
        self.random_state = random_state

    def _check_settings(self) -> None:
        for name in ("trees", "leaves", "leaf"):
            whole(name, getattr(self, name))
        if self.leaves < 2:
            raise ValueError(f"leaves must be at least 2, got {self.leaves!r}")
        number("rate", self.rate, above=0.0)
        number("penalty", self.penalty, least=0.0)

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        self.features_ = Features(self.layout_).fit(codes)
        features, observed = self.features_.encode(codes)
        blocks = make_blocks(self.features_.parts_, features, observed)
        settings = Settings(self.trees, self.rate, self.leaves, self.leaf, self.penalty)
        with _threads(self.n_jobs):
            found = learn(blocks, features, observed, settings, seed)
        self.blocks_: tuple[Any, ...] = tuple(blocks)
        self.mean_, self.covariance_, self.share_ = found.mean, found.cov, found.share
        self.models_: list[Any] = [tuple(model) for model in found.first]
        self.again_: list[Any] = [tuple(model) for model in found.again]

    def _fill(self, codes: np.ndarray) -> np.ndarray:
        features, observed = self.features_.encode(codes)
        first, again = ([Model(*m) for m in ms] for ms in (self.models_, self.again_))
        learnt = Learnt(self.mean_, self.covariance_, first, again, self.share_)
        with _threads(self.n_jobs):
            filled = fill(Blocks(*self.blocks_), learnt, features, observed)
        return np.where(np.isnan(codes), self.features_.decode(filled), codes)


def _threads(n_jobs: int | None) -> Any:
    """A context in which trees have so many threads, counted as joblib does."""
    from joblib import effective_n_jobs
    from threadpoolctl import threadpool_limits

    return threadpool_limits(effective_n_jobs(n_jobs), user_api="openmp")
