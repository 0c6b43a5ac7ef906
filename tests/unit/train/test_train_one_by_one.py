"""Large parameters that move as soon as their gradient is there."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nanwise.train import Plan, players, train
from nanwise.train.plan import OPTIMIZERS, SCHEDULES


class Memory:
    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Tensor) -> Tensor:
        return self.x[index]


class Net(nn.Module):
    """An autoencoder whose first matrix is used twice, beside the penalty on both."""

    def __init__(self, one_by_one: bool, homes: dict[str, Any] | None = None) -> None:
        super().__init__()
        g = torch.Generator().manual_seed(0)
        self.first = nn.Parameter(torch.randn(6, 6, generator=g) / 3)
        self.shift = nn.Parameter(torch.zeros(6))
        self.second = nn.Parameter(torch.randn(6, 6, generator=g) / 3)
        self.one_by_one, self.homes = one_by_one, homes or {}
        self.most = 0

    def training_step(self, batch: Tensor, phase: str = "main") -> Tensor:
        hidden = (batch @ self.first + self.shift).tanh() @ self.first
        hidden.register_hook(self._count)
        penalty = 0.01 * (self.first.square().sum() + self.second.square().sum())
        return (hidden @ self.second - batch).square().mean() + penalty

    def _count(self, _: Tensor) -> None:
        """Gradients that are kept half-way through the pass."""
        self.most = max(self.most, sum(p.grad is not None for p in self.parameters()))

    def validation_step(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        return (batch @ self.first).square().sum(), torch.tensor(len(batch))


@pytest.fixture(autouse=True)
def matrices_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players, "_LARGE", 36)


def fit(one_by_one: bool, homes: Any = None, **settings: Any) -> tuple[Net, list[Any]]:
    net = Net(one_by_one, homes)
    x = torch.randn(40, 6, generator=torch.Generator().manual_seed(1))
    plan = Plan(**{"epochs": 5, "batch": 10, "lr": 0.02} | settings)
    history = train(net, Memory(x), plan, seed=0, validation=Memory(x[:8]))
    return net, [(e["train_loss"], e["valid_loss"], e["lr"]) for e in history]


def same(one: Net, other: Net) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(a.equal(b) for a, b in pairs)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_result_is_the_same_to_the_last_bit(optimizer: str, schedule: str | None) -> None:
    lean, losses = fit(True, optimizer=optimizer, schedule=schedule)
    plain, wanted = fit(False, optimizer=optimizer, schedule=schedule)
    assert losses == wanted
    assert same(lean, plain)
    assert not same(lean, Net(True))


def test_a_gradient_is_gone_before_the_next_one_is_there() -> None:
    lean, _ = fit(True)
    assert lean.most == 0
    assert all(p.grad is None and not p._post_accumulate_grad_hooks for p in lean.parameters())


@pytest.mark.parametrize(
    "settings", [{"clip": 0.1}, {"homes": {"second": torch.eye(6)}, "weight_decay": 5.0}]
)
def test_all_gradients_are_waited_for_where_a_step_needs_them(settings: dict[str, Any]) -> None:
    lean, losses = fit(True, **settings)
    plain, wanted = fit(False, **settings)
    assert losses == wanted
    assert same(lean, plain)


def test_a_pass_that_fails_leaves_no_hooks() -> None:
    net = Net(True)

    def fail(_: Tensor) -> None:
        raise ArithmeticError

    net._count = fail  # type: ignore[method-assign]
    with pytest.raises(ArithmeticError):
        train(net, Memory(torch.ones(4, 6)), Plan(epochs=1), seed=0)
    assert not any(p._post_accumulate_grad_hooks for p in net.parameters())


def test_a_killed_run_goes_on_to_the_same_result(tmp_path: Any) -> None:
    whole, _ = fit(True)

    class Killed(BaseException):
        pass

    net, steps = Net(True), []

    def count(_: Tensor) -> None:
        steps.append(1)
        if len(steps) == 14:
            raise Killed

    net._count = count  # type: ignore[method-assign]
    x = torch.randn(40, 6, generator=torch.Generator().manual_seed(1))
    plan = Plan(epochs=5, batch=10, lr=0.02, checkpoint=tmp_path, checkpoint_every=1)
    with pytest.raises(Killed):
        train(net, Memory(x), plan, seed=0, validation=Memory(x[:8]))
    assert list(tmp_path.iterdir())
    again, _ = fit(True, checkpoint=tmp_path)
    assert same(again, whole)
    assert not list(tmp_path.iterdir())
