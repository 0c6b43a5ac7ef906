"""Several players in one module, each with a loss and parameters of its own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nanwise.errors import TrainingError
from nanwise.train import Plan, train


class Killed(BaseException):
    pass


class Memory:
    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Tensor) -> Tensor:
        return self.x[index]


class Duel(nn.Module):
    """min over ``low``, max over ``high`` of low * high + (low² - high²) / 2: both end at 0."""

    def __init__(self, **every: int) -> None:
        super().__init__()
        self.low = nn.Parameter(torch.ones(2))
        self.high = nn.Parameter(torch.full((2,), -1.0))
        self.every = every
        self.calls: list[str] = []
        self.left = -1

    @property
    def players(self) -> dict[str, list[nn.Parameter]]:
        return {"high": [self.high], "low": [self.low]}

    def training_step(self, batch: Any, phase: str = "main") -> Tensor:
        self.left -= 1
        if self.left == 0:
            raise Killed
        self.calls.append(phase)
        noise = 0.01 * torch.randn(2)
        value = (self.low * self.high + (self.low**2 - self.high**2) / 2 + noise * self.low).sum()
        return batch.mean() * (value if phase == "low" else -value)

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        return (self.low**2).sum() * len(batch), torch.tensor(len(batch))


def go(net: nn.Module, n: int = 40, valid: bool = False, **settings: Any) -> list[dict[str, Any]]:
    plan = Plan(**{"epochs": 6, "batch": 10, "lr": 0.05, "weight_decay": 0.0} | settings)
    validation = Memory(torch.ones(8)) if valid else None
    return train(net, Memory(torch.ones(n)), plan, seed=1, validation=validation)


def test_both_losses_fall_and_each_is_told() -> None:
    net = Duel()
    history = go(net, epochs=300, optimizer="sgd", lr=0.01)
    assert net.low.abs().max() < 0.05
    assert net.high.abs().max() < 0.05
    assert set(history[0]["losses"]) == {"high", "low"}
    assert history[0]["train_loss"] == history[0]["losses"]["low"]
    assert net.calls[:4] == ["high", "low", "high", "low"]


def test_a_player_moves_its_own_parameters_only() -> None:
    net = Duel(high=10**6)  # it plays once, on the first batch
    go(net, optimizer="sgd", schedule=None, epochs=1, batch=None)
    after_one = net.high.detach().clone()
    net = Duel(high=10**6)
    go(net, optimizer="sgd", schedule=None, epochs=5, batch=None)
    torch.testing.assert_close(net.high.detach(), after_one)
    assert not torch.equal(net.low.detach(), torch.ones(2))


def test_the_first_step_is_that_of_the_formula() -> None:
    net = Duel()
    go(net, optimizer="adam", schedule=None, epochs=1, batch=None, lr=0.1)
    # Adam's first step is lr times the sign of the gradient; `low` already sees the moved `high`
    torch.testing.assert_close(net.high.detach(), torch.full((2,), -0.9), atol=1e-6, rtol=0)
    torch.testing.assert_close(net.low.detach(), torch.full((2,), 0.9), atol=1e-6, rtol=0)


def test_every_counts_batches_across_epochs() -> None:
    net = Duel(low=3)
    history = go(net, epochs=4, batch=20)  # two batches an epoch; `low` has the 1st, 4th and 7th
    batches = [["high", "low"], ["high"], ["high"]]
    assert net.calls == [name for turn in (batches * 3)[:8] for name in turn]
    assert [list(h["losses"]) for h in history] == [
        ["high", "low"],
        ["high", "low"],
        ["high"],
        ["high", "low"],
    ]
    assert history[2]["train_loss"] == history[2]["losses"]["high"]


@pytest.mark.parametrize("schedule", ["cosine", "onecycle", "plateau"])
@pytest.mark.parametrize("killed_at", [9, 31])
def test_a_killed_game_ends_the_same(tmp_path: Any, schedule: str, killed_at: int) -> None:
    settings = {"checkpoint": tmp_path, "checkpoint_every": 1, "schedule": schedule, "valid": True}
    whole = Duel(low=2)
    expected = go(whole, schedule=schedule, valid=True)
    killed = Duel(low=2)
    killed.left = killed_at
    with pytest.raises(Killed):
        go(killed, **settings)
    resumed = Duel(low=2)
    found = go(resumed, **settings)
    assert len(resumed.calls) < len(whole.calls)
    assert [h["losses"] for h in found] == [h["losses"] for h in expected]
    assert torch.equal(resumed.low, whole.low)
    assert torch.equal(resumed.high, whole.high)


@pytest.mark.parametrize("name", ["players", "every", "shared"])
def test_players_that_make_no_sense_are_refused(name: str) -> None:
    class Odd(Duel):
        @property
        def players(self) -> dict[str, list[nn.Parameter]]:
            own = {"players": [], "every": [self.high], "shared": [self.high, self.low]}
            return {"high": own[name], "low": [self.low]}

    net = Odd(**({"nobody": 2} if name == "every" else {}))
    expected = {"players": "high", "every": "nobody", "shared": "more than one player"}
    with pytest.raises(ValueError, match=expected[name]):
        go(net)


def test_a_loss_that_breaks_names_the_parameter() -> None:
    net = Duel()
    with torch.no_grad():
        net.low.fill_(float("nan"))
    with pytest.raises(TrainingError, match="low"):
        go(net)


def test_a_player_may_have_a_rate_of_its_own() -> None:
    moved = {}
    for rate in (None, 0.1):
        net = Duel()
        net.rates = {} if rate is None else {"high": rate}
        go(net, epochs=1, batch=None, optimizer="adam", schedule=None)
        moved[rate] = [(p.detach() - s).abs().max() for p, s in ((net.high, -1.0), (net.low, 1.0))]
    torch.testing.assert_close(moved[0.1][0], 0.1 * moved[None][0], rtol=1e-3, atol=0)
    torch.testing.assert_close(moved[0.1][1], moved[None][1], rtol=0.01, atol=0)


@pytest.mark.parametrize("rates", [{"nobody": 1.0}, {"high": 0.0}])
def test_rates_that_make_no_sense_are_refused(rates: dict[str, float]) -> None:
    net = Duel()
    net.rates = rates
    with pytest.raises(ValueError, match=r"module\.rates"):
        go(net)
