"""AutoImpute, with and without Sparsity Normalization."""

from __future__ import annotations

import copy
import warnings
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nanwise.data.cells.counts import Counts, as_counts, dense, like
from nanwise.data.cells.hiding import hide_seen
from nanwise.data.frames import listed
from nanwise.errors import DataError, GapWarning
from nanwise.estimators.planned import Planned, refuse_misfit
from nanwise.estimators.whole_fit import all_or_nothing
from nanwise.train.checks import flag, number, one_of, whole
from nanwise.train.plan import Plan

STARTS = ("means", "normal")
#: values of average height added to those of a gene, where training starts
_DAMPING = 2
#: cells that are answered at once
_ROWS = 1024


class AutoImpute(Planned, TransformerMixin, BaseEstimator):
    """Fill zeros of a matrix cells × genes by an autoencoder that learns from what was seen.

    ``V · sigmoid(W · cell + μ) + b``: a gene that was not seen is 0 on the way in and not asked
    for on the way out. The sum of squared errors over the entries that are not 0 plus
    ``penalty / 2 · (‖W‖² + ‖V‖²)`` is minimised. Values should be logarithms of scaled counts, as
    :class:`nanwise.data.cells.CellPrep` makes them.

    Parameters
    ----------
    hidden : int, default=200
        Hidden units.
    normalize : bool, default=True
        Sparsity Normalization: scale the input of a cell by ``K`` over the number of its entries
        that are not 0.
    K : "mean" or float, default="mean"
        The number of entries a cell is brought to; "mean" is that of the training cells.
    penalty : float, default=100.0
        λ beside the *sum* of squared errors. Takes the place of ``plan.weight_decay`` and, whatever
        the optimizer, is part of the gradient.
    start : {"means", "normal"}, default="means"
        ``means``: training starts at the (damped) mean of each gene, with weights of a size at
        which sigmoids are not saturated. ``normal``: all weights and biases are drawn from N(0, 1),
        as published; genes that were never seen then get random answers.
    tol : float or None, default=None
        Stop as soon as the sum of squared errors per cell changes by no more than this in one
        step; for plans with ``batch=None``. Takes the place of ``plan.tol``, which is about the
        mean squared error of an entry. None: ``plan.tol``.
    plan : Plan or None
        How to train. None stands for ``Plan(epochs=500, batch=None, lr=1e-3, optimizer="adam",
        beta2=0.9, schedule=None, validation=0.1, patience=20)``. ``validation`` is the share of the
        entries that were seen that is put aside to stop on; with ``batch``, cells per step.
    device : {None, "cpu", "cuda", "cuda:<n>", "auto"}
    random_state : int, RandomState or None

    Attributes
    ----------
    genes_ : ndarray of str
    n_features_in_ : int
    K_ : float
        The number of entries a cell is brought to.
    net_, history_, n_iter_
        The network and its training; ``train_loss`` is the mean squared error of what was seen,
        without the penalty.

    Notes
    -----
    :meth:`published` has the settings of the authors. They are kept for comparison: sigmoids start
    saturated, and most of what is drawn at the start is still there when training ends.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import AutoImpute
    >>> rng = np.random.default_rng(0)
    >>> values = rng.gamma(2.0, 2.0, (40, 30)) * (rng.random((40, 30)) < 0.4)
    >>> filled = AutoImpute(hidden=8, random_state=0).fit_transform(values)
    >>> bool(np.all(filled[values > 0] == values[values > 0]))
    True
    """

    def __init__(
        self,
        hidden: int = 200,
        normalize: bool = True,
        K: str | float = "mean",
        penalty: float = 100.0,
        start: str = "means",
        tol: float | None = None,
        plan: Plan | None = None,
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.normalize = normalize
        self.K = K
        self.penalty = penalty
        self.start = start
        self.tol = tol
        self.plan = plan
        self.device = device
        self.random_state = random_state

    @classmethod
    def published(cls, normalize: bool = True, **params: Any) -> Self:
        """An estimator with the settings of Talwar et al. (2018); ``params`` replace some.

        2000 hidden units, λ = 1, weights from N(0, 1), RMSProp with learning rate 1e-4 over all
        cells for at most 7000 steps, a stop at a change of 1e-4 (none with ``normalize``, where
        the published threshold is smaller, but not told).
        """
        plan = Plan(
            epochs=7000,
            batch=None,
            lr=1e-4,
            optimizer="rmsprop",
            weight_decay=0.0,
            schedule=None,
            validation=None,
        )
        own = {"hidden": 2000, "penalty": 1.0, "start": "normal", "plan": plan}
        return cls(normalize=normalize, **{**own, "tol": None if normalize else 1e-4, **params})

    def _default_plan(self) -> Plan:
        return Plan(
            epochs=500,
            batch=None,
            optimizer="adam",
            beta2=0.9,
            weight_decay=0.0,
            schedule=None,
            validation=0.1,
        )

    # -- fitting ---------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from cells.

        Parameters
        ----------
        X : AnnData, DataFrame, sparse matrix or array of shape (n_cells, n_genes)
            Values that are at least 0; 0 means not seen.
        y : None
            Not used.
        """
        self._check_settings()
        counts = as_counts(X)
        if counts.shape[0] < 2:
            raise DataError(
                f"AutoImpute needs at least two cells to learn from, got {counts.shape}"
            )
        values = dense(counts.matrix)
        _warn_gaps(values, counts)
        self.genes_, self.n_features_in_ = counts.genes, counts.shape[1]
        self.__dict__.pop("_net64", None)
        self._learn(values, int(check_random_state(self.random_state).randint(2**31 - 1)))
        return self

    def _check_settings(self) -> None:
        self._check_plan()
        whole("hidden", self.hidden)
        number("penalty", self.penalty, least=0.0)
        number("tol", self.tol, least=0.0, optional=True)
        one_of("start", self.start, STARTS)
        flag("normalize", self.normalize)
        if self.K != "mean" and not (isinstance(self.K, Real) and 0 < self.K < np.inf):
            raise ValueError(f'K must be "mean" or a number above 0, got {self.K!r}')
        if self.tol is not None and self._plan().batch is not None:
            raise ValueError("tol compares steps over all cells; use it with Plan(batch=None)")

    def _learn(self, values: np.ndarray, seed: int) -> None:
        from nanwise.train.loop import train

        plan = self._plan()
        part, held = _put_aside(values, plan.validation or 0.0, seed)
        seen = np.count_nonzero(part, axis=1)
        self.K_ = float(seen[seen > 0].mean()) if self.K == "mean" else float(self.K)
        net = self._started(part, seed)
        net.weight = len(part) / int(seen.sum())
        source = self._source(part, part, plan)
        validation = None if held is None else self._source(part, held, plan)
        own = clone(plan).set_params(
            # of AdamW the decay is not part of what is minimised; without decay it is Adam
            optimizer="adam" if plan.optimizer == "adamw" else plan.optimizer,
            weight_decay=self.penalty / int(seen.sum()),
            tol=plan.tol if self.tol is None else self.tol * net.weight,
        )
        self.history_ = train(
            net, source, own, seed=seed, validation=validation, device=self.device
        )
        self.net_, self.n_iter_ = net, len(self.history_)

    def _network(self) -> Any:
        from nanwise.nets.autoimpute import AutoImputeNet

        net = AutoImputeNet(self.n_features_in_, self.hidden)
        return net.double() if self._plan().precision == "float64" else net

    def _started(self, values: np.ndarray, seed: int) -> Any:
        """The network with first weights."""
        import torch

        net = self._network()
        draw = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.normal_(generator=draw)
            if self.start == "means":
                self._start_at_means(net, values)
        return net

    def _start_at_means(self, net: Any, values: np.ndarray) -> None:
        import torch

        seen = np.count_nonzero(values, axis=0)
        mean = values.sum(dtype=np.float64) / seen.sum()
        sums = values.sum(axis=0, dtype=np.float64)
        lengths = np.einsum("ij,ij->i", values, values) * self._scale(values) ** 2
        net.encode /= float(np.sqrt(lengths.mean()))
        net.hidden_bias.zero_()
        net.decode.zero_()
        net.bias.copy_(torch.as_tensor((sums + _DAMPING * mean) / (seen + _DAMPING)))

    def _scale(self, values: np.ndarray) -> np.ndarray:
        """What the inputs of cells are multiplied by."""
        if not self.normalize:
            return np.ones(len(values), dtype=np.float32)
        seen = np.count_nonzero(values, axis=1)
        return (self.K_ / np.maximum(seen, 1)).astype(np.float32)

    def _source(self, values: np.ndarray, targets: np.ndarray, plan: Plan) -> Any:
        from nanwise.estimators.cells.sources import CellSource

        return CellSource(values, self._scale(values), targets, plan.precision)

    # -- answering -------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """The same cells with every 0 filled, at least by 0; what was seen stays as it is.

        Parameters
        ----------
        X : AnnData, DataFrame, sparse matrix or array of shape (n_cells, n_genes)

        Returns
        -------
        The filled matrix in the form of X; of a sparse matrix an array, since hardly
        anything is 0 in it.
        """
        counts = self._read(X)
        values = dense(counts.matrix, counts.matrix.dtype)
        filled = np.maximum(self._answers(values), 0.0).astype(values.dtype, copy=False)
        return like(X, np.where(values != 0, values, filled))

    def predict(self, X: Any) -> np.ndarray:
        """What the network answers for every entry, seen or not, and not cut off at 0."""
        return self._answers(dense(self._read(X).matrix))

    def _read(self, X: Any) -> Counts:
        check_is_fitted(self)
        counts = as_counts(X)
        if counts.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {counts.shape[1]} genes, AutoImpute was fitted on {self.n_features_in_}"
            )
        off = np.flatnonzero(counts.genes != self.genes_)
        if len(off):
            raise DataError(
                f"gene {off[0]} of X is {counts.genes[off[0]]!r}, AutoImpute was fitted with "
                f"{self.genes_[off[0]]!r} there; bring the genes into the same order"
            )
        return counts

    @cached_property
    def _net64(self) -> Any:
        return copy.deepcopy(self.net_).double().eval()

    def _answers(self, values: np.ndarray) -> np.ndarray:
        import torch

        out = np.empty(values.shape)
        scale = self._scale(values).astype(np.float64)
        with torch.inference_mode():
            for first in range(0, len(values), _ROWS):
                rows = slice(first, first + _ROWS)
                block = torch.as_tensor(values[rows].astype(np.float64))
                out[rows] = self._net64(block, torch.as_tensor(scale[rows])).numpy()
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags

    # -- saving ----------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_net64", None)
        return state

    def __nanwise_state__(self) -> dict[str, Any]:
        check_is_fitted(self)
        learnt = {k: v for k, v in vars(self).items() if k.endswith("_") and k != "net_"}
        return {
            "params": self.get_params(deep=False) | {"device": None},
            "learnt": learnt,
            "weights": dict(self.net_.state_dict()),
        }

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Self:
        made = cls(**state["params"])
        made.__dict__.update(state["learnt"])
        refuse_misfit(made._network, state["weights"])
        made.net_ = made._network().eval()
        made.net_.load_state_dict(state["weights"])
        return made


def _put_aside(values: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Cells without some of what was seen in them, and that alone; too little is not split."""
    seen = np.count_nonzero(values)
    if seen == 0:
        raise DataError("every entry of X is 0: there is nothing to learn from")
    if not 0 < round(seen * share) < seen:
        return values, None
    part, rows, columns = hide_seen(values, share, seed)
    held = np.zeros_like(values)
    held[rows, columns] = values[rows, columns]
    return part, held


def _warn_gaps(values: np.ndarray, counts: Counts) -> None:
    """Name genes and cells that nothing is known of; their answers are the prior."""
    for axis, what, names in ((0, "genes were", counts.genes), (1, "cells have", counts.cells)):
        empty = names[~values.any(axis=axis)]
        if len(empty):
            seen = "never seen" if axis == 0 else "nothing that was seen"
            warnings.warn(
                f"{len(empty)} {what} {seen}: {listed(empty)}; the mean is all that can be said",
                GapWarning,
                stacklevel=3,
            )
