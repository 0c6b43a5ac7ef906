"""Dropout that knows how many units it dropped."""

from __future__ import annotations

from torch import Tensor, nn

from nanwise.missing import Observed
from nanwise.nn import functional


class SNDropout(nn.Module):
    r"""Dropout with the exact count: :math:`h \odot m \cdot n / \|m\|_1` over the last axis.

    Inverted dropout divides by the *expected* share ``1 - p``; the size of what comes out then
    varies with the number of units that happened to survive. Here it does not. A vector of which
    nothing survives is 0; in evaluation the layer is the identity.

    Parameters
    ----------
    p : float, default=0.5
        Probability with which a unit is dropped, below 1.

    Notes
    -----
    For hidden activations: a NaN is no gap here but is passed on, so that a network that diverges
    is noticed. Gaps are told by ``observed``; they become 0, and only observed units are counted.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        functional.check_drop_rate(p)
        self.p = p

    def forward(self, x: Tensor | Observed, observed: Tensor | None = None) -> Tensor:
        """Same shape as ``x``."""
        return functional.sn_dropout(x, self.p, self.training, observed=observed)

    def extra_repr(self) -> str:
        """Arguments, for ``repr``."""
        return f"p={self.p}"
