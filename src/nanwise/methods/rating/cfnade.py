"""CF-NADE, with and without Sparsity Normalization."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nanwise.data.ratings import Ratings
from nanwise.estimators.recommend.fold_in import fold_in
from nanwise.estimators.recommend.level_model import LevelRecommender
from nanwise.registry import method
from nanwise.train.checks import number, one_of
from nanwise.train.plan import Plan

if TYPE_CHECKING:
    from torch import Tensor

#: users of the training whose predictions stand for all when a new person has no column
_PROFILES = 500
#: steps of an epoch, and the largest number of rows in one
_STEPS, _LARGEST = 8, 512


@method(
    "cfnade",
    kind="recommender",
    inputs="rating",
    summary="Probabilities of the levels of a rating, given any part of the row's other ratings.",
    paper="Zheng, Tang, Ding, Zhou: A Neural Autoregressive Approach to Collaborative Filtering, "
    "ICML 2016; Sparsity Normalization: Yi, Lee, Kim, Hwang, Yang, ICLR 2020",
    when="Ratings with few levels, where the probability of each level is of interest. An epoch "
    "takes several times as long as AutoRec's.",
    space={"penalty": [5.0, 10.0, 20.0], "normalize": ["sparsity", None]},
    tiny={"hidden": 8, "penalty": 0.1},
    sparse=True,
)
class CFNADE(LevelRecommender):
    """Neural autoregressive model of the rows of a matrix of ratings.

    A row's known ratings are added up as vectors, one for each column and level, and one hidden
    layer leads to the probability of every level of every other rating. In training each step
    splits the ratings of each row anew into known ones and ones to predict. Nothing of the size
    users × items is ever made, let alone times levels.

    Parameters
    ----------
    by : {"item", "user"}, default="item"
        What the rows are. Item rows are usually the more accurate ones; with user rows a new
        person is encoded like everyone else.
    hidden : int, default=500
    ordinal : float, default=1.0
        Share of the ordinal cost, for which a near miss is cheaper than a wide one; the rest is
        the negative log-likelihood.
    shared : bool, default=True
        Whether levels share weights: a rating adds the vectors of all levels up to its own, and
        the score of a level is a sum over those up to it. Published figures with Sparsity
        Normalization are without; with it RMSE is lower after as many epochs (MovieLens 100K, one
        split, 60 epochs: 0.884 against 0.890).
    normalize : {"sparsity", None, "rate", "batch", "layer"}, default="sparsity"
        ``sparsity`` scales the sum of n vectors by ``(K / n) ** power``, ``rate`` by one over the
        share of ratings that is known. ``batch`` and ``layer`` normalise the hidden units.
    K : "mean" or float, default="mean"
        The number of ratings that is not scaled; "mean" is how many are known on average in
        training, about half of a row's ratings.
    power : float, default=1.0
    penalty : float, default=10.0
        Factor of the sum of the squared weights, beside the sum of the costs of all rows; biases
        are free. Takes the place of ``plan.weight_decay``. Beside the mean cost of a row, as
        published, the same is written as penalty / number of rows.
    plan : Plan or None
        How to train; ``batch`` counts rows. None stands for ``Plan(epochs=60, lr=2e-3,
        optimizer="adam", schedule="cosine", beta2=0.99, validation=0.05, patience=None)`` with
        an eighth of the rows per step, at most 512; 150 epochs with ``lr=1e-3`` where the vectors
        of a row are summed without being scaled. The rate falls because the splits are drawn anew
        each epoch.
    refit : bool, default=False
        Train a second time, on all ratings, for as many epochs as were best on the ratings put
        aside for validation.
    warm_start : bool, default=False
        Start from the present weights. The new ratings replace the old ones: hand over all of
        them. Users and items are known again by their ids; new ones start as the average one. What
        is put aside for validation may have been learnt before and then stops training too late:
        pass ``validation`` or a plan without it.
    cold : "mean" or float, default="mean"
        Prediction for users and items without ratings; "mean" is the mean rating.
    device : {None, "cpu", "cuda", "cuda:<n>", "auto"}
    random_state : int, RandomState or None

    Attributes
    ----------
    users_, items_, scale_, mean_, matrix_
        See :class:`nanwise.Recommender`.
    levels_ : list of float
        The ratings there are.
    K_ : float
        The number of known ratings that is not scaled.
    net_, history_, n_iter_, best_epoch_
        The network and its training; ``train_loss`` is the mean cost of a row without the penalty,
        ``valid_loss`` the mean squared error of the validation ratings, predicted from all
        training ratings of their rows.

    Notes
    -----
    The output biases start at the logarithms of how often a column has each level, and one hidden
    unit as the mean deviation of the known ratings from the means of their columns.

    ``recommend_for`` with ``by="user"`` encodes the person's ratings. With ``by="item"`` there is
    no column for a new person: the person is taken for a combination of trained users (up to 500
    of them), whose weights are those expected given the ratings
    (:func:`nanwise.estimators.recommend.fold_in.fold_in`). A rating between two levels counts as
    the nearer one.

    ``similar_items`` compares hidden units (``by="item"``) or decoder vectors (``by="user"``).
    """

    def __init__(
        self,
        by: str = "item",
        hidden: int = 500,
        ordinal: float = 1.0,
        shared: bool = True,
        normalize: str | None = "sparsity",
        K: str | float = "mean",
        power: float = 1.0,
        penalty: float = 10.0,
        plan: Plan | None = None,
        refit: bool = False,
        warm_start: bool = False,
        cold: str | float = "mean",
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        self.by = by
        self.hidden = hidden
        self.ordinal = ordinal
        self.shared = shared
        self.normalize = normalize
        self.K = K
        self.power = power
        self.penalty = penalty
        self.plan = plan
        self.refit = refit
        self.warm_start = warm_start
        self.cold = cold
        self.device = device
        self.random_state = random_state

    # -- training --------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("by", self.by, ("item", "user"))
        if self.K != "mean":
            number("K", self.K, above=0.0)

    def _default_plan(self, train: Ratings) -> Plan:
        rows = np.diff(self._oriented(train.matrix).indptr)
        # a step moves all vectors of a row the same way, and their sum as often as there are
        scaled = self.normalize not in (None, "rate")
        return Plan(
            epochs=60 if scaled else 150,
            batch=min(-(-int(np.count_nonzero(rows)) // _STEPS), _LARGEST),
            lr=2e-3 if scaled else 1e-3,
            optimizer="adam",
            beta2=0.99,
            validation=0.05,
            patience=None,
        )

    def _oriented(self, matrix: sparse.csr_array) -> sparse.csr_array:
        """The matrix whose rows the network sees."""
        return matrix if self.by == "user" else matrix.T.tocsr()

    def _prepare(self, train: Ratings) -> None:
        import torch

        from nanwise.nets.cfnade import mean_known

        super()._prepare(train)
        counts = np.diff(self._oriented(train.matrix).indptr)
        self.K_ = mean_known(torch.as_tensor(counts)) if self.K == "mean" else float(self.K)

    def _network(self, n_users: int, n_items: int) -> Any:
        from nanwise.nets.cfnade import CFNADENet

        return CFNADENet(
            n_users if self.by == "item" else n_items,
            self.levels_,
            self.hidden,
            ordinal=self.ordinal,
            shared=self.shared,
            normalize=self.normalize,
            mean_count=self.K_,
            power=self.power,
        )

    def _start(self, net: Any, train: Ratings) -> None:
        net.start_at(self._rows_of(self._oriented(train.matrix)))

    def _sources(
        self, net: Any, train: Ratings, held: Ratings | None, plan: Plan, seed: int
    ) -> tuple[Any, Any]:
        from nanwise.estimators.recommend.levels import LevelSource

        matrix = self._oriented(train.matrix)
        source = LevelSource(self._rows_of(matrix[np.diff(matrix.indptr) > 0]))
        if held is None:
            return source, None
        asked = self._oriented(held.matrix)
        there = np.diff(asked.indptr) > 0
        return source, LevelSource(self._rows_of(matrix[there]), self._rows_of(asked[there]))

    def _loop_plan(self, plan: Plan, train: Ratings, source: Any) -> Plan:
        return self._decayed(plan, len(source))

    def _sides(self) -> dict[str, str]:
        column = "user" if self.by == "item" else "item"
        return dict.fromkeys(("encoder.weight", "decoder.weight", "decoder.bias"), column)

    # -- answering -------------------------------------------------------------------------------

    @cached_property
    def _rows(self) -> sparse.csr_array:
        """What the network sees: all ratings, row by row."""
        return self._oriented(self.matrix_)

    @cached_property
    def _all_codes(self) -> Tensor:
        return self._codes(self._rows)

    def _codes(self, rows: sparse.csr_array) -> Tensor:
        """Hidden units (n, hidden) of rows of ratings."""
        import torch

        from nanwise.estimators.recommend.levels import ROWS, pieces

        net, n = self._net64, rows.shape[0]
        with torch.inference_mode():
            parts = [net.code(self._rows_of(rows[part])) for part in pieces(n, 1, ROWS)]
        return torch.cat([torch.empty(0, self.hidden, dtype=torch.float64), *parts])

    def _at(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        import torch

        from nanwise.estimators.recommend.levels import CELLS, cells_by_row

        rows, columns = (items, users) if self.by == "item" else (users, items)
        out = np.empty(len(rows))
        most = CELLS // len(self.levels_)
        for places, needed, cells in cells_by_row(rows, columns, self._rows.shape[1], most):
            with torch.inference_mode():
                out[places] = self._net64(self._rows_of(self._rows[needed]), cells).numpy()
        return out

    def _scores(self, users: np.ndarray) -> np.ndarray:
        if self.by == "user":
            return self._everywhere(self._codes(self._rows[users]))
        return self._everywhere(self._all_codes, users).T

    def _scores_for(self, rows: sparse.csr_array) -> np.ndarray:
        if self.by == "user":
            return self._everywhere(self._codes(rows))
        profiles = self._profiles
        n = profiles.shape[1]
        people, _ = fold_in(profiles, np.eye(n), np.zeros(n), rows, self._noise())
        return people @ profiles.T

    @cached_property
    def _profiles(self) -> np.ndarray:
        """Predictions for some users, spread over all with ratings, shape (n_items, n_chosen)."""
        warm = np.flatnonzero(self._warm[0])
        chosen = warm[np.linspace(0, len(warm) - 1, min(_PROFILES, len(warm))).astype(int)]
        return self._everywhere(self._all_codes, chosen)

    def _everywhere(self, codes: Tensor, columns: np.ndarray | None = None) -> np.ndarray:
        """Expected ratings of all rows with these codes, in some columns or all."""
        import torch

        from nanwise.estimators.recommend.levels import pieces
        from nanwise.nets.ordinal import expected_rating

        columns = np.arange(self._rows.shape[1]) if columns is None else columns
        out, net = np.empty((len(codes), len(columns))), self._net64
        for part in pieces(len(codes), len(columns) * len(self.levels_)):
            with torch.inference_mode():
                scores = net.decoder.across(codes[part], torch.as_tensor(columns))
                out[part] = expected_rating(scores, net.levels).numpy()
        return out

    def _vectors(self) -> np.ndarray:
        vectors = self._all_codes if self.by == "item" else self._net64.decoder.weight.flatten(1)
        found = vectors.detach().numpy()
        return found - found[self._warm[1]].mean(axis=0)
