"""Mixture of factor analysers: a density for the gaps of a picture, and of any other tensor."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import torch
from torch import Tensor

from nanwise.missing import Observed, observe


class MFA(NamedTuple):
    r"""One mixture of factor analysers per row: :math:`\sum_i p_i N(\mu_i, A_i A_i^T + diag(d_i))`.

    A row is whatever has the shape ``shape``, a picture (C, H, W) above all. An ``MFA`` is either
    *conditional*, the density of the gaps of each row given its values, as a network predicts it,
    or *unconditional*, one density for all cells, as fitted to a data set; :meth:`condition` makes
    the former from the latter.

    Attributes
    ----------
    weights : Tensor, shape (N, K)
        :math:`p_i`: not negative, with sum 1 in each row.
    means : Tensor, shape (N, K, \*shape)
        :math:`\mu_i`.
    factors : Tensor, shape (N, K, l, \*shape)
        The l columns of :math:`A_i`.
    noise : Tensor, shape (N, K, \*shape)
        :math:`d_i`, variances.
    observed : Tensor of bool, shape (N, \*shape)
        Cells with a value, on which the density is conditioned; nowhere True if it is
        unconditional.

    Notes
    -----
    A density of one row (N = 1) stands for as many rows as it meets. All methods pass gradients to
    the parameters, and none writes into them.

    References
    ----------
    Ghahramani, Hinton (1996). The EM algorithm for mixtures of factor analyzers. Toronto.
    Przewięźlikowski, Śmieja, Struski (2020). Estimating conditional density of missing values using
    deep Gaussian mixture model. ICONIP.

    Examples
    --------
    >>> pair = torch.ones(1, 1, 2)
    >>> mfa = MFA(pair[..., 0], 0 * pair, pair[:, None], pair, torch.zeros(1, 2).bool())
    >>> mfa.condition(torch.tensor([[3.0, float("nan")]])).mean()
    tensor([[3.0000, 1.5000]])
    """

    weights: Tensor
    means: Tensor
    factors: Tensor
    noise: Tensor
    observed: Tensor

    @property
    def shape(self) -> torch.Size:
        """Shape of one row, (C, H, W) for pictures."""
        return self.means.shape[2:]

    def check(self, x: Tensor | None = None) -> Self:
        """Refuse parameters whose shapes do not fit together, or do not fit the rows ``x``."""
        n, k = self.weights.shape[0], self.weights.shape[-1]
        rank = self.factors.shape[2] if self.factors.ndim > 2 else 0
        wanted = {
            "weights": (n, k),
            "means": (n, k, *self.shape),
            "factors": (n, k, rank, *self.shape),
            "noise": (n, k, *self.shape),
            "observed": (n, *self.shape),
        }
        for name, shape in wanted.items():
            if tuple(getattr(self, name).shape) != shape:
                raise ValueError(
                    f"{name} of this MFA has shape {tuple(getattr(self, name).shape)}, expected "
                    f"{shape}: N rows, K components, l factors, then the shape of a row"
                )
        if x is not None and (tuple(x.shape[1:]) != tuple(self.shape) or n not in (1, len(x))):
            raise ValueError(
                f"the density is for {n} rows of shape {tuple(self.shape)}, the data have shape "
                f"{tuple(x.shape)}; rows must have that shape and be as many (a density of one row "
                "stands for any number)"
            )
        return self

    def expand(self, n: int) -> Self:
        """The same density for ``n`` rows, made of one row without copying."""
        return self._replace(
            **{name: part.expand(n, *part.shape[1:]) for name, part in self._asdict().items()}
        )

    def log_prob(self, x: Tensor | Observed, cells: Tensor | None = None) -> Tensor:
        r"""Log density of some cells of each row, by Woodbury's identity.

        With r the difference to the mean and :math:`L = I + A^T D^{-1} A`, all restricted to the
        cells, a component has

        .. math::

            -\tfrac12 [ r^T D^{-1} r - (A^T D^{-1} r)^T L^{-1} (A^T D^{-1} r) + \log|L|
            + \sum \log d + n \log 2\pi ]

        so time and memory grow with the number of cells, not with its square.

        Parameters
        ----------
        x : Tensor or Observed, shape (N, \*shape)
            Rows; NaN where there is no value.
        cells : Tensor of bool, shape (N, \*shape), optional
            Which cells; without a value they do not count. By default all but those the density
            is conditioned on. Their ``noise`` must be above 0.

        Returns
        -------
        Tensor, shape (N,)
            0 for a row without such cells.
        """
        values, observed = observe(x)
        mfa = self.check(values).expand(len(values))
        cells = observed & (~mfa.observed if cells is None else cells.bool())
        return mfa._joint(values, cells)[0].logsumexp(-1)

    def condition(self, x: Tensor | Observed, observed: Tensor | None = None) -> Self:
        r"""The density of the gaps given the values; exact.

        It is again a mixture of as many factor analysers with as many factors. The values
        themselves become certain, as in :meth:`pin`. What the density is conditioned on already
        stays so and is not counted twice: more values may follow.

        Parameters
        ----------
        x : Tensor or Observed, shape (N, \*shape)
            Rows; NaN where there is no value.
        observed : Tensor of bool, shape (N, \*shape), optional
            True where there is a value.

        Returns
        -------
        MFA
        """
        values, observed = observe(x, observed)
        mfa = self.check(values).expand(len(values))
        log_joint, root, scores = mfa._joint(values, observed & ~mfa.observed)
        factors = torch.linalg.solve_triangular(root, mfa.factors.flatten(3), upper=False)
        shift = (factors * scores).sum(2).unflatten(-1, mfa.shape)
        told = mfa._replace(
            weights=log_joint.softmax(-1),
            means=mfa.means + shift,
            factors=factors.unflatten(-1, mfa.shape),
        ).pin(Observed(values, observed))
        return told._replace(observed=observed | mfa.observed)

    def pin(self, x: Tensor | Observed, observed: Tensor | None = None) -> Self:
        """The density with values made certain: they are the mean there, without variance."""
        values, observed = observe(x, observed)
        mfa = self.check(values).expand(len(values))
        there = observed[:, None]
        return mfa._replace(
            means=torch.where(there, values[:, None], mfa.means),
            factors=mfa.factors.masked_fill(there[:, None], 0),
            noise=mfa.noise.masked_fill(there, 0),
            observed=observed,
        )

    def mean(self) -> Tensor:
        r"""Expectation of each row, (N, \*shape); of a pinned density, values stay."""
        return (_aside(self.weights, self.means) * self.means).sum(1)

    def variance(self) -> Tensor:
        r"""Variance of each cell by itself, (N, \*shape)."""
        spread = (
            self.noise + self.factors.square().sum(2) + (self.means - self.mean()[:, None]) ** 2
        )
        return (_aside(self.weights, spread) * spread).sum(1)

    def sample(self, n: int = 1, generator: torch.Generator | None = None) -> Tensor:
        r"""Draws of the rows, (n, N, \*shape); of a pinned density, values stay."""
        chosen = torch.multinomial(self.weights, n, replacement=True, generator=generator)
        # One draw after the other: the factors of all of them at once would be n times the density.
        return torch.stack([self._draw(component, generator) for component in chosen.T])

    def _draw(self, component: Tensor, generator: torch.Generator | None) -> Tensor:
        """One draw of each row from the component (N,) chosen for it."""
        rows = torch.arange(len(component), device=component.device)
        means, factors = self.means[rows, component], self.factors[rows, component]
        noise = self.noise[rows, component]
        score = means.new_empty(factors.shape[:2]).normal_(generator=generator)
        own = torch.empty_like(means).normal_(generator=generator)
        return means + (_aside(score, factors) * factors).sum(1) + noise.sqrt() * own

    def _joint(self, values: Tensor, cells: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log of weight times density (N, K), root of L, and the scores it leaves to explain.

        The last two are (N, K, l, l), lower triangular, and (N, K, l, 1): L⁻¹ᐟ² Aᵀ D⁻¹ r.
        """
        there = cells.flatten(1)[:, None]
        noise = self.noise.flatten(2).where(there, 1.0)  # before the division, for gradients
        rest = (values[:, None] - self.means).flatten(2).where(there, 0.0)
        factors = self.factors.flatten(3).where(there[:, None], 0.0)
        scaled = factors / noise[:, :, None]
        root = torch.linalg.cholesky(torch.eye(factors.shape[2]).to(factors) + scaled @ factors.mT)
        scores = torch.linalg.solve_triangular(root, scaled @ rest[..., None], upper=False)
        distance = (rest.square() / noise).sum(-1) - scores.square().sum((-2, -1))
        volume = noise.log().sum(-1) + 2 * root.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        constant = there.sum(-1, dtype=noise.dtype) * math.log(2 * math.pi)
        # A component of weight 0 stays out, and its gradient finite.
        prior = self.weights.clamp_min(torch.finfo(self.weights.dtype).tiny).log()
        return prior - (distance + volume + constant) / 2, root, scores


def _aside(number: Tensor, part: Tensor) -> Tensor:
    """Numbers (N, K) with trailing axes of length 1, to multiply a part (N, K, ...)."""
    return number.reshape(number.shape + (1,) * (part.ndim - number.ndim))
