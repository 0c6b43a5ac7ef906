"""The density network: shapes, loss, what it may not see, and that it learns."""

import pytest
import torch
from torch.distributions import MultivariateNormal

from nanwise.missing import Observed
from nanwise.nets.image.dmfa import DMFANet

BODIES = ("skip", "conv", "linear")


def make(net="skip", shape=(2, 15, 17), components=2, factors=3, **settings):
    torch.manual_seed(0)
    made = DMFANet(shape, components, factors, net, 8, **settings)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return made.eval()


def pictures(n=4, shape=(2, 15, 17)):
    torch.manual_seed(1)
    return torch.rand(n, *shape), torch.rand(n, *shape) < 0.6


@pytest.mark.parametrize("net", BODIES)
@pytest.mark.parametrize("components", [1, 2])
def test_the_density_has_its_shapes_and_bounds(net, components):
    made, (values, observed) = make(net, components=components), pictures()
    density = made.predict(values * observed, observed)
    assert density.check(values).factors.shape == (4, components, 3, 2, 15, 17)
    torch.testing.assert_close(density.weights.sum(1), torch.ones(4))
    assert density.factors.abs().max() <= 0.25
    assert density.noise.min() >= 1e-4
    assert density.noise.max() <= 1 + 2e-4
    torch.testing.assert_close(made(values, observed).mean()[observed], values[observed])


@pytest.mark.parametrize("net", BODIES)
def test_what_is_missing_is_not_looked_at(net):
    made, (values, observed) = make(net), pictures()
    other = torch.where(observed, values, torch.rand_like(values))
    for one, two in zip(made(values, observed), made(other, observed), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize("net", BODIES)
def test_a_picture_is_answered_by_itself(net):
    made, (values, observed) = make(net), pictures()
    alone = made(values[:1], observed[:1])
    for one, other in zip(alone, made(values, observed), strict=True):
        torch.testing.assert_close(one, other[:1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 5, 6), (3, 8, 8), (1, 1, 1), (1, 28, 28)])
@pytest.mark.parametrize("net", ["skip", "conv"])
def test_any_size_will_do(net, shape):
    made, (values, observed) = make(net, shape), pictures(2, shape)
    assert made(values, observed).means.shape == (2, 2, *shape)


def test_small_pictures_are_too_small_for_the_linear_net():
    with pytest.raises(ValueError, match="at least 15 x 15"):
        DMFANet((1, 14, 20), net="linear")


def test_the_loss_is_the_mixture_density_of_hidden_and_observed_pixels():
    shape = (1, 4, 5)
    made, (values, observed) = make(shape=shape).double(), pictures(3, shape)
    values = values.double()
    held = torch.rand(values.shape) < 0.5
    got = made._losses(values, observed, held, 0.0)
    density = made.predict(values * (observed & ~held), observed & ~held)
    for row in range(3):
        cells = (held & observed)[row].flatten()
        means = density.means[row].flatten(1)[:, cells]
        factors = density.factors[row].flatten(2)[..., cells]
        noise = torch.diag_embed(density.noise[row].flatten(1)[:, cells])
        parts = MultivariateNormal(means, factors.mT @ factors + noise)
        joint = density.weights[row].log() + parts.log_prob(values[row].flatten()[cells])
        assert got[row].item() == pytest.approx(-joint.logsumexp(0).item(), abs=1e-8)
    with_error = made._losses(values, observed, held, 2.0)
    off = ((density.mean() - values) ** 2 * (held & observed)).flatten(1).sum(1)
    torch.testing.assert_close(with_error, got + 2 * off)


def test_pixels_of_the_hole_do_not_teach():
    made, (values, observed) = make(), pictures()
    held = torch.rand(values.shape) < 0.5
    other = torch.where(observed, values, torch.rand_like(values))
    assert torch.equal(*(made._losses(x, observed, held, 1.0) for x in (values, other)))
    nothing = torch.zeros_like(observed)
    assert made._losses(values, nothing, held, 1.0).abs().max() < 1e-6


def test_the_squared_error_counts_in_the_first_epochs_only():
    made = make(mse=3.0, mse_share=0.25)
    weights = []
    for epoch in range(1, 9):
        made.begin_epoch(epoch, 8)
        weights.append(made.mse_now)
    assert weights == [3.0, 3.0, 0, 0, 0, 0, 0, 0]


def test_it_begins_with_what_pixels_are_like():
    torch.manual_seed(0)
    made, values = DMFANet((2, 6, 5), 2, 3, width=4).eval(), torch.rand(50, 2, 6, 5)
    values[:, :, 0] = 0.7
    observed = torch.rand(values.shape) < 0.8
    observed[:, 1, 2, 3] = False
    made.begin(values * observed, observed)
    with torch.no_grad():
        made.body.head.weight.zero_()
        density = made.predict(values[:3], observed[:3])
    pixel = values[:, 0, 4, 4][observed[:, 0, 4, 4]]
    assert density.means[:, :, 0, 4, 4] == pytest.approx(pixel.mean().item(), abs=1e-5)
    wanted = pixel.var(correction=0).item() + 1e-4
    assert density.noise[:, :, 0, 4, 4] == pytest.approx(wanted, abs=1e-4)
    assert density.noise[:, :, 0, 0] == pytest.approx(2e-4, abs=1e-5)
    assert density.noise[:, :, 1, 2, 3] == pytest.approx(0.25, abs=1e-3)


def test_validation_is_the_same_every_time():
    made, batch = make(), pictures()
    state = torch.get_rng_state()
    first, second = (made.validation_step(batch)[0].item() for _ in range(2))
    assert first == second
    assert torch.equal(torch.get_rng_state(), state)


def test_it_learns_what_pixels_have_in_common():
    """Pictures of one random grey each: the hole has the grey of the rest."""
    torch.manual_seed(0)
    made = DMFANet((1, 8, 8), 1, 1, "skip", 8, mse=100.0)
    optimizer = torch.optim.AdamW(made.parameters(), 5e-3)
    everything = torch.ones(32, 1, 8, 8, dtype=torch.bool)
    for _ in range(120):
        grey = torch.rand(32, 1, 1, 1).expand(-1, 1, 8, 8)
        loss = made.training_step((grey, everything))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(made.parameters(), 100.0)
        optimizer.step()
    grey = torch.linspace(0.1, 0.9, 32).view(32, 1, 1, 1).expand(-1, 1, 8, 8)
    observed = everything.clone()
    observed[:, :, 2:6, 2:6] = False
    density = made.eval()(grey, observed)
    error = (density.mean() - grey)[~observed].square().mean()
    assert error < 0.15 * grey.var()
    assert density.log_prob(Observed(grey, everything), ~observed).mean() > 5
