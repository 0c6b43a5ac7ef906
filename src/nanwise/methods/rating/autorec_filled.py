"""AutoRec on rows whose gaps are filled: what Sparsity Normalization is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nanwise.data.ratings import Ratings
from nanwise.estimators.recommend.filling import (
    CHAINED_COLUMNS,
    Gaps,
    centres,
    fit_imputer,
    fullest,
    rows_of_block,
)
from nanwise.estimators.wrapped import resolve
from nanwise.methods.rating.autorec import AutoRec
from nanwise.registry import method
from nanwise.train.checks import whole
from nanwise.train.plan import Plan

#: fills that are the same in all rows, so that nothing becomes dense
CONSTANT = ("mean", "median")
_ROWS = 4096


@method(
    "autorec_filled",
    kind="recommender",
    inputs="rating",
    role="rival",
    summary="AutoRec whose missing inputs are filled by an imputer first.",
    paper="the other treatments in Table 7 of Yi, Lee, Kim, Hwang, Yang, ICLR 2020",
    when="To see what filling does in place of normalising. Imputers other than mean and median "
    "make rows × columns dense.",
    space={"fill": ["mean", "median", "softimpute"], "penalty": [10.0, 20.0, 50.0, 100.0, 200.0]},
    tiny={"hidden": 8, "penalty": 1.0},
    sparse=True,
)
class FilledAutoRec(AutoRec):
    """Autoencoder ``V · sigmoid(W · filled row + μ) + b`` of the rows of a matrix of ratings.

    Gaps are filled on the way in; on the way out only observed ratings are asked for, as in
    :class:`nanwise.AutoRec`.

    Parameters
    ----------
    fill : str, Treatment or scikit-learn imputer, default="mean"
        ``"mean"`` and ``"median"`` of the column (of the rows that ``by`` says) need no dense
        matrix and work at any size. Any other treatment of the library that fills, such as
        ``"knn"``, ``"softimpute"`` or ``"iterative"`` (MICE), or an imputer of scikit-learn, sees
        the deviations from the column means. It makes rows × columns dense: at most 25 million
        cells.
    columns : int or None, default=None
        Most columns that an imputer fills: those with the most ratings. Gaps of the others hold
        the mean of the column. None: all; 200 for ``"iterative"``, which regresses each column on
        others.
    centred : bool, default=True
        Hand deviations from the column means (medians) to the network. ``W · centre`` is the same
        for all rows, so ``μ`` makes up for it: the minimum is the same, and it is reached far
        sooner. False: the filled ratings themselves.
    by, hidden, penalty, plan, refit, warm_start, cold, device, random_state
        See :class:`nanwise.AutoRec`.

    Attributes
    ----------
    centre_ : ndarray of shape (n_columns,)
        Mean or median of each column, over all ratings where a column has none.
    columns_ : ndarray
        Columns that the imputer fills.
    imputer_ : Treatment or None
        Fitted on the training rows; with "knn" it contains them, also when it is saved.
    users_, items_, scale_, mean_, matrix_, net_, history_, n_iter_, best_epoch_
        See :class:`nanwise.AutoRec`.

    Notes
    -----
    Filled rows all have the same number of values, so there is nothing left to normalise.

    Rows that were not there in training (``recommend_for`` with ``by="user"``) go through the
    fitted imputer, each by itself. With ``by="item"`` a new person is a new column; nothing is
    filled, and the person's decoder vector is fitted as in :class:`nanwise.AutoRec`.

    Examples
    --------
    >>> from nanwise.data.ratings import synthetic_ratings
    >>> from nanwise.methods.rating.autorec_filled import FilledAutoRec
    >>> ratings = synthetic_ratings(200, 100, 4000, random_state=0)
    >>> model = FilledAutoRec("softimpute", hidden=20, penalty=10.0, random_state=0).fit(ratings)
    >>> model.recommend([1], n=2)["item"].shape
    (2,)
    """

    # What AutoRec asks of itself; filled rows are not scaled.
    normalize = None
    K = "mean"
    power = 1.0

    def __init__(
        self,
        fill: Any = "mean",
        columns: int | None = None,
        centred: bool = True,
        by: str = "item",
        hidden: int = 500,
        penalty: float | tuple[float, float] = 100.0,
        plan: Plan | None = None,
        refit: bool = False,
        warm_start: bool = False,
        cold: str | float = "mean",
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        self.fill = fill
        self.columns = columns
        self.centred = centred
        self.by = by
        self.hidden = hidden
        self.penalty = penalty
        self.plan = plan
        self.refit = refit
        self.warm_start = warm_start
        self.cold = cold
        self.device = device
        self.random_state = random_state

    # -- filling ---------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        whole("columns", self.columns, optional=True)
        if not self._is_constant():
            resolve(self.fill)

    def _is_constant(self) -> bool:
        return isinstance(self.fill, str) and self.fill in CONSTANT

    def _prepare(self, train: Ratings) -> None:
        super()._prepare(train)
        matrix = self._oriented(train.matrix)
        constant = self._is_constant()
        self.centre_ = centres(matrix, self.fill if constant else "mean")
        self.columns_, self.imputer_ = np.empty(0, dtype=np.int64), None
        if not constant:
            chained = isinstance(self.fill, str) and self.fill == "iterative"
            most = CHAINED_COLUMNS if self.columns is None and chained else self.columns
            self.columns_ = fullest(matrix, most)
            self.imputer_ = fit_imputer(resolve(self.fill), matrix, self.centre_, self.columns_)

    def _network(self, n_users: int, n_items: int) -> Any:
        from nanwise.nets.autorec_filled import FilledAutoRecNet

        width = n_users if self.by == "item" else n_items
        if self.centre_.shape != (width,):
            raise ValueError(f"centre_ has shape {self.centre_.shape}, expected ({width},)")
        centre = None if self.centred else self.centre_
        return FilledAutoRecNet(width, self.hidden, centre, self.columns_, *self.ends_)

    def _sources(
        self, net: Any, train: Ratings, held: Ratings | None, plan: Plan, seed: int
    ) -> tuple[Any, Any]:
        sources = super()._sources(net, train, held, plan, seed)
        gaps = self._gaps()
        for source in sources:
            if source is not None:
                source.blocks = [self._filled(block, gaps) for block in source.blocks]
        return sources

    def _gaps(self) -> Gaps | None:
        if self.imputer_ is None:
            return None
        return Gaps(self.imputer_, self.centre_, self.columns_)

    def _filled(self, block: Any, gaps: Gaps | None) -> Any:
        """The block with filled rows as inputs."""
        import torch

        from nanwise.nets.autorec_filled import Deviations

        kind, at = block.targets.dtype, block.pattern.columns
        inputs = block.targets - torch.as_tensor(self.centre_, dtype=kind).index_select(0, at)
        if gaps is None:
            return block._replace(inputs=inputs)
        dense = torch.as_tensor(gaps.of(rows_of_block(block)), dtype=kind)
        return block._replace(inputs=Deviations(inputs, dense))

    # -- answering -------------------------------------------------------------------------------

    def _hidden(self, rows: sparse.csr_array) -> np.ndarray:
        import torch

        from nanwise.estimators.recommend.sources import Blocks

        ones = np.ones(rows.shape[0])
        out = np.empty((len(ones), self.hidden))
        for start in range(0, len(ones), _ROWS):
            cut = np.arange(start, min(start + _ROWS, len(ones)))
            block = Blocks(rows, ones, [cut], precision="float64").blocks[0]
            block = self._filled(block, self._gaps())
            with torch.inference_mode():
                out[cut] = self._net64.hidden(block.pattern, block.inputs).numpy()
        return out

    def _at(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        if self.imputer_ is None:
            return super()._at(users, items)
        from nanwise.estimators.recommend.sources import dot_pairs

        rows, columns = (items, users) if self.by == "item" else (users, items)
        decode, bias = self._decoder()
        # imputing is the larger part of the work: every row once, not again in every call
        return dot_pairs(self._all_hidden, decode, rows, columns) + bias[columns]

    def _scores(self, users: np.ndarray) -> np.ndarray:
        if self.imputer_ is None or self.by == "item":
            return super()._scores(users)
        decode, bias = self._decoder()
        return self._all_hidden[users] @ decode.T + bias
