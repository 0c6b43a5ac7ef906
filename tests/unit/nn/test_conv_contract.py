"""The contract of layers, over the convolutions for pictures with holes."""

import torch
from torch import nn
from torch.nn import functional as F

from nanwise import nn as nw
from nanwise.completion import MFA
from nanwise.testing.layers import LayerCase, LayerContract

SHAPE = (2, 4, 5)


class Values(nn.Module):
    """What a passing layer says, without the pattern."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, observed=None):
        return self.layer(x, observed).values

    def extra_repr(self):
        return "values only"


class WithDensity(nn.Module):
    """A convolution with one density for all pictures, whose parameters are its own."""

    def __init__(self, layer, components=2):
        super().__init__()
        self.layer = layer
        self.logits = nn.Parameter(torch.randn(1, components))
        self.means = nn.Parameter(torch.randn(1, components, *SHAPE))
        self.factors = nn.Parameter(torch.randn(1, components, 2, *SHAPE))
        self.logs = nn.Parameter(torch.randn(1, components, *SHAPE))

    def forward(self, x, observed=None):
        nowhere = torch.zeros(1, *SHAPE, dtype=torch.bool)
        weights, noise = self.logits.softmax(-1), self.logs.exp()
        density = MFA(weights, self.means, self.factors, noise, nowhere)
        return self.layer(x, density, observed)

    def extra_repr(self):
        return "one density for all"


def relu(layer):
    return lambda x: conv(layer)(x).relu()


def conv(layer):
    layer = getattr(layer, "layer", layer)
    return lambda x: F.conv2d(
        x,
        layer.weight,
        layer.bias,
        layer.stride,
        layer.padding,
        layer.dilation,
        layer.groups,
    )


def case(name, make, plain=None):
    return LayerCase(name, make, plain, shape=SHAPE)


class TestConvolutions(LayerContract):
    cases = (
        case("sn", lambda: nw.SNConv2d(2, 3, 3, K=18.0), conv),
        case("sn_padded", lambda: nw.SNConv2d(2, 3, 3, padding=1, K=1.0)),
        case("sn_mean", lambda: nw.SNConv2d(2, 4, 2, groups=2).fit(torch.zeros(2, *SHAPE)), conv),
        case(
            "sn_none", lambda: nw.SNConv2d(2, 3, 3, 2, "valid", K=5.0, power=0.0, bias=False), conv
        ),
        case("partial", lambda: Values(nw.PartialConv2d(2, 3, (2, 3))), conv),
        case("partial_same", lambda: Values(nw.PartialConv2d(2, 3, (2, 3), padding="same"))),
        case("partial_groups", lambda: Values(nw.PartialConv2d(2, 4, 2, 2, 1, 2, 2, bias=False))),
        case("mis", lambda: WithDensity(nw.MisConv2d(2, 3, 3)), relu),
        case("mis_one", lambda: WithDensity(nw.MisConv2d(2, 3, 3, padding=1), 1), relu),
        case("mis_same", lambda: WithDensity(nw.MisConv2d(2, 3, (2, 3), padding="same")), relu),
        case(
            "mis_groups",
            lambda: WithDensity(nw.MisConv2d(2, 4, 2, (2, 1), 1, 2, 2, bias=False)),
            relu,
        ),
    )
