"""CF-UIcA: a rating predicted from the user's other ratings and the item's other ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nanwise.nets.levels import LevelDecoder, LevelEncoder, keep, level_frequencies
from nanwise.nets.ordinal import expected_rating, rating_cost
from nanwise.nn.sparse import Rows

#: the smallest share of users, and of items, that is known or to predict in a step
_LEAST = 0.2
#: added to probabilities inside the logarithms of the cost
_FLOOR = 1e-4


class Both(NamedTuple):
    """The same ratings, as level numbers, user by user and item by item."""

    users: Rows
    items: Rows


class CFUIcANet(nn.Module):
    r"""Two codes, one of the user's ratings and one of the item's, and the sum of their scores.

    .. math::

        h_u = \tanh\Big(c + \sum_v W_{v, r_{uv}}\Big), \quad
        g_v = \tanh\Big(d + \sum_u X_{u, r_{uv}}\Big), \quad
        p(r_{uv} = k) = \operatorname{softmax}_k
            (b_{v, k} + V_{v, k} \cdot h_u + a_{u, k} + Y_{u, k} \cdot g_v)

    In training each step predicts a random block of users and items from ratings outside of it. Of
    these a random share is dropped, without rescaling, so that a step sees what a random order of
    users and items would have shown before the block.

    Parameters
    ----------
    n_users, n_items : int
    levels : sequence of float
        The ratings there are, ascending.
    hidden : int, default=500
        Length of each of the two codes.
    ordinal : float, default=1.0
        Share of the ordinal cost; the rest is the negative log-likelihood.
    shared : bool, default=True
        Weights shared by the levels (see :class:`nanwise.nets.levels.LevelEncoder`).
    normalize, power
        See :class:`nanwise.nets.levels.LevelEncoder`.
    mean_counts : (float, float), default=(1.0, 1.0)
        The K of ``normalize`` for user and item codes: mean numbers of ratings that are left in
        training, :func:`mean_left`.
    block : int, default=1000
        Largest number of users, and of items, to predict in a step.

    Notes
    -----
    A batch holds all ratings (:class:`Both`), for validation a pair of these and the cells to
    predict, user by user. The block is drawn from torch's own generator, which the training loop
    seeds.

    References
    ----------
    Du, Li, Zhu, Zhang (2018). Collaborative filtering with user-item co-autoregressive models.
    """

    levels: Tensor

    def __init__(
        self,
        n_users: int,
        n_items: int,
        levels: Sequence[float],
        hidden: int = 500,
        *,
        ordinal: float = 1.0,
        shared: bool = True,
        normalize: str | None = None,
        mean_counts: tuple[float, float] = (1.0, 1.0),
        power: float = 1.0,
        block: int = 1000,
    ) -> None:
        super().__init__()
        self.ordinal, self.block = ordinal, block
        norm: dict[str, Any] = {"shared": shared, "normalize": normalize, "power": power}
        widths, n = (n_items, n_users), len(levels)
        self.user_encoder, self.item_encoder = (
            LevelEncoder(width, n, hidden, mean_count=mean, **norm)
            for width, mean in zip(widths, mean_counts, strict=True)
        )
        self.user_decoder, self.item_decoder = (
            LevelDecoder(width, n, hidden, shared=shared) for width in widths
        )
        self.register_buffer("levels", torch.tensor(list(levels), dtype=torch.get_default_dtype()))

    def start_at(self, known: Both) -> None:
        """Begin with the levels' frequencies of each item, times what is peculiar to each user."""
        n = len(self.levels)
        overall = torch.bincount(known.users.values, minlength=n).double() + 1
        self.user_decoder.start_at(level_frequencies(known.users, n))
        peculiar = level_frequencies(known.items, n) / (overall / overall.sum())
        self.item_decoder.start_at(peculiar)

    def codes(self, known: Both) -> tuple[Tensor, Tensor]:
        """Codes of users and of items, given their known ratings."""
        return self.user_encoder(known.users).tanh(), self.item_encoder(known.items).tanh()

    def scores(self, codes: tuple[Tensor, Tensor], cells: Both, across: Tensor) -> Tensor:
        """Scores (nnz, levels) at the cells, user by user.

        ``across`` holds the place of each of them among the cells item by item.
        """
        of_users, of_items = codes
        by_item = self.item_decoder(of_items, cells.items)
        return self.user_decoder(of_users, cells.users) + by_item.index_select(0, across)

    def forward(self, known: Both, cells: Rows) -> Tensor:
        """Expected ratings (nnz,) at cells given user by user."""
        n_users = known.items.width
        both, across = turn(cells, torch.arange(n_users, device=cells.columns.device), n_users)
        return expected_rating(self.scores(self.codes(known), both, across), self.levels)

    def training_step(self, batch: Both, phase: str = "main") -> Tensor:
        """Mean cost of the ratings in a random block."""
        known, cells, across = self.draw(batch)
        scores = self.scores(self.codes(known), cells, across)
        costs = rating_cost(scores, cells.users.values, self.ordinal, _FLOOR)
        return costs.sum() / max(len(costs), 1)

    def validation_step(self, batch: tuple[Both, Rows]) -> tuple[Tensor, Tensor]:
        """Sum of the squared errors, and their number."""
        known, cells = batch
        errors = self(known, cells) - self.levels[cells.values]
        return errors.square().sum(), torch.tensor(len(errors), device=errors.device)

    def draw(self, batch: Both) -> tuple[Both, Both, Tensor]:
        """Known ratings and ratings to predict of a random block, and the way across."""
        device = batch.users.columns.device
        n_users, n_items = batch.items.width, batch.users.width
        users, users_before = _some(n_users, self.block, device)
        items, items_before = _some(n_items, self.block, device)
        by_user, by_item = batch.users.take(users), batch.items.take(items)
        user_hit = _place(items, n_items)[by_user.columns] >= 0
        item_hit = _place(users, n_users)[by_item.columns] >= 0
        known = Both(
            keep(by_user, ~user_hit & _chance(user_hit, items_before, n_items - len(items))),
            keep(by_item, ~item_hit & _chance(item_hit, users_before, n_users - len(users))),
        )
        cells = Both(keep(by_user, user_hit), keep(by_item, item_hit))
        return known, cells, _across(cells, users, items)


