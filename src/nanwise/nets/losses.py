"""Losses that return a sum and a count, so that gaps in targets, batches and ranks add up.

Weights enter the sum only. They are expected to have a mean of 1 over all rows; dividing by the
weights of a batch instead would make a heavy row count for less the more heavy rows it meets.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def binary(output: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Logistic loss. Shapes: output (…, N, 1), target (N,) of 0/1, weight (N,)."""
    target = target.to(output.dtype).expand(output.shape[:-1])
    loss = F.binary_cross_entropy_with_logits(output[..., 0], target, reduction="none")
    return _total(loss, weight)


def categorical(output: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Softmax cross-entropy. Shapes: output (…, N, C), target (N,) of class numbers."""
    log_p = F.log_softmax(output, dim=-1)
    index = target.expand(output.shape[:-1]).unsqueeze(-1)
    return _total(-log_p.gather(-1, index)[..., 0], weight)


def squared(output: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Squared error over the targets that are there: NaN in ``target`` (N, K) is not scored."""
    there = target.isnan().logical_not()
    error = (output - target.masked_fill(~there, 0)) ** 2 * there
    count = there.sum().to(output.dtype) * (output.shape[0] if output.ndim == 3 else 1)
    if weight is not None:
        error = error * weight[:, None]
    return error.sum(), count


def _total(loss: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    count = loss.new_tensor(loss.numel())
    return (loss if weight is None else loss * weight).sum(), count
