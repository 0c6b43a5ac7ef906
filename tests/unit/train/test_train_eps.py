"""The epsilon and the memory of a plan reach the optimizers that have them."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from nanwise.train.optim import make_optimizer
from nanwise.train.plan import Plan


def first_step(optimizer: str, gradient: float, **settings: float) -> float:
    """How far a weight of 1 goes in the first step, as a multiple of the learning rate."""
    layer = nn.Linear(1, 1, bias=False, dtype=torch.float64)
    nn.init.ones_(layer.weight)
    step = make_optimizer(Plan(optimizer=optimizer, lr=0.1, weight_decay=0.0, **settings), layer)
    layer.weight.grad = torch.full_like(layer.weight, gradient)
    step.step()
    return (1 - layer.weight.item()) / 0.1


@pytest.mark.parametrize("gradient", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_small_gradients_move_a_weight_less(optimizer, gradient):
    expected = gradient / (gradient + 1e-3)
    assert first_step(optimizer, gradient, eps=1e-3) == pytest.approx(expected, rel=1e-9)


def test_rmsprop_divides_by_its_mean_square_and_epsilon():
    root = math.sqrt(0.01) * 1e-3  # its mean square starts from 0 and has a memory of 0.99
    expected = 1e-3 / (root + 1e-2)
    assert first_step("rmsprop", 1e-3, eps=1e-2) == pytest.approx(expected, rel=1e-9)


def test_without_a_word_the_size_of_gradients_does_not_matter():
    steps = [first_step("adam", gradient) for gradient in (1e-3, 1.0)]
    assert steps == pytest.approx([1.0, 1.0], rel=1e-4)


def test_sgd_has_none():
    assert first_step("sgd", 0.5, eps=1.0) == first_step("sgd", 0.5)


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_a_short_memory_forgets_a_steep_beginning(optimizer):
    layer = nn.Linear(1, 1, bias=False, dtype=torch.float64)
    plan = Plan(optimizer=optimizer, lr=0.1, weight_decay=0.0, beta2=0.5)
    step = make_optimizer(plan, layer)
    gradients, seen = [1.0, 0.1, 0.1], []
    for gradient in gradients:
        before = layer.weight.item()
        layer.weight.grad = torch.full_like(layer.weight, gradient)
        step.step()
        seen.append(before - layer.weight.item())
    mean = 0.1 * (0.81 * 1.0 + 0.9 * 0.1 + 0.1) / (1 - 0.9**3)
    square = 0.5 * (0.25 * 1.0 + 0.5 * 0.01 + 0.01) / (1 - 0.5**3)
    assert seen[2] == pytest.approx(0.1 * mean / (math.sqrt(square) + 1e-8), rel=1e-9)
