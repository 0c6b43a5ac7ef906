"""The losses against closed forms, and what members share: the batches and nothing else."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from nanwise.nets import MLP, losses
from nanwise.nets.table_net import TableNet
from nanwise.nn import Zero

N, C = 6, 3
GENERATOR = torch.Generator().manual_seed(0)
TARGET = torch.tensor([0, 1, 2, 2, 0, 1])
WEIGHT = torch.tensor([0.5, 2.0, 1.0, 0.25, 1.25, 1.0])


@pytest.mark.parametrize("members", [0, 3])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_classification_is_torchs_own_summed(members: int, weight: torch.Tensor | None) -> None:
    out = torch.randn(*([members] if members else []), N, C, generator=GENERATOR)
    each = [nn.functional.cross_entropy(o, TARGET, reduction="none") for o in out.view(-1, N, C)]
    total, count = losses.categorical(out, TARGET, weight)
    expected = sum((e if weight is None else e * weight).sum() for e in each)
    torch.testing.assert_close(total, expected)
    assert count == N * max(members, 1)
    logit, label = out[..., :1], (TARGET > 0).long()
    total, count = losses.binary(logit, label, weight)
    p = torch.sigmoid(logit[..., 0])
    each = -torch.where(label.bool(), p.log(), (1 - p).log())
    torch.testing.assert_close(total, (each if weight is None else each * weight).sum())
    assert count == N * max(members, 1)


@pytest.mark.parametrize("members", [0, 2])
def test_a_gap_in_the_target_is_neither_scored_nor_counted(members: int) -> None:
    out = torch.randn(*([members] if members else []), N, 2, generator=GENERATOR)
    out.requires_grad_()
    target = torch.randn(N, 2, generator=GENERATOR)
    target[1, 0] = target[3, 1] = target[4] = math.nan
    there = ~target.isnan()
    total, count = losses.squared(out, target, WEIGHT)
    flat = out.view(-1, N, 2)
    expected = sum(((o - target) ** 2 * WEIGHT[:, None])[there].sum() for o in flat)
    torch.testing.assert_close(total, expected)
    assert count == int(there.sum()) * max(members, 1)
    total.backward()
    gradient = out.grad.view(-1, N, 2)
    assert gradient.isfinite().all()
    assert (gradient[:, ~there] == 0).all()


def test_a_batch_without_any_target_is_no_step() -> None:
    net = TableNet(Zero(2), MLP(2, (), 1), losses.squared)
    gap = torch.full((3, 1), math.nan)
    loss = net.training_step((torch.ones(3, 2), torch.ones(3, 2, dtype=torch.bool), gap, None))
    loss.backward()
    assert loss == 0
    assert all((p.grad == 0).all() for p in net.parameters())


def test_members_learn_as_each_would_alone() -> None:
    x, observed = torch.randn(20, 4, generator=GENERATOR), torch.ones(20, 4, dtype=torch.bool)
    y = x[:, :1] ** 2
    together = TableNet(Zero(4), MLP(4, (5,), 1, members=3), losses.squared)
    loss = together.training_step((x, observed, y, None))
    loss.backward()
    first, last = together.body.layers[0], together.body.layers[-1]
    means = []
    for m in range(3):
        alone = TableNet(Zero(4), MLP(4, (5,), 1), losses.squared)
        with torch.no_grad():
            for layer, own in ((first, alone.body.layers[0]), (last, alone.body.layers[-1])):
                own.weight.copy_(layer.weight[m].T)
                own.bias.copy_(layer.bias[m, 0])
        means.append(alone.training_step((x, observed, y, None)))
        means[-1].backward()
        torch.testing.assert_close(first.weight.grad[m].T, alone.body.layers[0].weight.grad)
        torch.testing.assert_close(last.bias.grad[m, 0], alone.body.layers[-1].bias.grad)
    torch.testing.assert_close(loss, torch.stack(means).mean())


def test_every_member_has_its_own_norm() -> None:
    net = MLP(4, (8,), 1, norm=nn.BatchNorm1d(8), members=2)
    x = torch.randn(5, 4, generator=GENERATOR)
    assert net(x).shape == (2, 5, 1)
    one, other = net.layers[1].copies
    assert not torch.equal(one.running_mean, other.running_mean)
    before = net.layers[0](x)
    torch.testing.assert_close(
        one.running_mean, 0.1 * before[0].mean(0), msg="statistics of another member"
    )