def mean_left(counts: Tensor, n_columns: int, block: int = 1000) -> float:
    """Mean number of ratings of a row that are left as known in training, at least 1.

    A block that comes after ``i`` of ``n`` columns leaves each rating with probability i / n,
    whether it is in the block or dropped; this is the mean over the ``i`` that are drawn.
    """
    low, high = _bounds(n_columns, block)
    share = (low + high - 1) / 2 / max(n_columns, 1)
    counts = counts[counts > 0].double()
    return max(float(counts.mean()) * share, 1.0) if len(counts) else 1.0


def turn(cells: Rows, users: Tensor, n_users: int) -> tuple[Both, Tensor]:
    """Cells user by user as :class:`Both`, and where each is among the cells item by item.

    Row ``i`` of ``cells`` is user ``users[i]`` of ``n_users``.
    """
    order = cells.columns.argsort(stable=True)
    sizes = torch.bincount(cells.columns, minlength=cells.width)
    offsets = nn.functional.pad(sizes.cumsum(0), (1, 0))
    by_item = Rows(cells.values[order], cells.spread(users)[order], offsets, n_users)
    return Both(cells, by_item), _inverse(order)


def _bounds(n: int, block: int) -> tuple[int, int]:
    """How many come before the block: at least the first number, less than the second."""
    least = int(_LEAST * n)
    return least, n - min(least, block)


def _some(n: int, block: int, device: Any) -> tuple[Tensor, int]:
    """A random block of 0..n-1, and how many come before it in the random order."""
    low, high = _bounds(n, block)
    before = int(torch.randint(low, high, ()))
    return torch.randperm(n, device=device)[: min(block, n - before)], before


def _place(chosen: Tensor, n: int) -> Tensor:
    """The place of each of 0..n-1 among the chosen, -1 for those that are not."""
    place = torch.full((n,), -1, device=chosen.device)
    place[chosen] = torch.arange(len(chosen), device=chosen.device)
    return place


def _chance(like: Tensor, before: int, outside: int) -> Tensor:
    """True with probability before / outside, for each cell."""
    draw = torch.rand(len(like), device=like.device)
    return draw < (before / outside if outside else 0.0)


def _across(cells: Both, users: Tensor, items: Tensor) -> Tensor:
    """Where each cell, user by user, is among the same cells item by item."""
    by_user, by_item = cells
    own, other = _numbers(by_user), _numbers(by_item)
    user_of = _place(users, by_item.width)[by_item.columns]
    item_of = _place(items, by_user.width)[by_user.columns]
    here = (own * len(items) + item_of).argsort()
    there = (user_of * len(items) + other).argsort()
    return there[_inverse(here)]


def _inverse(order: Tensor) -> Tensor:
    """The permutation that undoes another."""
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(len(order), device=order.device)
    return inverse


def _numbers(rows: Rows) -> Tensor:
    """The number of the row of each cell."""
    return rows.spread(torch.arange(rows.offsets.shape[0] - 1, device=rows.columns.device))
