"""Density of the inputs of a layer whose rows have gaps: a mixture, trained with the network."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nanwise.missing import Observed
from nanwise.nn.gaps import split
from nanwise.nn.neumiss import check_size, check_width, put

#: least variance of an observed cell: even a certain column has a density
LEAST_VARIANCE = 1e-8


class InputMixture(nn.Module):
    r"""Mixture :math:`\sum_i p_i N(\mu_i, diag(v_i))` over rows, all of it trainable.

    Given the observed cells J of a row, its component is i with probability

    .. math:: r_i \propto p_i \, N(x_J; \mu_{i,J}, v_{i,J} + \gamma)

    and its gaps are those of that component, independent of each other.

    Parameters
    ----------
    n_features, components : int
        D and K.
    gamma : float, default=1.0
        Where :math:`\gamma` starts: the larger, the less single cells decide about the component.

    Attributes
    ----------
    logits : Parameter, shape (K,)
        p is their softmax.
    means : Parameter, shape (K, D)
    variances : Parameter, shape (K, D)
        Used by their size, so that no step can make one negative.
    gamma : Parameter, a number
        Used by its size, too.
    homes : dict
        Weight decay leaves the mixture alone.
    """

    def __init__(
        self,
        n_features: int,
        components: int = 3,
        gamma: float = 1.0,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_size("n_features", n_features, 1)
        check_size("components", components, 1)
        if not 0 <= gamma < float("inf"):
            raise ValueError(f"gamma must be finite and at least 0, got {gamma!r}")
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.logits = nn.Parameter(torch.zeros(components, **made))
        self.means = nn.Parameter(torch.randn(components, n_features, **made))
        self.variances = nn.Parameter(torch.ones(components, n_features, **made))
        self.gamma = nn.Parameter(torch.tensor(float(gamma), **made))
        self.homes = dict.fromkeys(("logits", "means", "variances"))

    def set(self, weights: Any, means: Any, variances: Any) -> Self:
        """Take over a mixture: weights (K,), means and variances (K, D) as arrays."""
        weights, variances = np.asarray(weights, float), np.asarray(variances, float)
        if not (weights > 0).all() or not (variances >= 0).all():
            raise ValueError(
                "weights of a mixture must be above 0 and variances not below 0; the least are "
                f"{weights.min(initial=np.inf)} and {variances.min(initial=np.inf)}"
            )
        put("weights", self.logits, np.log(weights))
        put("means", self.means, means)
        put("variances", self.variances, variances)
        return self

    def fit(self, x: Tensor | Observed, observed: Tensor | None = None) -> Self:
        """Take over a mixture learnt from training rows (..., D) by EM over observed cells."""
        from nanwise.gaussian.mixture import fit_mixture

        components, n_features = self.means.shape
        values, present = split(x, observed)
        check_width("x", values, n_features)
        rows = values.detach().reshape(-1, n_features).double().cpu().numpy()
        there = (present > 0).reshape(-1, n_features).cpu().numpy()
        return self.set(*fit_mixture(rows, there, components).parameters)

    def spreads(self) -> Tensor:
        """Variances (K, D), not below 0."""
        return self.variances.abs()

    def forward(self, values: Tensor, present: Tensor) -> Tensor:
        """Logarithms (..., K) of the probabilities of the components.

        Parameters
        ----------
        values, present : Tensor, shape (..., D)
            As :func:`nanwise.nn.gaps.split` gives them.
        """
        spread = (self.spreads() + self.gamma.abs()).clamp_min(LEAST_VARIANCE)
        offs = (torch.addcmul(values, present, mean, value=-1) for mean in self.means)
        distance = torch.stack(
            [off.square() @ one for off, one in zip(offs, 1 / spread, strict=True)], dim=-1
        )
        known = self.logits - 0.5 * (distance + F.linear(present, spread.log()))
        # Where nothing is missing the components do not matter. What would reach the mixture from
        # there is rounding errors, which Adam would turn into steps.
        gappy = (present < 1).any(-1, keepdim=True)
        return torch.where(gappy, known, known.detach()).log_softmax(-1)

    def extra_repr(self) -> str:
        """Sizes, for ``repr``."""
        components, n_features = self.means.shape
        return f"n_features={n_features}, components={components}"
