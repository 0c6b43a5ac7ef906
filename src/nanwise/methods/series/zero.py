"""Zero filling of series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanwise.estimators.series.treatment import SeriesTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "zero",
    kind="treatment",
    inputs="series",
    role="baseline",
    summary="A gap is 0; on standardised variables that is the mean.",
    paper="the baseline of Yi et al., ICLR 2020, Table 6",
    when="As the thing to beat. A prediction may move with the number of values alone.",
)
class ZeroSeries(SeriesTreatment):
    """Replace gaps by 0 and do nothing else."""

    def layer(self, n_features: int) -> nn.Module:
        """Module that puts 0 into gaps."""
        from nanwise.nn.fill import Zero

        return Zero(n_features)
