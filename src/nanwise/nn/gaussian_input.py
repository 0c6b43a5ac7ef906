"""First layers that answer rows with gaps by the expected answer over what the gaps may hold."""

from __future__ import annotations

import math
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nanwise.missing import Observed
from nanwise.nn.gaps import split
from nanwise.nn.input_mixture import InputMixture
from nanwise.nn.neumiss import check_size, check_width

#: variance below which a unit counts as certain; its expected ReLU is off by less than 4e-7 there
_CERTAIN = 1e-12
_LOG_TWO_PI = math.log(2 * math.pi)


class GaussianInput(nn.Linear):
    r"""Expected answer of ``nn.Linear`` and ReLU to rows with gaps.

    Gaps hold a mixture of normal distributions with independent columns, see
    :class:`InputMixture`, with probabilities :math:`r_i` given the observed cells. With the means
    of component i in the gaps of :math:`\tilde x_i` and the sum over gaps j:

    .. math::

        m_i &= w \tilde x_i + b, \qquad s_i^2 = \sum_j w_j^2 v_{ij}   \\
        y   &= \sum_i r_i [m_i \Phi(m_i / s_i) + s_i \, \varphi(m_i / s_i)]

    A drop-in for the first affine layer *and the ReLU behind it*. Without a gap it is just these
    two, and where :math:`s_i = 0` the bracket is :math:`\max(0, m_i)`. Gradients reach weights and
    mixture.

    Parameters
    ----------
    in_features, out_features : int
        Widths.
    components : int, default=3
        Of the mixture.
    gamma : float, default=1.0
        See :class:`InputMixture`.
    bias : bool, default=True
        Whether to add one.

    Attributes
    ----------
    mixture : InputMixture
        Standard normal components around random centres until :meth:`fit` is called.

    Notes
    -----
    Rows meet the mixture through their gaps only: two products of (N, D) with (D, K out), nothing
    of the size N x K x D x out.

    References
    ----------
    Śmieja, Struski, Tabor, Zieliński, Spurek (2018). Processing of missing data by neural networks.
    NeurIPS.

    Examples
    --------
    >>> import torch
    >>> from nanwise.nn import GaussianInput
    >>> x = torch.randn(100, 20)
    >>> x[torch.rand(100, 20) < 0.3] = torch.nan
    >>> GaussianInput(20, 64).fit(x)(x).shape
    torch.Size([100, 64])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        components: int = 3,
        gamma: float = 1.0,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_size("in_features", in_features, 1)
        check_size("out_features", out_features, 1)
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.mixture = InputMixture(in_features, components, gamma, device=device, dtype=dtype)

    def set_mixture(self, weights: Any, means: Any, variances: Any) -> Self:
        """Take over a mixture: weights (K,), means and variances (K, D) as arrays."""
        self.mixture.set(weights, means, variances)
        return self

    def fit(self, x: Tensor | Observed, observed: Tensor | None = None) -> Self:
        """Learn the mixture from training rows (..., D) by a short EM over observed cells."""
        self.mixture.fit(x, observed)
        return self

    def forward(self, x: Tensor | Observed, observed: Tensor | None = None) -> Tensor:
        """Expected activations (..., out_features), not negative."""
        values, present = split(x, observed)
        check_width("x", values, self.in_features)
        mixture, missing = self.mixture, 1 - present
        filled = _linear_each(missing, mixture.means[:, None] * self.weight)
        mean = F.linear(values, self.weight, self.bias).unsqueeze(-2) + filled
        variance = _linear_each(missing, mixture.spreads()[:, None] * self.weight.square())
        chance = mixture(values, present).exp().unsqueeze(-1)
        return (chance * expected_relu(mean, variance)).sum(-2)

    def extra_repr(self) -> str:
        """Arguments, for ``repr``."""
        return f"{super().extra_repr()}, components={len(self.mixture.logits)}"


class GaussianRBF(nn.Module):
    r"""Radial basis functions whose answer to rows with gaps is their expected answer.

    A unit is the density :math:`N(x; c, diag(g))`. With the mixture of :class:`GaussianInput` in
    the gaps its expected value is again a density:

    .. math:: y = \sum_i r_i \, N(\tilde x_i; c, diag(g + v_i \odot missing))

    Parameters
    ----------
    in_features, out_features : int
        Widths.
    components : int, default=3
        Of the mixture.
    gamma : float, default=1.0
        See :class:`InputMixture`.
    normalize : bool, default=True
        Divide by the sum over all units, as published. Densities of many features are too large or
        too small for a network.

    Attributes
    ----------
    centres : Parameter, shape (out_features, in_features)
    log_widths : Parameter, shape (out_features, in_features)
        Logarithms of g.
    mixture : InputMixture

    References
    ----------
    Śmieja, Struski, Tabor, Zieliński, Spurek (2018). Processing of missing data by neural networks.
    NeurIPS.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        components: int = 3,
        gamma: float = 1.0,
        normalize: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_size("in_features", in_features, 1)
        check_size("out_features", out_features, 1)
        self.in_features, self.out_features, self.normalize = in_features, out_features, normalize
        self.mixture = InputMixture(in_features, components, gamma, device=device, dtype=dtype)
        shape = (out_features, in_features)
        self.centres = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.log_widths = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        # places and scales, not slopes: 0 is no better home for them than any other number
        self.homes = dict.fromkeys(("centres", "log_widths"))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        r"""Draw the centres from the mixture; widths are :math:`\sqrt D` times its variances.

        Squared distances between rows of D features vary by about :math:`\sqrt D` of them.
        """
        p = self.mixture.logits.softmax(-1)
        means, spreads = self.mixture.means, self.mixture.spreads()
        drawn = torch.multinomial(p, self.out_features, replacement=True)
        noise = torch.randn_like(self.centres) * spreads[drawn].sqrt()
        self.centres.copy_(means[drawn] + noise)
        variance = p @ (spreads + (means - p @ means).square())
        width = torch.where(variance > 0, variance, 1.0) * math.sqrt(self.in_features)
        self.log_widths.copy_(width.log().expand_as(self.log_widths))

    def set_mixture(self, weights: Any, means: Any, variances: Any) -> Self:
        """Take over a mixture (see :meth:`GaussianInput.set_mixture`) and begin anew from it."""
        self.mixture.set(weights, means, variances)
        self.reset_parameters()
        return self

    def fit(self, x: Tensor | Observed, observed: Tensor | None = None) -> Self:
        """Learn the mixture from training rows (..., D) and begin anew from it."""
        self.mixture.fit(x, observed)
        self.reset_parameters()
        return self

    def forward(self, x: Tensor | Observed, observed: Tensor | None = None) -> Tensor:
        """Expected densities (..., out_features), or their shares of the sum over units."""
        values, present = split(x, observed)
        check_width("x", values, self.in_features)
        density = self._at_values(values, present).unsqueeze(-2) + self._in_gaps(1 - present)
        chance = self.mixture(values, present).unsqueeze(-1)
        total = (chance + density).logsumexp(-2)
        if self.normalize:
            return total.softmax(-1)
        return (total - 0.5 * self.in_features * _LOG_TWO_PI).exp()

    def _at_values(self, values: Tensor, present: Tensor) -> Tensor:
        """Logarithm (..., out) of the part of the density that observed cells have, without 2π."""
        # seen from the middle of the centres: squares of columns far from 0 would cancel badly
        middle = self.centres.detach().mean(0)
        values, centres = torch.addcmul(values, present, middle, value=-1), self.centres - middle
        narrow = (-self.log_widths).exp()
        scaled = centres * narrow
        constant = centres * scaled + self.log_widths
        distance = F.linear(values.square(), narrow) - 2 * F.linear(values, scaled)
        return -0.5 * (distance + F.linear(present, constant))

    def _in_gaps(self, missing: Tensor) -> Tensor:
        """The same for gaps, (..., K, out): those of a component are as wide as both together."""
        width = self.log_widths.exp() + self.mixture.spreads()[:, None]
        off = self.mixture.means[:, None] - self.centres
        return -0.5 * _linear_each(missing, off.square() / width + width.log())

    def extra_repr(self) -> str:
        """Arguments, for ``repr``."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"components={len(self.mixture.logits)}, normalize={self.normalize}"
        )


def expected_relu(mean: Tensor, variance: Tensor) -> Tensor:
    """E max(0, z) of normal z; max(0, mean) where the variance is 0.

    Gradients are numbers everywhere: a certain z has none in its variance.
    """
    certain = variance < _CERTAIN
    # the branch not taken must not divide by 0 either, or its gradient is NaN
    sd = torch.where(certain, 1.0, variance).sqrt()
    u = mean / sd
    bell = torch.exp(-0.5 * (u.square() + _LOG_TWO_PI))
    # not ndtr, which is 1 + erf: far below 0 nothing is left of that but rounding, of either sign
    above = 0.5 * torch.erfc(u * -math.sqrt(0.5))
    # denormal numbers may still end a little below 0
    return torch.where(certain, mean.relu(), (mean * above + sd * bell).clamp_min(0))


def _linear_each(x: Tensor, weights: Tensor) -> Tensor:
    """Products of x (..., D) with each of K matrices (K, out, D), as (..., K, out)."""
    return F.linear(x, weights.flatten(0, 1)).unflatten(-1, weights.shape[:2])
