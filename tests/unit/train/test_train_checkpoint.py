from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nanwise.errors import ModelFileError
from nanwise.nn.sparse import Affine
from nanwise.train import Plan, train


class Killed(BaseException):
    pass


class Net(nn.Module):
    """With all that has a state: dropout, batch normalisation, a weight that is not contiguous."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            Affine(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1)
        )
        self.left = -1  # steps until somebody pulls the plug

    def training_step(self, batch: Any, phase: str = "main") -> Tensor:
        self.left -= 1
        if self.left == 0:
            raise Killed
        total, count = self.validation_step(batch)
        return total / count

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        x, y = batch
        return ((self.layers(x)[:, 0] - y) ** 2).sum(), torch.tensor(len(y))


class Memory:
    def __init__(self, *parts: Tensor) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, index: Tensor) -> tuple[Tensor, ...]:
        return tuple(part[index] for part in self.parts)


def rows(n: int, seed: int) -> Memory:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=generator)
    return Memory(x, x[:, 0] * x[:, 1] + 0.3 * torch.randn(n, generator=generator))


def run(killed_at: int = -1, seed: int = 1, n: int = 60, **settings: Any) -> tuple[dict, list]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = Net()
    net.left = killed_at
    plan = Plan(**{"epochs": 9, "batch": 10, "lr": 1e-2, "patience": 4, "clip": 1.0} | settings)
    history = train(net, rows(n, 1), plan, seed=seed, validation=rows(30, 2))
    return dict(net.state_dict()), [h["valid_loss"] for h in history]


SETTINGS = [
    {},
    {"optimizer": "adamw", "schedule": "cosine", "weight_decay": 0.1},
    {"optimizer": "sgd", "schedule": "onecycle"},
    {"optimizer": "rmsprop", "schedule": "plateau"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: s.get("optimizer", "adam"))
@pytest.mark.parametrize("killed_at", [1, 13, 20, 47])
def test_a_killed_run_ends_bit_identical(killed_at: int, settings: dict, tmp_path: Path) -> None:
    expected, losses = run(**settings)
    where = {"checkpoint": tmp_path / "runs", "checkpoint_every": 2}
    with pytest.raises(Killed):
        run(killed_at, **settings, **where)
    assert len(list(tmp_path.glob("runs/*.safetensors"))) == (killed_at > 12)
    got, again = run(**settings, **where)
    assert again == losses
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    assert list(tmp_path.glob("runs/*")) == []


def test_a_resumed_run_does_not_repeat_what_was_done(tmp_path: Path) -> None:
    where = {"checkpoint": tmp_path, "checkpoint_every": 2}
    with pytest.raises(Killed):
        run(32, **where)  # 6 steps per epoch: 4 epochs are saved, 5 of 9 are left, 30 steps
    run(31, **where)
    with pytest.raises(Killed):
        run(32, **where)
    with pytest.raises(Killed):
        run(30, **where)


@pytest.mark.parametrize("change", [{"seed": 2}, {"n": 61}, {"lr": 2e-2}, {"epochs": 10}])
def test_a_checkpoint_of_another_run_is_ignored_and_kept(change: dict, tmp_path: Path) -> None:
    where = {"checkpoint": tmp_path, "checkpoint_every": 2}
    with pytest.raises(Killed):
        run(20, **where)
    (left,) = tmp_path.iterdir()
    expected, _ = run(**change)
    got, _ = run(**change, **where)
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    assert list(tmp_path.iterdir()) == [left]


def test_one_changed_row_is_another_run(tmp_path: Path) -> None:
    from nanwise.train.checkpoint import fingerprint

    source = rows(20_000, 1)
    before = fingerprint(Net(), Plan(), 1, (source, None), 1)
    net = Net()
    names = {fingerprint(net, Plan(), 1, (source, None), 1)}
    source.parts[1][12_345] += 1e-3
    names.add(fingerprint(net, Plan(), 1, (source, None), 1))
    names.add(fingerprint(net, Plan(), 1, (None, source), 1))
    assert len(names | {before}) == 4
    assert fingerprint(net, Plan(progress=True), 1, (None, source), 1) in names


def test_a_source_that_draws_finds_its_run_again(tmp_path: Path) -> None:
    class Noisy(Memory):
        def __getitem__(self, index: Tensor) -> tuple[Tensor, ...]:
            x, y = super().__getitem__(index)
            return x + torch.randn_like(x), y

    def run(left: int, folder: Path | None) -> Net:
        torch.manual_seed(3)
        net = Net()
        net.left = left
        # what was drawn before does not matter
        torch.manual_seed(left)
        plan = Plan(epochs=4, batch=16, checkpoint=folder, checkpoint_every=1)
        train(net, Noisy(*rows(64, 0).parts), plan, seed=7)
        return net

    with pytest.raises(Killed):
        run(10, tmp_path)
    resumed = run(9, tmp_path)  # of 16 steps 8 are left
    for ours, theirs in zip(
        resumed.state_dict().values(), run(-1, None).state_dict().values(), strict=True
    ):
        assert torch.equal(ours, theirs)


def test_a_damaged_checkpoint_says_what_to_do(tmp_path: Path) -> None:
    where = {"checkpoint": tmp_path, "checkpoint_every": 2}
    with pytest.raises(Killed):
        run(20, **where)
    (left,) = tmp_path.iterdir()
    left.write_bytes(left.read_bytes()[:-100])
    with pytest.raises(ModelFileError, match="Delete it"):
        run(**where)


def test_a_run_that_is_really_killed(tmp_path: Path) -> None:
    """SIGKILL in the middle of a step, with the file system as the only witness."""
    script = (
        f"import sys, importlib.util, os, signal\n"
        f"spec = importlib.util.spec_from_file_location('case', {__file__!r})\n"
        f"case = importlib.util.module_from_spec(spec)\n"
        f"spec.loader.exec_module(case)\n"
        f"class Die(BaseException):\n"
        f"    def __init__(self): os.kill(os.getpid(), signal.SIGKILL)\n"
        f"case.Killed = Die\n"
        f"case.run(33, checkpoint={str(tmp_path)!r}, checkpoint_every=1)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    expected, _ = run()
    got, _ = run(checkpoint=tmp_path, checkpoint_every=1)
    assert all(torch.equal(expected[name], got[name]) for name in expected)
