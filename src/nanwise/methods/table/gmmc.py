"""Generalised ReLU neurons: the first layer answers by its expectation over the gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanwise.estimators.mixture_treatment import MixtureTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "gmmc",
    kind="treatment",
    summary="The first ReLU layer gives its expected answer over a mixture of normal "
    "distributions in the gaps, trained together with the network.",
    paper="Śmieja, Struski, Tabor, Zieliński, Spurek: Processing of missing data by neural "
    "networks, NeurIPS 2018",
    when="Where a gap should count as uncertain and not as one value, and rows fall into a few "
    "groups. Within a group columns are taken as independent. With three components the first "
    "layer takes seven products where a plain one takes one.",
    space={"components": [1, 3, 5], "units": [64, 256]},
    tiny={"units": 8, "components": 2},
)
class Gmmc(MixtureTreatment):
    """A hidden layer of ReLU units in front of the network that takes rows with gaps.

    See :class:`nanwise.nn.GaussianInput`. It comes before the layers of ``hidden``: a network of
    two hidden layers has ``hidden=(256,)``.

    Parameters
    ----------
    units : int, default=256
        Width of the layer.
    components : int, default=3
        Number of components of the mixture.
    gamma : float, default=1.0
        Variance added to every observed cell when a row is assigned to components; trained, this
        is its start.

    Attributes
    ----------
    weights_ : ndarray of shape (components,)
    means_, variances_ : ndarray of shape (components, n_features)
        The mixture with which training starts: EM over the observed cells of at most 20,000
        training rows.
    """

    def __init__(self, units: int = 256, components: int = 3, gamma: float = 1.0):
        self.units = units
        self.components = components
        self.gamma = gamma

    def layer(self, n_features: int) -> nn.Module:
        """Layer of ReLU units, to be trained; its weights are drawn from torch's generator."""
        from nanwise.nn import GaussianInput

        return self._started(GaussianInput, n_features)
