"""Values and a column of ones where there is a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "observation_indicator",
    kind="treatment",
    summary="Gaps are 0; one more feature per column is 1 where there is a value.",
    paper="Yi et al. 2019 (draft of the ICLR 2020 paper), App. C.2",
    when="Like missing_indicator. The two span the same functions, but here rows with more "
    "values have larger inputs, which the draft found to train worse when rows differ "
    "much.",
)
class ObservationIndicator(Treatment):
    """Zero-filled values beside an indicator that is 1 where there is a value."""

    def layer(self, n_features: int) -> nn.Module:
        """Module with twice as many outputs as features."""
        from nanwise.nn.fill import Indicator as Layer

        return Layer("observed", n_features)
