"""SN and partial convolutions against loops over windows."""

import pytest
import torch
from torch.nn import functional as F

from nanwise import nn as nw
from nanwise.missing import Observed
from nanwise.nn.windows import window_counts

SETTINGS = [
    {"kernel_size": 3},
    {"kernel_size": (2, 3), "stride": (2, 1), "padding": (1, 2)},
    {"kernel_size": 2, "padding": 1, "dilation": 2, "groups": 2},
]


def pictures(seed=0, n=3):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 2, 6, 5, generator=generator, dtype=torch.float64)
    observed = torch.rand(x.shape, generator=generator) < 0.5
    observed[0, :, :4, :4] = False  # windows without a value
    return x, observed


def windows(x, layer):
    """Values of every window, (N, groups, size, H' W'), 0 beyond the border."""
    columns = F.unfold(x, layer.kernel_size, layer.dilation, layer.padding, layer.stride)
    return columns.unflatten(1, (layer.groups, -1))


def reference(layer, x, observed, scale):
    """Window by window: scale of its count, times product with the weights, plus bias."""
    values, there = windows(x.where(observed, 0.0), layer), windows(observed.double(), layer)
    number = there.sum(2, keepdim=True)
    weight = layer.weight.flatten(1).unflatten(0, (layer.groups, -1))
    out = (weight @ values) * scale(number) + layer.bias.reshape(layer.groups, -1, 1)
    return out.flatten(1, 2), number.expand_as(out).flatten(1, 2)


def build(kind, setting, **more):
    torch.manual_seed(0)
    return kind(2, 4, **setting, **more).double()


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_sn_scales_each_window_by_its_count(setting, power):
    layer, (x, observed) = build(nw.SNConv2d, setting, K=3.0, power=power), pictures()
    want, number = reference(layer, x, observed, lambda n: (3.0 / n.clamp_min(1)) ** power)
    got = layer(x, observed)
    torch.testing.assert_close(got.flatten(2), want)
    assert (number == 0).any()
    bias = layer.bias[:, None].expand(3, -1, number.shape[-1])
    assert torch.equal(got.flatten(2)[number == 0], bias[number == 0])


@pytest.mark.parametrize("setting", SETTINGS)
def test_sn_mean_is_that_of_the_training_windows(setting):
    layer, (x, observed) = build(nw.SNConv2d, setting), pictures()
    with pytest.raises(RuntimeError, match="has not seen training data"):
        layer(x, observed)
    layer.fit(x, observed)
    number = windows(observed.double(), layer).sum(2)
    torch.testing.assert_close(layer.norm.K_, number.mean())
    layer.fit(x, observed, weight=torch.tensor([0.0, 1.0, 3.0]))
    torch.testing.assert_close(layer.norm.K_, (number[1].mean() + 3 * number[2].mean()) / 4)


def test_sn_activation_does_not_grow_with_the_count():
    """Of constant pictures every window that holds a value says the same, also at the border."""
    layer = nw.SNConv2d(1, 1, 3, padding=1, K=4.0, bias=False).double()
    torch.nn.init.ones_(layer.weight)
    observed = torch.rand(1, 1, 9, 9, generator=torch.Generator().manual_seed(0)) < 0.6
    observed[..., 8, 0] = True  # the only window that would be empty
    out = layer(torch.full((1, 1, 9, 9), 2.0, dtype=torch.float64), observed)
    torch.testing.assert_close(out, torch.full_like(out, 8.0))


@pytest.mark.parametrize("setting", SETTINGS)
def test_partial_convolution_is_its_formula(setting):
    layer, (x, observed) = build(nw.PartialConv2d, setting), pictures()
    size = layer.weight[0].numel()
    want, number = reference(layer, x, observed, lambda n: size / n.clamp_min(1))
    out = layer(x, observed)
    assert isinstance(out, Observed)
    assert torch.equal(out.observed.flatten(2), number > 0)
    torch.testing.assert_close(out.values.flatten(2), want * (number > 0))
    assert (number == 0).any()


def test_partial_convolutions_close_a_hole_layer_by_layer():
    x, holes = torch.randn(1, 1, 11, 11), []
    x[..., 3:8, 3:8] = torch.nan
    layer = nw.PartialConv2d(1, 1, 3, padding=1)
    for _ in range(4):
        x = layer(x)
        holes.append(int((~x.observed).sum()))
        assert (x.values[~x.observed] == 0).all()
    assert holes == [9, 1, 0, 0]


def test_counts_are_exact_in_low_precision():
    weight = torch.ones(1, 3, 17, 17)
    number = window_counts(torch.ones(1, 3, 17, 17, dtype=torch.bfloat16), weight)
    assert number.dtype == torch.float32
    assert number.item() == 867
    assert nw.SNConv2d(3, 1, 17, K=1.0).bfloat16()(torch.ones(1, 3, 17, 17).bfloat16()).dtype == (
        torch.bfloat16
    )


@pytest.mark.parametrize("kind", [nw.PartialConv2d, nw.SNConv2d])
def test_another_number_of_channels_is_named(kind):
    layer = kind(2, 4, 3)
    with pytest.raises(ValueError, match=r"\(1, 3, 8, 8\); expected pictures \(N, 2, H, W\)"):
        layer(torch.zeros(1, 3, 8, 8)) if kind is nw.PartialConv2d else layer.fit(
            torch.zeros(1, 3, 8, 8)
        )


def test_weights_are_those_of_a_convolution():
    plain = torch.nn.Conv2d(2, 4, 3)
    layer = nw.PartialConv2d(2, 4, 3)
    layer.load_state_dict(plain.state_dict())
    x = torch.randn(2, 2, 5, 5)
    torch.testing.assert_close(layer(x).values, plain(x))
