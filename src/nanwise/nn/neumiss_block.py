"""NeuMiss with one shared matrix, as a layer in front of any network."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nanwise.missing import Observed
from nanwise.nn.gaps import split
from nanwise.nn.neumann import spectral_norm
from nanwise.nn.neumiss import check_size, check_width, put


class NeuMissBlock(nn.Module):
    r"""Learnt Neumann iteration on the observed part of a row.

    With the values x (0 in gaps) and o = 1 where there is a value and 0 in gaps:

    .. math::

        r = x - o \odot \mu, \qquad h_0 = r, \qquad h_k = (W h_{k-1}) \odot o + r.

    This is no imputer: what it gives is **exactly 0 in gaps**. It turns the observed values into
    something from which the next affine layer can make every conditional expectation.

    Parameters
    ----------
    n_features : int
        Number of features D; also ``out_features``.
    depth : int, default=10
        Number of steps, at least 0.

    Attributes
    ----------
    mean : Parameter, shape (D,)
        :math:`\mu`.
    weight : Parameter, shape (D, D), or None if ``depth`` is 0
        W, shared by all steps; the convention of ``nn.Linear``.

    References
    ----------
    Le Morvan, Josse, Scornet, Varoquaux (2021). What's a good imputation to predict with missing
    values? NeurIPS.
    """

    weight: nn.Parameter | None

    def __init__(
        self,
        n_features: int,
        depth: int = 10,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_size("n_features", n_features, 1)
        check_size("depth", depth, 0)
        self.out_features = n_features
        self.depth = depth
        self.mean = nn.Parameter(torch.empty(n_features, device=device, dtype=dtype))
        square = torch.empty(n_features, n_features, device=device, dtype=dtype)
        self.register_parameter("weight", nn.Parameter(square) if depth else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the mean from N(0, 1) and W by Xavier's uniform rule with gain 0.5, as published."""
        nn.init.normal_(self.mean)
        if self.weight is not None:
            nn.init.xavier_uniform_(self.weight, gain=0.5)

    @classmethod
    def from_moments(cls, mean: Any, cov: Any, *, depth: int = 10) -> Self:
        r"""Block that gives the Neumann approximation of the inverse covariance times x - mean.

        Parameters
        ----------
        mean : array-like, shape (D,)
            Mean of the features.
        cov : array-like, shape (D, D)
            Their covariance, symmetric and positive semi-definite; it may be singular. With its
            largest eigenvalue L, W is I - cov / L, and the approximation is that of
            :math:`(\Sigma_{obs} / L)^{-1} (x_{obs} - \mu_{obs})` of order ``depth``.
        depth : int, default=10
            Number of steps.
        """
        from nanwise.gaussian.moments import check_moments

        mean, cov = check_moments(mean, cov)
        made = cls(len(mean), depth)
        put("mean", made.mean, mean)
        if made.weight is not None:
            put("weight", made.weight, np.eye(len(mean)) - cov / spectral_norm(cov))
        return made

    def forward(self, x: Tensor | Observed, observed: Tensor | None = None) -> Tensor:
        """Transformed rows (..., D), 0 in gaps."""
        values, present = split(x, observed)
        check_width("x", values, self.out_features)
        h = residual = torch.addcmul(values, present, self.mean, value=-1)
        if self.weight is not None:
            for _ in range(self.depth):
                h = torch.addcmul(residual, F.linear(h, self.weight), present)
        return h

    def extra_repr(self) -> str:
        """Arguments, for ``repr``."""
        return f"n_features={self.out_features}, depth={self.depth}"
