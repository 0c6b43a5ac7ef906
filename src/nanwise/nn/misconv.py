"""The first layer of a network for pictures with holes, given what the holes may hold."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from nanwise.completion.mfa import MFA
from nanwise.missing import Observed
from nanwise.nn import functional
from nanwise.nn.windows import ZeroPaddedConv2d


class MisConv2d(ZeroPaddedConv2d):
    r"""Expected answer of ``nn.Conv2d`` and ReLU to pictures with holes of a known density.

    Instead of one guess, a hole holds a mixture of factor analysers
    :math:`\sum_i p_i N(\mu_i, A_i A_i^T + diag(d_i))`. With :math:`k` = 1 at known pixels, kernel W
    and bias b, each window is a mixture of normal variables, and its expected ReLU a closed form:

    .. math::

        m_i &= conv(x \odot k + \mu_i \odot (1 - k), W) + b                            \\
        v_i &= conv(d_i \odot (1 - k), W^2) + \sum_j conv(a_{ij} \odot (1 - k), W)^2  \\
        y   &= \sum_i p_i [m_i \Phi(m_i / \sqrt{v_i}) + \sqrt{v_i} \, \varphi(m_i / \sqrt{v_i})]

    A drop-in for the first convolution *and the ReLU behind it*; the rest of a network stays as it
    is. Without a hole it is just these two. Gradients reach the weights and the density.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        As in ``nn.Conv2d``. Padding is with zeros, which are known.
    mode : {"exact"}
        How it is computed: exactly. The public layer of the authors is another one, which departs
        from the formula; no published figure needs it, and it is not offered.

    Notes
    -----
    Only windows that touch a hole need variances: those of one box per picture are computed, so a
    batch costs little more than the areas of its boxes; maps of factors are never held for the
    whole batch (``benchmarks/misconv.py``). Where a window has no variance, the answer is
    :math:`\max(0, m)`, and its variance gets no gradient. Gradients of gradients and
    ``torch.func.grad`` are not offered.

    References
    ----------
    Przewięźlikowski, Śmieja, Struski, Tabor (2022). MisConv: convolutional neural networks for
    missing data. WACV.

    Examples
    --------
    >>> import torch
    >>> from nanwise.completion import MFA
    >>> from nanwise.nn import MisConv2d
    >>> x = torch.rand(4, 1, 28, 28)
    >>> x[:, :, 7:21, 7:21] = torch.nan
    >>> density = MFA(
    ...     torch.ones(4, 1),
    ...     torch.zeros(4, 1, 1, 28, 28),
    ...     torch.zeros(4, 1, 2, 1, 28, 28),
    ...     torch.ones(4, 1, 1, 28, 28),
    ...     ~x.isnan(),
    ... )
    >>> MisConv2d(1, 32, 3, padding=1)(x, density).shape
    torch.Size([4, 32, 28, 28])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        *args: Any,
        mode: str = "exact",
        **kwargs: Any,
    ) -> None:
        if mode != "exact":
            raise ValueError(f"mode must be 'exact', got {mode!r}: there is no other")
        super().__init__(in_channels, out_channels, kernel_size, *args, **kwargs)
        self.mode = mode

    def forward(  # type: ignore[override]
        self, x: Tensor | Observed, density: MFA, observed: Tensor | None = None
    ) -> Tensor:
        """Expected activations.

        Parameters
        ----------
        x : Tensor or Observed, shape (N, C, H, W)
            Pictures; NaN is missing.
        density : MFA
            Of the missing pixels given the others, see :meth:`nanwise.completion.MFA.condition`;
            what it says at known pixels does not matter, nor does its ``observed``.
        observed : Tensor of bool, optional
            True where there is a value.

        Returns
        -------
        Tensor, shape (N, out_channels, H', W')
            Not negative.
        """
        return functional.misconv2d(
            x,
            density,
            self.weight,
            self.bias,
            *self.windows(),
            observed,
        )
