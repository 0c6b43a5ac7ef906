"""Closed forms behind the networks with latent variables."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from nanwise.nets.mixed.hivae import HIVAENet
from nanwise.nets.mixed.latent import (
    Gaussian,
    normal_points,
    product_of_experts,
    spread,
    standard_log_prob,
)
from nanwise.nets.mixed.layers import Apart
from nanwise.nets.mixed.miwae import MIWAENet
from nanwise.nets.mixed.mvae import MVAENet
from nanwise.nets.mixed.not_miwae import NotMIWAENet


class Part(NamedTuple):
    kind: str
    width: int
    shift: float = 0.0
    scale: float = 1.0


REALS = [Part("real", 1)] * 4


@pytest.fixture(autouse=True)
def _seed():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def linear_gaussian(net_class, **settings):
    """A net whose decoder is linear and Gaussian, so that the likelihood is known."""
    net = net_class(
        REALS, hidden=(), latent=2, numbers="gaussian", variance=0.49, particles=64, **settings
    ).double()
    with torch.no_grad():  # proposals wide enough for estimates of small variance
        if net_class is MVAENet:
            net.experts.last.bias[..., 2:].fill_(3.0)
        else:
            net.encoder.linear.weight.mul_(0.2)
            net.encoder.linear.bias[2:].fill_(0.3)
    weight = net.decoder.linear.weight.detach()
    moments = net.decoder.linear.bias.detach(), weight @ weight.T + 0.49 * torch.eye(4).double()
    rows = torch.randn(6, 4, dtype=torch.float64)
    observed = torch.rand(6, 4) < 0.6
    return net, rows * observed, observed, moments


def exact_log_prob(rows, observed, moments):
    found = []
    for row, there in zip(rows.numpy(), observed.numpy(), strict=True):
        mean, cov = moments[0].numpy()[there], moments[1].numpy()[np.ix_(there, there)]
        found.append(multivariate_normal(mean, cov).logpdf(row[there]) if there.any() else 0.0)
    return torch.tensor(found, dtype=torch.float64)


def exact_fill(rows, observed, moments):
    mean, cov = moments
    out = rows.clone()
    for i, there in enumerate(observed):
        gap = ~there
        gain = cov[gap][:, there] @ torch.linalg.inv(cov[there][:, there])
        out[i, gap] = mean[gap] + gain @ (rows[i, there] - mean[there])
    return out


def test_bound_of_miwae_rises_to_the_likelihood():
    net, rows, observed, moments = linear_gaussian(MIWAENet, k=5)
    exact = exact_log_prob(rows, observed, moments)
    gaps = []
    with torch.no_grad():
        for k in (1, 10, 100, 20_000):
            times = max(2000 // k, 1)
            noise = torch.randn(times, k, 6, 2, dtype=torch.float64)
            bound = torch.stack([net.bound(rows, observed, each) for each in noise]).mean(0)
            gaps.append((exact - bound).mean().item())
    assert gaps[0] > gaps[1] > gaps[2] > abs(gaps[3])
    assert abs(gaps[3]) < 0.01
    found = net.log_prob(rows, observed, 4096)
    assert torch.allclose(found, exact, atol=0.02)


@pytest.mark.parametrize("net_class", [MIWAENet, MVAENet])
def test_filling_is_the_conditional_expectation(net_class):
    net, rows, observed, moments = linear_gaussian(net_class)
    net.particles = 8192
    net.set_noise(2, 4)
    net = net.double()
    with torch.no_grad():
        found = torch.where(observed, rows, net.fill(rows, observed))
    assert torch.allclose(found, exact_fill(rows, observed, moments), atol=0.02)


def test_draws_have_the_conditional_distribution():
    net, rows, observed, (mean, cov) = linear_gaussian(MIWAENet)
    rows, observed = rows[:1].clone(), torch.tensor([[True, True, False, False]])
    rows[0, 2:] = 0
    net.particles = 500
    net.set_noise(2, 4)
    with torch.no_grad():
        drawn = (
            net.double()
            .draw(
                rows.expand(2000, -1),
                observed.expand(2000, -1),
                5,
                torch.Generator().manual_seed(1),
            )[..., 2:]
            .flatten(0, 1)
        )
    gain = cov[2:, :2] @ torch.linalg.inv(cov[:2, :2])
    assert torch.allclose(drawn.mean(0), mean[2:] + gain @ (rows[0, :2] - mean[:2]), atol=0.05)
    assert torch.allclose(drawn.T.cov(), cov[2:, 2:] - gain @ cov[:2, 2:], atol=0.05)


def test_draws_do_not_depend_on_how_many_particles_are_made_at_once(monkeypatch):
    net, rows, observed, _ = linear_gaussian(MIWAENet)
    with torch.no_grad():
        whole = net.fill(rows, observed), net.log_prob(rows, observed, 64)
        monkeypatch.setattr("nanwise.nets.mixed.importance.CELLS", 7 * 6 * 4)
        parts = net.fill(rows, observed), net.log_prob(rows, observed, 64)
        means = [
            net.draw(rows, observed, 4000, torch.Generator().manual_seed(s)).mean(0) for s in (1, 2)
        ]
    for one, other in zip(whole, parts, strict=True):
        assert torch.allclose(one, other)
    assert torch.allclose(means[0], means[1], atol=0.5)
    assert torch.allclose(torch.stack(means).mean(0), whole[0], atol=0.3)


def test_product_of_experts_is_the_analytic_posterior():
    # z ~ N(0, 1) and x_i = z + noise of variance v_i: each expert is N(x_i, v_i)
    variance = torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64)
    x = torch.tensor([1.0, -2.0, 9.0], dtype=torch.float64)
    there = torch.tensor([True, True, False])
    found = product_of_experts(
        x.reshape(1, 3, 1), variance.sqrt().reshape(1, 3, 1), there.double().reshape(1, 3)
    )
    cov = torch.ones(2, 2, dtype=torch.float64) + torch.diag(variance[:2])
    gain = torch.ones(1, 2, dtype=torch.float64) @ torch.linalg.inv(cov)
    assert found.mean.item() == pytest.approx((gain @ x[:2]).item())
    assert found.scale.item() ** 2 == pytest.approx(1 - gain.sum().item())


def test_product_without_experts_is_the_prior():
    found = product_of_experts(torch.ones(1, 3, 2), torch.ones(1, 3, 2), torch.zeros(1, 3))
    assert torch.equal(found.mean, torch.zeros(1, 2))
    assert torch.equal(found.scale, torch.ones(1, 2))


def test_gaussian_density_and_divergence_are_those_of_torch():
    mean, scale, z = torch.randn(5, 3), torch.rand(5, 3) + 0.2, torch.randn(7, 5, 3)
    ours, theirs = Gaussian(mean, scale), torch.distributions.Normal(mean, scale)
    assert torch.allclose(ours.log_prob(z), theirs.log_prob(z).sum(-1), atol=1e-5)
    prior = torch.distributions.Normal(torch.full_like(mean, 0.5), torch.ones_like(mean))
    divergence = torch.distributions.kl_divergence(theirs, prior).sum(-1)
    assert torch.allclose(ours.divergence(0.5), divergence, atol=1e-5)
    assert torch.allclose(
        standard_log_prob(z), Gaussian(torch.zeros(3), torch.ones(3)).log_prob(z), atol=1e-5
    )


def test_points_are_normal_and_the_same_every_time():
    points = normal_points(4096, 3)
    assert torch.equal(points, normal_points(4096, 3))
    assert torch.allclose(points.mean(0), torch.zeros(3), atol=1e-3)
    assert torch.allclose(points.T.cov(), torch.eye(3), atol=0.02)


def test_spread_repeats_attributes_over_their_features():
    parts = [Part("real", 1), Part("categorical", 3), Part("vector", 2)]
    observed = torch.tensor([[True, False, True]])
    assert spread(observed, parts).tolist() == [[True, False, False, False, True, True]]


def test_encoders_apart_see_their_own_attribute_only():
    parts = [Part("categorical", 3), Part("real", 1), Part("vector", 3), Part("real", 1)]
    net, x = Apart(parts, 5, 2), torch.randn(4, 8)
    before = net(x)
    x[:, 3] += 1
    changed = (net(x) - before).abs().sum((0, 2)) > 0
    assert changed.tolist() == [False, True, False, False]


def test_weights_of_hivae_average_to_the_likelihood():
    """Whatever the proposal, the mean weight is the density; two proposals must agree."""
    parts = [Part("real", 1), Part("categorical", 3), Part("count", 1, 1.0, 0.5)]
    net = HIVAENet(parts, hidden=(), latent=1, components=3, width=2).double()
    raw = net._decode(torch.zeros(5, 1).double(), torch.eye(3).double()[[0, 1, 2, 0, 1]])
    rows = net.heads.sample(raw, torch.Generator().manual_seed(0))
    observed = torch.tensor([[True, True, True], [True, False, True], [False, True, False]] * 2)[:5]
    rows = rows * spread(observed.double(), parts)
    with torch.no_grad():
        net.encode_z.linear.bias[1:].fill_(0.5)
        before = net.log_prob(rows, observed, 2**15)
        net.encode_s.linear.weight.mul_(0.3)
        net.encode_z.linear.weight.mul_(0.5)
        after = net.log_prob(rows, observed, 2**15)
    assert torch.allclose(before, after, atol=0.02)


def test_hivae_decodes_wide_attributes_as_it_does_narrow_ones(monkeypatch):
    parts = [Part("vector", 20), Part("real", 1), Part("categorical", 3), Part("vector", 5)]
    net = HIVAENet(parts, hidden=(), latent=2, components=3, width=4).double()
    z, s = torch.randn(6, 2, 2).double(), torch.eye(3).double()[[0, 1, 2, 0, 1, 1]][:, None]
    s = s.expand(6, 2, 3)
    wide = net._decode(z, s)
    monkeypatch.setattr("nanwise.nets.mixed.hivae._MANY", 100)
    torch.testing.assert_close(net._decode(z, s), wide)


def test_self_masking_pattern_is_the_formula():
    net = NotMIWAENet(REALS, hidden=(), latent=2).double()
    with torch.no_grad():
        net.slope.copy_(torch.tensor([1.0, -2.0, 0.0, 0.5]))
        net.offset.copy_(torch.tensor([0.1, 0.2, -0.3, 0.0]))
    row = torch.tensor([[0.3, -0.7, 2.0, 1.0]], dtype=torch.float64)
    observed = torch.tensor([[True, False, True, False]])
    missing = torch.sigmoid(net.slope * row + net.offset)[0]
    chance = (1 - missing[0]) * missing[1] * (1 - missing[2]) * missing[3]
    assert net.log_pattern(row, observed).item() == pytest.approx(math.log(chance.item()))


def test_known_direction_keeps_its_sign():
    for known, sign in (("high", 1), ("low", -1)):
        net = NotMIWAENet(REALS, hidden=(), latent=2, known=known)
        with torch.no_grad():
            net.slope.normal_()
        assert (sign * net._slope() > 0).all()


def test_not_miwae_without_a_mechanism_is_miwae():
    net, rows, observed, moments = linear_gaussian(NotMIWAENet, mechanism="linear")
    with torch.no_grad():
        net.offset.fill_(-1.0)
        found = net.log_prob(rows, observed, 4096)
        gaps = (~observed).sum(1)
        pattern = gaps * math.log(1 / (1 + math.e)) + (4 - gaps) * math.log(math.e / (1 + math.e))
    assert torch.allclose(found, exact_log_prob(rows, observed, moments) + pattern, atol=0.02)
