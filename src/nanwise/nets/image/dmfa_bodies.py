"""Bodies of the density network: from a picture and its mask to raw parameters per pixel."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

BODIES = ("skip", "linear", "conv")
#: logits of the components (N, K); means and noise (N, K, C, H, W); factors (N, K, l, C, H, W)
Raw = tuple[Tensor, Tensor, Tensor, Tensor]
#: where the noise begins: a variance of 0.05
_FIRST_NOISE = -3.0


def make_body(
    name: str, shape: tuple[int, ...], components: int, factors: int, width: int
) -> nn.Module:
    """The body of that name."""
    if name == "linear":
        return LinearBody(shape, components, factors)
    kind = SkipBody if name == "skip" else ConvBody
    return kind(shape, components, factors, width)


class SkipBody(nn.Module):
    """Down to an eighth of the sides and up again, with a way past every level.

    Most of the work is done at half the sides and below, which is what makes it quick on a CPU; two
    small layers at the full size see the picture itself again. Maps learnt for each place tell
    where in the picture a pixel is.
    """

    def __init__(
        self, shape: tuple[int, ...], components: int, factors: int, width: int = 16
    ) -> None:
        super().__init__()
        channels, high, wide = shape
        self.size = components, factors, shape
        fine, middle, deep, thin = width, 3 * width, 6 * width, max(width // 2, 4)
        out = components * channels * (factors + 2)
        self.down = nn.ModuleList(
            [_conv(2 * channels, fine, 2), _conv(fine, middle, 2), _conv(middle, deep, 2)]
        )
        self.same = nn.ModuleList([_Block(fine), _Block(middle), _Block(deep)])
        self.up = nn.ModuleList([nn.Conv2d(deep, middle, 1), nn.Conv2d(middle, fine, 1)])
        self.mix = nn.ModuleList([_conv(middle, middle), _conv(fine, fine)])
        self.widen = nn.Conv2d(fine, 4 * thin, 1)
        self.last = _conv(thin + 2 * channels, thin)
        self.head = _quiet(_conv(thin, out))
        self.place = nn.Parameter(torch.zeros(1, fine, _half(high), _half(wide)))
        self.everywhere = nn.Parameter(torch.zeros(1, out, high, wide))
        self.logits = _quiet(nn.Linear(deep, components))

    def forward(self, x: Tensor) -> Raw:
        """Raw parameters for input (N, 2C, H, W)."""
        half = self.same[0](F.relu(self.down[0](x) + self.place))
        quarter = self.same[1](F.relu(self.down[1](half)))
        eighth = self.same[2](F.relu(self.down[2](quarter)))
        y = F.relu(self.mix[0](F.relu(_grow(self.up[0](eighth), quarter) + quarter)))
        y = F.relu(self.mix[1](F.relu(_grow(self.up[1](y), half) + half)))
        y = F.pixel_shuffle(self.widen(y), 2)[..., : x.shape[2], : x.shape[3]]
        y = F.relu(self.last(torch.cat([F.relu(y), x], 1)))
        raw = self.head(y) + self.everywhere
        return self.logits(eighth.mean((2, 3))), *_part(raw, *self.size)

    @torch.no_grad()
    def begin(self, mean: Tensor, variance: Tensor) -> None:
        """Begin with what pixels (C, H, W) are like by themselves, in all pictures."""
        components, factors, shape = self.size
        maps = self.everywhere.view(components, factors + 2, *shape)
        maps[:, 0] = mean
        maps[:, 1] = variance.logit() - _FIRST_NOISE


class LinearBody(nn.Module):
    """As published for MNIST: four convolutions, then one linear layer per parameter.

    The convolutions (16, 32 and 64 filters of 5 x 5, 32 of 3 x 3) are without padding, which keeps
    the linear layers at a size that can be trained: 30 million weights for pictures of 28 x 28.
    """

    def __init__(self, shape: tuple[int, ...], components: int, factors: int) -> None:
        super().__init__()
        channels, high, wide = shape
        if min(high, wide) < 15:
            raise ValueError(
                f"net='linear' takes pictures of at least 15 x 15 pixels, got {high} x {wide}; "
                "use net='skip'"
            )
        self.size = components, factors, shape
        widths = (2 * channels, 16, 32, 64)
        parts: list[nn.Module] = []
        for before, after in pairwise(widths):
            parts += [nn.Conv2d(before, after, 5), nn.ReLU()]
        self.convs = nn.Sequential(*parts, nn.Conv2d(64, 32, 3), nn.ReLU(), nn.Flatten())
        features = 32 * (high - 14) * (wide - 14)
        cells = components * channels * high * wide
        self.means, self.noise = nn.Linear(features, cells), nn.Linear(features, cells)
        self.factors = nn.Linear(features, factors * cells)
        self.logits = nn.Linear(features, components)

    def forward(self, x: Tensor) -> Raw:
        """Raw parameters for input (N, 2C, H, W)."""
        y = self.convs(x)
        k, rank, shape = self.size
        return (
            self.logits(y),
            self.means(y).unflatten(1, (k, *shape)),
            self.factors(y).unflatten(1, (k, rank, *shape)),
            self.noise(y).unflatten(1, (k, *shape)),
        )


class ConvBody(nn.Module):
    """As published for SVHN and CIFAR-10: fully convolutional, to a quarter of the sides and back.

    Blocks of a 5 x 5 convolution, ReLU and batch normalisation, two at each size (four at the
    smallest), and a head of two 3 x 3 convolutions per parameter.
    """

    def __init__(
        self, shape: tuple[int, ...], components: int, factors: int, width: int = 32
    ) -> None:
        super().__init__()
        channels, w = shape[0], width
        self.size = components, factors, shape
        self.at_full = nn.Sequential(_published(2 * channels, w), _published(w, w))
        self.at_half = nn.Sequential(_conv(w, w, 2), _published(w, 2 * w), _published(2 * w, 2 * w))
        self.at_quarter = nn.Sequential(
            _conv(2 * w, 2 * w, 2),
            _published(2 * w, 4 * w),
            *(_published(4 * w, 4 * w) for _ in range(3)),
        )
        self.up_half, self.up_full = _up(4 * w, 2 * w), _up(2 * w, w)
        self.to_half = nn.Sequential(_published(2 * w, 2 * w), _published(2 * w, 2 * w))
        self.to_full = nn.Sequential(_published(w, w), _published(w, w))
        cells = components * channels
        self.heads = nn.ModuleList(
            [_head(w, cells), _head(w, cells * factors), _head(w, cells, _FIRST_NOISE)]
        )
        self.logits = nn.Linear(4 * w, components)

    def forward(self, x: Tensor) -> Raw:
        """Raw parameters for input (N, 2C, H, W)."""
        half = self.at_half(self.at_full(x))
        quarter = self.at_quarter(half)
        y = self.to_half(self.up_half(quarter, list(half.shape[2:])))
        y = self.to_full(self.up_full(y, list(x.shape[2:])))
        k, rank, (channels, _, _) = self.size
        means, factors, noise = (head(y) for head in self.heads)
        return (
            self.logits(quarter.mean((2, 3))),
            means.unflatten(1, (k, channels)),
            factors.unflatten(1, (k, rank, channels)),
            noise.unflatten(1, (k, channels)),
        )


class _Block(nn.Module):
    """Two convolutions and a way past them; begins as the identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = _quiet(nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.second(F.relu(self.first(x))))


