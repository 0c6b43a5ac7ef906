"""Losses of GAIN and MisGAN against transcriptions of their formulas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch

from nanwise.nets.mixed.gain import GAINNet, Game
from nanwise.nets.mixed.misgan import MisGANNet
from nanwise.nets.mixed.outputs import Errors, Outputs


class Part(NamedTuple):
    kind: str
    width: int
    shift: float = 0.0
    scale: float = 1.0


NUMBERS = tuple(Part("real", 1) for _ in range(3))
MIXED = (Part("real", 1), Part("categorical", 3), Part("ordinal", 3), Part("binary", 1))


def batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(6, 3, generator=generator, dtype=torch.float64)
    observed = torch.rand(6, 3, generator=generator) < 0.6
    told = torch.rand(6, 3, generator=generator) < 0.5
    return torch.where(observed, x, 0.0), observed, told


def by_hand(net: GAINNet, x, m, b, z, hint: str) -> tuple[float, float]:
    """The published formulas in numpy; the networks are only asked for their outputs."""

    def apply(layer, *columns):
        with torch.no_grad():
            return layer(torch.as_tensor(np.concatenate(columns, 1))).sigmoid().numpy()

    x, m, b = x.numpy(), m.numpy().astype(float), b.numpy().astype(float)
    g = apply(net.generator, m * x + (1 - m) * z, m)
    completed = m * x + (1 - m) * g
    h = b * m if hint == "code" else b * m + 0.5 * (1 - b)
    d = apply(net.discriminator, completed, h)
    terms = m * np.log(d) + (1 - m) * np.log(1 - d)
    loss_d = -terms.mean() if hint == "code" else -(terms * (1 - b)).sum() / (1 - b).sum()
    loss_g = -((1 - m) * np.log(d)).mean()
    loss_g += net.alpha * ((m * (x - g)) ** 2).mean() / m.mean()
    return loss_d, loss_g


def deal(net: GAINNet, x, known, shown, told, z) -> Game:
    known, shown, told = (part.to(x.dtype) for part in (known, shown, told))
    return Game((x, known > 0), known, shown, told, net.generate(x, shown, z))


@pytest.mark.parametrize("hint", ["code", "paper"])
def test_gain_losses_are_those_of_the_formulas(hint: str) -> None:
    net = GAINNet(NUMBERS, None, alpha=10.0, hint=hint).double()
    x, m, b = batch()
    z = 0.01 * torch.rand(6, 3, dtype=torch.float64)
    game = deal(net, x, m, m, b, z)
    expected = by_hand(net, x, m, b, z.numpy(), hint)
    found = net.discriminator_loss(game), net.generator_loss(game)
    np.testing.assert_allclose([float(f.detach()) for f in found], expected, rtol=1e-12)


def test_gain_trains_each_player_with_its_own_loss() -> None:
    net = GAINNet(NUMBERS, (4,), hint_rate=1.0, noise=0.0).double()  # nothing left to chance
    x, m, _ = batch()
    game = deal(net, x, m, m, torch.ones_like(m), torch.zeros_like(x))
    torch.testing.assert_close(
        net.training_step((x, m), "discriminator"), net.discriminator_loss(game)
    )
    torch.testing.assert_close(net.training_step((x, m), "generator"), net.generator_loss(game))
    net.training_step((x, m), "discriminator").backward()
    assert all(p.grad is None for p in net.generator.parameters())


def test_both_players_of_a_batch_play_the_same_game() -> None:
    net = GAINNet(NUMBERS, (4,), hide=0.5)
    x, m, _ = batch()
    rows = (x.float(), m)
    asked = []
    net.generator.register_forward_hook(lambda _, inputs, __: asked.append(inputs[0]))
    net.training_step(rows, "discriminator").backward()
    net.training_step(rows, "generator").backward()
    assert len(asked) == 1
    assert all(p.grad is not None for p in net.generator.parameters())
    net.training_step(rows, "generator")  # that game is over: hidden cells are drawn anew
    net.training_step(rows, "discriminator")
    net.training_step((x.float(), m), "generator")  # nor is a game taken on to another batch
    assert len(asked) == 4
    assert not torch.equal(asked[0], asked[1])


def test_hidden_cells_are_not_seen_and_count() -> None:
    net = GAINNet(NUMBERS, (4,), hide=1 - 1e-9, alpha=1.0, noise=0.0).double()
    x, m, _ = batch()
    nothing = net.generate(*(torch.zeros_like(x) for _ in range(3)))
    net.training_step((x, m), "generator")
    expected = (((x - nothing) ** 2) * m).sum(0) / m.sum(0)
    torch.testing.assert_close(net.errors.square, expected)


@pytest.mark.parametrize("repeat", [0.3, 1.0])
def test_cells_that_the_generator_sees_count_less(repeat: float) -> None:
    net = GAINNet(NUMBERS, (4,), hide=0.5, alpha=1.0, repeat=repeat).double()
    x, m, b = batch()
    shown = m & (torch.rand(m.shape) < 0.5)
    game = deal(net, x, m, shown, b, torch.zeros_like(x))
    judged = net.judge(game, game.given).sigmoid()
    weight = np.where(shown, repeat, 1.0) * m.numpy()
    squares = (x - game.given).detach().numpy() ** 2
    adversarial = -(~shown * judged.log()).mean()
    found = net.generator_loss(game) - adversarial
    np.testing.assert_allclose(found.item(), np.average(squares, weights=weight), rtol=1e-6)


def test_a_fill_keeps_what_is_observed_and_draws_differ() -> None:
    net = GAINNet(MIXED, (8,), hide=0.5, bounded=False).double()
    x = torch.rand(5, 8, dtype=torch.float64)
    m = torch.tensor([[True, False, True, False]] * 5)
    net.errors.square.fill_(0.25)
    filled = net.fill(x, m)
    assert torch.equal(filled[:, [0, 4, 5, 6]], x[:, [0, 4, 5, 6]])
    torch.testing.assert_close(filled[:, 1:4].sum(1), torch.ones(5, dtype=torch.float64))
    drawn = net.draw(x, ~m, 400, torch.Generator().manual_seed(0)).detach()
    assert abs(float(drawn[:, 0, 0].std()) - 0.5) < 0.06
    assert set(drawn[..., 4:7].unique().tolist()) <= {0.0, 1.0}
    assert torch.equal(drawn[..., 7], x[:, 7].expand(400, 5))


def test_levels_are_drawn_by_their_probabilities() -> None:
    outputs = Outputs(MIXED, bounded=True)
    chances = torch.tensor([0.3, 0.2, 0.5, 0.3, 1.0, 0.6, 0.1, 0.7], dtype=torch.float64)
    drawn = outputs.sample_levels(chances.expand(20000, 8), torch.Generator().manual_seed(0))
    torch.testing.assert_close(drawn.mean(0), chances, atol=0.015, rtol=0)
    assert (drawn[:, 1:4].sum(1) == 1).all()
    assert (drawn[:, 4:6] >= drawn[:, 5:7]).all()


def test_errors_forget_slowly() -> None:
    errors = Errors(1)
    one = torch.ones(4, 1)
    errors.learn(one, torch.ones(4, 1, dtype=torch.bool))
    errors.learn(4 * one, torch.ones(4, 1, dtype=torch.bool))
    errors.learn(one, torch.zeros(4, 1, dtype=torch.bool))
    torch.testing.assert_close(errors.square, torch.tensor([0.95 * 1 + 0.05 * 4]))


def test_misgan_critic_of_a_linear_critic_is_closed() -> None:
    net = MisGANNet(NUMBERS, hidden=(), latent=2, penalty=7.0).double()
    real, made = torch.rand(5, 3, dtype=torch.float64), torch.rand(5, 3, dtype=torch.float64)
    (layer,) = net.row_critic.layers
    weight = layer.weight.detach()
    expected = ((made - real) @ weight.T).mean() + 7.0 * (weight.norm() - 1) ** 2
    torch.testing.assert_close(net._distance(net.row_critic, real, made).detach(), expected)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_misgan_patterns_learn_from_rows_at_a_share_of_alpha(alpha: float) -> None:
    net = MisGANNet(NUMBERS, hidden=(), latent=2, alpha=alpha, beta=0.5).double()
    torch.manual_seed(0)
    net._generators_loss(6, torch.zeros(1, dtype=torch.float64)).backward()
    torch.manual_seed(0)
    z, w = net._noise(6, torch.zeros(1, dtype=torch.float64))
    row, pattern = net.rows(z, w)
    told = -net.row_critic(row * pattern).mean()
    of_rows = told + 0.5 * net.fill_critic(row).mean()
    of_patterns = alpha * told - net.pattern_critic(pattern).mean()
    for part, loss in ((net.make_row, of_rows), (net.make_pattern, of_patterns)):
        own = list(part.parameters())
        for p, g in zip(own, torch.autograd.grad(loss, own, retain_graph=True), strict=True):
            torch.testing.assert_close(p.grad, g)


def test_misgan_imputer_loss_is_that_of_the_formula() -> None:
    net = MisGANNet(NUMBERS, hidden=(4,), latent=2, gamma=3.0).double()
    x, m, _ = batch()
    torch.manual_seed(1)
    found = net.training_step((x, m), "imputer")
    torch.manual_seed(1)
    torch.rand(m.shape)
    given = net.impute(x, m, torch.rand_like(x))
    completed = torch.where(m, x, given)
    expected = 3.0 * ((x - given) ** 2 * m).sum() / m.sum() - net.fill_critic(completed).mean()
    torch.testing.assert_close(found, expected)


def test_misgan_knows_what_its_draws_lack() -> None:
    net = MisGANNet(NUMBERS, hidden=(), latent=2, hide=0.5).double()
    x = torch.rand(4000, 3, dtype=torch.float64)
    nothing, all_of_it = torch.zeros(4000, 3, dtype=torch.bool), torch.ones(4000, 3)
    net._learn_errors(x, net.impute(x, nothing, torch.rand_like(x)), nothing, all_of_it)
    many = torch.stack(
        [net.impute(x[:1], nothing[:1], torch.rand(1, 3).double()) for _ in range(3000)]
    )
    of_mean = ((x - many.mean(0)) ** 2).mean(0)
    torch.testing.assert_close(
        net.errors.square.double(), (of_mean - many.var(0))[0], atol=0.01, rtol=0
    )


def test_misgan_players_share_nothing_and_wait_for_the_critics() -> None:
    net = MisGANNet(NUMBERS, hidden=(4,), latent=2, critics=4)
    own = [p for mine in net.players.values() for p in mine]
    assert len(own) == len(set(own)) == len(list(net.parameters()))
    assert net.every == {"generators": 4, "imputer": 4}
    assert MisGANNet(NUMBERS, (4,), 2, gamma=1.0, critics=4).every["imputer"] == 1
    assert (net.rows(*net._noise(50, torch.zeros(1)))[1] >= 0).all()
