"""NeuMiss: completion by an unrolled iteration, with a linear model behind it."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nanwise.missing import Observed
from nanwise.nn.gaps import split
from nanwise.nn.neumann import LOWER, analytic_weights


class NeuMiss(nn.Module):
    r"""Linear model on rows whose gaps are completed by a learnt Neumann iteration.

    With the values x (0 in gaps), o = 1 where there is a value and 0 in gaps, and row vectors:

    .. math::

        r &= x - o \odot \mu                                          \\
        h &= (r S_0) \odot o            && \text{if depth} \ge 1      \\
        h &= (h W_k) \odot o \; [+ r]   && \text{depth} - 1 \text{ times} \\
        c &= x + (1 - o) \odot (h W_{mix} + \mu)                      \\
        y &= c \beta^T + b

    The product with o is the only non-linearity. For Gaussian features and a linear target some
    weights give the best possible prediction up to the error of the iteration, for every pattern
    of gaps at once: :meth:`from_moments` sets them.

    Parameters
    ----------
    n_features : int
        Number of features D.
    depth : int, default=5
        Number of matrices before the mixing one; at least 0.
    n_outputs : int, default=1
        Number of linear models on the completed row.
    residual : bool, default=False
        Whether r is added after every step, as the Neumann series has it. The published figures
        are without.

    Attributes
    ----------
    mean : Parameter, shape (D,)
        :math:`\mu`.
    start : Parameter, shape (D, D), or None if ``depth`` is 0
        :math:`S_0`.
    steps : ParameterList of ``depth - 1`` matrices, shape (D, D)
        :math:`W_k`.
    mix : Parameter, shape (D, D)
        :math:`W_{mix}`.
    coef : Parameter, shape (n_outputs, D)
        :math:`\beta`.
    intercept : Parameter, shape (n_outputs,)
        b.
    homes : dict
        Where weight decay pulls parameters, see :meth:`stay`.

    References
    ----------
    Le Morvan, Josse, Moreau, Scornet, Varoquaux (2020). NeuMiss networks: differentiable
    programming for supervised learning with missing values. NeurIPS.
    """

    start: nn.Parameter | None

    def __init__(
        self,
        n_features: int,
        depth: int = 5,
        n_outputs: int = 1,
        residual: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_size("n_features", n_features, 1)
        check_size("depth", depth, 0)
        check_size("n_outputs", n_outputs, 1)
        self.n_features = n_features
        self.depth = depth
        self.residual = residual
        self.out_features = n_outputs

        def empty(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape, device=device, dtype=dtype))

        square = (n_features, n_features)
        self.mean = empty(n_features)
        self.register_parameter("start", empty(*square) if depth else None)
        self.steps = nn.ParameterList([empty(*square) for _ in range(depth - 1)])
        self.mix = empty(*square)
        self.coef = empty(n_outputs, n_features)
        self.intercept = empty(n_outputs)
        self.homes: dict[str, Tensor | None] = {}
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the matrices by Xavier's normal rule and the vectors from N(0, 1), as published."""
        for name, parameter in self.named_parameters():
            square = name in ("start", "mix") or name.startswith("steps.")
            (nn.init.xavier_normal_ if square else nn.init.normal_)(parameter)

    @classmethod
    def from_moments(
        cls, mean: Any, cov: Any, coef: Any, intercept: Any = 0.0, *, depth: int = 5, **how: Any
    ) -> Self:
        """Network for Gaussian features with these moments and a linear target.

        Parameters
        ----------
        mean, cov, coef, intercept, **how
            See :meth:`set_moments`.
        depth : int, default=5
            With the Neumann iteration the network is the Neumann predictor of order ``depth - 1``;
            depth 0 gives the same as depth 1.

        Returns
        -------
        NeuMiss
            With residual, in torch's default precision.
        """
        coef = np.asarray(coef, dtype=np.float64)
        n_outputs = len(coef) if coef.ndim == 2 else 1
        made = cls(np.shape(mean)[-1] if np.ndim(mean) else 1, depth, n_outputs, residual=True)
        return made.set_moments(mean, cov, coef, intercept, **how)

    def set_moments(
        self,
        mean: Any,
        cov: Any,
        coef: Any,
        intercept: Any = 0.0,
        *,
        iteration: str = "neumann",
        lower: float = LOWER,
        masking: Any = None,
        ratio: Any = None,
    ) -> Self:
        r"""Set all weights so that the network completes rows by an iteration for the inverse.

        Parameters
        ----------
        mean : array-like, shape (D,)
            Mean of the features.
        cov : array-like, shape (D, D)
            Their covariance, symmetric and positive semi-definite; it may be singular.
        coef : array-like, shape (D,) or (n_outputs, D)
            Coefficients of the target in the complete features.
        intercept : float or array-like, shape (n_outputs,), default=0.0
            Its intercept.
        iteration : {"neumann", "chebyshev"}, default="neumann"
            ``neumann``: W = I - cov / L with L the largest eigenvalue, mix = cov / L.
            ``chebyshev``: steps of changing size, of which few come closer to the inverse.
        lower : float, default=0.05
            For ``chebyshev``: eigenvalues from ``lower * L`` to L are served best.
        masking : SelfMasking, optional
            ``(centre, variance)``, each (D,): a value x of feature j goes missing with a
            probability proportional to :math:`e^{-(x - centre_j)^2 / (2 variance_j)}`. The network
            can only approximate the best prediction then: the matrix
            :math:`D_{mis} \Sigma_{mis|obs}^{-1}` of a pattern is replaced by ``ratio``, and one
            ``mean`` serves values and gaps.
        ratio : array-like, shape (D,) or (D, D), optional
            For ``masking``. None: the masking's variance over the geometric mean of the variance
            of the feature and its variance given all others.

        Returns
        -------
        self
        """
        from nanwise.gaussian.moments import check_moments

        if self.depth > 1 and not self.residual:
            raise ValueError(
                f"without residual a network of depth {self.depth} cannot hold the iteration; make "
                "it with residual=True, or with a depth of at most 1"
            )
        n_out, moments = self.out_features, check_moments(mean, cov)
        check_width("mean", moments.mean, self.n_features)
        weights = analytic_weights(
            moments,
            max(self.depth, 1),
            iteration=iteration,
            lower=lower,
            masking=masking,
            ratio=ratio,
        )
        coef = np.asarray(coef, dtype=np.float64)
        put("coef", self.coef, coef[None] if coef.ndim == 1 else coef)
        intercept = np.asarray(intercept, dtype=np.float64)
        put("intercept", self.intercept, intercept if intercept.ndim else np.full(n_out, intercept))
        put("mean", self.mean, weights.mean)
        put("mix", self.mix, weights.mix)
        if self.start is not None:
            put("start", self.start, np.eye(self.n_features))
        for step, weight in zip(self.steps, weights.steps, strict=True):
            put("steps", step, weight)
        return self

    def stay(self) -> Self:
        """Let weight decay pull the matrices to where they are now, not to 0; the rest is free."""
        self.homes = {
            name: parameter.detach().clone() if name in ("start", "mix") or "." in name else None
            for name, parameter in self.named_parameters()
        }
        return self

    def complete(self, x: Tensor | Observed, observed: Tensor | None = None) -> Tensor:
        """Rows (..., D) in which values stay and gaps hold the network's completion."""
        values, present = split(x, observed)
        check_width("x", values, self.n_features)
        # addcmul: mask and sum in one pass over the rows instead of two
        residual = torch.addcmul(values, present, self.mean, value=-1)
        h = residual
        if self.start is not None:
            h = torch.matmul(h, self.start).mul_(present)
        for step in self.steps:
            h = torch.matmul(h, step)
            h = torch.addcmul(residual, h, present) if self.residual else h.mul_(present)
        fill = F.linear(h, self.mix.t(), self.mean)
        return torch.addcmul(values, fill, 1 - present)

    def forward(self, x: Tensor | Observed, observed: Tensor | None = None) -> Tensor:
        """Predictions (..., n_outputs)."""
        return F.linear(self.complete(x, observed), self.coef, self.intercept)

    def extra_repr(self) -> str:
        """Arguments, for ``repr``."""
        return (
            f"n_features={self.n_features}, depth={self.depth}, n_outputs={self.out_features}, "
            f"residual={self.residual}"
        )


def check_size(name: str, value: Any, least: int) -> None:
    """Refuse anything but a whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if int(value) < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")


def check_width(name: str, given: Any, n_features: int) -> None:
    """Refuse rows of another width than the layer's."""
    if given.ndim < 1 or given.shape[-1] != n_features:
        raise ValueError(
            f"{name} has the shape {tuple(given.shape)}; its last axis must be the {n_features} "
            "features this layer was made for"
        )


def put(name: str, parameter: Tensor, value: np.ndarray) -> None:
    """Copy numbers into a parameter; they must have its shape and be finite."""
    value = np.array(value, dtype=np.float64, order="C")
    if value.shape != tuple(parameter.shape):
        raise ValueError(f"{name} has shape {value.shape}, expected {tuple(parameter.shape)}")
    if not np.isfinite(value).all():
        raise ValueError(f"{name} must be finite, got {int((~np.isfinite(value)).sum())} other")
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(value))
