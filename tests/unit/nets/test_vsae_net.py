"""The network of VSAE: every term by hand, selection, gradients, answers against integration."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from nanwise.estimators.impute.features import Part
from nanwise.nets.mixed.vsae import VSAENet
from nanwise.nets.mixed.vsae_answers import flatten
from nanwise.nets.mixed.vsae_proposal import ObservedNorm, RowNorm, Sizes, normal

SMALL = Sizes(
    latent=1,
    vector_latent=3,
    numbers=4,
    levels=5,
    vectors=6,
    collective=8,
    decoder=7,
    pattern=4,
    layers=2,
)
PARTS = (Part("real", 1), Part("categorical", 3))


def make(parts=PARTS, **settings):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return VSAENet(parts, SMALL, **settings).double()


def known_answers(**settings):
    """A net whose last layers ignore their input: all it says is in the biases set here."""
    net = make(variance=4.0, bound=1, **settings)
    real, levels = net.proposal.attributive
    layers = (real.last, levels.last, net.proposal.collective[-1])
    layers += (net.decoders.pattern[-1], net.decoders.data[0][-1])
    biases = (
        [0.3, -0.2],  # mean and log variance of the real attribute's latent
        [-0.5, 0.4],  # of the categorical one's
        [1.0, -1.5, 0.1, 0.7],  # means, then log variances, by the collective encoder
        [0.8, -0.6],  # log odds to be observed
        [0.25, 0.0, 1.0, 2.0],  # mean of the real one, scores of the levels
    )
    with torch.no_grad():
        for layer, bias in zip(layers, biases, strict=True):
            layer.weight.zero_()
            layer.bias.copy_(torch.tensor(bias).reshape(layer.bias.shape))
    return net


FEATURES = torch.tensor([[1.25, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]], dtype=torch.float64)
OBSERVED = torch.tensor([[True, True], [False, True]])
LEVELS = [k - math.log(sum(math.exp(j) for j in range(3))) for k in range(3)]


def log_sigmoid(x):
    return -math.log1p(math.exp(-x))


def log_normal(x):
    """Density of the real attribute: mean 0.25, variance 4."""
    return -((x - 0.25) ** 2) / 8 - math.log(2) - math.log(2 * math.pi) / 2


def divergence(mean, log_variance):
    return (mean**2 + math.exp(log_variance) - 1 - log_variance) / 2


def near(found, wanted):
    torch.testing.assert_close(found.detach(), torch.tensor(wanted, dtype=torch.float64))


# -- the bound -----------------------------------------------------------------------------------


def test_every_term_of_two_attributes_by_hand():
    terms = known_answers().terms(FEATURES, OBSERVED)
    near(terms.observed[0], [log_normal(1.25) + LEVELS[1], LEVELS[0]])
    both = log_sigmoid(0.8) + log_sigmoid(-0.6)
    near(terms.pattern[0], [both, log_sigmoid(-0.8) + log_sigmoid(-0.6)])
    # of the second row the real attribute is missing: the collective encoder speaks for it
    own = divergence(-0.5, 0.4)
    near(terms.divergence[0], [divergence(0.3, -0.2) + own, divergence(1.0, 0.1) + own])
    near(terms.generated[0, 0], [0.0, 0.0])
    whole = terms.observed + terms.pattern - terms.divergence
    near(terms.bound(), whole[0].tolist())


def test_generated_values_of_gaps_are_scored_and_averaged():
    generated = FEATURES.repeat(2, 1, 1)
    generated[:, 1, 0] = torch.tensor([2.0, -1.0])
    terms = known_answers().terms(FEATURES, OBSERVED, generated)
    near(terms.generated[:, 0], [[0.0, log_normal(2.0)], [0.0, log_normal(-1.0)]])
    without = known_answers().terms(FEATURES, OBSERVED).bound()
    more = (log_normal(2.0) + log_normal(-1.0)) / 2
    near(terms.bound() - without, [0.0, more])


def test_attributes_that_are_not_shown_are_scored_by_latents_of_the_others():
    shown = torch.tensor([[False, True], [False, True]])
    hidden = known_answers().terms(FEATURES, OBSERVED, shown=shown)
    plain = known_answers().terms(FEATURES, OBSERVED)
    for found, wanted in zip(hidden[:3], plain[:3], strict=True):
        near(found, wanted.tolist())
    near(hidden.divergence[0], [divergence(1.0, 0.1) + divergence(-0.5, 0.4)] * 2)


def test_training_hides_the_share_it_is_told():
    net, seen = make(hide=0.3), []
    rows = FEATURES.repeat(1000, 1), OBSERVED.repeat(1000, 1)
    propose = net.proposal.forward
    net.proposal.forward = lambda x, shown, noise: seen.append(shown) or propose(x, shown, noise)
    net.training_step(rows)
    assert not (seen[0] & ~rows[1]).any()
    assert 0.67 < (seen[0].sum() / rows[1].sum()).item() < 0.73
    net.validation_step(rows)
    assert torch.equal(seen[1], rows[1])


def test_a_completed_row_is_encoded_attribute_by_attribute():
    generated = FEATURES[None].clone()
    generated[0, 1, 0] = 2.0
    terms = known_answers().completed_terms(OBSERVED, generated)
    near(terms.observed[0] + terms.generated[0, 0], [
        log_normal(1.25) + LEVELS[1], log_normal(2.0) + LEVELS[0],
    ])  # fmt: skip
    near(terms.divergence[0], [divergence(0.3, -0.2) + divergence(-0.5, 0.4)] * 2)


@pytest.mark.parametrize("straight", [False, True])
@pytest.mark.parametrize("variance", ["own", "shared"])
def test_latents_say_nothing_about_thin_attributes(straight, variance):
    parts = (Part("real", 1), Part("categorical", 3), Part("real", 1))
    net = make(parts, straight=straight, variance=variance, thin=[2]).eval()
    z = torch.randn(50, net.proposal.n_latents, dtype=torch.float64)
    _, raws = net.decoders(z, torch.ones(50, 3, dtype=torch.bool))
    mean = net.decoders.mean(raws)
    assert (mean[:, 4] == 0).all()
    assert (mean[:, :4].std(0) > 0).all()
    # how far the values lie apart is still learnt
    scales = net.decoders.heads[0].split(raws[0])[1]
    assert scales.shape[-1] == 2
    assert (scales.std(0) > 0).all() if variance == "own" else scales.requires_grad


def test_means_of_numbers_are_squeezed_into_their_reach():
    parts = (Part("real", 1), Part("categorical", 3), Part("positive", 1), Part("vector", 2))
    net, free = make(parts, reach=1.5).eval(), make(parts).eval()
    z = 30 * torch.randn(200, net.proposal.n_latents, dtype=torch.float64)
    pattern = torch.ones(200, 4, dtype=torch.bool)
    found, raw = (n.decoders.mean(n.decoders(z, pattern)[1]) for n in (net, free))
    numbers = [0, 4]
    torch.testing.assert_close(found[:, numbers], 1.5 * torch.tanh(raw[:, numbers] / 1.5))
    others = [1, 2, 3, 5, 6]
    torch.testing.assert_close(found[:, others], raw[:, others])


def test_more_latents_make_the_bound_tighter():
    net = make(variance=0.5, bound=1).eval()
    rows, pattern = FEATURES.repeat(500, 1), OBSERVED.repeat(500, 1)
    means = []
    for net.bound in (1, 5, 50):
        generator = torch.Generator().manual_seed(0)
        means.append(net.terms(rows, pattern, generator=generator).bound().mean().item())
    assert means[0] < means[1] < means[2]
    exact = by_integration(net)[0].mean().item()
    assert means[2] < exact + 1e-3
    assert exact - means[2] < 0.5 * (exact - means[0])


# -- the proposal --------------------------------------------------------------------------------


def proposal_of(net, features, observed):
    return net.proposal(features, observed, torch.zeros_like(features)).mean


def test_latents_of_an_observed_attribute_come_from_it_alone():
    net = make().eval()
    before = proposal_of(net, FEATURES, OBSERVED)
    other = FEATURES.clone()
    other[:, 1:] = torch.tensor([0.0, 0.0, 1.0])
    after = proposal_of(net, other, OBSERVED)
    assert after[0, 0] == before[0, 0]  # real, observed: the level does not matter
    assert after[1, 0] != before[1, 0]  # real, missing: it does
    assert (after[:, 1] != before[:, 1]).all()


def test_what_stands_in_a_gap_does_not_matter():
    net = make().eval()
    other = FEATURES.clone()
    other[1, 0] = 100.0
    assert torch.equal(proposal_of(net, other, OBSERVED), proposal_of(net, FEATURES, OBSERVED))
    noise = torch.zeros_like(FEATURES)
    noise[1, 0] = 1.0
    moved = net.proposal(FEATURES, OBSERVED, noise).mean
    assert moved[1, 0] != proposal_of(net, FEATURES, OBSERVED)[1, 0]


def test_encoders_of_one_shape_at_once_equal_each_by_itself():
    parts = (Part("categorical", 2), Part("real", 1), Part("categorical", 4), Part("real", 1))
    net = make(parts, norm=False).eval()
    features = torch.randn(5, 8, dtype=torch.float64)
    found = net.proposal.from_each(features, torch.ones(5, 4, dtype=torch.bool))
    assert net.proposal.owner.tolist() == [0, 2, 1, 3]
    columns = {0: [0, 1], 1: [2], 2: [3, 4, 5, 6], 3: [7]}
    for place, a in enumerate(net.proposal.owner.tolist()):
        group = net.proposal.attributive[place // 2]
        x = features[:, columns[a]]
        for layer in group.layers:
            weight = layer.weight[place % 2][: x.shape[1]]
            x = nn.functional.leaky_relu(x @ weight + layer.bias[place % 2])
        x = x @ group.last.weight[place % 2] + group.last.bias[place % 2]
        torch.testing.assert_close(found.mean[:, place], x[:, 0])
        torch.testing.assert_close(found.log_variance[:, place], x[:, 1])


def test_the_norm_counts_observed_rows_only():
    ours, plain = ObservedNorm(1, 3), nn.BatchNorm1d(3)
    x = torch.randn(1, 10, 3)
    there = torch.zeros(1, 10, 1)
    there[:, :6] = 1
    torch.testing.assert_close(ours(x, there)[0, :6], plain(x[0, :6]))
    torch.testing.assert_close(ours.running_mean.flatten(), plain.running_mean)
    torch.testing.assert_close(ours.running_var.flatten(), plain.running_var)
    kept = ours.running_mean.clone()
    assert torch.isfinite(ours(x, torch.zeros(1, 10, 1))).all()
    assert torch.equal(ours.running_mean, kept)


def test_a_batch_of_one_row_can_be_normalised():
    norm = RowNorm(2).train()
    torch.testing.assert_close(norm(torch.ones(1, 2)), torch.ones(1, 2), rtol=1e-4, atol=1e-4)
    assert norm.norm.num_batches_tracked == 0


# -- training ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("warm_up", "epochs", "first"), [(3, 10, 4), (0.1, 100, 11), (0.0, 5, 1), (7, 5, None)]
)
def test_generation_starts_after_the_warm_up(warm_up, epochs, first):
    net = make(warm_up=warm_up)
    on = []
    for epoch in range(1, epochs + 1):
        net.begin_epoch(epoch, epochs)
        on += [epoch] if net.generating else []
    assert on[:1] == ([] if first is None else [first])


def test_no_draws_no_second_pass():
    net = make(warm_up=0.0, draws=0)
    net.begin_epoch(3, 5)
    net.imagine = None
    assert torch.isfinite(net.training_step((FEATURES, OBSERVED)))


@pytest.mark.parametrize("bound", [1, 4])
def test_generated_values_are_constants(bound):
    net = make(bound=bound, draws=3)
    net.generating = True
    torch.manual_seed(5)
    generated = net.imagine(FEATURES, OBSERVED)
    assert generated.shape == (3, 2, 4)
    assert not generated.requires_grad
    assert torch.equal(generated[:, 0], FEATURES[0].expand(3, 4))
    assert len(generated[:, 1, 0].unique()) == 3
    (-net.terms(FEATURES, OBSERVED, generated).bound().mean()).backward()
    by_hand = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    torch.manual_seed(5)
    net.training_step((FEATURES, OBSERVED)).backward()
    for parameter, wanted in zip(net.parameters(), by_hand, strict=True):
        torch.testing.assert_close(parameter.grad, wanted)


@pytest.mark.parametrize("second_pass", ["keep", "re-encode"])
@pytest.mark.parametrize("bound", [1, 3])
def test_all_parameters_learn_in_both_phases(second_pass, bound):
    net = make(second_pass=second_pass, bound=bound)
    for net.generating in (False, True):
        net.zero_grad()
        net.training_step((FEATURES.repeat(8, 1), OBSERVED.repeat(8, 1))).backward()
        assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in net.parameters())


def test_validation_is_the_same_before_and_after_the_warm_up():
    net = make().eval()
    before = net.validation_step((FEATURES, OBSERVED))
    net.generating = True
    after = net.validation_step((FEATURES, OBSERVED))
    assert torch.equal(before[0], after[0])
    assert after[1] == 2


def test_complete_rows_need_no_second_pass():
    net = make(draws=2)
    net.generating = True
    net.imagine = None
    there = torch.ones_like(OBSERVED)
    assert torch.isfinite(net.training_step((FEATURES, there)))


# -- decoders ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("condition", "depends"), [("decoded", False), ("observed", True)])
def test_what_the_data_decoders_see_of_the_pattern(condition, depends):
    net = make(condition=condition).eval()
    z = torch.zeros(2, 2, dtype=torch.float64)
    _, (raw,) = net.decoders(z, OBSERVED)
    assert torch.allclose(raw[0], raw[1], rtol=0, atol=1e-9) is not depends


@pytest.mark.parametrize(("activation", "straight"), [("printed", True), ("leaky", False)])
def test_printed_decoders_are_affine_after_the_first_activation(activation, straight):
    rest = make(activation=activation).decoders.data[0][3:]
    a, b = normal((6, 7), FEATURES), normal((6, 7), FEATURES)
    apart = rest(a) + rest(b) - 2 * rest((a + b) / 2)
    assert bool(apart.abs().max() < 1e-10) is straight


def test_linear_maps_beside_hidden_layers_are_all_there_is_at_first():
    net = make(straight=True).eval()
    z = torch.randn(3, 2, dtype=torch.float64)
    there = torch.ones(3, 2, dtype=torch.bool)

    def bent(f, x, y):
        return (f(x) + f(y) - 2 * f((x + y) / 2)).abs().max()

    decoder, encoder = net.decoders.data[0], net.proposal.attributive[0]
    pattern = net.decoders.pattern(z).sigmoid()
    assert bent(decoder, torch.cat((z, pattern), 1), torch.randn(3, 4).double()) < 1e-12
    rows = torch.randn(2, 3, 5, dtype=torch.float64)  # 4 features, and the 0 that fills up
    assert bent(lambda x: encoder(x, there.T.unsqueeze(2)[:1].double()), *rows) < 1e-12
    assert bent(net.proposal.collective, *torch.randn(2, 3, 6).double()) < 1e-12
    with torch.no_grad():
        decoder.rest[-1].weight.fill_(1.0)
        encoder.last.weight.fill_(1.0)
    assert bent(decoder, torch.cat((z, pattern), 1), torch.randn(3, 4).double()) > 1e-3
    assert bent(lambda x: encoder(x, there.T.unsqueeze(2)[:1].double()), *rows) > 1e-4


def test_a_vector_has_its_own_decoder_and_order_is_kept():
    parts = (Part("vector", 3), Part("real", 1), Part("vector", 3), Part("binary", 1))
    net = make(parts, variance=1.0).eval()
    assert len(net.decoders.data) == 3
    assert net.proposal.n_latents == 3 + 3 + 1 + 1
    _, raws = net.decoders(torch.randn(4, 8, dtype=torch.float64), torch.ones(4, 4))
    mean, features = net.decoders.mean(raws), torch.randn(4, 8, dtype=torch.float64)
    table, first, second = raws
    torch.testing.assert_close(mean[:, :3], first)
    torch.testing.assert_close(mean[:, 4:7], second)
    torch.testing.assert_close(mean[:, 3], table[:, 0])
    torch.testing.assert_close(mean[:, 7], table[:, 1].sigmoid())
    found = net.decoders.log_prob(raws, features)
    wanted = torch.distributions.Normal(second, 1.0).log_prob(features[:, 4:7]).sum(1)
    torch.testing.assert_close(found[:, 2], wanted)


# -- answers -------------------------------------------------------------------------------------


def by_integration(net):
    """Log density (N,) and expected features (N, F) by a fine grid over both latents."""
    axis = torch.linspace(-6, 6, 201, dtype=torch.float64)
    z = torch.cartesian_prod(axis, axis)[:, None].expand(-1, 2, -1)
    log_odds, raws = net.decoders(z, OBSERVED)
    seen = net.decoders.log_prob(raws, FEATURES).mul(OBSERVED).sum(-1)
    pattern = nn.functional.logsigmoid(torch.where(OBSERVED, log_odds, -log_odds)).sum(-1)
    prior = -0.5 * z.square().sum(-1) - math.log(2 * math.pi)
    log_cell = 2 * math.log((axis[1] - axis[0]).item())
    joint = seen + pattern + prior + log_cell
    mean = (joint.softmax(0)[..., None] * net.decoders.mean(raws)).sum(0)
    return torch.logsumexp(joint, 0), torch.where(OBSERVED[:, [0, 1, 1, 1]], FEATURES, mean)


def effective_number(log_weights):
    shares = log_weights.softmax(0)
    return 1 / shares.square().sum(0)


def test_weights_are_flattened_as_little_as_needed():
    generator = torch.Generator().manual_seed(0)
    spread = torch.tensor([0.1, 2.0, 30.0, 1000.0], dtype=torch.float64)
    log_weights = spread * torch.randn(200, 4, generator=generator, dtype=torch.float64)
    flat = flatten(log_weights, 20)
    few = effective_number(log_weights) < 20
    assert few.tolist() == [False, True, True, True]
    assert torch.equal(flat[:, ~few], log_weights[:, ~few])
    near(effective_number(flat)[few], [20.0, 20.0, 20.0])
    # a power of the weights: the order stays, ratios shrink alike
    power = flat[0, few] / log_weights[0, few]
    torch.testing.assert_close(flat[:, few], power * log_weights[:, few])


def test_weights_stay_on_request_and_of_few_latents_half_is_enough():
    log_weights = torch.tensor([[0.0, 0.0], [-50.0, -1.0], [-60.0, 0.0], [-70.0, -1.0]])
    assert torch.equal(flatten(log_weights, 0), log_weights)
    near(effective_number(flatten(log_weights.double(), 20))[:1], [2.0])


def test_answers_go_by_flattened_weights_and_densities_by_true_ones():
    net, flat = (make(variance=0.01, importance=400, effective=e).eval() for e in (0, 200))
    there = torch.tensor([[True, False]])
    far = torch.tensor([[4.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    with torch.inference_mode():
        sharp, even = net.fill(far, there), flat.fill(far, there)
        densities = [n.log_prob(far, there, 400, seeded()) for n in (net, flat)]
        draws = flat.draw(far, there, 4000, seeded())
    assert not torch.allclose(sharp, even, atol=1e-3)
    assert torch.equal(*densities)
    torch.testing.assert_close(draws.mean(0), even, rtol=0, atol=0.04)


def seeded():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("condition", ["decoded", "observed"])
def test_importance_sampling_agrees_with_integration(condition):
    net = make(condition=condition, variance=0.5, importance=40_000).eval()
    with torch.no_grad():
        # a net that has learnt something: the latents matter
        for layer in (net.decoders.pattern[-1], net.decoders.data[0][-1]):
            layer.weight.mul_(8)
        exact, mean = by_integration(net)
        generator = torch.Generator().manual_seed(0)
        found = net.log_prob(FEATURES, OBSERVED, 40_000, generator)
        torch.testing.assert_close(found, exact, rtol=0, atol=0.02)
        torch.testing.assert_close(net.fill(FEATURES, OBSERVED), mean, rtol=0, atol=0.03)
        draws = net.draw(FEATURES, OBSERVED, 20_000, generator)
    torch.testing.assert_close(draws.mean(0), mean, rtol=0, atol=0.03)
    assert draws[:, 1, 0].var() > 0.5


def test_a_row_is_answered_by_itself_and_in_blocks_of_any_size(monkeypatch):
    net = make(importance=30).eval()
    rows, pattern = FEATURES.repeat(4, 1), OBSERVED.repeat(4, 1)
    rows[:, 0] += torch.arange(8) * pattern[:, 0]
    with torch.no_grad():
        together = net.fill(rows, pattern)
        monkeypatch.setattr("nanwise.nets.mixed.vsae_answers._CELLS", 1)
        torch.testing.assert_close(net.fill(rows, pattern), together, rtol=0, atol=1e-12)
        torch.testing.assert_close(net.fill(rows[5:6], pattern[5:6]), together[5:6])


def test_new_rows_follow_the_model():
    net = known_answers().eval()
    with torch.no_grad():
        rows = net.generate(20_000, torch.Generator().manual_seed(0))
    assert rows.shape == (20_000, 4)
    assert abs(rows[:, 0].mean() - 0.25) < 0.05
    assert abs(rows[:, 0].std() - 2) < 0.05
    shares = torch.tensor(LEVELS, dtype=torch.float64).exp()
    torch.testing.assert_close(rows[:, 1:].mean(0), shares, rtol=0, atol=0.02)
