"""Gaussian expectations and forests together."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.features import Features
from nanwise.estimators.impute_core.blocks import Blocks, make_blocks
from nanwise.estimators.impute_core.stacked import Learnt, Model, Settings, fill, learn
from nanwise.registry import method
from nanwise.train.checks import whole


@method(
    "chained",
    kind="imputer",
    inputs="mixed",
    summary="Each column by a linear expectation and a forest on the others, weighted by how well "
    "they predict unseen cells.",
    paper="Dempster, Laird, Rubin: Maximum Likelihood from Incomplete Data via the EM Algorithm, "
    "1977 (the moments); Breiman: Stacked Regressions, 1996 (the weights)",
    when="A first choice where one fill is wanted: linear dependences as in em, and what trees add "
    "to them. One answer, no draws: for intervals and pooled estimates take mice or gaussian.",
    space={"trees": [40, 100], "leaf": [1, 2, 5]},
    tiny={"trees": 6},
)
class ChainedImputer(Imputer):
    """Fill gaps column by column, from all other columns.

    A column's prediction is a weighted sum of its Gaussian expectation given what is observed in
    the row (moments by expectation maximisation) and of extremely randomised trees that correct it.
    The trees learn from rows whose other gaps are filled without the help of the column, as they
    will be where it is missing; the weights are those that predict cells best that the trees have
    not seen, so that a column which nothing predicts stays near its mean. Which other cells of a
    row lack moves the expectation where it helps to predict rows left out: of correlated columns
    that hide their large values, one gap says that the other value is large. A row is filled up to
    three times, each time from the answers before, as often as helps a small model with cells
    hidden from it. Then the columns are learnt once more from the filled rows, as missforest does,
    and the answer is a mean of both.

    Parameters
    ----------
    trees : int, default=40
        Trees per column, twice.
    leaf : int, default=1
        Least rows in a leaf.
    inputs : float or "sqrt", default=1.0
        Share of the other features that a split chooses from.
    max_rows : int or None, default=None
        Most rows that a tree learns from, drawn with replacement; None: as many as there are.
    n_jobs : int or None
        Threads that grow trees; the result does not depend on it.
    kinds : sequence, mapping or None
        What the columns are, see :class:`nanwise.data.attributes.Layout`.
    random_state : int, RandomState or None

    Attributes
    ----------
    weights_ : dict
        By attribute, its (3, width) weights, before columns are learnt again: of 1, of the
        expectation and of the trees.
    rounds_ : int
        How often a row is filled before that, 1 to 3.
    share_ : float
        What columns learnt again count in the answer: half of the share of cells that are there.

    Notes
    -----
    The trees learn from as many rows as keep a table of rows x features x features below 50 million
    numbers. Kept trees take up to about 80 bytes x rows x trees x columns / ``leaf`` of memory,
    some 1 GB for 20,000 x 16; ``max_rows`` bounds it.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import ChainedImputer
    >>> x = np.linspace(-1, 1, 200)
    >>> table = np.column_stack([x, x**2])
    >>> table[50, 1] = np.nan
    >>> filled = ChainedImputer(random_state=0).fit_transform(table)
    >>> bool(abs(filled[50, 1] - x[50] ** 2) < 0.05)
    True
    """

    def __init__(
        self,
        trees: int = 40,
        leaf: int = 1,
        inputs: float | str = 1.0,
        max_rows: int | None = None,
        n_jobs: int | None = None,
        kinds: Any = None,
        random_state: Any = None,
    ) -> None:
        self.trees = trees
        self.leaf = leaf
        self.inputs = inputs
        self.max_rows = max_rows
        self.n_jobs = n_jobs
        self.kinds = kinds
        self.random_state = random_state

    def _check_settings(self) -> None:
        whole("trees", self.trees)
        whole("leaf", self.leaf)
        whole("max_rows", self.max_rows, optional=True)

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        self.features_ = Features(self.layout_).fit(codes)
        features, observed = self.features_.encode(codes)
        blocks = make_blocks(self.features_.parts_, features, observed)
        settings = Settings(self.trees, self.leaf, self.inputs, self.max_rows, self.n_jobs)
        found = learn(blocks, features, observed, settings, seed)
        self.blocks_: tuple[Any, ...] = tuple(blocks)
        self.mean_, self.covariance_ = found.mean, found.cov
        self.rounds_, self.share_ = found.rounds, found.share
        self.first_: list[tuple[Any, ...]] = [tuple(model) for model in found.first]
        self.again_: list[tuple[Any, ...]] = [tuple(model) for model in found.again]
        names = [attribute.name for attribute in self.layout_.attributes]
        self.weights_ = {n: m.weights for n, m in zip(names, found.first, strict=True)}

    def _fill(self, codes: np.ndarray) -> np.ndarray:
        features, observed = self.features_.encode(codes)
        first, again = ([Model(*one) for one in kept] for kept in (self.first_, self.again_))
        learnt = Learnt(self.mean_, self.covariance_, first, again, self.rounds_, self.share_)
        filled = fill(Blocks(*self.blocks_), learnt, features, observed)
        return np.where(np.isnan(codes), self.features_.decode(filled), codes)
