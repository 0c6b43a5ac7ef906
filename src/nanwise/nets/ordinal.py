"""The cost of a rating whose levels have an order: near misses are cheaper than wide ones."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def ordinal_cost(scores: Tensor, level: Tensor, floor: float = 0.0) -> Tensor:
    r"""Cost of ranking the levels around the true one.

    From the true level downwards and upwards, each level should beat all that lie further out:

    .. math::

        -\sum_{j \le r} \log \frac{p_j}{\sum_{t \le j} p_t}
        -\sum_{j \ge r} \log \frac{p_j}{\sum_{t \ge j} p_t},
        \qquad p = \operatorname{softmax}(scores)

    Parameters
    ----------
    scores : Tensor, shape (n, levels)
        In ascending order of the levels.
    level : Tensor of int64, shape (n,)
        The number r of the true level, from 0.
    floor : float, default=0.0
        Added to every p, which bounds the cost of a level that was thought impossible.

    Returns
    -------
    Tensor, shape (n,)

    References
    ----------
    Zheng, Tang, Ding, Zhou (2016). A neural autoregressive approach to collaborative filtering.
    """
    if floor > 0:
        scores = (scores.softmax(1) + floor).log()
    # The normaliser of p cancels, so the cost is a function of the scores alone.
    return _OrdinalCost.apply(scores, level)


def rating_cost(scores: Tensor, level: Tensor, ordinal: float = 1.0, floor: float = 0.0) -> Tensor:
    """Mix of :func:`ordinal_cost` (share ``ordinal``) and the negative log-likelihood, (n,)."""
    if ordinal == 1:
        return ordinal_cost(scores, level, floor)
    chosen = scores.log_softmax(1).gather(1, level.unsqueeze(1)).squeeze(1)
    if ordinal == 0:
        return -chosen
    return ordinal * ordinal_cost(scores, level, floor) - (1 - ordinal) * chosen


def expected_rating(scores: Tensor, levels: Tensor) -> Tensor:
    """Mean of the levels (K,) under the softmax of the scores (..., K), shape (...,)."""
    return scores.softmax(-1) @ levels


class _OrdinalCost(torch.autograd.Function):
    """The cost and its gradient, level by level over all ratings at once.

    Sums run in logarithms, so nothing underflows, and both passes are linear in the number of
    levels. Autograd over ``logcumsumexp`` gives the same in several times the time.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, level: Tensor) -> Tensor:
        by_level = scores.t().contiguous()
        cost = scores.new_zeros(scores.shape[0])
        sums = []
        for order in _orders(len(by_level)):
            total = by_level[order[0]]
            for step, k in enumerate(order):
                total = torch.logaddexp(total, by_level[k]) if step else total
                cost += (total - by_level[k]) * _counts(order, k, level)
                sums.append(total)
        ctx.save_for_backward(by_level, level, torch.stack(sums))
        return cost

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        by_level, level, sums = ctx.saved_tensors
        slope = torch.zeros_like(by_level)
        n = len(by_level)
        for order, total in zip(_orders(n), sums.split(n), strict=True):
            ahead = torch.zeros_like(slope[0])
            for step in reversed(range(n)):
                k, counts = order[step], _counts(order, order[step], level)
                ahead += counts
                slope[k] += ahead * (by_level[k] - total[step]).exp() - counts
                if step:
                    ahead *= (total[step - 1] - total[step]).exp()
        return (slope * grads[0]).t(), None


def _orders(n: int) -> tuple[range, range]:
    """Levels upwards and downwards: the sum over all levels so far is what a level has to beat."""
    return range(n), range(n - 1, -1, -1)


def _counts(order: range, k: int, level: Tensor) -> Tensor:
    """1 where level ``k`` lies between the first of the order and the true one, else 0."""
    return (level >= k if order.step > 0 else level <= k).to(torch.int8)
