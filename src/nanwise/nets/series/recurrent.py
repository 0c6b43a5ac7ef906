"""A plain recurrent network behind a layer that closes gaps."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from nanwise.missing import Observed

#: what ``cell`` may be
CELLS = ("lstm", "gru")


class Recurrent(nn.Module):
    """The state of one recurrent layer at the end of each sequence.

    Parameters
    ----------
    layer : Module
        Leaves no gap: (N, T, D) in, (N, T, ``layer.out_features``) out.
    units : int
        Width of the state.
    cell : {"lstm", "gru"}

    Notes
    -----
    torch multiplies the input of all steps by the input weights at once; what is left for each step
    is the product with the state. Sequences of different lengths are packed, so that nothing is
    computed behind an end. A step without any value is a step all the same: the state moves on.
    """

    def __init__(self, layer: nn.Module, units: int, cell: str = "lstm") -> None:
        super().__init__()
        kind = {"lstm": nn.LSTM, "gru": nn.GRU}[cell]
        self.layer = layer
        self.rnn: nn.RNNBase = kind(layer.out_features, units, batch_first=True)

    def forward(self, values: Tensor, observed: Tensor, lengths: Tensor | None = None) -> Tensor:
        """State (N, units) after the last step.

        Parameters
        ----------
        values : Tensor, shape (N, T, D)
            0 in gaps and behind the end of a sequence.
        observed : Tensor of bool, shape (N, T, D)
        lengths : Tensor of int, shape (N,), optional
            Steps of each sequence; None: all have T.
        """
        x = self.layer(Observed(values, observed))
        if lengths is not None:
            x = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, state = self.rnn(x)
        return (state[0] if isinstance(state, tuple) else state)[0]
