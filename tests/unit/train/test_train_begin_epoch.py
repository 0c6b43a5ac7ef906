"""A module may hear of every epoch before it starts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nanwise.train import Plan, train


class Killed(BaseException):
    pass


class Listener(nn.Module):
    def __init__(self, killed_at: int = -1) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.heard: list[tuple[int, int]] = []
        self.steps_in: list[int] = []
        self.killed_at = killed_at

    def begin_epoch(self, epoch: int, epochs: int) -> None:
        if epoch == self.killed_at:
            raise Killed
        self.heard.append((epoch, epochs))

    def training_step(self, batch: Tensor, phase: str = "main") -> Tensor:
        self.steps_in.append(self.heard[-1][0])
        return ((batch - self.weight) ** 2).mean()

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        return ((batch - self.weight) ** 2).sum(), torch.tensor(len(batch))


ROWS = torch.arange(6.0)[:, None]


def test_every_epoch_is_announced_before_its_steps():
    module = Listener()
    train(module, ROWS, Plan(epochs=3, batch=3), seed=0)
    assert module.heard == [(1, 3), (2, 3), (3, 3)]
    assert module.steps_in == [1, 1, 2, 2, 3, 3]


def test_a_restarted_run_hears_the_epochs_that_are_left(tmp_path):
    plan = Plan(epochs=4, batch=6, checkpoint=tmp_path, checkpoint_every=1)
    with pytest.raises(Killed):
        train(Listener(killed_at=3), ROWS, plan, seed=0)
    module = Listener()
    train(module, ROWS, plan, seed=0)
    assert module.heard == [(3, 4), (4, 4)]
