"""Resilient propagation as an optimizer of a plan: steps, weight decay, going on after a stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from nanwise.nn.sparse import Affine
from nanwise.train import Plan, train
from nanwise.train.optim import make_optimizer

LR, DECAY = 0.05, 0.3


class Killed(BaseException):
    pass


class Rows:
    def __init__(self, n: int = 40) -> None:
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
        self.y = self.x @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64) + 0.7

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        return self.x[index], self.y[index]


class Net(nn.Module):
    """Least squares with a bias that is spared from weight decay."""

    def __init__(self, left: int = -1) -> None:
        super().__init__()
        self.layer = Affine(3, 1).double()
        with torch.no_grad():
            self.layer.weight.fill_(0.1)
            self.layer.bias.fill_(0.1)
        self.homes = {"layer.bias": None}
        self.left = left  # steps until somebody pulls the plug

    def training_step(self, batch: Any, phase: str = "main") -> Tensor:
        self.left -= 1
        if self.left == 0:
            raise Killed
        total, count = self.validation_step(batch)
        return total / count

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        x, y = batch
        return ((self.layer(x)[:, 0] - y) ** 2).sum(), torch.tensor(len(y))


def plan(**settings: Any) -> Plan:
    common = {"epochs": 30, "batch": None, "lr": LR, "optimizer": "rprop", "schedule": None}
    return Plan(**common | {"weight_decay": DECAY, "precision": "float64"} | settings)


def by_hand(data: Rows, steps: int, decay: float) -> np.ndarray:
    """Each weight has its own step: longer while the gradient keeps its sign, else halved."""
    x = np.column_stack([data.x.numpy(), np.ones(len(data))])
    y, weights = data.y.numpy(), np.full(4, 0.1)
    step, before = np.full(4, LR), np.zeros(4)
    spared = np.array([1.0, 1.0, 1.0, 0.0])
    for _ in range(steps):
        gradient = 2 * x.T @ (x @ weights - y) / len(y) + decay * spared * weights
        turned = gradient * before
        step = np.clip(step * np.where(turned > 0, 1.2, np.where(turned < 0, 0.5, 1.0)), 1e-6, 50)
        gradient = np.where(turned < 0, 0.0, gradient)
        weights = weights - np.sign(gradient) * step
        before = gradient
    return weights


@pytest.mark.parametrize("decay", [0.0, DECAY])
def test_the_same_path_as_by_hand(decay):
    data, net = Rows(), Net()
    train(net, data, plan(weight_decay=decay), seed=0)
    got = np.append(net.layer.weight.detach().numpy().ravel(), net.layer.bias.item())
    np.testing.assert_allclose(got, by_hand(data, 30, decay), rtol=1e-9)


def test_it_ends_where_loss_and_decay_are_in_balance():
    data, net = Rows(), Net()
    train(net, data, plan(epochs=400), seed=0)
    x = np.column_stack([data.x.numpy(), np.ones(len(data))])
    ridge = np.diag([DECAY, DECAY, DECAY, 0.0]) * len(data) / 2
    expected = np.linalg.solve(x.T @ x + ridge, x.T @ data.y.numpy())
    got = np.append(net.layer.weight.detach().numpy().ravel(), net.layer.bias.item())
    np.testing.assert_allclose(got, expected, atol=1e-5)


def test_a_killed_run_ends_the_same(tmp_path):
    whole, resumed = Net(), Net()
    train(whole, Rows(), plan(), seed=0)
    where = {"checkpoint": tmp_path, "checkpoint_every": 2}
    with pytest.raises(Killed):
        train(Net(left=20), Rows(), plan(**where), seed=0)
    resumed.left = 16  # 18 of 30 steps were kept, 12 are left
    train(resumed, Rows(), plan(**where), seed=0)
    assert torch.equal(whole.layer.weight, resumed.layer.weight)
    assert torch.equal(whole.layer.bias, resumed.layer.bias)


def test_one_cycle_has_no_momentum_to_turn():
    net = Net()
    train(net, Rows(), plan(schedule="onecycle"), seed=0)
    assert torch.isfinite(net.layer.weight).all()


def test_what_has_no_gradient_does_not_decay():
    net = Net()
    optimizer = make_optimizer(plan(), net)
    net.layer.bias.grad = torch.ones_like(net.layer.bias)
    optimizer.step()
    assert (net.layer.weight == 0.1).all()
    assert net.layer.bias.item() == pytest.approx(0.1 - LR)
