"""Generalised neurons: the contract of layers, closed forms, Monte Carlo, zero variance."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Normal
from torch.nn import functional as F

from nanwise import nn as nw
from nanwise.nn.gaussian_input import expected_relu
from nanwise.testing.layers import LayerCase, LayerContract

D = LayerCase.width
NAN = float("nan")
LAYERS = [nw.GaussianInput, nw.GaussianRBF]


def plain_relu(layer):
    return lambda x: F.linear(x, layer.weight, layer.bias).relu()


def densities(layer, x):
    """Log density of each unit, written out."""
    unit = Normal(layer.centres, layer.log_widths.exp().sqrt())
    return unit.log_prob(x[:, None]).sum(-1)


class TestGaussianLayers(LayerContract):
    cases = (
        LayerCase("relu", lambda: nw.GaussianInput(D, 4), plain_relu),
        LayerCase(
            "rbf", lambda: nw.GaussianRBF(D, 4), lambda f: lambda x: densities(f, x).softmax(-1)
        ),
        LayerCase(
            "rbf_density",
            lambda: nw.GaussianRBF(D, 4, components=2, normalize=False),
            lambda f: lambda x: densities(f, x).exp(),
        ),
    )


def made(kind, **settings):
    torch.manual_seed(5)
    layer = kind(4, 6, components=3, gamma=0.4, **settings).double()
    with torch.no_grad():
        layer.mixture.logits.copy_(torch.tensor([0.3, -0.2, 0.5]))
        layer.mixture.variances.uniform_(0.2, 1.5)
    return layer


def component_chances(mixture, x):
    """Probabilities of the components given the observed cells of one row, written out."""
    there = ~x.isnan()
    joint = []
    for k in range(3):
        sd = (mixture.variances[k].abs() + mixture.gamma.abs()).sqrt()
        cells = Normal(mixture.means[k], sd).log_prob(x.nan_to_num())
        joint.append(mixture.logits[k] + cells[there].sum())
    return torch.stack(joint).softmax(-1)


def completions(mixture, x, draws):
    """Draws of one row whose gaps are filled from the mixture given its observed cells."""
    drawn = torch.multinomial(component_chances(mixture, x), draws, replacement=True)
    sd = mixture.variances.abs().sqrt()[drawn]
    cells = mixture.means[drawn] + sd * torch.randn(draws, 4, dtype=torch.float64)
    return torch.where(x.isnan(), cells, x)


@pytest.mark.parametrize("gaps", [[1], [0, 2], [0, 1, 2, 3]])
def test_components_are_told_by_observed_cells_only(gaps):
    layer = made(nw.GaussianInput)
    x = torch.tensor([0.4, -1.2, 2.0, 0.1], dtype=torch.float64)
    x[gaps] = NAN
    with torch.no_grad():
        got = layer.mixture(x.nan_to_num(), (~x.isnan()).double()).exp()
        torch.testing.assert_close(got, component_chances(layer.mixture, x))


@pytest.mark.parametrize("gaps", [[1], [0, 2], [0, 1, 2, 3]])
@torch.no_grad()
def test_relu_equals_monte_carlo(gaps):
    layer = made(nw.GaussianInput)
    layer.weight *= 0.5  # the error of the mean of draws is 2e-4 then
    x = torch.tensor([0.4, -1.2, 2.0, 0.1], dtype=torch.float64)
    x[gaps] = NAN
    draws = plain_relu(layer)(completions(layer.mixture, x, 1_000_000))
    assert draws.std(0).max() > 0.1
    torch.testing.assert_close(layer(x[None])[0], draws.mean(0), rtol=0, atol=1e-3)


@pytest.mark.parametrize("gaps", [[1], [0, 2], [0, 1, 2, 3]])
@torch.no_grad()
def test_rbf_equals_monte_carlo(gaps):
    layer = made(nw.GaussianRBF, normalize=False)
    layer.log_widths.fill_(math.log(0.5))
    x = torch.tensor([0.4, -1.2, 2.0, 0.1], dtype=torch.float64)
    x[gaps] = NAN
    draws = densities(layer, completions(layer.mixture, x, 300_000)).exp()
    got = layer(x[None])[0]
    torch.testing.assert_close(got, draws.mean(0), rtol=0, atol=1e-4)
    assert got.max() > 1e-3
    layer.normalize = True
    torch.testing.assert_close(layer(x[None])[0], got / got.sum())


def test_expected_relu_at_and_near_zero_variance():
    mean = torch.tensor([-2.0, -1e-9, 0.0, 1e-9, 3.0], dtype=torch.float64, requires_grad=True)
    for size in (0.0, 1e-300, 1e-30, 1e-13, 1e-11, 1e-6):
        variance = torch.full_like(mean, size).requires_grad_()
        out = expected_relu(mean, variance)
        torch.testing.assert_close(out, mean.relu(), rtol=0, atol=0.4 * math.sqrt(size) + 1e-15)
        for grad in torch.autograd.grad(out.sum(), (mean, variance)):
            assert grad.isfinite().all()


@pytest.mark.parametrize("size", [0.01, 1.0, 1000.0])
def test_expected_relu_far_below_zero(size):
    mean = -size * torch.linspace(0, 40, 4001)
    out = expected_relu(mean, torch.full_like(mean, size**2))
    assert (out >= 0).all()
    u = (mean / size).double()
    normal = Normal(torch.zeros_like(u), torch.ones_like(u))
    tail = 0.5 * torch.special.erfc(-u / math.sqrt(2))
    exact = size * (normal.log_prob(u).exp() + u * tail)
    near = slice(0, 900)  # 9 standard deviations
    torch.testing.assert_close(out[near].double(), exact[near], rtol=1e-3, atol=0)


def test_rbf_of_columns_far_from_zero():
    torch.manual_seed(0)
    x = 3 * torch.randn(50, 6) + 1e4
    x[torch.rand_like(x) < 0.3] = NAN
    layer = nw.GaussianRBF(6, 5).fit(x)
    exact = nw.GaussianRBF(6, 5).double()
    exact.load_state_dict(layer.state_dict())
    torch.testing.assert_close(layer(x).double(), exact(x.double()), rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_numbers_where_nothing_varies(kind, dtype):
    layer = made(kind).to(dtype)
    with torch.no_grad():
        layer.mixture.variances.zero_()
        layer.mixture.gamma.zero_()
        layer.mixture.means[1] = layer.mixture.means[0]
    x = torch.tensor([[1.0, NAN, 0.0, 2.0], [NAN] * 4, [0.0] * 4, [30.0, NAN, -30.0, NAN]])
    x = x.to(dtype).requires_grad_()
    out = layer(x)
    (out * torch.arange(24.0).reshape(4, 6)).sum().backward()
    assert out.isfinite().all()
    for parameter in (x, *layer.parameters()):
        assert parameter.grad.isfinite().all()


@torch.no_grad()
def test_a_certain_gap_is_a_fill():
    layer = made(nw.GaussianInput)
    layer.mixture.variances[:, 1] = 0
    layer.mixture.means[:, 1] = 0.7
    x = torch.tensor([[0.4, NAN, 2.0, 0.1]], dtype=torch.float64)
    torch.testing.assert_close(layer(x), plain_relu(layer)(x.nan_to_num(0.7)))


@pytest.mark.parametrize("kind", LAYERS)
def test_complete_rows_teach_the_mixture_nothing(kind):
    layer = made(kind).float()
    layer(torch.randn(50, 4)).square().sum().backward()
    assert all((p.grad == 0).all() for p in layer.mixture.parameters())
    layer(torch.tensor([[1.0, NAN, 0.0, 2.0]])).square().sum().backward()
    assert all((p.grad != 0).any() for p in layer.mixture.parameters())


@pytest.mark.parametrize("kind", LAYERS)
def test_fit_takes_the_mixture_of_incomplete_rows(kind):
    torch.manual_seed(0)
    x = torch.randn(400, 4, dtype=torch.float64)
    x[::2] += torch.tensor([6.0, 0, 0, -6.0])
    x[torch.rand_like(x) < 0.2] = NAN
    layer = kind(4, 8, components=2).double().fit(x)
    first = layer.mixture.means[:, 0].sort().values.tolist()
    np.testing.assert_allclose(first, [0, 6], atol=0.4)
    assert layer.mixture.spreads().mean().item() == pytest.approx(1, abs=0.25)
    assert layer.mixture.logits.softmax(0).tolist() == pytest.approx([0.5, 0.5], abs=0.05)
    series = kind(4, 8, components=2).double().fit(x.unflatten(0, (20, 20)))
    assert torch.equal(series.mixture.means, layer.mixture.means)


def test_fit_takes_rows_of_half_precision():
    x = torch.arange(12.0).reshape(4, 3)
    halved = nw.GaussianInput(3, 2).bfloat16().fit(x.bfloat16())
    expected = nw.GaussianInput(3, 2).fit(x).bfloat16()
    assert torch.equal(halved.mixture.means, expected.mixture.means)


def test_rbf_centres_are_drawn_from_the_mixture():
    torch.manual_seed(0)
    layer = nw.GaussianRBF(4, 4000).set_mixture(
        [0.2, 0.3, 0.5], np.arange(12.0).reshape(3, 4), np.full((3, 4), 0.25)
    )
    mean = np.array([0.2, 0.3, 0.5]) @ np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(layer.centres.mean(0).tolist(), mean, atol=0.15)
    variance = layer.centres.var(0).tolist()
    np.testing.assert_allclose((layer.log_widths[0].exp() / 2).tolist(), variance, rtol=0.1)


def test_weight_decay_leaves_mixture_and_centres_alone():
    from nanwise.train.optim import make_optimizer
    from nanwise.train.plan import Plan

    layer = nw.GaussianRBF(4, 3)
    groups = make_optimizer(Plan(weight_decay=0.1), layer).param_groups
    assert [group["weight_decay"] for group in groups] == [0.0]
    relu = nw.GaussianInput(4, 3)
    groups = make_optimizer(Plan(weight_decay=0.1), relu).param_groups
    assert [len(g["params"]) for g in groups if g["weight_decay"]] == [2]


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((0, 3), ValueError, "in_features"),
        ((3, 0), ValueError, "out_features"),
        ((3, 2.5), TypeError, "out_features"),
        ((3, 2, 0), ValueError, "components"),
        ((3, 2, 1, -1.0), ValueError, "gamma"),
        ((3, 2, 1, NAN), ValueError, "gamma"),
    ],
)
def test_bad_settings_are_refused(kind, arguments, error, match):
    with pytest.raises(error, match=match):
        kind(*arguments)


@pytest.mark.parametrize("kind", LAYERS)
def test_bad_mixtures_and_rows_are_refused(kind):
    layer = kind(2, 3, components=1)
    with pytest.raises(ValueError, match="last axis"):
        layer(torch.zeros(1, 3))
    with pytest.raises(ValueError, match="above 0"):
        layer.set_mixture([0.0], [[0, 0]], [[1, 1]])
    with pytest.raises(ValueError, match="variances not below 0"):
        layer.set_mixture([1.0], [[0, 0]], [[1, -1]])
    with pytest.raises(ValueError, match="means has shape"):
        layer.set_mixture([1.0], [[0, 0, 0]], [[1, 1]])
