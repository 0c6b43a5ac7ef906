"""Generalised radial basis functions: the first layer answers by its expectation over the gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanwise.estimators.mixture_treatment import MixtureTreatment
from nanwise.registry import method

if TYPE_CHECKING:
    from torch import nn


@method(
    "gmmc_rbf",
    kind="treatment",
    summary="Radial basis functions give their expected answer over a mixture of normal "
    "distributions in the gaps, trained together with the network.",
    paper="Śmieja, Struski, Tabor, Zieliński, Spurek: Processing of missing data by neural "
    "networks, NeurIPS 2018",
    when="Few columns and smooth borders between classes. With many columns distances say little, "
    "and gmmc is the better choice.",
    space={"components": [1, 3, 5], "units": [25, 50, 100]},
    tiny={"units": 8, "components": 2},
)
class GmmcRbf(MixtureTreatment):
    """A layer of radial basis functions in front of the network that takes rows with gaps.

    See :class:`nanwise.nn.GaussianRBF`; what it gives adds up to 1. With ``hidden=()`` behind it
    the network is the published one.

    Parameters
    ----------
    units : int, default=50
        Number of radial basis functions.
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

    def __init__(self, units: int = 50, components: int = 3, gamma: float = 1.0):
        self.units = units
        self.components = components
        self.gamma = gamma

    def layer(self, n_features: int) -> nn.Module:
        """Layer of radial basis functions, centres drawn from the mixture, to be trained."""
        from nanwise.nn import GaussianRBF

        return self._started(GaussianRBF, n_features)
