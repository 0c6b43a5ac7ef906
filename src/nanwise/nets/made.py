"""MADE: a network whose connections make its outputs conditional probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nanwise.nets.mlp import ACTIVATIONS
from nanwise.nn import functional
from nanwise.nn.sparsity_norm import SparsityNorm

ORDERS = ("natural", "random")
NORMALISATIONS = (None, "input", "causal")
#: rows of which the inputs are counted at once
_BLOCK = 4096


class MADENet(nn.Module):
    r"""Probability of rows of 0 and 1, one value after the other.

    .. math:: p(x) = \frac1M \sum_{m=1}^M \prod_d p_m(x_d \mid x_j, \, j \text{ before } d)

    The inputs have an order. A hidden unit has a limit and sees the first so many inputs; an output
    sees the hidden units that see only what comes before it. There may be M orders, or M draws of
    the limits (the paper's masks), for the same weights. The density is then their mixture: proper
    in any case, which the mean of their outputs would not be where orders differ.

    Parameters
    ----------
    n_features : int
        Length of a row.
    hidden : sequence of int
        Widths of the hidden layers; ``()``: each output is linear in the inputs before it.
    n_masks : int, default=1
        M.
    order : {"natural", "random"}, default="natural"
        Order of the inputs: that of the columns, or one drawn for each mask.
    normalize : {None, "input", "causal"}, default=None
        Sparsity normalisation; a 0 counts as missing. ``"input"``, as published, divides a row by
        the number of its ones, all of them: an output then knows of values that come after it, and
        :meth:`log_prob` is not a log-likelihood. ``"causal"`` divides what a unit gets by the
        number of ones that this unit may see.
    normalize_connections : bool, default=False
        Sparsity normalisation of the connections, see
        :func:`nanwise.nn.functional.normalize_connections`.
    activation : str, default="relu"
        One of :data:`nanwise.nets.mlp.ACTIVATIONS`.
    mask_steps : int, default=1
        Steps of training until the next mask has its turn.

    Notes
    -----
    Orders and limits are drawn from torch's default generator, as the weights are, and are part of
    the ``state_dict``. :meth:`fit_counts` has to see the training rows before anything is computed
    with a normalisation.

    References
    ----------
    Germain, Gregor, Murray, Larochelle (2015). MADE. ICML.
    Yi, Lee, Kim, Hwang, Yang (2020). Why not to use zero imputation? ICLR, appendix F.
    """

    places: Tensor
    K: Tensor

    def __init__(
        self,
        n_features: int,
        hidden: Sequence[int] = (500,),
        *,
        n_masks: int = 1,
        order: str = "natural",
        normalize: str | None = None,
        normalize_connections: bool = False,
        activation: str = "relu",
        mask_steps: int = 1,
    ) -> None:
        super().__init__()
        _check(n_features, n_masks, order, normalize)
        self.n_masks = n_masks
        self.mask_steps = mask_steps
        self.normalize = normalize
        self.normalize_connections = normalize_connections
        self.activation = ACTIVATIONS[activation]()
        widths = [n_features, *hidden, n_features]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self._draw(n_features, hidden, order)
        if normalize == "input":
            self.norm = SparsityNorm()
        elif normalize == "causal":
            self.register_buffer("K", torch.full((n_masks, n_features + 1), math.nan))
        # what a checkpoint has to know beside weights and buffers
        self.settings = (normalize, normalize_connections, activation, mask_steps)
        self._begin = self._step = 0
        self._kept: tuple[int, list[Tensor]] | None = None

    def _draw(self, n_features: int, hidden: Sequence[int], order: str) -> None:
        """Place of each input (from 1) and limit of each hidden unit, for every mask."""
        if order == "random":
            places = torch.rand(self.n_masks, n_features, dtype=torch.float64).argsort(-1)
        else:
            places = torch.arange(n_features).repeat(self.n_masks, 1)
        self.register_buffer("places", places + 1)
        most = max(n_features - 1, 1)
        least = torch.ones(self.n_masks, 1, dtype=torch.int64)
        for number, width in enumerate(hidden):
            share = torch.rand(self.n_masks, width, dtype=torch.float64)
            limits = least + (share * (most - least + 1)).long()
            self.register_buffer(f"limits_{number}", limits)
            # a unit below the least limit of the layer before would be connected to nothing
            least = limits.amin(-1, keepdim=True)

    # -- connections -----------------------------------------------------------------------------

    def limits(self, which: int) -> list[Tensor]:
        """Of every layer, how many inputs of the order each unit knows.

        An input knows itself and stands at its place; an output knows what comes before it.
        """
        places = self.places[which]
        hidden = (self.get_buffer(f"limits_{i}")[which] for i in range(len(self.layers) - 1))
        return [places, *hidden, places - 1]

    def connections(self, which: int) -> list[Tensor]:
        """Factors of the weights (out, in) of every layer: 0 where there is no connection."""
        pairs = pairwise(self.limits(which))
        joined = [(above[:, None] >= below).to(self._dtype) for below, above in pairs]
        if not self.normalize_connections:
            return joined
        return [functional.normalize_connections(one) for one in joined]

    def check_order(self) -> None:
        """ValueError unless orders are orders and no hidden unit sees the last input."""
        n = self.places.shape[1]
        every = torch.arange(1, n + 1).expand_as(self.places)
        if not torch.equal(self.places.sort(-1).values, every):
            raise ValueError("the places of the inputs are not an order of them")
        hidden = [self.get_buffer(f"limits_{i}") for i in range(len(self.layers) - 1)]
        if any(limits.min() < 1 or limits.max() > max(n - 1, 1) for limits in hidden):
            raise ValueError(f"hidden units must see between 1 and {max(n - 1, 1)} inputs")

    # -- sparsity normalisation ------------------------------------------------------------------

    @torch.no_grad()
    def fit_counts(self, x: Tensor) -> None:
        """Learn K from training rows (N, n_features).

        ``"input"``: the mean number of ones in a row. ``"causal"``: for every mask and every limit,
        the mean of max(1, number of ones within the limit). Without the 1, a unit that sees few
        ones would have a K far below what it is divided by, and be silenced.
        """
        if self.normalize == "input":
            self.norm.fit_counts((x != 0).sum(-1))
        elif self.normalize == "causal":
            for which in range(self.n_masks):
                parts = (self._counts(rows, which).clamp_min(1) for rows in x.split(_BLOCK))
                self.K[which] = sum(part.double().sum(0) for part in parts) / len(x)

    def _counts(self, x: Tensor, which: int) -> Tensor:
        """Number of ones among the first 0, 1, …, n inputs of the order, (N, n + 1)."""
        order = self.places[which].argsort()
        return F.pad((x != 0).index_select(1, order).cumsum(1), (1, 0))

    def _first(self, x: Tensor, which: int, factors: Tensor) -> Tensor:
        """The first affine layer, normalised; the bias is not scaled."""
        layer = self._affine[0]
        if self.normalize == "input":
            x = self.norm(x, x != 0)
        if self.normalize != "causal":
            return functional.masked_linear(x, layer.weight, layer.bias, factors)
        limits = self.limits(which)[1]
        number = self._counts(x, which).index_select(1, limits).clamp_min(1)
        scale = self.K[which].index_select(0, limits) / number
        return functional.masked_linear(x, layer.weight, None, factors) * scale + layer.bias

    # -- probabilities ---------------------------------------------------------------------------

    def forward(self, x: Tensor, which: int = 0, factors: list[Tensor] | None = None) -> Tensor:
        """Log-odds (N, n_features) that each value is 1, given those before it.

        ``which`` names the mask, ``factors`` are its :meth:`connections`, if they are at hand.
        """
        first, *others = self.connections(which) if factors is None else factors
        out = self._first(x, which, first)
        for layer, joined in zip(self._affine[1:], others, strict=True):
            out = self.activation(out)
            out = functional.masked_linear(out, layer.weight, layer.bias, joined)
        return out

    def log_prob_of(self, x: Tensor, which: int, factors: list[Tensor] | None = None) -> Tensor:
        """Log-probability (N,) of rows under one mask; ``factors`` as for :meth:`forward`."""
        # log sigmoid(z) where x is 1, log sigmoid(-z) where it is 0
        return F.logsigmoid(self(x, which, factors) * (2 * x - 1)).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        """Log-probability (N,) of rows under the mixture of all masks, in nats."""
        parts = torch.stack([self.log_prob_of(x, which) for which in range(self.n_masks)])
        return parts.logsumexp(0) - math.log(self.n_masks)

    @torch.no_grad()
    def draw(self, noise: Tensor, which: int) -> Tensor:
        """New rows of one mask, one value after the other, from uniform noise (N, n_features)."""
        factors = self.connections(which)
        x = torch.zeros_like(noise)
        for place in self.places[which].argsort().tolist():
            odds = self(x, which, factors)[:, place]
            x[:, place] = (noise[:, place] < odds.sigmoid()).to(x.dtype)
        return x

    # -- training --------------------------------------------------------------------------------

    def begin_epoch(self, epoch: int, epochs: int) -> None:
        """Masks take turns; each epoch begins with the next one."""
        self._begin, self._step, self._kept = epoch - 1, 0, None

    def training_step(self, batch: Tensor, phase: str = "main") -> Tensor:
        """Mean negative log-probability of rows (N, n_features) under the mask whose turn it is."""
        which = (self._begin + self._step // self.mask_steps) % self.n_masks
        self._step += 1
        if self._kept is None or self._kept[0] != which:
            self._kept = which, self.connections(which)
        return -self.log_prob_of(self._numbers(batch), which, self._kept[1]).mean()

    def validation_step(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        """Sum of the negative log-probabilities and their count.

        Each row meets one mask, in turn: the mean over masks at the price of one.
        """
        rows = self._numbers(batch)
        parts = (rows[which :: self.n_masks] for which in range(min(self.n_masks, len(rows))))
        total = torch.stack([self.log_prob_of(x, which).sum() for which, x in enumerate(parts)])
        return -total.sum(), torch.tensor(len(rows))

    def _numbers(self, batch: Tensor) -> Tensor:
        """Rows may be kept as bytes."""
        return batch.to(self._dtype)

    @property
    def _affine(self) -> list[nn.Linear]:
        return cast("list[nn.Linear]", list(self.layers))

    @property
    def _dtype(self) -> torch.dtype:
        return self._affine[0].weight.dtype


def _check(n_features: int, n_masks: int, order: str, normalize: str | None) -> None:
    if n_features < 1 or n_masks < 1:
        raise ValueError(
            f"n_features and n_masks must be at least 1, got {n_features} and {n_masks}"
        )
    if order not in ORDERS:
        raise ValueError(f"order must be one of {ORDERS}, got {order!r}")
    if normalize not in NORMALISATIONS:
        raise ValueError(f"normalize must be one of {NORMALISATIONS}, got {normalize!r}")
