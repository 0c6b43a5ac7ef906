"""AutoRec, with and without Sparsity Normalization."""

from __future__ import annotations

import copy
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from nanwise.data.ratings import Ratings
from nanwise.estimators.recommend.fold_in import fold_in
from nanwise.estimators.recommend.trained import NetRecommender
from nanwise.registry import method
from nanwise.train.checks import number, one_of, whole
from nanwise.train.plan import Plan

NORMALIZE = (None, "sparsity", "rate", "batch", "layer")
#: with more ratings than this, ``plan=None`` trains on batches of rows
_FULL_BATCH = 2_000_000
_BATCH = 1000
#: ratings of average height added to those of a column, where training starts
_DAMPING = 25
_ROWS = 4096


@method(
    "autorec",
    kind="recommender",
    inputs="rating",
    summary="Autoencoder of sparse rows of ratings, scaled by how many each row has.",
    paper="Sedhain, Menon, Sanner, Xie: AutoRec: Autoencoders Meet Collaborative Filtering, "
    "WWW 2015; Sparsity Normalization: Yi, Lee, Kim, Hwang, Yang, ICLR 2020",
    when="The first thing to try on ratings. Tune the penalty; with normalize='sparsity' the best "
    "one differs from that without.",
    space={"penalty": [20.0, 50.0, 100.0, 200.0], "power": [0.5, 0.7, 1.0]},
    tiny={"hidden": 8, "penalty": 1.0},
    sparse=True,
)
class AutoRec(NetRecommender):
    """Autoencoder ``V · sigmoid(W · row + μ) + b`` of the rows of a matrix of ratings.

    Missing ratings are 0 on the way in and not asked for on the way out. The sum of squared errors
    over the observed ratings plus ``penalty / 2 · (‖W‖² + ‖V‖²)`` is minimised; biases are free.
    Nothing of the size users × items is ever made.

    Parameters
    ----------
    by : {"item", "user"}, default="item"
        What the rows are. Item rows are usually the more accurate ones; with user rows a new
        person is encoded like everyone else.
    hidden : int, default=500
    normalize : {"sparsity", None, "rate", "batch", "layer"}, default="sparsity"
        ``sparsity`` scales a row by ``(K / its number of ratings) ** power``, ``rate`` all rows by
        one over the share of ratings that is known. ``batch`` and ``layer`` normalise the hidden
        units before the sigmoid. Only inputs are scaled, never targets.
    K : "mean" or float, default="mean"
        The number of ratings a row is brought to; "mean" is that of the training rows.
    power : float, default=0.7
        1 is the published normalisation: the mean of a row's ratings goes in, however few they
        are. Below 1 a row with few ratings, of which little is known, stays closer to the average:
        more accurate on MovieLens 100K, but predictions drift with the number of ratings again.
        Take 1 where that must not be.
    penalty : float or pair of float, default=100.0
        λ beside the *sum* of squared errors, as in the papers (λ of the authors' code times 4).
        A pair is one for W and one for V. Takes the place of ``plan.weight_decay`` and, whatever
        the optimizer, is part of the gradient.
    plan : Plan or None
        How to train. None stands for ``Plan(epochs=1000, batch=None, lr=1e-3, optimizer="adam",
        beta2=0.9, schedule=None, validation=0.05, patience=25)``, and for batches of 1000 rows
        with ``epochs=200, patience=10, beta2=0.999`` above two million ratings. ``batch=None``
        takes all rows in one step. With batches, which rows stand together is drawn once per fit.
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
    K_ : float
        The number of ratings a row is brought to.
    net_, history_, n_iter_, best_epoch_
        The network and its training; ``train_loss`` is the mean squared error without the penalty,
        ``valid_loss`` that of clipped predictions of the validation ratings from the training rows.

    Notes
    -----
    Training starts at the (damped) mean rating of each column, and this mean stands in the decoder
    weights: the output bias starts below the scale, at 0 for ratings from 1 to 5, and the weights
    make up the rest. All of them are then positive, and a row that rates high is one step away:
    its hidden units go up. With the mean in the output bias, which is free of the penalty, this
    has to be learnt column by column. The rest
    of the weights starts small: training ends early, so what columns with few ratings start with
    is nearly what they end with.

    When predicting, a row holds all ratings given to ``fit``, also those put aside for validation,
    which the weights have not learnt from unless ``refit``.

    ``recommend_for`` with ``by="user"`` encodes the person's ratings. With ``by="item"`` there is
    no column for a new person: the hidden units of the items stay as they are, and the person's
    decoder vector and bias are fitted to the ratings by ridge regression towards those of an
    average user (:func:`nanwise.estimators.recommend.fold_in.fold_in`).

    ``similar_items`` compares hidden units (``by="item"``) or decoder vectors (``by="user"``).

    Several processes (``torchrun``) share the rows of a step. In one step over all rows they end
    with the model of one process up to the order of sums; batches are drawn otherwise.

    Examples
    --------
    >>> from nanwise import AutoRec, Plan
    >>> from nanwise.data.ratings import synthetic_ratings
    >>> ratings = synthetic_ratings(200, 100, 4000, random_state=0)
    >>> model = AutoRec(hidden=20, penalty=10.0, random_state=0).fit(ratings)
    >>> model.recommend([1], n=2)["item"].shape
    (2,)
    """

    def __init__(
        self,
        by: str = "item",
        hidden: int = 500,
        normalize: str | None = "sparsity",
        K: str | float = "mean",
        power: float = 0.7,
        penalty: float | tuple[float, float] = 100.0,
        plan: Plan | None = None,
        refit: bool = False,
        warm_start: bool = False,
        cold: str | float = "mean",
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        self.by = by
        self.hidden = hidden
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
        one_of("normalize", self.normalize, NORMALIZE)
        whole("hidden", self.hidden)
        number("power", self.power, least=0.0)
        for value in self._penalties():
            number("penalty", value, least=0.0)
        if self.K != "mean" and not (isinstance(self.K, Real) and self.K > 0):
            raise ValueError(f'K must be "mean" or a number above 0, got {self.K!r}')

    def _penalties(self) -> tuple[Any, Any]:
        if not isinstance(self.penalty, (tuple, list)):
            return self.penalty, self.penalty
        if len(self.penalty) != 2:
            raise ValueError(f"penalty must be a number or a pair of them, got {self.penalty!r}")
        return tuple(self.penalty)  # type: ignore[return-value]

    def _default_plan(self, train: Ratings) -> Plan:
        common: dict[str, Any] = {"optimizer": "adam", "schedule": None, "validation": 0.05}
        if len(train) <= _FULL_BATCH:
            return Plan(epochs=1000, batch=None, patience=25, beta2=0.9, **common)
        return Plan(epochs=200, batch=_BATCH, patience=10, **common)

    def _oriented(self, matrix: sparse.csr_array) -> sparse.csr_array:
        """The matrix whose rows the network sees."""
        return matrix if self.by == "user" else matrix.T.tocsr()

    def _prepare(self, train: Ratings) -> None:
        if self.K == "mean":
            counts = _counts(train.matrix)[self.by == "item"]
            self.K_ = float(counts[counts > 0].mean())
        else:
            self.K_ = float(self.K)
        self.ends_ = (train.scale.smallest, train.scale.largest)

    def _row_scale(self, counts: np.ndarray, width: int) -> np.ndarray:
        """Factor of the inputs of rows with so many ratings."""
        if self.normalize == "sparsity":
            return (self.K_ / np.maximum(counts, 1)) ** self.power
        constant = width / self.K_ if self.normalize == "rate" else 1.0
        return np.full(len(counts), constant)

    def _network(self, n_users: int, n_items: int) -> Any:
        from nanwise.nets.autorec import AutoRecNet

        width = n_users if self.by == "item" else n_items
        norm = self.normalize if self.normalize in ("batch", "layer") else None
        return AutoRecNet(width, self.hidden, norm, *self.ends_)

    def _start(self, net: Any, train: Ratings) -> None:
        import torch

        matrix, mean = train.matrix, train.matrix.data.mean(dtype=np.float64)
        # columns of what the network sees: items, or users if its rows are items
        axis = 0 if self.by == "item" else 1
        counts = _counts(matrix)[axis]
        sums = np.asarray(matrix.sum(axis=1 - axis, dtype=np.float64)).ravel()
        means = (sums + _DAMPING * mean) / (counts + _DAMPING)
        low, high = self.ends_
        base = low - (high - low) / 4
        with torch.no_grad():
            # hidden units start near sigmoid(0) = 1/2
            net.decode += torch.as_tensor(2 * (means - base) / self.hidden).to(net.decode)[:, None]
            net.bias.fill_(base)
            # nothing will be learnt of a column without ratings: it answers the mean from the start
            empty = torch.as_tensor(counts == 0)
            net.decode[empty] = 0.0
            net.bias[empty] = float(mean)

    def _sources(
        self, net: Any, train: Ratings, held: Ratings | None, plan: Plan, seed: int
    ) -> tuple[Any, Any]:
        from nanwise.estimators.recommend.sources import Blocks, cut_rows, world_size

        matrix = self._oriented(train.matrix)
        counts = np.diff(matrix.indptr)
        scale = self._row_scale(counts, matrix.shape[1])
        cuts = cut_rows(counts, plan.batch, world_size(), seed)
        source = Blocks(matrix, scale, cuts, precision=plan.precision)
        if plan.batch is None:  # the arrays of a step are as large as all ratings
            _share_room(source)
        net.weight = len(source) / matrix.nnz
        least = min(self._penalties())
        net.excess[:] = net.excess.new_tensor([(p - least) / matrix.nnz for p in self._penalties()])
        if held is None:
            return source, None
        asked = _warm_part(self._oriented(held.matrix), matrix)
        rows = np.flatnonzero(np.diff(asked.indptr))
        parts = [rows[i : i + _ROWS] for i in range(0, len(rows), _ROWS)]
        return source, Blocks(matrix, scale, parts, asked, plan.precision)

    def _loop_plan(self, plan: Plan, train: Ratings, source: Any) -> Plan:
        from nanwise.estimators.recommend.sources import world_size

        # Adam's weight decay is the gradient of the penalty. AdamW without decay is Adam, so for
        # all optimizers the penalty is part of what is minimised.
        return clone(plan).set_params(
            optimizer="adam" if plan.optimizer == "adamw" else plan.optimizer,
            weight_decay=min(self._penalties()) / len(train),
            batch=world_size(),
        )

    def _sides(self) -> dict[str, str]:
        column = "user" if self.by == "item" else "item"
        return dict.fromkeys(("encode", "decode", "bias"), column)

    # -- answering -------------------------------------------------------------------------------

    @cached_property
    def _rows(self) -> sparse.csr_array:
        """What the network sees: all ratings, row by row."""
        return self._oriented(self.matrix_)

    @cached_property
    def _net64(self) -> Any:
        return copy.deepcopy(self.net_).double().eval()

    @cached_property
    def _all_hidden(self) -> np.ndarray:
        return self._hidden(self._rows)

    def _hidden(self, rows: sparse.csr_array) -> np.ndarray:
        """Hidden units (n, hidden) of rows of ratings."""
        import torch

        from nanwise.estimators.recommend.sources import Blocks

        n, width = rows.shape
        scale = self._row_scale(np.diff(rows.indptr), width)
        cuts = [np.arange(i, min(i + _ROWS, n)) for i in range(0, n, _ROWS)]
        blocks = Blocks(rows, scale, cuts, precision="float64").blocks
        with torch.inference_mode():
            parts = [self._net64.hidden(b.pattern, b.inputs).numpy() for b in blocks]
        return np.concatenate([np.empty((0, self.hidden)), *parts])

    def _decoder(self) -> tuple[np.ndarray, np.ndarray]:
        net = self._net64
        return net.decode.detach().numpy(), net.bias.detach().numpy()

    def _at(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        from nanwise.estimators.recommend.sources import dot_pairs

        rows, columns = (items, users) if self.by == "item" else (users, items)
        needed, places = np.unique(rows, return_inverse=True)
        decode, bias = self._decoder()
        out = dot_pairs(self._hidden(self._rows[needed]), decode, places, columns)
        return out + bias[columns]

    def _scores(self, users: np.ndarray) -> np.ndarray:
        decode, bias = self._decoder()
        if self.by == "item":
            return decode[users] @ self._all_hidden.T + bias[users, None]
        return self._hidden(self._rows[users]) @ decode.T + bias

    def _scores_for(self, rows: sparse.csr_array) -> np.ndarray:
        decode, bias = self._decoder()
        if self.by == "user":
            return self._hidden(rows) @ decode.T + bias
        there = self._warm[0]
        last = self.history_[self.best_epoch_ - 1]
        noise = last["valid_loss"] or last["train_loss"]
        people, shift = fold_in(self._all_hidden, decode[there], bias[there], rows, noise)
        return people @ self._all_hidden.T + shift[:, None]

    def _vectors(self) -> np.ndarray:
        vectors = self._all_hidden if self.by == "item" else self._decoder()[0]
        # all hidden units are positive: only their differences tell items apart
        return vectors - vectors[self._warm[1]].mean(axis=0)


def _share_room(source: Any) -> None:
    """The arrays that one step drops for the next step."""
    from nanwise.nn.sparse import Room

    room = Room()
    for block in source.blocks:
        block.pattern.share(room)


def _counts(matrix: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of ratings of the users, and of the items."""
    return np.diff(matrix.indptr), np.bincount(matrix.indices, minlength=matrix.shape[1])


def _warm_part(held: sparse.csr_array, matrix: sparse.csr_array) -> sparse.csr_array:
    """Ratings to validate on whose row and column have ratings to learn from."""
    coo = held.tocoo()
    rows = np.diff(matrix.indptr) > 0
    columns = np.bincount(matrix.indices, minlength=matrix.shape[1]) > 0
    kept = rows[coo.row] & columns[coo.col]
    cells = (coo.data[kept], (coo.row[kept], coo.col[kept]))
    return sparse.csr_array(cells, shape=held.shape)
