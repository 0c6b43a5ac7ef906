"""Networks for pictures behind and beside the first layer."""

import pytest
import torch
from torch import nn

from nanwise.nets.image.backbone import BACKBONES, Backbone
from nanwise.nets.image.sn_mlp import SNMLP
from nanwise.nets.image.vgg import VGG, VGG16


def convolutions(net):
    return [m for m in net.modules() if isinstance(m, nn.Conv2d)]


def test_the_published_classifiers():
    small = Backbone(32, 10, (28, 28), **BACKBONES["small"])
    assert [(c.in_channels, c.out_channels, c.stride[0]) for c in convolutions(small)] == [
        (32, 32, 2),
        (32, 64, 1),
        (64, 64, 1),
    ]
    linear = [m for m in small.modules() if isinstance(m, nn.Linear)]
    assert [(m.in_features, m.out_features) for m in linear] == [(64 * 14 * 14, 20), (20, 10)]
    deep = Backbone(32, 10, (32, 32), **BACKBONES["deep"])
    assert len(convolutions(deep)) == 1 + 1 + 3
    # one for each of the five convolutions, the first included, and one for the hidden layer
    assert [m.p for m in deep.modules() if isinstance(m, nn.Dropout)] == [0.3] * 6


@pytest.mark.parametrize("size", [(28, 28), (7, 5), (1, 1)])
def test_backbones_take_any_size(size):
    for settings in BACKBONES.values():
        net = Backbone(4, 3, size, **settings).eval()
        assert net(torch.rand(2, 4, *size)).shape == (2, 3)


def test_vgg_has_13_convolutions_with_the_first():
    net = VGG(64, 10, batch_norm=True)
    assert [c.out_channels for c in convolutions(net)] == [
        64,
        *[128] * 2,
        *[256] * 3,
        *[512] * 6,
    ]
    assert sum(number for number, _ in VGG16) == 13
    assert sum(isinstance(m, nn.BatchNorm2d) for m in net.modules()) == 13
    assert not any(isinstance(m, nn.BatchNorm2d) for m in VGG(2, 10).modules())


@pytest.mark.parametrize("side", [32, 28, 5, 1])
def test_vgg_takes_any_size(side):
    assert VGG(2, 3)(torch.rand(4, 2, side, side)).shape == (4, 3)


def test_vgg_starts_with_maps_of_the_size_of_its_input():
    torch.manual_seed(0)
    maps = VGG(8, 3).maps(torch.randn(16, 8, 32, 32).relu())
    assert 0.05 < maps.square().mean() < 20


def by_hand(net, x):
    for place, layer in enumerate(net.layers):
        if place in net.normalised:
            x = x * net.K / (x != 0).sum(1, keepdim=True).clamp_min(1)
        x = layer(x)
        x = x.relu() if place < len(net.layers) - 1 else x
    return x


@pytest.mark.parametrize("normalised", [(), (0,), (1,), (0, 2)])
def test_sn_mlp_is_its_formula(normalised):
    torch.manual_seed(0)
    net = SNMLP(12, [7, 5], 3, normalised, K=2.0)
    x = torch.rand(6, 12) * (torch.rand(6, 12) < 0.5)
    x[0] = 0
    torch.testing.assert_close(net(x), by_hand(net, x))
    loss = net.training_step((x, torch.arange(6) % 3))
    expected = nn.functional.cross_entropy(by_hand(net, x), torch.arange(6) % 3)
    torch.testing.assert_close(loss, expected)
    # the count is a constant: gradients are those of the formula with numbers in its place
    found = torch.autograd.grad(loss, list(net.parameters()))
    for a, b in zip(found, torch.autograd.grad(expected, list(net.parameters())), strict=True):
        torch.testing.assert_close(a, b)


def test_before_training_normalisation_does_not_change_which_units_are_on():
    torch.manual_seed(0)
    plain = SNMLP(12, [50, 5], 3)
    scaled = SNMLP(12, [50, 5], 3, (0,))
    scaled.load_state_dict(plain.state_dict())
    x = torch.rand(20, 12) * (torch.rand(20, 12) < 0.5)
    assert torch.equal(plain.active(x), scaled.active(x))
    assert 0 < plain.active(x).double().mean() < 50


def test_layers_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="from 0 to 2, got 3"):
        SNMLP(4, [3, 3], 2, (0, 3))


def test_a_hidden_layer_that_is_no_number_is_noticed():
    net = SNMLP(4, [5], 2, (1,))
    with torch.no_grad():
        net.layers[0].weight[0] = torch.nan
    assert net(torch.rand(2, 4)).isnan().any()
