"""What stands behind the first convolution: the classifiers of the MisConv paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

#: name -> settings of :class:`Backbone`. The published one for MNIST and SVHN, and for CIFAR-10.
BACKBONES: Mapping[str, Mapping[str, Any]] = {
    "small": {"before": 0, "after": 2, "hidden": 20, "dropout": 0.0},
    "deep": {"before": 1, "after": 3, "hidden": 128, "dropout": 0.3},
}


class Backbone(nn.Module):
    """Convolutions, half the size, more convolutions, two affine layers.

    A convolution is 3 x 3, ReLU, batch normalisation and dropout, in this order. The first one is
    the treatment's; what is left of it, from batch normalisation on, is the beginning here.

    Parameters
    ----------
    width : int
        Channels that come in; after the halving there are twice as many.
    n_out : int
        Outputs.
    size : tuple of int
        Height and width of the pictures.
    before, after : int
        Convolutions before (without the first) and after the halving.
    hidden : int
        Width of the hidden affine layer.
    dropout : float
        Share of the activations dropped after every convolution and the hidden layer.
    """

    def __init__(
        self,
        width: int,
        n_out: int,
        size: tuple[int, int],
        *,
        before: int = 0,
        after: int = 2,
        hidden: int = 20,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        wide = 2 * width
        # a stride of 2 with padding 1 rounds up
        area = -(-size[0] // 2) * -(-size[1] // 2)
        self.layers = nn.Sequential(
            *_rest(width, dropout),
            *(part for _ in range(before) for part in _conv(width, width, dropout)),
            nn.Conv2d(width, width, 3, stride=2, padding=1),
            *(part for i in range(after) for part in _conv(wide if i else width, wide, dropout)),
            nn.Flatten(),
            nn.Linear((wide if after else width) * area, hidden),
            nn.ReLU(),
            *_drop(dropout),
            nn.Linear(hidden, n_out),
        )

    def forward(self, maps: Tensor) -> Tensor:
        """Outputs (N, n_out) of feature maps (N, width, H, W)."""
        return self.layers(maps)


def _conv(n_in: int, n_out: int, dropout: float) -> list[nn.Module]:
    return [nn.Conv2d(n_in, n_out, 3, padding=1), nn.ReLU(), *_rest(n_out, dropout)]


def _rest(width: int, dropout: float) -> list[nn.Module]:
    return [nn.BatchNorm2d(width), *_drop(dropout)]


def _drop(dropout: float) -> list[nn.Module]:
    return [nn.Dropout(dropout)] if dropout > 0 else []
