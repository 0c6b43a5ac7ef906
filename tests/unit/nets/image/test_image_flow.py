"""The flow: its inverse, its volume against autograd, its mass, and what it leaves alone."""

import pytest
import torch

from nanwise.nets.image.flow import FlowNet, moments

MARGIN = 0.05


def make(shape=(1, 4, 5), couplings=6, seed=0, **settings):
    torch.manual_seed(seed)
    net = FlowNet(shape, couplings, 4, **settings).double()
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if "first" in name or "layers.4" in name:  # far from the identity
                parameter.copy_(torch.randn_like(parameter) * 0.3)
    return net.eval()


def pictures(n=3, shape=(1, 4, 5), seed=1):
    generator = torch.Generator().manual_seed(seed)
    values = torch.rand(n, *shape, generator=generator, dtype=torch.float64)
    group = torch.rand(n, *shape, generator=generator)
    return values, group < 0.4, group > 0.6


@pytest.mark.parametrize("shape", [(1, 4, 5), (3, 5, 3)])
def test_generate_undoes_normalise_and_nothing_else_moves(shape):
    net, (values, observed, target) = make(shape), pictures(shape=shape)
    y = torch.randn_like(values).where(target, 0.0)
    z, _ = net.normalise(y, values, observed, target)
    assert (z[~target] == 0).all()
    assert (z - y)[target].abs().mean() > 0.1
    back = net.generate(z, values, observed, target)
    torch.testing.assert_close(back, y, rtol=0, atol=1e-10)


def test_the_volume_is_the_determinant_of_the_jacobian():
    net, (values, observed, target) = make(), pictures(n=1)
    places = target.flatten().nonzero()[:, 0]

    def moved(free):
        y = torch.zeros(target.numel(), dtype=torch.float64).index_put((places,), free)
        return net.normalise(y.view_as(values), values, observed, target)[0].flatten()[places]

    at = torch.randn(len(places), dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(moved, at)
    full = torch.zeros_like(values).flatten().index_put((places,), at).view_as(values)
    volume = net.normalise(full, values, observed, target)[1]
    assert volume.item() == pytest.approx(torch.linalg.slogdet(jacobian)[1].item(), abs=1e-9)


def test_the_density_of_one_pixel_has_mass_one():
    net, (values, observed, _) = make(), pictures(n=1)
    observed[0, 0, 1, 2] = False
    target = torch.zeros_like(observed)
    target[0, 0, 1, 2] = True
    grid = torch.linspace(-0.05555, 1.05555, 8001, dtype=torch.float64)
    x = values.repeat(len(grid), 1, 1, 1)
    x[:, 0, 1, 2] = grid
    density = net.log_prob(x, observed.expand_as(x), target.expand_as(x)).exp()
    assert torch.trapezoid(density, grid).item() == pytest.approx(1.0, abs=2e-3)


def test_the_density_of_two_pixels_has_mass_one():
    net, (values, observed, _) = make(), pictures(n=1)
    target = torch.zeros_like(observed)
    target[0, 0, 1, 1:3] = True
    observed = observed & ~target
    # on the logit scale, where tails are light
    y = torch.linspace(-14, 14, 85, dtype=torch.float64)
    both = torch.cartesian_prod(y, y)
    x = values.repeat(len(both), 1, 1, 1)
    x[:, 0, 1, 1:3] = (both.sigmoid() - MARGIN) / (1 - 2 * MARGIN)
    slope = (both.sigmoid() * (-both).sigmoid() / (1 - 2 * MARGIN)).prod(1)
    density = net.log_prob(x, observed.expand_as(x), target.expand_as(x)).exp() * slope
    assert density.sum().item() * (y[1] - y[0]).item() ** 2 == pytest.approx(1.0, abs=0.01)


def test_what_is_in_neither_set_is_not_looked_at():
    net, (values, observed, target) = make(), pictures()
    other = values.where(observed | target, 0.77)
    one, two = (net.log_prob(x, observed, target) for x in (values, other))
    assert (other != values).any()
    assert torch.equal(one, two)


def test_a_picture_without_target_has_density_one():
    net, (values, observed, _) = make(), pictures()
    nothing = torch.zeros_like(observed)
    assert (net.log_prob(values, observed, nothing) == 0).all()


def test_draws_leave_observed_pixels_and_stay_between_0_and_1():
    net, (values, observed, _) = make(levels=256), pictures()
    drawn = net.draw(values, observed, 3 * torch.randn_like(values))
    assert torch.equal(drawn[observed], values[observed])
    assert ((drawn >= 0) & (drawn <= 1)).all()


def test_levels_there_and_back():
    net, (values, observed, _) = make(levels=256), pictures()
    levelled = net.levelled(values)
    logits = (MARGIN + (1 - 2 * MARGIN) * levelled).logit().where(~observed, 0.0)
    z, _ = net.normalise(logits, levelled, observed, ~observed)
    torch.testing.assert_close(net.draw(values, observed, z), values, rtol=0, atol=1e-9)


def test_it_learns_what_pixels_have_in_common():
    """Pictures of one random grey each: the hole has the grey of the rest."""
    torch.manual_seed(0)
    net = FlowNet((1, 6, 6), 2, 8, levels=16)
    optimizer = torch.optim.AdamW(net.parameters(), 5e-3)
    everything = torch.ones(32, 1, 6, 6, dtype=torch.bool)
    losses = []
    for _ in range(150):
        grey = torch.randint(16, (32, 1, 1, 1)).expand(-1, 1, 6, 6) / 15
        loss = net.training_step((grey, everything))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 100.0)
        optimizer.step()
        losses.append(loss.item())
    # a uniform density of nine pixels has the loss 0
    assert sum(losses[-10:]) / 10 < -5
    grey = (torch.arange(16.0) / 15).view(16, 1, 1, 1).expand(-1, 1, 6, 6)
    observed = everything[:16].clone()
    observed[:, :, 2:5, 2:5] = False
    with torch.no_grad():
        drawn = torch.stack([net.draw(grey, observed, torch.randn_like(grey)) for _ in range(10)])
    error = (drawn.mean(0) - grey)[~observed].square().mean()
    assert error < 0.2 * grey.var()


def test_moments_of_draws_become_a_density():
    draws = torch.rand(5, 2, 1, 2, 2)
    mean, factors, noise = moments(draws, 1e-5)
    found = factors[:, 0].flatten(2)
    off = (draws - draws.mean(0)).movedim(0, 1).flatten(2)
    torch.testing.assert_close(found.mT @ found, off.mT @ off / 5)
    assert torch.equal(mean[:, 0], draws.mean(0))
    assert (noise == 1e-5).all()
