"""Values and a column of ones where a value is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanwise.estimators.treatment import Treatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "missing_indicator",
    kind="treatment",
    summary="Gaps are 0; one more feature per column is 1 where a value is missing.",
    paper="Yi et al. 2019 (draft of the ICLR 2020 paper), App. C.2; an old device of statistics",
    when="Where being missing tells something about the target. The first layer doubles; with "
    "gaps at random the extra weights only add noise.",
)
class MissingIndicator(Treatment):
    """Zero-filled values beside an indicator that is 1 where a value is missing."""

    def layer(self, n_features: int) -> nn.Module:
        """Module with twice as many outputs as features."""
        from nanwise.nn.fill import Indicator as Layer

        return Layer("missing", n_features)
