"""Zero filling and batch normalisation after the first affine layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "batch_norm",
    kind="treatment",
    summary="Gaps are 0; batch normalisation follows the first affine layer only.",
    paper="Ioffe and Szegedy, ICML 2015; as a baseline in App. H of Yi et al., ICLR 2020",
    when="To separate what normalising hidden units does from what counting observed values "
    "does; rarely the best choice for gaps.",
    sparse=True,
)
class BatchNorm(Treatment):
    """Zero filling with batch normalisation of the first pre-activations."""

    sparse = True

    def layer(self, n_features: int) -> nn.Module:
        """Module that puts 0 into gaps."""
        from nanwise.nn.fill import Zero as Layer

        return Layer(n_features)

    def norm(self, width: int) -> nn.Module:
        """Batch normalisation of ``width`` units."""
        from torch import nn

        return nn.BatchNorm1d(width)
