"""AutoRec: an autoencoder of sparse rows that answers at observed cells only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nanwise.nn.sparse import Pattern, sampled_mm, sampled_squared_error, sparse_mm

#: First weights, as a multiple of Glorot's: with small ones, columns with few ratings hardly
#: disturb the rest.
_SMALL = 0.1


class AutoRecNet(nn.Module):
    """``decode · sigmoid(norm(encode · row + hidden_bias)) + bias`` on rows with gaps.

    Weights lie column after column of the ratings, (width, hidden), so that a cell reads one run of
    memory; nothing of the size rows × width is ever made.

    Parameters
    ----------
    width : int
        Columns of the ratings.
    hidden : int
        Hidden units.
    norm : {None, "batch", "layer"}
        Normalisation of the hidden units before the sigmoid.
    smallest, largest : float
        Ends of the scale; validation clips to them, as predictions are clipped.

    Attributes
    ----------
    weight : float
        Blocks in an epoch over observed cells in all of them; set before training.
    excess : Tensor, shape (2,)
        Coefficients of ``½‖encode‖²`` and ``½‖decode‖²`` in the loss, beside the weight decay of
        the optimizer; 0 unless the two are to differ. A buffer, so that a checkpoint of other
        coefficients is not taken for this one.

    Notes
    -----
    The papers minimise the *sum* S of squared errors over all n observed cells plus
    ``λ/2 (‖encode‖² + ‖decode‖²)``. The loop works with means, so everything is divided by n:
    ``training_step`` is an unbiased estimate of S / n, and the gradient ``λ/n · weight`` of the
    second term comes from the optimizer's weight decay, which is part of its kernel and costs
    nothing. Biases are in ``homes``, which spares them from it.
    """

    excess: Tensor
    #: both matrices are large, and the gradient of one would wait for that of the other
    one_by_one = True

    def __init__(
        self,
        width: int,
        hidden: int,
        norm: str | None = None,
        smallest: float = float("-inf"),
        largest: float = float("inf"),
    ) -> None:
        super().__init__()
        self.encode = nn.Parameter(torch.empty(width, hidden))
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))
        self.decode = nn.Parameter(torch.empty(width, hidden))
        self.bias = nn.Parameter(torch.zeros(width))
        kinds: dict[str | None, Any] = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}
        self.norm = nn.Identity() if norm is None else kinds[norm](hidden)
        self.ends, self.weight = (smallest, largest), 1.0
        self.register_buffer("excess", torch.zeros(2))
        for matrix in (self.encode, self.decode):
            nn.init.xavier_uniform_(matrix, gain=_SMALL)

    @property
    def homes(self) -> dict[str, None]:
        """Parameters without weight decay."""
        free = [
            "hidden_bias",
            "bias",
            *(f"norm.{name}" for name, _ in self.norm.named_parameters()),
        ]
        return dict.fromkeys(free)

    def hidden(self, pattern: Pattern, inputs: Tensor) -> Tensor:
        """Hidden units of rows (N, hidden); ``inputs`` are the values at the observed cells."""
        # in place: nobody needs the numbers before the sigmoid, and there are rows × hidden of them
        return self.sums(pattern, inputs).sigmoid_()

    def sums(self, pattern: Pattern, inputs: Tensor) -> Tensor:
        """What goes into the sigmoid, (N, hidden); nobody else holds it."""
        return self.norm(sparse_mm(pattern, inputs, self.encode).add_(self.hidden_bias))

    def forward(self, pattern: Pattern, inputs: Tensor, asked: Pattern) -> Tensor:
        """Answers at the cells ``asked`` of the same rows."""
        at = self.bias.index_select(0, asked.columns)
        return sampled_mm(asked, self.hidden(pattern, inputs), self.decode) + at

    def training_step(self, batch: Sequence[Any], phase: str = "main") -> Tensor:
        """Squared errors of some blocks, scaled so that the mean over all blocks is S / n."""
        total = torch.zeros((), dtype=self.bias.dtype, device=self.bias.device)
        for block in batch:
            total = total + self.squared_error(block)
        loss = total * (self.weight / len(batch))
        for matrix, coefficient in zip((self.encode, self.decode), self.excess, strict=True):
            if float(coefficient):
                loss = loss + 0.5 * coefficient * matrix.square().sum()
        return loss

    def squared_error(self, block: Any) -> Tensor:
        """Sum of the squared errors at the observed cells of a block."""
        sums = self.sums(block.pattern, block.inputs)
        return sampled_squared_error(
            block.pattern, block.targets, sums, self.decode, self.bias, sigmoid=True
        )

    def validation_step(self, batch: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Squared errors of clipped answers at the cells asked for, and how many they are."""
        total = torch.zeros((), dtype=self.bias.dtype, device=self.bias.device)
        for block in batch:
            answers = self(block.pattern, block.inputs, block.asked).clamp(*self.ends)
            total = total + (answers - block.answers).square().sum()
        return total, torch.tensor(sum(block.asked.nnz for block in batch))
