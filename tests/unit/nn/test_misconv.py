"""MisConv2d against the formula written out, map by map."""

import math

import pytest
import torch
from torch.nn import functional as F

from nanwise import nn as nw
from nanwise.completion import MFA
from nanwise.missing import Observed
from nanwise.nn.holes import passes
from nanwise.nn.holes.boxes import Grid, boxes

NAN = float("nan")
SETTINGS = [
    {"kernel_size": 3},
    {"kernel_size": 3, "padding": 1},
    {"kernel_size": (2, 4), "padding": "same"},
    {"kernel_size": (3, 2), "stride": (2, 3), "padding": (2, 1)},
    {"kernel_size": 3, "dilation": (2, 1), "padding": 2, "groups": 2},
    {"kernel_size": 1, "stride": 4, "bias": False},
    {"kernel_size": 5, "stride": 2, "padding": "valid", "groups": 2, "bias": False},
]


def straightforward(x, density, layer, observed=None):
    """The formula for whole pictures: one map per component and factor."""
    observed = ~x.isnan() if observed is None else observed
    weights, means, factors, noise, _ = density
    missing = ~observed[:, None]

    def conv(pixels, kernel, bias=None):
        flat = pixels.flatten(0, -4)
        places = (layer.stride, layer.padding, layer.dilation, layer.groups)
        return F.conv2d(flat, kernel, bias, *places).unflatten(0, pixels.shape[:-3])

    m = conv(torch.where(missing, means, x.where(observed, 0.0)[:, None]), layer.weight, layer.bias)
    v = conv(noise * missing, layer.weight**2)
    v = v + conv(factors * missing[:, None], layer.weight).square().sum(2)
    random = v > 0
    s = v.where(random, 1.0).sqrt()
    below = 0.5 * (1 + torch.erf(m / s / math.sqrt(2)))
    bell = torch.exp(-0.5 * (m / s) ** 2) / math.sqrt(2 * math.pi)
    value = torch.where(random, m * below + s * bell, m.relu())
    return (weights[:, :, None, None, None] * value).sum(1)


def make(n=5, k=2, rank=3, shape=(2, 9, 8), seed=0):
    generator = torch.Generator().manual_seed(seed)

    def normal(*size):
        return torch.randn(*size, generator=generator, dtype=torch.float64)

    x = normal(n, *shape)
    x[0, :, 2:6, 3:7] = NAN  # a square
    x[1, :, :3] = NAN  # at the border
    x[2, 0, 4, 4] = NAN  # one channel of one pixel
    x[3] = NAN  # everything; and nothing in the last picture
    density = MFA(
        normal(n, k).softmax(-1),
        normal(n, k, *shape),
        normal(n, k, rank, *shape),
        normal(n, k, *shape).exp(),
        ~x.isnan(),
    )
    return x, density


def layer_of(setting, seed=0):
    torch.manual_seed(seed)
    return nw.MisConv2d(2, 4, **setting).double()


def with_gradients(function, x, density, layer):
    """Answer and all gradients of its weighted sum."""
    x = x.clone().requires_grad_()
    parts = [part.clone().requires_grad_() for part in density[:4]]
    out = function(x, MFA(*parts, density.observed), layer)
    weight = torch.linspace(-1, 2, out.numel(), dtype=out.dtype).reshape(out.shape)
    leaves = [x, *parts, *layer.parameters()]
    return [out, *torch.autograd.grad((out * weight).sum(), leaves)]


@pytest.mark.parametrize("budget", [1, 3000, 1 << 22])
@pytest.mark.parametrize("setting", SETTINGS)
def test_answer_and_gradients_are_those_of_the_formula(setting, budget, monkeypatch):
    monkeypatch.setattr(passes, "_BUDGET", budget)
    x, density = make()
    layer = layer_of(setting)
    got = with_gradients(lambda x, d, layer: layer(x, d), x, density, layer)
    want = with_gradients(straightforward, x, density, layer)
    # A window without a hole says max(0, m) whatever the weights of the mixture: on the simplex
    # that is the same, and so are the gradients along it.
    got[2], want[2] = (grad - grad.mean(-1, keepdim=True) for grad in (got[2], want[2]))
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(("k", "rank"), [(1, 0), (1, 4), (4, 1)])
def test_numbers_of_components_and_factors(k, rank):
    x, density = make(k=k, rank=rank)
    layer = layer_of({"kernel_size": 3, "padding": 1})
    torch.testing.assert_close(layer(x, density), straightforward(x, density, layer))


def test_pictures_without_holes_between_others():
    x, density = make(n=6)
    order = [0, 4, 1, 5, 2, 4]
    x, density = x[order], MFA(*(part[order] for part in density))
    layer = layer_of({"kernel_size": 3, "padding": 1})
    want = with_gradients(straightforward, x, density, layer)
    got = with_gradients(lambda x, d, layer: layer(x, d), x, density, layer)
    got[2], want[2] = (grad - grad.mean(-1, keepdim=True) for grad in (got[2], want[2]))
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other)


def test_without_variance_it_is_the_filled_picture():
    x, density = make()
    certain = density._replace(factors=0 * density.factors, noise=0 * density.noise)
    layer = layer_of({"kernel_size": 3, "padding": 1})
    filled = torch.where(x.isnan()[:, None], density.means, x[:, None]).flatten(0, 1)
    plain = F.conv2d(filled, layer.weight, layer.bias, padding=1).relu().unflatten(0, (5, 2))
    want = (density.weights[:, :, None, None, None] * plain).sum(1)
    torch.testing.assert_close(layer(x, certain), want, rtol=0, atol=1e-14)


