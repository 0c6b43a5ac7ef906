"""CF-UIcA, with and without Sparsity Normalization."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nanwise.data.ratings import Ratings
from nanwise.estimators.recommend.level_model import LevelRecommender
from nanwise.registry import method
from nanwise.train.checks import number, whole
from nanwise.train.plan import Plan

if TYPE_CHECKING:
    from torch import Tensor

#: ratings of which blocks of 1000 users and items hold a large share
_FEW = 500_000


@method(
    "cfuica",
    kind="recommender",
    inputs="rating",
    summary="Probabilities of the levels of a rating, given the user's and the item's ratings.",
    paper="Du, Li, Zhu, Zhang: Collaborative Filtering with User-Item Co-Autoregressive Models, "
    "AAAI 2018; Sparsity Normalization: Yi, Lee, Kim, Hwang, Yang, ICLR 2020",
    when="Ratings with few levels, when users and items are both to be encoded. The slowest of the "
    "three to train.",
    space={"penalty": [10.0, 20.0, 30.0, 50.0], "normalize": ["sparsity", None]},
    tiny={"hidden": 8, "steps": 2},
    sparse=True,
)
class CFUIcA(LevelRecommender):
    """Neural co-autoregressive model of users and items.

    The ratings of a user and those of an item are added up as vectors, one for each column and
    level; the two hidden layers together give the probability of every level of the rating. Each
    step of the training predicts the ratings of a random block of users and items from a random
    part of the ratings outside of it. Nothing of the size users × items is ever made.

    Parameters
    ----------
    hidden : int, default=500
        Units of each of the two hidden layers.
    ordinal : float, default=1.0
        Share of the ordinal cost, for which a near miss is cheaper than a wide one; the rest is
        the negative log-likelihood.
    shared : bool, default=True
        Whether levels share weights: a rating adds the vectors of all levels up to its own, and
        the score of a level is a sum over those up to it.
    normalize : {"sparsity", None, "rate", "batch", "layer"}, default="sparsity"
        ``sparsity`` scales the sum of n vectors by ``(K / n) ** power``, ``rate`` by one over the
        share of ratings that is known. ``batch`` and ``layer`` normalise the hidden units.
    K : "mean" or pair of float, default="mean"
        The numbers of a user's and of an item's ratings that are not scaled; "mean" is how many
        are left on average in training, about half of them.
    power : float, default=0.5
        1, as published, makes codes independent of how many ratings there are; 0.5 leaves more
        weight to many ratings than to few and is more accurate (MovieLens 100K, one split: RMSE
        0.879 against 0.883, and 0.882 without normalisation).
    penalty : float, default=30.0
        Factor of the sum of the squared weights, beside the sum of the costs of all ratings; biases
        are free. Takes the place of ``plan.weight_decay``. Beside the mean cost of a rating, as
        published, the same is written as penalty / number of ratings.
    block : int, default=1000
        Largest number of users, and of items, whose ratings one step predicts.
    steps : int, default=12
        Steps that make an epoch; ``plan.batch`` is not used.
    plan : Plan or None
        How to train. None stands for ``Plan(epochs=40, lr=2e-3, optimizer="adam",
        schedule="cosine", validation=0.05, patience=None, clip=5.0, eps=1e-4)``, and for 60 epochs
        with ``lr=5e-3`` above half a million ratings, of which a step predicts a smaller share.
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
    K_ : list of float
        The numbers of known ratings, of a user and of an item, that are not scaled.
    net_, history_, n_iter_, best_epoch_
        The network and its training; ``train_loss`` is the mean cost of a rating without the
        penalty, ``valid_loss`` the mean squared error of the validation ratings, predicted from all
        training ratings.

    Notes
    -----
    ``recommend_for`` encodes the person's ratings as those of a user. The vectors with which the
    person would read the items' codes are those of an average user of the training. A rating
    between two levels counts as the nearer one.

    ``similar_items`` compares the codes of items.
    """

    def __init__(
        self,
        hidden: int = 500,
        ordinal: float = 1.0,
        shared: bool = True,
        normalize: str | None = "sparsity",
        K: str | tuple[float, float] = "mean",
        power: float = 0.5,
        penalty: float = 30.0,
        block: int = 1000,
        steps: int = 12,
        plan: Plan | None = None,
        refit: bool = False,
        warm_start: bool = False,
        cold: str | float = "mean",
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.ordinal = ordinal
        self.shared = shared
        self.normalize = normalize
        self.K = K
        self.power = power
        self.penalty = penalty
        self.block = block
        self.steps = steps
        self.plan = plan
        self.refit = refit
        self.warm_start = warm_start
        self.cold = cold
        self.device = device
        self.random_state = random_state

    # -- training --------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        whole("block", self.block)
        whole("steps", self.steps)
        if self.K == "mean":
            return
        if not isinstance(self.K, (tuple, list)) or len(self.K) != 2:
            raise ValueError(f'K must be "mean" or a pair of numbers, got {self.K!r}')
        for value in self.K:
            number("K", value, above=0.0)

    def _default_plan(self, train: Ratings) -> Plan:
        few = len(train) <= _FEW
        return Plan(
            epochs=40 if few else 60,
            lr=2e-3 if few else 5e-3,
            optimizer="adam",
            validation=0.05,
            patience=None,
            clip=5.0,
            eps=1e-4,
        )

    def _prepare(self, train: Ratings) -> None:
        super()._prepare(train)
        self.K_ = self._mean_counts(train) if self.K == "mean" else [float(k) for k in self.K]

    def _mean_counts(self, train: Ratings) -> list[float]:
        import torch

        from nanwise.nets.cfuica import mean_left

        n_users, n_items = train.matrix.shape
        of_users = torch.as_tensor(np.diff(train.matrix.indptr))
        of_items = torch.as_tensor(np.bincount(train.matrix.indices, minlength=n_items))
        return [mean_left(of_users, n_items, self.block), mean_left(of_items, n_users, self.block)]

    def _network(self, n_users: int, n_items: int) -> Any:
        from nanwise.nets.cfuica import CFUIcANet

        return CFUIcANet(
            n_users,
            n_items,
            self.levels_,
            self.hidden,
            ordinal=self.ordinal,
            shared=self.shared,
            normalize=self.normalize,
            mean_counts=(self.K_[0], self.K_[1]),
            power=self.power,
            block=self.block,
        )

    def _start(self, net: Any, train: Ratings) -> None:
        net.start_at(self._both(train.matrix))

    def _both(self, matrix: sparse.csr_array) -> Any:
        from nanwise.nets.cfuica import Both

        return Both(self._rows_of(matrix), self._rows_of(matrix.T.tocsr()))

    def _sources(
        self, net: Any, train: Ratings, held: Ratings | None, plan: Plan, seed: int
    ) -> tuple[Any, Any]:
        from nanwise.estimators.recommend.levels import SameBatch
        from nanwise.estimators.recommend.sources import world_size

        known = self._both(train.matrix)
        source = SameBatch(known, self.steps * world_size())
        if held is None:
            return source, None
        return source, SameBatch((known, self._rows_of(held.matrix)))

    def _loop_plan(self, plan: Plan, train: Ratings, source: Any) -> Plan:
        from nanwise.estimators.recommend.sources import world_size

        return self._decayed(plan, len(train)).set_params(batch=world_size())

    def _sides(self) -> dict[str, str]:
        names = ("encoder.weight", "decoder.weight", "decoder.bias")
        of_items = {f"user_{name}": "item" for name in names}
        return of_items | {f"item_{name}": "user" for name in names}

    # -- answering -------------------------------------------------------------------------------

    @cached_property
    def _codes(self) -> tuple[Tensor, Tensor]:
        """Codes of all users and of all items, from all ratings."""
        import torch

        with torch.inference_mode():
            return self._net64.codes(self._both(self.matrix_))

    def _at(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        import torch

        from nanwise.estimators.recommend.levels import CELLS, cells_by_row
        from nanwise.nets.cfuica import turn
        from nanwise.nets.ordinal import expected_rating

        net, (of_users, of_items) = self._net64, self._codes
        out = np.empty(len(users))
        most = CELLS // len(self.levels_)
        for places, needed, cells in cells_by_row(users, items, len(of_items), most):
            with torch.inference_mode():
                both, across = turn(cells, torch.as_tensor(needed), len(of_users))
                scores = net.scores((of_users[needed], of_items), both, across)
                out[places] = expected_rating(scores, net.levels).numpy()
        return out

    def _scores(self, users: np.ndarray) -> np.ndarray:
        import torch

        from nanwise.estimators.recommend.levels import pieces
        from nanwise.nets.ordinal import expected_rating

        net, (of_users, of_items) = self._net64, self._codes
        out, columns = np.empty((len(users), len(of_items))), torch.arange(len(of_items))
        for part in pieces(len(users), len(of_items) * len(self.levels_)):
            chosen = torch.as_tensor(users[part])
            with torch.inference_mode():
                scores = net.user_decoder.across(of_users[chosen], columns)
                scores += net.item_decoder.across(of_items, chosen).transpose(0, 1)
                out[part] = expected_rating(scores, net.levels).numpy()
        return out

    def _scores_for(self, rows: sparse.csr_array) -> np.ndarray:
        import torch

        from nanwise.estimators.recommend.levels import pieces
        from nanwise.nets.ordinal import expected_rating

        net, (_, of_items) = self._net64, self._codes
        warm = torch.as_tensor(np.flatnonzero(self._warm[0]))
        out, columns = np.empty(rows.shape), torch.arange(len(of_items))
        for part in pieces(rows.shape[0], len(of_items) * len(self.levels_)):
            with torch.inference_mode():
                code = net.user_encoder(self._rows_of(rows[part])).tanh()
                scores = net.user_decoder.across(code, columns)
                scores += net.item_decoder.average(of_items, warm)
                out[part] = expected_rating(scores, net.levels).numpy()
        return out

    def _vectors(self) -> np.ndarray:
        found = self._codes[1].numpy()
        return found - found[self._warm[1]].mean(axis=0)
