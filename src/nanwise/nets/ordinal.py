"""The cost of a rating whose levels have an order: near misses are cheaper than wide ones."""

from __future__ import annotations

import torch
from torch import Tensor


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
    # The normaliser of p cancels, so the sums run over scores, in logarithms: nothing underflows.
    below = scores.logcumsumexp(1) - scores
    above = scores.flip(1).logcumsumexp(1).flip(1) - scores
    number = torch.arange(scores.shape[1], device=scores.device)
    true = level.unsqueeze(1)
    return torch.where(number <= true, below, 0).sum(1) + torch.where(number >= true, above, 0).sum(
        1
    )


def rating_cost(scores: Tensor, level: Tensor, ordinal: float = 1.0, floor: float = 0.0) -> Tensor:
    """Mix of :func:`ordinal_cost` (share ``ordinal``) and the negative log-likelihood, (n,)."""
    if ordinal == 1:
        return ordinal_cost(scores, level, floor)
    chosen = scores.log_softmax(1).gather(1, level.unsqueeze(1)).squeeze(1)
    if ordinal == 0:
        return -chosen
    return ordinal * ordinal_cost(scores, level, floor) - (1 - ordinal) * chosen


def expected_rating(scores: Tensor, levels: Tensor) -> Tensor:
    """Mean of the levels (K,) under the softmax of the scores (n, K), shape (n,)."""
    return scores.softmax(1) @ levels