def test_a_window_that_is_certainly_zero_is_zero_with_finite_gradients():
    x, density = make()
    nothing = MFA(density.weights, *(0 * part for part in density[1:4]), density.observed)
    layer = layer_of({"kernel_size": 3, "padding": 1, "bias": False})
    out, *gradients = with_gradients(lambda x, d, layer: layer(x, d), x, nothing, layer)
    assert (out[3] == 0).all()
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert (gradients[4][3] == 0).all()


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e6])
def test_any_scale_of_variance_in_single_precision(scale):
    x, density = make()
    density = density._replace(factors=density.factors * scale, noise=density.noise * scale**2)
    layer = layer_of({"kernel_size": 3, "padding": 1})
    want = layer(x, density)
    single = MFA(*(part.float() for part in density[:4]), density.observed)
    parts = with_gradients(lambda x, d, m: m(x, d), x.float(), single, layer.float())
    assert all(part.isfinite().all() for part in parts)
    torch.testing.assert_close(parts[0].double(), want, rtol=1e-4, atol=1e-5 * max(1, scale))


def test_a_hole_that_no_window_touches_changes_nothing():
    x, density = make(shape=(2, 9, 9))
    x = torch.nan_to_num(x)
    x[:, :, 1::2] = NAN
    layer = layer_of({"kernel_size": 1, "stride": 2})
    plain = F.conv2d(torch.nan_to_num(x), layer.weight, layer.bias, stride=2).relu()
    torch.testing.assert_close(layer(x, density), plain)


def test_what_the_density_says_at_known_pixels_does_not_matter():
    x, density = make()
    layer = layer_of({"kernel_size": 3, "padding": 1})
    there = ~x.isnan()[:, None]
    other = density._replace(
        means=density.means.masked_fill(there, 7.0),
        factors=density.factors.masked_fill(there[:, None], -3.0),
        noise=density.noise.masked_fill(there, 9.0),
    )
    assert torch.equal(layer(x, other), layer(x, density))
    torch.testing.assert_close(layer(x, density.pin(x)), layer(x, density))


def test_one_picture_and_one_density_for_all():
    x, density = make()
    layer = layer_of({"kernel_size": 3, "padding": 1})
    one = MFA(*(part[:1] for part in density))
    many = MFA(*(part[:1].repeat(5, *[1] * (part.ndim - 1)) for part in density))
    torch.testing.assert_close(layer(x, one), layer(x, many))
    torch.testing.assert_close(layer(x[0], one), layer(x, density)[0])
    observed = ~x.isnan()
    values = Observed(x.where(observed, 0.0), observed)
    assert torch.equal(layer(values, density), layer(x, density))


def test_boxes_are_the_windows_that_touch_a_hole():
    """Every window with a hole lies in its box, and the box is as small as that allows."""
    generator = torch.Generator().manual_seed(0)
    for kernel, stride, padding, dilation in [
        (3, 1, 1, 1),
        (2, 3, 0, 1),
        (3, 2, 4, 2),
        (1, 4, 0, 1),
    ]:
        present = (torch.rand(8, 2, 11, 13, generator=generator) > 0.01).double()
        places = (stride, padding, dilation)
        holes = F.conv2d(1 - present, torch.ones(1, 2, kernel, kernel).double(), None, *places)[
            :, 0
        ]
        grid = Grid(*((n, n) for n in (kernel, *places)), (11, 13), tuple(holes.shape[1:]))
        found = boxes(present, grid)
        for number, hole in enumerate(holes > 0):
            if not hole.any():
                continue
            top, bottom, left, right = found[number]
            rows, columns = hole.any(1).nonzero(), hole.any(0).nonzero()
            assert top <= rows.min() <= rows.max() < bottom
            assert left <= columns.min() <= columns.max() < right
            if places == [1, 1, 1]:
                assert (top, bottom) == (rows.min(), rows.max() + 1)
                assert (left, right) == (columns.min(), columns.max() + 1)


def test_a_density_of_other_pictures_is_refused():
    x, density = make()
    layer = layer_of({"kernel_size": 3})
    with pytest.raises(ValueError, match="the density is for 5 rows of shape"):
        layer(x[:3], density)
    with pytest.raises(ValueError, match="expected pictures"):
        layer(x[:, :1], density)


def test_a_window_far_from_zero_costs_no_accuracy():
    """Exponents are cut where exp would leave the normal numbers: the answer is max(0, m)."""
    x, density = make()
    density = density._replace(means=density.means * 1e3)
    layer = layer_of({"kernel_size": 3, "padding": 1})
    for dtype in (torch.float32, torch.float64):
        parts = MFA(*(part.to(dtype) for part in density[:4]), density.observed)
        want = straightforward(x, density, layer.double())
        got = layer.to(dtype)(x.to(dtype), parts).double()
        torch.testing.assert_close(
            got, want, rtol=1e-5, atol=1e-3 if dtype is torch.float32 else 1e-250
        )


def test_half_precision_and_autocast():
    x, density = make()
    layer = layer_of({"kernel_size": 3, "padding": 1}).float()
    single = MFA(*(part.float() for part in density[:4]), density.observed)
    want = layer(x.float(), single)
    with torch.autocast("cpu", torch.bfloat16):
        got = layer(x.float(), single)
        got.sum().backward()
    torch.testing.assert_close(got, want)
    half = MFA(*(part.bfloat16() for part in density[:4]), density.observed)
    got = layer.bfloat16()(x.bfloat16(), half)
    torch.testing.assert_close(got.float(), want, rtol=0.05, atol=0.05)


def test_exact_is_the_only_mode():
    assert nw.MisConv2d(2, 4, 3, mode="exact").mode == "exact"
    with pytest.raises(ValueError, match="mode must be 'exact', got 'fast'"):
        nw.MisConv2d(2, 4, 3, mode="fast")
