"""AutoRec whose hidden units are ReLU and answer by their expectation over the gaps."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from nanwise.nets.autorec import AutoRecNet
from nanwise.nn.gaussian_input import expected_relu
from nanwise.nn.input_mixture import LEAST_VARIANCE
from nanwise.nn.sparse import Pattern, sampled_squared_error, sparse_mm


class GaussianAutoRecNet(AutoRecNet):
    r"""``decode · E[relu(encode · row + hidden_bias)] + bias``, gaps drawn from a mixture.

    What :class:`nanwise.nn.GaussianInput` computes, for rows of which nearly all cells are
    missing: a sum over gaps is the sum over all columns, one vector for all rows, less a sparse
    product over the observed cells. Nothing of the size rows × width is made.

    Parameters
    ----------
    width, hidden : int
    components : int
        Of the mixture.
    gamma : float
        See :class:`nanwise.nn.InputMixture`.
    smallest, largest : float
        Ends of the scale.

    Attributes
    ----------
    logits : Parameter, shape (K,)
    means, variances : Parameter, shape (width, K)
        The mixture, see :class:`nanwise.nn.InputMixture`; a row per column of the ratings, as in
        the other weights.
    gamma : Parameter, a number
    """

    def __init__(
        self,
        width: int,
        hidden: int,
        components: int,
        gamma: float = 1.0,
        smallest: float = float("-inf"),
        largest: float = float("inf"),
    ) -> None:
        super().__init__(width, hidden, None, smallest, largest)
        self.logits = nn.Parameter(torch.zeros(components))
        self.means = nn.Parameter(torch.zeros(width, components))
        self.variances = nn.Parameter(torch.ones(width, components))
        self.gamma = nn.Parameter(torch.tensor(float(gamma)))

    @property
    def homes(self) -> dict[str, None]:
        """Parameters without weight decay."""
        return {**super().homes, **dict.fromkeys(("logits", "means", "variances"))}

    def chances(self, pattern: Pattern, inputs: Tensor) -> Tensor:
        """Probabilities (N, K) of the components given the observed cells."""
        spread = (self.variances.abs() + self.gamma.abs()).clamp_min(LEAST_VARIANCE)
        ones = inputs.new_ones(pattern.width, 1)
        distances = []
        for mean, width in zip(self.means.T, spread.T, strict=True):
            width = width.index_select(0, pattern.columns)
            off = inputs - mean.index_select(0, pattern.columns)
            distances.append(sparse_mm(pattern, off.square() / width + width.log(), ones))
        return (self.logits - 0.5 * torch.cat(distances, dim=1)).softmax(-1)

    def hidden(self, pattern: Pattern, inputs: Tensor) -> Tensor:
        """Expected hidden units of rows (N, hidden)."""
        squared, total = self.encode.square(), torch.zeros((), device=inputs.device)
        parts = zip(self.chances(pattern, inputs).T, self.means.T, self.variances.T, strict=True)
        for chance, mean, variance in parts:
            off = inputs - mean.index_select(0, pattern.columns)
            sums = sparse_mm(pattern, off, self.encode) + (mean @ self.encode + self.hidden_bias)
            variance = variance.abs()
            known = sparse_mm(pattern, variance.index_select(0, pattern.columns), squared)
            # rounding may leave a little below 0 where all is known, which counts as certain
            total = total + chance[:, None] * expected_relu(sums, variance @ squared - known)
        return total

    def squared_error(self, block: Any) -> Tensor:
        """Sum of the squared errors at the observed cells of a block."""
        hidden = self.hidden(block.pattern, block.inputs)
        return sampled_squared_error(block.pattern, block.targets, hidden, self.decode, self.bias)
