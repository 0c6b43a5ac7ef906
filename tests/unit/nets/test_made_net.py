"""MADE: what sees what, that probabilities add up, and the formulas once more in plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from nanwise.nets.made import MADENet

VARIANTS = [
    {"normalize": normalize, "normalize_connections": connections}
    for normalize in (None, "causal", "input")
    for connections in (False, True)
]
PROPER = [v for v in VARIANTS if v["normalize"] != "input"]
N = 5
ALL = torch.tensor(list(itertools.product([0.0, 1.0], repeat=N)), dtype=torch.float64)


def name(variant: dict) -> str:
    return f"{variant['normalize']}-{'connections' if variant['normalize_connections'] else ''}"


def made(n: int = N, hidden: tuple[int, ...] = (9, 8), seed: int = 0, **settings) -> MADENet:
    """A network in float64 with weights large enough for strong dependence, K from some rows."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = MADENet(n, hidden, **settings).double()
        with torch.no_grad():
            for layer in net.layers:
                layer.weight *= 4
        net.fit_counts((torch.rand(50, n) < 0.4).double())
    return net


def before(net: MADENet, which: int) -> torch.Tensor:
    """(d, j): whether input j comes before input d."""
    places = net.places[which]
    return places[None, :] < places[:, None]


def flips(net: MADENet, which: int) -> torch.Tensor:
    """(d, j): largest change of output d when input j is flipped, over all rows.

    The count of ones jumps, so that a derivative does not see what it does to an output.
    """
    changes = []
    for j in range(N):
        other = ALL.clone()
        other[:, j] = 1 - other[:, j]
        changes.append((net(other, which) - net(ALL, which)).abs().amax(0))
    return torch.stack(changes, dim=1).detach()


@pytest.mark.parametrize("order", ["natural", "random"])
@pytest.mark.parametrize("hidden", [(), (9,), (9, 8)])
@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_jacobian_is_zero_for_what_comes_after(variant, hidden, order):
    net = made(hidden=hidden, n_masks=3, order=order, **variant)
    for which in range(3):
        x = torch.rand(N, dtype=torch.float64)
        jacobian = torch.autograd.functional.jacobian(lambda x, w=which: net(x[None], w)[0], x)
        assert (jacobian[~before(net, which)] == 0).all()
        assert (jacobian[before(net, which)] != 0).any()


@pytest.mark.parametrize("hidden", [(), (9,), (9, 8)])
@pytest.mark.parametrize("variant", PROPER, ids=name)
def test_no_output_changes_with_a_value_that_comes_after(variant, hidden):
    net = made(hidden=hidden, n_masks=2, order="random", **variant)
    for which in range(2):
        changed = flips(net, which)
        assert (changed[~before(net, which)] == 0).all()
        assert (changed[before(net, which)] > 0).any()


@pytest.mark.parametrize("connections", [False, True])
def test_the_published_input_normalisation_looks_ahead(connections):
    net = made(normalize="input", normalize_connections=connections)
    assert (flips(net, 0)[~before(net, 0)] > 1e-3).any()
    total = net.log_prob(ALL).exp().sum().item()
    assert abs(total - 1) > 1e-3


@pytest.mark.parametrize("n_masks", [1, 3])
@pytest.mark.parametrize("order", ["natural", "random"])
@pytest.mark.parametrize("variant", PROPER, ids=name)
def test_probabilities_of_all_rows_add_up_to_1(variant, order, n_masks):
    net = made(n_masks=n_masks, order=order, **variant)
    assert net.log_prob(ALL).exp().sum().item() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("variant", PROPER, ids=name)
