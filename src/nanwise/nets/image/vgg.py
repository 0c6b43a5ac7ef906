"""VGG behind a first convolution that is not its own."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

#: convolutions per block, and how many times wider than the first each block is
VGG16 = ((2, 1), (2, 2), (3, 4), (3, 8), (3, 8))


class VGG(nn.Module):
    """All but the first convolution of a VGG; each block ends with a halving of the size.

    Parameters
    ----------
    width : int
        Channels that come in: those of the first block, 64 in VGG-16.
    n_out : int
        Outputs.
    batch_norm : bool, default=False
        Batch normalisation between a convolution and its ReLU; behind the ReLU of the first
        convolution, which has passed already.
    blocks : sequence of pairs, default=VGG16
        Number of convolutions, and width as a multiple of the first.

    Notes
    -----
    Sizes are rounded up when they are halved, so that small pictures pass, too. What is left is
    averaged over the picture, and one affine layer follows.

    References
    ----------
    Simonyan, Zisserman (2015). Very deep convolutional networks for large-scale image recognition.
    ICLR.
    """

    def __init__(
        self,
        width: int,
        n_out: int,
        batch_norm: bool = False,
        blocks: Sequence[tuple[int, int]] = VGG16,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.BatchNorm2d(width)] if batch_norm else []
        wide, first = width, 1
        for number, times in blocks:
            for _ in range(number - first):
                layers += _conv(wide, width * times, batch_norm)
                wide = width * times
            layers.append(nn.MaxPool2d(2, ceil_mode=True))
            first = 0
        self.maps = nn.Sequential(*layers)
        self.head = nn.Linear(wide, n_out)

    def forward(self, maps: Tensor) -> Tensor:
        """Outputs (N, n_out) of feature maps (N, width, H, W)."""
        return self.head(self.maps(maps).mean((-2, -1)))


def _conv(n_in: int, n_out: int, batch_norm: bool) -> list[nn.Module]:
    conv = nn.Conv2d(n_in, n_out, 3, padding=1)
    # what a ReLU lets through is half: without this, 12 plain layers let nothing through
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    nn.init.zeros_(conv.bias)  # type: ignore[arg-type]
    return [conv, *([nn.BatchNorm2d(n_out)] if batch_norm else []), nn.ReLU()]
