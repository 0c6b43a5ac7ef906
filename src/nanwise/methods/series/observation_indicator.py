"""Values of a series and where they are, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanwise.estimators.series.treatment import SeriesTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "observation_indicator",
    kind="treatment",
    inputs="series",
    role="rival",
    summary="Gaps are 0; one more input per variable is 1 where there is a value.",
    paper="the first layer of Yi et al. 2019 (draft), App. C.2, at every time step",
    when="Where it tells something that a value was measured at all, and will go on telling it: "
    "predictions then follow how often somebody measures.",
)
class ObservationIndicatorSeries(SeriesTreatment):
    """Zero-filled values beside an indicator that is 1 where there is a value."""

    def layer(self, n_features: int) -> nn.Module:
        """Module with twice as many outputs as variables."""
        from nanwise.nn.fill import Indicator

        return Indicator("observed", n_features)
