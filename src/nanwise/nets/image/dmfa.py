"""A network that predicts, for the hole of each picture, a mixture of factor analysers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from nanwise.completion.mfa import MFA
from nanwise.missing import Observed
from nanwise.nets.image.dmfa_bodies import SkipBody, make_body
from nanwise.nets.image.regions import choose, hold_out


class DMFANet(nn.Module):
    r"""Deep mixture of factor analysers: from a picture and its mask to a density of the hole.

    Per pixel and component a body predicts a mean :math:`\mu`, l entries of the factors
    :math:`A = a (\sigma(\cdot) - 1/2)` and a noise variance :math:`d = \sigma(\cdot) + floor`; per
    picture, logits of the components. It learns by hiding a region from itself, and raising the
    log density of the pixels that are observed there:

    .. math::

        -\log \sum_k p_k N(x_H; \mu_{k,H}, A_{k,H} A_{k,H}^T + diag(d_{k,H}))

    Parameters
    ----------
    shape : (C, H, W)
        Of one picture.
    components, factors : int
        K and l.
    net : {"skip", "linear", "conv"}
        The body, see :mod:`nanwise.nets.image.dmfa_bodies`.
    width : int
        Channels of the first layers of ``skip`` and ``conv`` (there 32 as published).
    amplitude : float
        a, the span of the entries of A.
    floor : float
        Least variance.
    hide : {"auto", "square", "pixels", "others"}
    hide_size : float or None
        What is hidden in a step, see :mod:`nanwise.nets.image.regions`.
    mse : float
        Weight of the squared error of the mean beside the log density. Factors may explain what the
        mean could have said, and then the density alone hardly teaches the mean.
    mse_share : float
        For which share of the epochs, from the first on.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        components: int = 1,
        factors: int = 4,
        net: str = "skip",
        width: int = 16,
        *,
        amplitude: float = 0.5,
        floor: float = 1e-4,
        hide: str = "square",
        hide_size: float | None = 0.5,
        mse: float = 15.0,
        mse_share: float = 1.0,
    ) -> None:
        super().__init__()
        self.shape, self.components, self.factors = shape, components, factors
        self.amplitude, self.floor = amplitude, floor
        self.hide, self.hide_size = hide, hide_size
        self.mse, self.mse_share, self.mse_now = mse, mse_share, mse
        self.body = make_body(net, self.shape, components, factors, width)

    def forward(self, values: Tensor, observed: Tensor) -> MFA:
        """Density of the holes given the rest, what is observed made certain.

        Parameters
        ----------
        values : Tensor, shape (N, C, H, W)
            What stands in holes does not matter, as long as it is a number.
        observed : Tensor of bool, shape (N, C, H, W)
        """
        values = values * observed
        return self.predict(values, observed).pin(Observed(values, observed))

    def predict(self, values: Tensor, observed: Tensor) -> MFA:
        """The same with values 0 in holes and what the body says of observed pixels left."""
        seen = torch.cat([values, observed.to(values)], 1)
        # channels last: what convolutions of few channels are quicker in
        seen = seen.contiguous(memory_format=torch.channels_last)
        logits, means, factors, noise = self.body(seen)
        return MFA(
            logits.softmax(-1),
            means,
            self.amplitude * (factors.sigmoid() - 0.5),
            noise.sigmoid() + self.floor,
            observed,
        )

    # -- training --------------------------------------------------------------------------------

    def begin(self, values: Tensor, observed: Tensor) -> None:
        """Begin with the mean and variance of each pixel in the training pictures.

        The body ``skip`` has a place for them. Without that, a pixel that hardly ever changes needs
        thousands of steps to become certain. What is hidden is chosen here, too.
        """
        self.hide, self.hide_size = choose(self.hide, self.hide_size, observed)
        if not isinstance(self.body, SkipBody):
            return
        count = observed.sum(0).clamp(min=1)
        mean = values.sum(0) / count
        # by a norm, which needs no copy of all pictures
        squares = torch.linalg.vector_norm(values, dim=0).square() / count
        variance = (squares - mean.square()).clamp(self.floor, 0.25)
        never = ~observed.any(0)
        self.body.begin(mean.masked_fill(never, 0.5), variance.masked_fill(never, 0.25))

    def begin_epoch(self, epoch: int, epochs: int) -> None:
        """The squared error counts in the first epochs only."""
        self.mse_now = self.mse if epoch <= self.mse_share * epochs else 0.0

    def training_step(self, batch: Any, phase: str = "main") -> Tensor:
        """Mean negative log density of what is hidden and observed."""
        values, observed = batch
        held = self._hold_out(observed)
        return self._losses(values, observed, held, self.mse_now).mean()

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        """The same with regions that are the same in every epoch."""
        values, observed = batch
        with torch.random.fork_rng(devices=[values.device] if values.is_cuda else []):
            torch.default_generator.manual_seed(0)
            held = self._hold_out(observed.cpu()).to(observed.device)
        losses = self._losses(values, observed, held, 0.0)
        return losses.sum(), torch.as_tensor(len(losses))

    def _hold_out(self, observed: Tensor) -> Tensor:
        return hold_out(observed, *choose(self.hide, self.hide_size, observed))

    def _losses(self, values: Tensor, observed: Tensor, held: Tensor, mse: float) -> Tensor:
        shown, cells = observed & ~held, observed & held
        density = self.predict(values * shown, shown)
        losses = -density.log_prob(Observed(values, observed), cells)
        if mse:
            off = (density.mean() - values).square() * cells
            losses = losses + mse * off.flatten(1).sum(1)
        return losses
