"""Every setting of a Plan reaches the training of an imputer's network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone

from nanwise import AEImputer, GAINImputer, Plan, registry
from nanwise.estimators.impute.net import NetImputer
from nanwise.saving import load, save

NETS = [found.name for found in registry.known("imputer") if isinstance(found.make(), NetImputer)]
SMALL = Plan(epochs=4, batch=16, weight_decay=0.0, schedule=None)


def table(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, d))
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def fitted(imputer, **changes):
    plan = clone(SMALL).set_params(**changes)
    return clone(imputer).set_params(plan=plan, random_state=0).fit(table())


IMPUTERS = [AEImputer(hidden=(4,)), GAINImputer(hidden=(4,))]


@pytest.fixture(params=IMPUTERS, ids=["one network", "two players"])
def imputer(request):
    return request.param


@pytest.fixture(scope="module")
def plain():
    return {type(imputer): fitted(imputer).transform(table()) for imputer in IMPUTERS}


@pytest.mark.parametrize(
    "change",
    [
        {"batch": 40},
        {"lr": 0.1},
        {"optimizer": "sgd"},
        {"weight_decay": 10.0},
        {"schedule": "cosine"},
        {"schedule": "onecycle"},
        {"clip": 1e-4, "optimizer": "sgd"},
        {"precision": "float64"},
        {"eps": 1.0},
        {"beta1": 0.0},
        {"beta2": 0.5},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_changes_the_weights(imputer, plain, change):
    # Adam divides by the size of the gradient: what clips it shows with SGD
    by_sgd = "clip" in change
    base = fitted(imputer, optimizer="sgd").transform(table()) if by_sgd else plain[type(imputer)]
    found = fitted(imputer, **change)
    assert np.isfinite(found.transform(table())).all()
    assert not np.array_equal(found.transform(table()), base)


def test_what_changes_the_epochs(imputer):
    assert fitted(imputer, epochs=3).n_iter_ == 3
    assert all(step["valid_loss"] is None for step in fitted(imputer).history_)
    held = fitted(imputer, validation=0.3, epochs=3)
    assert all(np.isfinite(step["valid_loss"]) for step in held.history_)
    # weights that hardly move: the first epochs stay the best ones
    still = {"validation": 0.3, "optimizer": "sgd", "lr": 0.1, "clip": 1e-12}
    assert fitted(imputer, **still, epochs=50, patience=2).n_iter_ < 50
    assert fitted(imputer, **still, epochs=8, patience=None).n_iter_ == 8
    slower = fitted(imputer, **still, epochs=20, patience=4, schedule="plateau").history_
    assert slower[-1]["lr"] < 0.1


@pytest.mark.parametrize("share", [None, 0, 0.0, 0.001])
def test_a_share_that_leaves_no_row_validates_on_none(imputer, plain, share):
    found = fitted(imputer, validation=share)
    assert all(step["valid_loss"] is None for step in found.history_)
    np.testing.assert_array_equal(found.transform(table()), plain[type(imputer)])


def test_progress_is_shown_when_asked_for(imputer, capsys):
    fitted(imputer)
    assert "epoch" not in capsys.readouterr().err
    fitted(imputer, progress=True)
    assert "4/4" in capsys.readouterr().err


def test_a_run_that_was_stopped_goes_on_from_its_checkpoint(imputer, plain, tmp_path, monkeypatch):
    from nanwise.train.run import Run

    whole_epoch, seen = Run._epoch, []

    def killed_in_the_third(self, epoch):
        if seen == [1, 2]:
            raise KeyboardInterrupt
        whole_epoch(self, epoch)
        seen.append(epoch)

    monkeypatch.setattr(Run, "_epoch", killed_in_the_third)
    with pytest.raises(KeyboardInterrupt):
        fitted(imputer, checkpoint=tmp_path, checkpoint_every=1)
    seen.append("again")
    found = fitted(imputer, checkpoint=tmp_path, checkpoint_every=1)
    assert seen == [1, 2, "again", 3, 4]
    np.testing.assert_array_equal(found.transform(table()), plain[type(imputer)])


# -- precision ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_networks_train_in_the_precision_of_the_plan(name, precision, tmp_path):
    found = registry.find(name)
    imputer = found.make(**found.tiny).set_params(random_state=0)
    plan = Plan(epochs=1, batch=20, precision=precision, validation=0.3)
    imputer.set_params(plan=plan).fit(table())
    kinds = {v.dtype for v in imputer.net_.state_dict().values() if v.is_floating_point()}
    assert kinds == {getattr(torch, precision)}
    filled = imputer.transform(table())
    assert filled.dtype == np.float64
    save(imputer, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(table()), filled)


def test_both_precisions_agree_where_nothing_is_random():
    one, two = (
        AEImputer(
            hidden=(4,), hide=0.0, plan=Plan(epochs=20, batch=None, precision=p), random_state=0
        )
        .fit(table())
        .transform(table())
        for p in ("float32", "float64")
    )
    assert not np.array_equal(one, two)
    np.testing.assert_allclose(one, two, atol=1e-4)
