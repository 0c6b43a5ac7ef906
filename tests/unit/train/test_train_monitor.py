"""Early stopping on the area under the ROC curve."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

from nanwise.errors import TrainingError
from nanwise.nets import losses
from nanwise.train import Plan, train
from nanwise.train.monitor import Ranking, auroc


@pytest.mark.parametrize("decimals", [1, 6])
def test_auroc_is_that_of_scikit_learn_also_with_ties(decimals):
    rng = np.random.default_rng(0)
    score = rng.normal(size=200).round(decimals)
    positive = rng.random(200) < 0.3
    found = auroc(torch.from_numpy(score), torch.from_numpy(positive))
    assert found == pytest.approx(roc_auc_score(positive, score), abs=1e-12)


def test_several_classes_are_each_against_the_rest():
    rng = np.random.default_rng(1)
    output, y = rng.normal(size=(90, 3)), rng.integers(0, 3, 90)
    ranking = Ranking()
    for part in (slice(0, 40), slice(40, 90)):
        ranking.add(torch.from_numpy(output[part]), torch.from_numpy(y[part]))
    p = torch.from_numpy(output).softmax(1).numpy()
    assert ranking.auroc(alone=True) == pytest.approx(roc_auc_score(y, p, multi_class="ovr"))


def test_one_class_is_refused():
    ranking = Ranking()
    ranking.add(torch.zeros(3, 1), torch.ones(3, dtype=torch.int64))
    with pytest.raises(TrainingError, match="all of one class"):
        ranking.auroc(alone=True)


def test_rows_of_all_processes_count(monkeypatch):
    rng = np.random.default_rng(2)
    output, y = torch.from_numpy(rng.normal(size=(50, 1))), torch.from_numpy(rng.integers(0, 2, 50))
    mine, theirs = Ranking(), Ranking()
    mine.add(output[:20], y[:20])
    theirs.add(output[20:35], y[20:35])
    theirs.add(output[35:], y[35:])

    def gather(found, own):
        found[:] = [own, theirs.parts]

    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "all_gather_object", gather)
    assert mine.auroc(alone=False) == pytest.approx(roc_auc_score(y, output[:, 0]))


class Rows:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


class Logit(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(2, 1)

    def training_step(self, batch, phase="main"):
        total, count = self.validation_step(batch)
        return total / count

    def validation_step(self, batch):
        return losses.binary(self.affine(batch[0]), batch[1], None)


class Scored(Logit):
    def scored_step(self, batch):
        return *self.validation_step(batch), self.affine(batch[0]), batch[1]


def rows(n=120, seed=0):
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 2, generator=draw)
    return Rows(x, (x[:, 0] + torch.randn(n, generator=draw) > 0).long())


def test_the_best_weights_by_auroc_come_back():
    # a rate so large that the loss goes up and down
    plan = Plan(epochs=12, batch=20, lr=3.0, schedule=None, monitor="auroc", patience=None)
    module, held = Scored(), rows(seed=1)
    history = train(module, rows(), plan, seed=0, validation=held)
    best = max(step["valid_auroc"] for step in history)
    with torch.no_grad():
        found = auroc(module.affine(held.x)[:, 0], held.y == 1)
    assert found == pytest.approx(best)
    assert min(step["valid_auroc"] for step in history) < best


def test_patience_counts_epochs_without_a_better_auroc():
    plan = Plan(epochs=40, batch=20, lr=3.0, schedule=None, monitor="auroc", patience=2)
    history = train(Scored(), rows(), plan, seed=0, validation=rows(seed=1))
    areas = [step["valid_auroc"] for step in history]
    assert len(history) < 40
    assert areas.index(max(areas)) == len(areas) - 3


def test_a_module_without_scores_is_refused_before_training():
    with pytest.raises(ValueError, match="monitor='auroc' is not for Logit"):
        train(Logit(), rows(), Plan(monitor="auroc"), seed=0, validation=rows(seed=1))


def test_monitor_is_checked_and_needs_validation_rows():
    with pytest.raises(ValueError, match=r"plan\.monitor must be one of 'loss', 'auroc'"):
        Plan(monitor="f1").validate()
    with pytest.raises(ValueError, match="looks at validation rows, and there are none"):
        train(Scored(), rows(), Plan(epochs=1, monitor="auroc"), seed=0)
    with pytest.raises(ValueError, match="is not for Logit"):
        train(Logit(), rows(), Plan(epochs=1, monitor="auroc"), seed=0)
