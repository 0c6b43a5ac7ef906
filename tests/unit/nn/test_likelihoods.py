"""Every kind's density adds up to one, and its mean is that of its samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch
from scipy import stats

from nanwise.nn.likelihoods import Heads


class Part(NamedTuple):
    kind: str
    width: int
    shift: float = 0.0
    scale: float = 1.0


MIXED = (
    Part("categorical", 3),
    Part("real", 1, 5.0, 2.0),
    Part("ordinal", 4),
    Part("count", 1, 1.2, 0.6),
    Part("vector", 2),
    Part("binary", 1),
    Part("positive", 1, 0.8, 0.5),
    Part("categorical", 3),
    Part("real", 1),
)


def raw_for(heads, *lead, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*lead, heads.width, generator=generator, dtype=torch.float64)


def heads_of(*parts, **settings):
    made = Heads(parts, **settings).double()
    if made.shapes is not None:
        with torch.no_grad():
            made.shapes.copy_(torch.linspace(-1, 1, made.n_shapes, dtype=torch.float64))
    return made


@pytest.mark.parametrize("numbers", ["gaussian", "student"])
@pytest.mark.parametrize("variance", ["own", "shared", 0.49])
def test_density_of_a_number_integrates_to_one(numbers, variance):
    heads = heads_of(Part("real", 1), numbers=numbers, variance=variance)
    raw = raw_for(heads, 5, 1)
    grid = torch.linspace(-3000, 3000, 3_000_001, dtype=torch.float64)
    for each in raw:
        density = heads.log_prob(each, grid[:, None])[..., 0].exp()
        assert torch.trapezoid(density, grid).item() == pytest.approx(1, abs=1e-5)


def test_density_of_a_positive_number_integrates_to_one_over_numbers_too():
    part = Part("positive", 1, 0.8, 0.5)
    heads = heads_of(part)
    x = torch.expm1(torch.linspace(-6, 12, 400_001, dtype=torch.float64))
    features = (x.log1p() - part.shift) / part.scale
    jacobian = -x.log1p() - np.log(part.scale)
    raw = raw_for(heads, 1)
    density = (heads.log_prob(raw, features[:, None])[..., 0] + jacobian).exp()
    assert torch.trapezoid(density, x).item() == pytest.approx(1, abs=1e-5)
    mean, scale = raw[0, 0].item(), 1e-3 + np.log1p(np.exp(raw[0, 1].item()))
    reference = stats.lognorm(part.scale * scale, -1, np.exp(part.shift + part.scale * mean))
    assert np.allclose(density.numpy(), reference.pdf(x.numpy()))


def test_probabilities_of_counts_are_poisson_and_add_up_to_one():
    part = Part("count", 1, 1.2, 0.6)
    heads = heads_of(part)
    counts = np.arange(400.0)
    features = torch.as_tensor((np.log1p(counts) - part.shift) / part.scale)[:, None]
    for raw in raw_for(heads, 5):
        found = heads.log_prob(raw[None], features)[:, 0].exp().numpy()
        assert found.sum() == pytest.approx(1, abs=1e-6)
        rate = np.expm1(heads.mean(raw).item() * part.scale + part.shift)
        assert np.allclose(found, stats.poisson(rate).pmf(counts), atol=1e-6)


@pytest.mark.parametrize("levels", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_probabilities_of_levels_add_up_to_one(kind, levels):
    heads = heads_of(Part(kind, levels))
    codes = torch.arange(levels)
    compare = torch.eq if kind == "categorical" else torch.ge
    features = compare(codes[:, None], codes[None]).double()
    for raw in 3 * raw_for(heads, 20):
        chance = heads.log_prob(raw[None], features)[:, 0].exp()
        assert chance.sum().item() == pytest.approx(1)
        expected = (chance[:, None] * features).sum(0)
        assert torch.allclose(heads.mean(raw), expected)


def test_probabilities_of_a_flag_add_up_to_one():
    heads = heads_of(Part("binary", 1))
    raw = 3 * raw_for(heads, 20)
    both = [heads.log_prob(raw, torch.full_like(raw, value)).exp() for value in (0.0, 1.0)]
    assert torch.allclose(both[0] + both[1], torch.ones_like(raw))
    assert torch.allclose(both[1], heads.mean(raw))


def test_a_vector_is_the_product_of_its_columns():
    together, apart = heads_of(Part("vector", 3)), heads_of(*[Part("real", 1)] * 3)
    raw, features = raw_for(together, 6), torch.randn(6, 3, dtype=torch.float64)
    one = together.log_prob(raw, features)[:, 0]
    assert torch.allclose(one, apart.log_prob(raw, features).sum(1))


def test_densities_are_those_of_scipy():
    heads = heads_of(Part("real", 1), numbers="student")
    raw, x = raw_for(heads, 8), torch.linspace(-4, 4, 8, dtype=torch.float64)[:, None]
    softplus = np.log1p(np.exp(raw.numpy()))
    reference = stats.t(3 + softplus[:, 2], raw[:, 0].numpy(), 1e-3 + softplus[:, 1])
    assert np.allclose(heads.log_prob(raw, x)[:, 0], reference.logpdf(x[:, 0].numpy()))


@pytest.mark.parametrize("numbers", ["gaussian", "student"])
@pytest.mark.parametrize("variance", ["own", "shared", 0.25])
def test_mean_is_that_of_the_samples(numbers, variance):
    heads = heads_of(*MIXED, numbers=numbers, variance=variance)
    raw = raw_for(heads)
    drawn = heads.sample(raw.expand(200_000, -1), torch.Generator().manual_seed(1))
    mean, error = drawn.mean(0), drawn.std(0) / np.sqrt(len(drawn))
    count = 1 + 3 + 4  # the feature of a mean count is not the mean of the features
    found = (heads.mean(raw) - mean).abs() <= 4.5 * error + 1e-9
    assert found[torch.arange(len(found)) != count].all()
    counts = (drawn[:, count] * 0.6 + 1.2).expm1()
    rate = (heads.mean(raw)[count] * 0.6 + 1.2).expm1()
    assert counts.mean().item() == pytest.approx(rate.item(), rel=0.02)


def test_samples_have_the_density():
    heads = heads_of(Part("real", 1), Part("real", 1), numbers="student")
    raw = raw_for(heads)
    drawn = heads.sample(raw.expand(20_000, -1), torch.Generator().manual_seed(2)).numpy()
    softplus = np.log1p(np.exp(raw.numpy()))
    for j in range(2):
        scale, degrees = 1e-3 + softplus[2 + 2 * j], 3 + softplus[3 + 2 * j]
        assert stats.kstest(drawn[:, j], stats.t(degrees, raw[j].item(), scale).cdf).pvalue > 1e-3


def test_kinds_in_one_row_are_those_alone():
    heads = heads_of(*MIXED)
    places, shapes = torch.split(raw_for(heads, 4), [heads.n_places, heads.n_shapes], dim=1)
    features = heads.sample(torch.cat((places, shapes), 1), torch.Generator().manual_seed(0))
    together = heads.log_prob(torch.cat((places, shapes), 1), features)
    means = heads.mean(torch.cat((places, shapes), 1))
    at = [0, 0, 0]
    for a, part in enumerate(MIXED):
        alone = heads_of(part)
        widths = (alone.n_places, alone.n_shapes, part.width)
        cut = [slice(start, start + width) for start, width in zip(at, widths, strict=True)]
        own = torch.cat((places[:, cut[0]], shapes[:, cut[1]]), 1)
        assert torch.allclose(alone.log_prob(own, features[:, cut[2]])[:, 0], together[:, a])
        assert torch.allclose(alone.mean(own), means[:, cut[2]])
        at = [start + width for start, width in zip(at, widths, strict=True)]


def test_leading_dimensions_and_gaps():
    heads = heads_of(*MIXED, variance="shared")
    raw = raw_for(heads, 7, 4)
    found = heads.log_prob(raw, torch.zeros(4, heads.n_features, dtype=torch.float64))
    assert found.shape == (7, 4, len(MIXED))
    assert torch.isfinite(found).all()
    assert heads.mean(raw).shape == heads.sample(raw).shape == (7, 4, heads.n_features)


def test_gradients_are_finite_far_out():
    heads = Heads(MIXED, numbers="student")
    raw = (30 * torch.randn(50, heads.width)).requires_grad_()
    features = heads.sample(torch.zeros(50, heads.width))
    heads.log_prob(raw, features).sum().backward()
    assert torch.isfinite(raw.grad).all()


@pytest.mark.parametrize(
    "bad", [{"numbers": "cauchy"}, {"variance": "none"}, {"variance": 0.0}, {"least": 0}]
)
def test_settings_that_cannot_be_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Heads(MIXED, **bad)


def test_raw_of_the_wrong_width_is_refused():
    with pytest.raises(ValueError, match="raw must have"):
        Heads(MIXED).mean(torch.zeros(2, 3))
