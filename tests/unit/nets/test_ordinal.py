"""The ordinal cost against its definition."""

from __future__ import annotations

import math

import pytest
import torch

from nanwise.nets.ordinal import expected_rating, ordinal_cost, rating_cost


def by_definition(p: list[float], r: int) -> float:
    """Two loops over the levels, as the formula reads."""
    cost = 0.0
    for j in range(r + 1):
        cost -= math.log(p[j] / sum(p[t] for t in range(j + 1)))
    for j in range(r, len(p)):
        cost -= math.log(p[j] / sum(p[t] for t in range(j, len(p))))
    return cost


def draw(levels: int, n: int = 20) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(levels)
    scores = 2 * torch.randn(n, levels, dtype=torch.float64, generator=generator)
    return scores, torch.arange(n) % levels


@pytest.mark.parametrize("levels", [1, 2, 5, 10])
@pytest.mark.parametrize("floor", [0.0, 1e-4, 0.3])
def test_equals_the_double_loop(levels, floor):
    scores, level = draw(levels)
    p = (scores.softmax(1) + floor).tolist()
    expected = [by_definition(row, int(r)) for row, r in zip(p, level, strict=True)]
    found = ordinal_cost(scores, level, floor)
    assert torch.allclose(found, torch.tensor(expected, dtype=torch.float64), atol=1e-12)


@pytest.mark.parametrize("levels", [1, 3, 10])
@pytest.mark.parametrize("floor", [0.0, 1e-2])
def test_gradient_is_that_of_the_cost(levels, floor):
    scores, level = draw(levels)
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda s: ordinal_cost(s, level, floor), scores)


def test_gradient_equals_autograd_over_cumulated_sums():
    scores, level = draw(10)
    ours, theirs = (scores.clone().requires_grad_() for _ in range(2))
    ordinal_cost(ours, level).sum().backward()
    number = torch.arange(10)
    below = theirs.logcumsumexp(1) - theirs
    above = theirs.flip(1).logcumsumexp(1).flip(1) - theirs
    near, far = number <= level.unsqueeze(1), number >= level.unsqueeze(1)
    ((below * near).sum() + (above * far).sum()).backward()
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-12)


def test_extreme_scores_stay_finite():
    scores = torch.tensor([[0.0, 400.0, -400.0, 1000.0], [0.0, 0.0, 0.0, 0.0]], requires_grad=True)
    cost = ordinal_cost(scores, torch.tensor([2, 1]))
    cost.sum().backward()
    assert cost.isfinite().all()
    assert scores.grad.isfinite().all()
    # level 2 loses to level 1 below it by 800 and to level 3 above it by 1400; level 1 beats 0
    assert cost[0].item() == pytest.approx(800 + 1400)
    assert cost[1].item() == pytest.approx(math.log(2) + math.log(3) + math.log(2))


def test_does_not_depend_on_a_constant_added_to_the_scores():
    scores, level = draw(5)
    assert torch.allclose(ordinal_cost(scores, level), ordinal_cost(scores + 7.0, level))


def test_a_near_miss_is_cheaper_than_a_wide_one():
    peak = torch.tensor([[-2.0, -1.0, 0.0, -1.0, -2.0]]).expand(5, 5).contiguous()
    cost = ordinal_cost(peak, torch.arange(5)).tolist()
    assert cost[0] > cost[1] > cost[2] < cost[3] < cost[4]


def test_floor_bounds_the_cost():
    scores = torch.tensor([[0.0, 1000.0]])
    level = torch.tensor([0])
    assert ordinal_cost(scores, level).item() == pytest.approx(1000.0)
    assert ordinal_cost(scores, level, floor=1e-4).item() < math.log(1e4) + 0.1


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_mix_with_the_likelihood(share):
    scores, level = draw(5)
    likelihood = torch.nn.functional.cross_entropy(scores, level, reduction="none")
    expected = share * ordinal_cost(scores, level) + (1 - share) * likelihood
    assert torch.allclose(rating_cost(scores, level, share), expected)


def test_expected_rating():
    scores, _ = draw(4)
    levels = torch.tensor([0.5, 1.0, 4.0, 5.0], dtype=torch.float64)
    p = scores.softmax(1)
    assert torch.allclose(expected_rating(scores, levels), (p * levels).sum(1))
    assert torch.allclose(expected_rating(scores, torch.ones_like(levels)), p.new_ones(20))
    assert expected_rating(scores.unflatten(0, (4, 5)), levels).shape == (4, 5)
