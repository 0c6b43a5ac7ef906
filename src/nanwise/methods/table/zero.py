"""Zero filling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "zero",
    kind="treatment",
    role="baseline",
    summary="A gap is 0; on centred features that is the mean of the column.",
    paper="the baseline of Yi et al., ICLR 2020",
    when="As the thing to beat. The mean output moves with the number of values in a row; where "
    "rows differ much in that, prefer sparsity_norm.",
    sparse=True,
)
class Zero(Treatment):
    """Replace gaps by 0 and do nothing else."""

    sparse = True

    def layer(self, n_features: int) -> nn.Module:
        """Module that puts 0 into gaps."""
        from nanwise.nn.fill import Zero as Layer

        return Layer(n_features)