def _part(raw: Tensor, components: int, factors: int, shape: tuple[int, ...]) -> tuple:
    """Means, factors and noise out of channels that go by component, parameter, colour."""
    parted = raw.unflatten(1, (components, factors + 2, shape[0]))
    return parted[:, :, 0], parted[:, :, 2:], parted[:, :, 1] + _FIRST_NOISE


def _conv(before: int, after: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(before, after, 3, stride, 1)


def _up(before: int, after: int) -> nn.ConvTranspose2d:
    return nn.ConvTranspose2d(before, after, 3, 2, 1)


def _half(length: int) -> int:
    """Length after a stride of 2."""
    return (length + 1) // 2


def _grow(x: Tensor, like: Tensor) -> Tensor:
    return F.interpolate(x, size=like.shape[2:], mode="nearest")


def _quiet(layer: nn.Module) -> nn.Module:
    """A last layer that at first says nearly nothing."""
    with torch.no_grad():
        layer.weight.mul_(0.1)  # type: ignore[operator]
        layer.bias.zero_()  # type: ignore[operator]
    return layer


def _published(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, 5, padding=2), nn.ReLU(), nn.BatchNorm2d(after))


def _head(width: int, out: int, start: float = 0.0) -> nn.Sequential:
    last = nn.Conv2d(16, out, 3, padding=1)
    nn.init.constant_(last.bias, start)  # type: ignore[arg-type]
    return nn.Sequential(nn.Conv2d(width, 16, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(16), last)
