"""First convolution and ReLU of a network for pictures with holes, one class per idea.

All have 3 x 3 windows and keep the size of the picture, and take ``(values, observed, density)``,
values 0 in holes; so what stands behind them is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from nanwise.completion.mfa import MFA
from nanwise.missing import Observed
from nanwise.nn.misconv import MisConv2d
from nanwise.nn.partial_conv import PartialConv2d
from nanwise.nn.sn_conv import SNConv2d

SIDE, PADDING = 3, 1


class Filled(nn.Module):
    """Plain convolution of what stands in the picture, holes as 0.

    Parameters
    ----------
    channels, width : int
        Channels in and out.
    marks : bool, default=False
        Whether the share of a pixel's channels that is known is one more channel.
    """

    def __init__(self, channels: int, width: int, marks: bool = False) -> None:
        super().__init__()
        self.marks = marks
        self.conv = nn.Conv2d(channels + marks, width, SIDE, padding=PADDING)

    def forward(self, values: Tensor, observed: Tensor, density: MFA | None = None) -> Tensor:
        """Feature maps (N, width, H, W)."""
        x = values.where(observed, 0.0)
        x = torch.cat([x, known_share(x, observed)], 1) if self.marks else x
        return self.conv(x).relu()


class Partial(nn.Module):
    """Partial convolutions, each with a ReLU; what is known grows from one to the next.

    Parameters
    ----------
    channels, width : int
        Channels in and out.
    depth : int, default=1
        Number of convolutions. Behind the last one, a hole that is left is 0.
    """

    def __init__(self, channels: int, width: int, depth: int = 1) -> None:
        super().__init__()
        wide = [channels, *[width] * (depth - 1)]
        self.convs = nn.ModuleList(PartialConv2d(n, width, SIDE, padding=PADDING) for n in wide)

    def forward(self, values: Tensor, observed: Tensor, density: MFA | None = None) -> Tensor:
        """Feature maps (N, width, H, W)."""
        x = Observed(values.where(observed, 0.0), observed)
        for conv in self.convs:
            found = conv(x)
            x = Observed(found.values.relu(), found.observed)
        return x.values


class Normalised(nn.Module):
    """Convolution whose windows are scaled by how much of them is known, see ``SNConv2d``.

    Parameters
    ----------
    channels, width : int
        Channels in and out.
    K : float
        Number of values at which nothing is scaled.
    power : float, default=1.0
        1 is the published scale, 0 none.
    """

    def __init__(self, channels: int, width: int, K: float, power: float = 1.0) -> None:
        super().__init__()
        self.conv = SNConv2d(channels, width, SIDE, padding=PADDING, K=K, power=power)

    def forward(self, values: Tensor, observed: Tensor, density: MFA | None = None) -> Tensor:
        """Feature maps (N, width, H, W)."""
        return self.conv(values, observed).relu()


class Expected(nn.Module):
    """Expected activations over what the holes may hold, see ``MisConv2d``.

    Parameters
    ----------
    channels, width : int
        Channels in and out.
    marks : bool, default=False
        As in :class:`Filled`: one more channel, without holes.
    """

    def __init__(self, channels: int, width: int, marks: bool = False) -> None:
        super().__init__()
        self.marks = marks
        self.conv = MisConv2d(channels + marks, width, SIDE, padding=PADDING)

    def forward(self, values: Tensor, observed: Tensor, density: MFA | None = None) -> Tensor:
        """Feature maps (N, width, H, W)."""
        if density is None:
            raise ValueError("MisConv needs the density of the holes, got None")
        if self.marks:
            values, observed, density = with_marks(values, observed, density)
        return self.conv(values, density, observed)


class Joint(nn.Module):
    """:class:`Expected` over a density that learns together with the classifier.

    Parameters
    ----------
    layer : Expected
        The convolution.
    density : Module
        ``density(values, observed) -> MFA``.
    own : callable
        ``own(density, values, observed) -> Tensor``: the loss of the density by itself.
    weight : float
        What it counts beside the classifier's.
    """

    def __init__(
        self,
        layer: Expected,
        density: nn.Module,
        own: Callable[[nn.Module, Tensor, Tensor], Tensor],
        weight: float,
    ) -> None:
        super().__init__()
        self.layer, self.density, self.own, self.weight = layer, density, own, weight

    def forward(self, values: Tensor, observed: Tensor, density: MFA | None = None) -> Tensor:
        """Feature maps (N, width, H, W); a density that is given is not looked at."""
        return self.layer(values, observed, self.density(values, observed))

    def own_loss(self, values: Tensor, observed: Tensor) -> Tensor:
        """What the density adds to the loss of the classifier."""
        return self.weight * self.own(self.density, values, observed)


def known_share(values: Tensor, observed: Tensor) -> Tensor:
    """Share of the channels of each pixel that is known, (N, 1, H, W)."""
    return observed.to(values.dtype).mean(1, keepdim=True)


def with_marks(values: Tensor, observed: Tensor, density: MFA) -> tuple[Tensor, Tensor, MFA]:
    """The same with the share of known channels as one more channel, itself known everywhere."""
    marks = known_share(values, observed)
    seen = torch.cat([observed, torch.ones_like(observed[:, :1])], 1)
    # At a known pixel it does not matter what a density says.
    parts = {
        name: torch.cat([part, torch.zeros_like(part.narrow(-3, 0, 1))], -3)
        for name, part in density._asdict().items()
        if name in ("means", "factors", "noise")
    }
    return torch.cat([values, marks], 1), seen, density._replace(observed=seen, **parts)
