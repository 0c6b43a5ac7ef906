"""CF-NADE: predict some ratings of a row from its other ratings, whichever these are."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from nanwise.nets.levels import LevelDecoder, LevelEncoder, keep, level_frequencies, set_unit
from nanwise.nets.ordinal import expected_rating, rating_cost
from nanwise.nn.sparse import Rows


class CFNADENet(nn.Module):
    r"""One hidden layer between the known ratings of a row and the probabilities of the others.

    .. math::

        h = \tanh\Big(c + \sum_{j \text{ known}} W_{j, r_j}\Big), \qquad
        p(r_i = k) = \operatorname{softmax}_k (b_{i, k} + V_{i, k} \cdot h)

    In training the D ratings of each row are split at random in every step: d of them, uniform on
    0 to D - 1, are known, and the others, weighted with D / (D - d), are predicted.

    Parameters
    ----------
    width : int
        Number of columns.
    levels : sequence of float
        The ratings there are, ascending.
    hidden : int, default=500
    ordinal : float, default=1.0
        Share of the ordinal cost; the rest is the negative log-likelihood.
    shared : bool, default=False
        Weights shared by the levels (see :class:`nanwise.nets.levels.LevelEncoder`).
    normalize, power
        See :class:`nanwise.nets.levels.LevelEncoder`.
    mean_count : float, default=1.0
        The K of ``normalize``: mean number of known ratings in training, :func:`mean_known`.

    Notes
    -----
    A batch is :class:`nanwise.nn.sparse.Rows` of level numbers; for validation it is a pair, the
    known ratings and the cells to predict. The random split is drawn from torch's own generator,
    which the training loop seeds.

    References
    ----------
    Zheng, Tang, Ding, Zhou (2016). A neural autoregressive approach to collaborative filtering.
    """

    levels: Tensor

    def __init__(
        self,
        width: int,
        levels: Sequence[float],
        hidden: int = 500,
        *,
        ordinal: float = 1.0,
        shared: bool = False,
        normalize: str | None = None,
        mean_count: float = 1.0,
        power: float = 1.0,
    ) -> None:
        super().__init__()
        self.ordinal = ordinal
        self.encoder = LevelEncoder(
            width,
            len(levels),
            hidden,
            shared=shared,
            normalize=normalize,
            mean_count=mean_count,
            power=power,
        )
        self.decoder = LevelDecoder(width, len(levels), hidden, shared=shared)
        self.register_buffer("levels", torch.tensor(list(levels), dtype=torch.get_default_dtype()))

    def start_at(self, rows: Rows) -> None:
        """Begin with the frequencies of the levels in each column, shifted as the row is.

        The first hidden unit starts as the mean deviation of the known ratings from the means of
        their columns, and raises or lowers all ratings. With random weights alone, learning this
        takes as many epochs as all the rest.
        """
        frequency = level_frequencies(rows, len(self.levels))
        self.decoder.start_at(frequency)
        levels = self.levels.double()
        deviation = levels - (frequency @ levels).unsqueeze(1)
        spread = (frequency * deviation.square()).sum(1).mean().sqrt().clamp(min=1e-6)
        encoder = self.encoder
        known = encoder.width if encoder.normalize == "rate" else float(encoder.mean_count)
        set_unit(encoder, deviation / spread / known)
        set_unit(self.decoder, ((levels - levels.mean()) / spread).expand_as(deviation))

    def code(self, known: Rows) -> Tensor:
        """Hidden layer (N, hidden) of rows of known ratings."""
        return self.encoder(known).tanh()

    def forward(self, known: Rows, cells: Rows) -> Tensor:
        """Expected ratings (nnz,) at the cells."""
        return expected_rating(self.decoder(self.code(known), cells), self.levels)

    def training_step(self, batch: Rows, phase: str = "main") -> Tensor:
        """Mean cost of a row under one random split."""
        known, targets, weight = split_at_random(batch)
        scores = self.decoder(self.code(known), targets)
        costs = rating_cost(scores, targets.values, self.ordinal)
        return costs.dot(weight.to(costs)) / max(batch.offsets.shape[0] - 1, 1)

    def validation_step(self, batch: tuple[Rows, Rows]) -> tuple[Tensor, Tensor]:
        """Sum of the squared errors, and their number."""
        known, cells = batch
        errors = self(known, cells) - self.levels[cells.values]
        return errors.square().sum(), torch.tensor(len(errors), device=errors.device)


def mean_known(counts: Tensor) -> float:
    """Mean number of known ratings of a row in training, at least 1.

    Of D ratings (D - 1) / 2 are known on average; rows without ratings do not train.
    """
    counts = counts[counts > 0].double()
    return max(float((counts - 1).mean()) / 2, 1.0) if len(counts) else 1.0


def split_at_random(rows: Rows) -> tuple[Rows, Rows, Tensor]:
    """Known ratings, ratings to predict, and the weight D / (D - d) of each of the latter."""
    counts, device = rows.counts(), rows.columns.device
    n, nnz = counts.shape[0], rows.columns.shape[0]
    known = (torch.rand(n, dtype=torch.float64, device=device) * counts).long()
    known = torch.minimum(known, (counts - 1).clamp(min=0))
    # A random order within each row: sort random numbers that start with the number of the row.
    key = rows.spread(torch.arange(n, device=device)) + torch.rand(
        nnz, dtype=torch.float64, device=device
    )
    place = torch.empty(nnz, dtype=torch.int64, device=device)
    place[key.argsort()] = torch.arange(nnz, device=device)
    is_known = place < rows.spread(rows.offsets[:-1] + known)
    targets = keep(rows, ~is_known)
    return keep(rows, is_known), targets, targets.spread(counts / (counts - known).clamp(min=1))
