"""Training ends when its own loss has settled."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nanwise.saving import load, save
from nanwise.train import Plan, train

#: the losses of the epochs are 1, 1/4, 1/16, …: each changes by 3/4 of the one before
PLAN = Plan(epochs=50, batch=None, lr=1e-9, optimizer="sgd", weight_decay=0.0, schedule=None)
ROWS = torch.zeros(4, 1)


class Killed(BaseException):
    pass


class Halving(nn.Module):
    """Loss w², with a weight that is half as large in every epoch, whatever the optimizer does."""

    def __init__(self, killed_at: int = -1) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.calls, self.killed_at = 0, killed_at

    def begin_epoch(self, epoch: int, epochs: int) -> None:
        if epoch == self.killed_at:
            raise Killed
        with torch.no_grad():
            self.weight.fill_(0.5 ** (epoch - 1))

    def training_step(self, batch: Tensor, phase: str = "main") -> Tensor:
        self.calls += 1
        return (self.weight**2).mean()

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        # worse from epoch to epoch: the first weights are the best
        return (1 - self.weight).sum().abs() * len(batch), torch.tensor(len(batch))


def with_(**params: Any) -> Plan:
    return Plan(**PLAN.get_params() | params)


@pytest.mark.parametrize(("tol", "epochs"), [(0.75, 2), (0.19, 3), (0.1875, 3), (0.18, 4)])
def test_the_first_epoch_that_changes_the_loss_by_no_more_is_the_last(tol, epochs):
    module = Halving()
    history = train(module, ROWS, with_(tol=tol), seed=0)
    assert len(history) == module.calls == epochs
    assert history[-2]["train_loss"] - history[-1]["train_loss"] <= tol


def test_without_tol_all_epochs_are_run_and_one_epoch_has_nothing_to_compare_with():
    assert len(train(Halving(), ROWS, with_(epochs=7), seed=0)) == 7
    assert len(train(Halving(), ROWS, with_(epochs=1, tol=9.0), seed=0)) == 1


def test_a_loss_that_rises_slowly_has_settled_too():
    class Rising(Halving):
        def training_step(self, batch: Tensor, phase: str = "main") -> Tensor:
            return 1 - super().training_step(batch)

    assert len(train(Rising(), ROWS, with_(tol=0.19), seed=0)) == 3


def test_the_best_weights_on_validation_rows_come_back():
    one = train(best := Halving(), ROWS, with_(epochs=1), seed=0, validation=ROWS)
    many = train(module := Halving(), ROWS, with_(tol=1e-3), seed=0, validation=ROWS)
    assert len(one) < len(many) < 50
    torch.testing.assert_close(module.weight, best.weight, rtol=0, atol=0)


def test_a_restarted_run_ends_at_the_same_epoch(tmp_path):
    plan = with_(tol=1e-3, checkpoint=tmp_path, checkpoint_every=1)
    whole = train(Halving(), ROWS, with_(tol=1e-3), seed=0)
    with pytest.raises(Killed):
        train(Halving(killed_at=4), ROWS, plan, seed=0)
    module = Halving()
    history = train(module, ROWS, plan, seed=0)
    assert module.calls == len(whole) - 3
    assert [e["train_loss"] for e in history] == [e["train_loss"] for e in whole]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("tol", "error"), [(-1e-9, ValueError), ("small", TypeError)])
def test_what_tol_cannot_be(tol, error):
    with pytest.raises(error, match=r"plan\.tol must be .*got"):
        Plan(tol=tol).validate()


def test_a_plan_is_saved_with_it_and_one_saved_before_it_was_there_is_read(tmp_path):
    save(Plan(tol=0.5), tmp_path / "plan")
    assert load(tmp_path / "plan").tol == 0.5
    older = Plan().__nanwise_state__()
    del older["tol"]
    assert Plan.__from_nanwise_state__(older).tol is None
