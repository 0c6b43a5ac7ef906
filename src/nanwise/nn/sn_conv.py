"""Convolution on sparsity-normalised windows."""

from __future__ import annotations

from typing import Any, Literal, Self

import torch
from torch import Tensor

from nanwise.missing import Observed
from nanwise.nn import functional
from nanwise.nn.sparsity_norm import SparsityNorm
from nanwise.nn.windows import ZeroPaddedConv2d, split_pictures, window_counts


class SNConv2d(ZeroPaddedConv2d):
    r"""``nn.Conv2d`` whose windows are scaled by :math:`(K / \max(n, 1))^{power}`.

    ``n`` is the number of values that a window holds. Pixels in a hole do not count, nor does zero
    padding, so that the size of an activation depends neither on how much of its window was
    observed nor on whether it lies at the border. The bias is added after the scaling.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        As in ``nn.Conv2d``. Padding is with zeros.
    K : "mean" or float, default="mean"
        The count at which nothing is scaled. ``"mean"`` is learnt by :meth:`fit`: the mean count of
        the windows of the training pictures. 1 is the draft's division by ``n``.
    power : float, default=1.0
        1 is the draft's scale, 0 none.

    Attributes
    ----------
    norm : SparsityNorm
        Holds K.

    Notes
    -----
    The draft counts pixels that are not zero; here an observed zero is a value.

    References
    ----------
    Yi, Lee, Hwang, Yang (2019). Sparsity normalization: stabilizing the expected outputs of deep
    networks, appendix B (draft of the ICLR 2020 paper).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
        K: float | Literal["mean"] = "mean",
        power: float = 1.0,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            device=device,
            dtype=dtype,
        )
        self.norm = SparsityNorm(K, power).to(device=device, dtype=dtype)

    @torch.no_grad()
    def fit(
        self,
        x: Tensor | Observed,
        observed: Tensor | None = None,
        weight: Tensor | None = None,
    ) -> Self:
        """Set K to the mean number of values per window; a number given as K stays.

        Parameters
        ----------
        x : Tensor or Observed, shape (N, C, H, W)
            Training pictures; NaN is missing.
        observed : Tensor of bool, optional
            True where there is a value.
        weight : Tensor, shape (N,), optional
            How often a picture counts.

        Returns
        -------
        Self
        """
        _, present = split_pictures(x, self.weight, self.groups, observed)
        number = window_counts(present, self.weight, *self.windows())
        self.norm.fit_counts(number, weight)
        return self

    def forward(self, x: Tensor | Observed, observed: Tensor | None = None) -> Tensor:
        """Activations (N, out_channels, H', W'), without gaps."""
        return functional.sn_conv2d(
            x,
            self.weight,
            self.bias,
            *self.windows(),
            observed,
            K=self.norm.known(),
            power=self.norm.power,
        )
