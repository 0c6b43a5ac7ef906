"""Sparsity normalisation: the size of a vector no longer depends on how much of it was observed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from nanwise.missing import Observed
from nanwise.nn import functional
from nanwise.nn.sparse import Rows


class SparsityNorm(nn.Module):
    r"""Fill gaps with 0 and scale each vector by :math:`(K / \max(n, 1))^{power}`.

    ``n`` is the number of values observed along the last axis: of a row for (N, D), of a time step
    for (N, T, D). With zero filling alone the expected activation of the next layer grows with
    ``n``; after this layer it does not.

    Parameters
    ----------
    K : "mean" or float, default="mean"
        The count at which nothing is scaled. ``"mean"`` is learnt by :meth:`fit`: the mean count
        of the training vectors.
    power : float, default=1.0
        1 is the paper's scale, 0 none.
    learn_power : bool, default=False
        Train ``power`` with the network, from that start.
    n_features : int, optional
        Length of a vector, only remembered as ``out_features``.

    Attributes
    ----------
    K_ : Tensor, shape ()
        The count in use; part of the ``state_dict``. NaN before ``fit`` if K is "mean".

    Notes
    -----
    A zero among the data is an observed value: the count is of the mask, not of non-zeros. Weight
    decay acts differently on the next layer than without the scale and has to be tuned again.

    References
    ----------
    Yi, Lee, Kim, Hwang, Yang (2020). Why not to use zero imputation? ICLR.

    Examples
    --------
    >>> x = torch.tensor([[2.0, float("nan")], [2.0, 2.0]])
    >>> SparsityNorm().fit(x)(x)
    tensor([[3.0000, 0.0000],
            [1.5000, 1.5000]])
    """

    K_: Tensor

    def __init__(
        self,
        K: float | Literal["mean"] = "mean",
        power: float = 1.0,
        learn_power: bool = False,
        n_features: int | None = None,
    ) -> None:
        super().__init__()
        _check(K, power)
        self.out_features = n_features
        self.K = K
        self.learn_power = learn_power
        self.power = nn.Parameter(torch.tensor(float(power))) if learn_power else float(power)
        self.register_buffer("K_", torch.tensor(math.nan if K == "mean" else float(K)))
        # A Python flag, because asking the tensor would stop a GPU and break a compiled graph.
        self._fitted = K != "mean"

    @torch.no_grad()
    def fit(
        self,
        x: Tensor | Observed | Rows,
        observed: Tensor | None = None,
        weight: Tensor | None = None,
    ) -> Self:
        """Set K to the mean number of values observed per vector; a number given as K stays.

        Parameters
        ----------
        x : Tensor, Observed or Rows
            Training data, shape (..., D).
        observed : Tensor of bool, optional
            True where there is a value.
        weight : Tensor, optional
            How often a vector counts; one number per vector, or per entry of the first axes.

        Returns
        -------
        Self
        """
        return self.fit_counts(functional.observed_counts(x, observed), weight)

    @torch.no_grad()
    def fit_counts(self, number: Tensor, weight: Tensor | None = None) -> Self:
        """The same from the numbers of values in the vectors, of any shape."""
        if self.K == "mean":
            mean = _weighted_mean(number.double(), weight)
            # Without a single value any K will do; 1 keeps later rows finite and different.
            self.K_.fill_(mean if mean > 0 else 1.0)
        self._fitted = True
        return self

    def known(self) -> Tensor:
        """K, if it is known."""
        if not self._fitted:
            raise RuntimeError(
                f'{type(self).__name__}(K="mean") has not seen training data, so K is not known; '
                "call fit(x) with the training rows first, load a state_dict, or give a number as K"
            )
        return self.K_

    def forward(
        self, x: Tensor | Observed | Rows, observed: Tensor | None = None
    ) -> Any:  # Tensor, or Rows for Rows
        """Scaled values with 0 in gaps, in the shape of ``x``; Rows give Rows."""
        return functional.sparsity_norm(x, observed, K=self.known(), power=self.power)

    def extra_repr(self) -> str:
        """Arguments, for ``repr``."""
        power = self.power.item() if isinstance(self.power, Tensor) else self.power
        return f"K={self.K!r}, power={power:g}, learn_power={self.learn_power}"

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self._fitted = not math.isnan(self.K_.item())


def _weighted_mean(number: Tensor, weight: Tensor | None) -> float:
    if weight is None:
        return float(number.mean()) if number.numel() else 0.0
    if weight.shape != number.shape[: weight.ndim]:
        raise ValueError(
            f"weight has shape {tuple(weight.shape)}, the vectors {tuple(number.shape)}; "
            "the first axes must be equal"
        )
    weight = weight.to(number).reshape(weight.shape + (1,) * (number.ndim - weight.ndim))
    weight = weight.expand_as(number)
    if weight.min() < 0 or weight.sum() <= 0:
        raise ValueError("weight must hold no negative number and at least one above 0")
    return float((number * weight).sum() / weight.sum())


def _check(K: float | str, power: float) -> None:
    number = isinstance(K, (int, float)) and math.isfinite(K) and K > 0
    if K != "mean" and not number:
        raise ValueError(f'K must be "mean" or a positive number, got {K!r}')
    if not math.isfinite(power):
        raise ValueError(f"power must be a finite number, got {power!r}")
