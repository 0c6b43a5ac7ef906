"""MissForest: rounds of random forests over all columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.features import Features
from nanwise.estimators.impute_core.blocks import Blocks, make_blocks
from nanwise.estimators.impute_core.forest import Forest
from nanwise.estimators.impute_core.missforest import Learnt, Settings, fill, learn
from nanwise.registry import method
from nanwise.train.checks import whole


@method(
    "missforest",
    kind="imputer",
    inputs="mixed",
    summary="Each column by a random forest on the others, in rounds until they change more.",
    paper="Stekhoven, Bühlmann: MissForest: non-parametric missing value imputation for mixed-type "
    "data, Bioinformatics 2012",
    when="Mixed tables with relations that are not linear, from a hundred rows on. One answer, no "
    "draws; memory goes with columns, rows and trees.",
    space={"trees": [50, 100], "leaf": [1, 5]},
    tiny={"trees": 5, "rounds": 2},
)
class MissForestImputer(Imputer):
    """Fill gaps by random forests, one per column and round.

    Columns are visited by increasing number of gaps, from means and most frequent levels on. The
    rounds end as published: when the change of numbers and that of levels have both stopped
    falling, the table of the round before counts. Forests that answer are then grown on it. All are
    kept, so that new rows are filled without learning anything again; of a round at most 10 trees
    per column.

    Parameters
    ----------
    trees : int, default=100
        Trees of a forest that answers.
    rounds : int, default=10
        Most rounds.
    round_trees : int, default=10
        Most trees of a forest in the rounds, which only make the inputs of others. As published:
        as many as ``trees``; that takes longer and was not more accurate.
    leaf : int, default=5
        Least rows in a leaf of a number's trees; trees of levels go down to single rows.
    inputs : float or "sqrt", default="sqrt"
        Share or number of the other columns that a split chooses from.
    max_rows : int or None, default=5000
        Most rows that a tree learns from, drawn with replacement; None: as many as there are.
    extra : bool, default=False
        Extremely randomised trees, about twice as fast.
    n_jobs : int or None
        Threads that grow trees; the result does not depend on it.
    kinds : sequence, mapping or None
        What the columns are, see :class:`nanwise.data.attributes.Layout`.
    random_state : int, RandomState or None

    Attributes
    ----------
    changes_ : list of (float, float)
        Per round the change of numbers and of levels.
    n_iter_ : int
        Number of rounds that were made.

    Notes
    -----
    Levels are predicted by trees over one 0 / 1 target per level, whose squared error is the Gini
    impurity.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import MissForestImputer
    >>> x = np.linspace(-1, 1, 200)
    >>> table = np.column_stack([x, x**2])
    >>> table[50, 1] = np.nan
    >>> filled = MissForestImputer(random_state=0).fit_transform(table)
    >>> bool(abs(filled[50, 1] - x[50] ** 2) < 0.05)
    True
    """

    def __init__(
        self,
        trees: int = 100,
        rounds: int = 10,
        round_trees: int = 10,
        leaf: int = 5,
        inputs: float | str = "sqrt",
        max_rows: int | None = 5000,
        extra: bool = False,
        n_jobs: int | None = None,
        kinds: Any = None,
        random_state: Any = None,
    ) -> None:
        self.trees = trees
        self.rounds = rounds
        self.round_trees = round_trees
        self.leaf = leaf
        self.inputs = inputs
        self.max_rows = max_rows
        self.extra = extra
        self.n_jobs = n_jobs
        self.kinds = kinds
        self.random_state = random_state

    def _check_settings(self) -> None:
        for name in ("trees", "rounds", "round_trees", "leaf"):
            whole(name, getattr(self, name))
        if self.max_rows is not None:
            whole("max_rows", self.max_rows)

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        self.features_ = Features(self.layout_).fit(codes)
        features, observed = self.features_.encode(codes)
        blocks = make_blocks(self.features_.parts_, features, observed)
        settings = Settings(
            self.trees, self.leaf, self.inputs, self.max_rows, self.extra, self.n_jobs
        )
        found = learn(blocks, features, observed, settings, self.rounds, self.round_trees, seed)
        self.blocks_: tuple[Any, ...] = tuple(blocks)
        self.start_, self.changes_ = found.start, found.changes
        self.models_ = [(a, tuple(forest)) for a, forest in found.models]
        self.n_iter_ = len(found.changes)

    def _fill(self, codes: np.ndarray) -> np.ndarray:
        features, observed = self.features_.encode(codes)
        models = [(a, Forest(*forest)) for a, forest in self.models_]
        learnt = Learnt(self.start_, models, self.changes_)
        filled = fill(Blocks(*self.blocks_), learnt, features, observed)
        return np.where(np.isnan(codes), self.features_.decode(filled), codes)
