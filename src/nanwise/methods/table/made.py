"""MADE: densities of rows of 0 and 1."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from nanwise.errors import DataError
from nanwise.estimators.planned import Planned, refuse_misfit
from nanwise.estimators.whole_fit import all_or_nothing
from nanwise.registry import method
from nanwise.train.checks import flag, one_of, whole
from nanwise.train.plan import Plan

_AT_ONCE = 1024


@method(
    "made",
    kind="generator",
    summary="Densities of rows of 0 and 1 by a masked autoencoder, and new rows drawn from them.",
    paper="Germain, Gregor, Murray, Larochelle: MADE, ICML 2015; sparsity normalisation of it: Yi, "
    "Lee, Kim, Hwang, Yang, ICLR 2020, appendix F",
    when="How probable a binary row is, or new binary rows, are wanted. Rows must be complete.",
    space={"normalize": [None, "causal"], "normalize_connections": [False, True]},
    tiny={"hidden": (8,), "plan": Plan(epochs=2, batch=16)},
)
class MADE(Planned, DensityMixin, BaseEstimator):
    """Density of rows of 0 and 1 (masked autoencoder for distribution estimation).

    The probability of a row is the product of the probabilities of its values, each given those
    before it; one network computes all of them at once.

    Parameters
    ----------
    hidden : tuple of int, default=(500,)
        Widths of the hidden layers.
    n_masks : int, default=1
        Number of sets of connections (the paper's masks) that take turns in training. The density
        is the mixture of theirs.
    order : {"natural", "random"}, default="natural"
        Order of the values: that of the columns, or one drawn for each mask.
    normalize : {None, "causal", "input"}, default=None
        Sparsity normalisation, for which a 0 counts as missing. ``"causal"`` scales what a hidden
        unit gets by the number of ones among the inputs that it sees. ``"input"``, as published,
        scales a row by the number of its ones, later ones included: what :meth:`log_prob` then
        gives is **not a log-likelihood** (probabilities of all rows do not add up to 1), must not
        be compared with that of other models, and cannot be sampled from.
    normalize_connections : bool, default=False
        Sparsity normalisation of the connections (the paper's M_SN): units with few of them get
        larger weights. Keeps the density proper.
    activation : str, default="relu"
        relu, gelu, tanh, silu, elu or leaky_relu.
    mask_steps : int, default=1
        Steps of training until the next mask has its turn.
    plan : Plan, optional
        Training settings. None: ``Plan(epochs=100, batch=100, lr=1e-3, optimizer="adam",
        weight_decay=0, schedule=None, validation=0.1, patience=10)``.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"auto"``. None: the CPU.
    random_state : int, RandomState or None
        Seed of orders, connections, weights and batches.

    Attributes
    ----------
    net_ : MADENet
        The trained network.
    history_ : list of dict
        One entry per epoch; losses are in nats per row, those of validation of single masks.
    n_iter_ : int
        Number of epochs.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Values other than 0 and 1 are refused, and so are gaps: a value that is not known could only be
    left out by summing over it, which this model cannot do but for the last ones of its order.

    References
    ----------
    Germain, Gregor, Murray, Larochelle (2015). MADE. ICML.
    Yi, Lee, Kim, Hwang, Yang (2020). Why not to use zero imputation? ICLR, appendix F.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import MADE, Plan
    >>> X = np.array([[0, 0], [1, 1]] * 50)
    >>> model = MADE(hidden=(8,), plan=Plan(epochs=60, lr=0.05), random_state=0).fit(X)
    >>> np.exp(model.log_prob([[0, 0], [0, 1], [1, 0], [1, 1]])).round(1)
    array([0.5, 0. , 0. , 0.5])
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (500,),
        *,
        n_masks: int = 1,
        order: str = "natural",
        normalize: str | None = None,
        normalize_connections: bool = False,
        activation: str = "relu",
        mask_steps: int = 1,
        plan: Plan | None = None,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.n_masks = n_masks
        self.order = order
        self.normalize = normalize
        self.normalize_connections = normalize_connections
        self.activation = activation
        self.mask_steps = mask_steps
        self.plan = plan
        self.device = device
        self.random_state = random_state

    # -- fitting ---------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, *, validation: Any = None) -> Self:
        """Learn from complete rows.

        Parameters
        ----------
        X : array or DataFrame of shape (n_rows, n_features)
            Of 0 and 1, or truth values.
        y : None
            Not used.
        validation : array or DataFrame, optional
            Rows on which early stopping decides. None: the share of ``X`` that the plan says.

        Returns
        -------
        self
        """
        import torch

        from nanwise.train.loop import train

        self._check_settings()
        rows = self._read(X, reset=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if validation is None:
            rows, held = self._split(rows, seed)
        else:
            held = self._read(validation, reset=False)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self.net_ = self._build()
        self.net_.fit_counts(torch.as_tensor(rows))
        self.history_ = train(
            self.net_,
            _Source(rows),
            self._plan(),
            seed=seed,
            validation=None if held is None else _Source(held),
            device=self.device,
        )
        self.n_iter_ = len(self.history_)
        return self

    def _default_plan(self) -> Plan:
        return Plan(
            epochs=100,
            batch=100,
            lr=1e-3,
            optimizer="adam",
            weight_decay=0.0,
            schedule=None,
            validation=0.1,
            patience=10,
        )

    def _check_settings(self) -> None:
        from nanwise.nets.made import NORMALISATIONS, ORDERS
        from nanwise.nets.mlp import ACTIVATIONS

        if isinstance(self.hidden, str | set | frozenset) or not isinstance(
            self.hidden, Collection
        ):
            raise TypeError(f"hidden must be a sequence of widths such as (500,): {self.hidden!r}")
        for width in self.hidden:
            whole("each width in hidden", width)
        whole("n_masks", self.n_masks)
        whole("mask_steps", self.mask_steps)
        flag("normalize_connections", self.normalize_connections)
        one_of("order", self.order, ORDERS)
        one_of("normalize", self.normalize, NORMALISATIONS)
        one_of("activation", self.activation, ACTIVATIONS)
        self._check_plan()

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        """Rows as bytes 0 and 1; anything else is refused."""
        X = validate_data(self, X, reset=reset, ensure_all_finite=False)
        binary = (X == 0) | (X == 1)
        if not binary.all():
            row, column = (int(place) for place in np.argwhere(~binary)[0])
            names = getattr(self, "feature_names_in_", None)
            where = f"row {row}, column {column if names is None else repr(names[column])}"
            raise DataError(_strange(X[row, column], where))
        return X.astype(np.uint8)

    def _split(self, rows: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows to learn from and those to validate on (None: too few to split, or not asked)."""
        n_held = round(len(rows) * (self._plan().validation or 0.0))
        if n_held < 1 or len(rows) - n_held < 2:
            return rows, None
        order = np.random.default_rng(seed).permutation(len(rows))
        return rows[np.sort(order[n_held:])], rows[order[:n_held]]

    def _build(self) -> Any:
        net = self._network()
        return net.double() if self._plan().precision == "float64" else net

    def _network(self) -> Any:
        from nanwise.nets.made import MADENet

        return MADENet(
            self.n_features_in_,
            tuple(self.hidden),
            n_masks=self.n_masks,
            order=self.order,
            normalize=self.normalize,
            normalize_connections=self.normalize_connections,
            activation=self.activation,
            mask_steps=self.mask_steps,
        )

    # -- answering -------------------------------------------------------------------------------

    def log_prob(self, X: Any) -> np.ndarray:
        """Log-probability of each row in nats, shape (n_rows,).

        With ``normalize="input"`` this is the figure that was published, not a log-likelihood.
        """
        import torch

        check_is_fitted(self)
        rows = torch.as_tensor(self._read(X, reset=False))
        net = self._answering()
        with torch.inference_mode():
            return torch.cat([net.log_prob(part.double()) for part in rows.split(_AT_ONCE)]).numpy()

    def score_samples(self, X: Any) -> np.ndarray:
        """The same as :meth:`log_prob`, by the name that scikit-learn has for it."""
        return self.log_prob(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of :meth:`log_prob` over the rows."""
        return float(self.log_prob(X).mean())

    def sample(self, n: int = 1, random_state: Any = None) -> np.ndarray:
        """New rows of 0 and 1, drawn value by value: one pass through the network per column.

        Parameters
        ----------
        n : int, default=1
            How many.
        random_state : int, RandomState or None
            Seed.

        Returns
        -------
        ndarray of uint8, shape (n, n_features)
        """
        import torch

        check_is_fitted(self)
        whole("n", n)
        if self.net_.normalize == "input":
            raise ValueError(
                'with normalize="input" a value depends on those that come after it, so that none '
                'can be drawn first; fit with normalize="causal" or None to draw rows'
            )
        rng = check_random_state(random_state)
        net, whose = self._answering(), rng.randint(self.net_.n_masks, size=n)
        noise = torch.as_tensor(rng.random_sample((n, self.n_features_in_)))
        drawn = np.empty(noise.shape, dtype=np.uint8)
        for which in np.unique(whose).tolist():
            drawn[whose == which] = net.draw(noise[torch.as_tensor(whose == which)], which).numpy()
        return drawn

    def _answering(self) -> Any:
        """A float64 copy: a row's answer is the same to 1e-7 in any company."""
        return copy.deepcopy(self.net_).double().eval()

    # -- saving ----------------------------------------------------------------------------------

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
        for name, value in state["learnt"].items():
            setattr(made, name, value)
        made._check_settings()
        refuse_misfit(made._network, state["weights"])
        made.net_ = made._build().eval()
        made.net_.load_state_dict(state["weights"])
        made.net_.check_order()
        return made


class _Source:
    """Rows as bytes, answered by number."""

    def __init__(self, rows: np.ndarray) -> None:
        import torch

        self.rows = torch.as_tensor(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        # of bytes plain indexing takes six times as long
        return self.rows.index_select(0, index)


def _strange(value: Any, where: str) -> str:
    if value is None or value != value:
        return (
            f"MADE cannot leave values out, and {where} is missing; fill the gaps first, for "
            "example with nanwise.make_imputer, or leave such rows out"
        )
    return f"MADE takes 0 and 1 only, got {value} in {where}; make rows binary first, as X > 0.5"
