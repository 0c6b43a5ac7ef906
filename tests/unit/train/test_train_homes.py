"""Weight decay towards another home than 0."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nanwise.train.optim import make_optimizer
from nanwise.train.plan import Plan


class _Layer(nn.Module):
    def __init__(self, homes):
        super().__init__()
        self.weight = nn.Parameter(torch.full((2, 2), 3.0))
        self.free = nn.Parameter(torch.full((2,), 3.0))
        self.plain = nn.Parameter(torch.full((2,), 3.0))
        self.homes = homes


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_decay_pulls_to_the_home_and_leaves_the_free_parameter(optimizer):
    layer = _Layer({"weight": torch.ones(2, 2), "free": None})
    plan = Plan(optimizer=optimizer, lr=0.1, weight_decay=0.5)
    step = make_optimizer(plan, nn.Sequential(layer))
    for parameter in layer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    step.step()
    torch.testing.assert_close(layer.weight.detach(), torch.full((2, 2), 3 - 0.05 * 2))
    torch.testing.assert_close(layer.free.detach(), torch.full((2,), 3.0))
    assert (layer.plain < 3).all()


def test_a_strong_pull_ends_at_home_and_never_beyond():
    layer = _Layer({"weight": torch.ones(2, 2), "free": None, "plain": None})
    step = make_optimizer(Plan(lr=1.0, weight_decay=7.0), layer)
    for parameter in layer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    step.step()
    torch.testing.assert_close(layer.weight.detach(), torch.ones(2, 2))