def test_drawn_rows_have_the_probabilities_of_the_density(variant):
    net = made(order="random", n_masks=2, **variant)
    n = 40_000
    noise = torch.rand(n, N, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    for which in range(2):
        drawn = net.draw(noise, which)
        codes = (drawn @ (2.0 ** torch.arange(N - 1, -1, -1)).double()).long()
        found = codes.bincount(minlength=2**N) / n
        p = net.log_prob_of(ALL, which).exp().detach()
        assert ((found - p).abs() <= 5 * (p * (1 - p) / n).sqrt() + 1e-9).all()
        assert p.max() > 5 * p.min()  # rows are not all alike


def by_loops(net: MADENet, which: int, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Appendix F of the paper, unit by unit; ``rows`` are those that K is learnt from."""
    places = net.places[which].numpy()
    seen = [net.get_buffer(f"limits_{i}")[which].numpy() for i in range(len(net.layers) - 1)]
    limits = [places, *seen, places - 1]
    h = x.astype(float)
    if net.normalize == "input":
        h = h * rows.sum(1).mean() / max(x.sum(), 1)
    for depth, layer in enumerate(net.layers):
        weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
        joined = limits[depth + 1][:, None] >= limits[depth][None, :]
        per_unit = joined.sum(1)
        out = np.empty(len(bias))
        for k in range(len(bias)):
            total = sum(weight[k, j] * h[j] for j in range(len(h)) if joined[k, j])
            if net.normalize_connections and per_unit[k]:
                total *= per_unit.mean() / per_unit[k]
            if net.normalize == "causal" and depth == 0:
                K = np.maximum(rows[:, joined[k]].sum(1), 1).mean()
                total *= K / max(x[joined[k]].sum(), 1)
            out[k] = total + bias[k]
        h = np.maximum(out, 0) if depth < len(net.layers) - 1 else out
    return h


@pytest.mark.parametrize("hidden", [(), (6,), (6, 7)])
@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_outputs_are_those_of_the_formulas(variant, hidden):
    net = made(hidden=hidden, n_masks=2, order="random", **variant)
    rows = (torch.rand(30, N) < 0.5).double()
    net.fit_counts(rows)
    for which in range(2):
        expected = [by_loops(net, which, x, rows.numpy()) for x in ALL.numpy()]
        np.testing.assert_allclose(net(ALL, which).detach().numpy(), expected, atol=1e-12)
    z = net(ALL, 1)
    alone = torch.distributions.Bernoulli(logits=z).log_prob(ALL).sum(-1)
    torch.testing.assert_close(net.log_prob_of(ALL, 1), alone)
    both = torch.stack([net.log_prob_of(ALL, which) for which in range(2)]).exp().mean(0).log()
    torch.testing.assert_close(net.log_prob(ALL), both)


def test_limits_are_drawn_between_those_of_the_layer_before_and_the_last_input():
    net = made(20, (200, 200), n_masks=4, order="random")
    for which in range(4):
        places, first, second, last = net.limits(which)
        assert sorted(places.tolist()) == list(range(1, 21))
        assert set(first.tolist()) == set(range(1, 20))
        assert second.min() >= first.min()
        assert second.max() <= 19
        assert torch.equal(last, places - 1)
    assert not torch.equal(net.places[0], net.places[1])
    assert torch.equal(made(6, order="natural").places[0], torch.arange(1, 7))


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_rows_without_ones_and_single_columns(variant):
    zeros = torch.zeros(2, 4, dtype=torch.float64)
    net = made(4, **variant)
    net.fit_counts(zeros)
    assert net.log_prob(torch.cat([zeros, 1 - zeros])).isfinite().all()
    one = made(1, (3,), **variant)
    both = one.log_prob(torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    assert both.exp().sum().item() == pytest.approx(1)


def test_masks_take_turns(monkeypatch):
    net = made(n_masks=3)
    met: list[int] = []
    real = net.log_prob_of
    monkeypatch.setattr(
        net, "log_prob_of", lambda x, which, kept=None: met.append(which) or real(x, which, kept)
    )
    net.begin_epoch(2, 5)
    losses = [net.training_step(ALL) for _ in range(4)]
    assert met == [1, 2, 0, 1]
    torch.testing.assert_close(losses[0], -real(ALL, 1).mean())
    net.mask_steps = 2
    net.begin_epoch(2, 5)
    for _ in range(5):
        net.training_step(ALL)
    assert met[4:] == [1, 1, 2, 2, 0]


def test_validation_meets_each_row_once():
    net = made(n_masks=3, order="random")
    total, count = net.validation_step(ALL.to(torch.uint8))
    turns = torch.stack([net.log_prob_of(ALL[i : i + 1], i % 3)[0] for i in range(len(ALL))])
    torch.testing.assert_close(total, -turns.sum())
    assert count == len(ALL)
    total, count = net.validation_step(ALL[:1])
    torch.testing.assert_close(total, -net.log_prob_of(ALL[:1], 0).sum())


def test_an_order_that_is_none_is_noticed():
    net = made()
    net.check_order()
    net.places[0, 0] = 2
    with pytest.raises(ValueError, match="not an order"):
        net.check_order()
    net = made()
    net.limits_0[0, 0] = N
    with pytest.raises(ValueError, match="between 1 and 4"):
        net.check_order()


@pytest.mark.parametrize(
    "settings", [{"order": "reverse"}, {"normalize": "output"}, {"n_masks": 0}, {"n": 0}]
)
def test_bad_arguments_are_named(settings):
    (argument, _), *_ = settings.items()
    with pytest.raises(ValueError, match="n_features" if argument == "n" else argument):
        made(**settings)
