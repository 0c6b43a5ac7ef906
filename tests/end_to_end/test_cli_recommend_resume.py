"""``nanwise recommend`` that is interrupted or killed, and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import nanwise
from nanwise.cli.app import app
from nanwise.data.ratings import synthetic_ratings
from nanwise.nets.autorec import AutoRecNet

EPOCHS = 60
SETTINGS = ("-q", "--no-stress", "--set", "hidden=6", "--epochs", EPOCHS)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "ratings.csv"
    synthetic_ratings(80, 50, 1500, random_state=0).to_frame().to_csv(path, index=False)
    return path


def run(data: Path, out: Path, *more: Any) -> Result:
    args = ["recommend", data, "--out", out, *SETTINGS, *more]
    return CliRunner().invoke(app, list(map(str, args)))


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "rec"
    result = run(data, out)
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanwise.bench.recommend.CHECKPOINT_EPOCHS", 5)


def same(one: Path, two: Path) -> None:
    """Lists byte for byte, weights bit for bit."""
    assert (one / "top.csv").read_bytes() == (two / "top.csv").read_bytes()
    weights = [dict(nanwise.load(out / "model").net_.state_dict()) for out in (one, two)]
    assert weights[0].keys() == weights[1].keys()
    assert all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])


class Steps:
    """Counts training steps, with Ctrl-C in place of one of them."""

    def __init__(self, patch: pytest.MonkeyPatch, stop_at: int | None = None) -> None:
        self.done = 0
        honest = AutoRecNet.training_step

        def step(net: AutoRecNet, batch: Any) -> Any:
            if self.done == stop_at:
                raise KeyboardInterrupt
            self.done += 1
            return honest(net, batch)

        patch.setattr(AutoRecNet, "training_step", step)


def test_ctrl_c_tells_how_to_go_on_and_the_result_is_the_same(
    data: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rec"
    with pytest.MonkeyPatch.context() as patch:
        Steps(patch, stop_at=33)
        result = run(data, out)
    assert result.exit_code == 130
    lines = result.stderr.splitlines()
    assert lines[-2] == "error: interrupted"
    assert "the same command again goes on there" in lines[-1]
    assert str(out / "checkpoints") in lines[-1]
    assert len(list((out / "checkpoints").iterdir())) == 1
    assert not (out / "top.csv").exists()
    with pytest.MonkeyPatch.context() as patch:
        resumed = Steps(patch)
        assert run(data, out).exit_code == 0
    with pytest.MonkeyPatch.context() as patch:
        fresh = Steps(patch)
        assert run(data, tmp_path / "again").exit_code == 0
    # 30 of 33 epochs were in the checkpoint
    assert resumed.done == fresh.done - 30
    same(out, whole)
    assert not (out / "checkpoints").exists()


def test_a_killed_process_goes_on_to_the_same_result(
    data: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rec"
    # every epoch takes a moment, so that the kill comes in the middle of training
    script = (
        "import sys, time\n"
        "from nanwise.nets.autorec import AutoRecNet\n"
        "from nanwise.bench import recommend\n"
        "from nanwise.cli import main\n"
        "recommend.CHECKPOINT_EPOCHS = 5\n"
        "honest = AutoRecNet.training_step\n"
        "def slow(net, batch):\n"
        "    time.sleep(0.05)\n"
        "    return honest(net, batch)\n"
        "AutoRecNet.training_step = slow\n"
        "main()\n"
    )
    args = map(str, ["recommend", data, "--out", out, *SETTINGS])
    process = subprocess.Popen([sys.executable, "-c", script, *args], env=dict(os.environ))
    until = time.monotonic() + 120
    while not list((out / "checkpoints").glob("*.safetensors")):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (out / "top.csv").exists()
    result = run(data, out)
    assert result.exit_code == 0, result.output
    same(out, whole)
    assert not (out / "checkpoints").exists()


def test_other_settings_do_not_take_up_an_old_checkpoint(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "rec"
    with pytest.MonkeyPatch.context() as patch:
        Steps(patch, stop_at=33)
        assert run(data, out).exit_code == 130
    more = ("--set", "penalty=7")
    assert run(data, out, *more).exit_code == 0
    assert run(data, tmp_path / "fresh", *more).exit_code == 0
    same(out, tmp_path / "fresh")
    assert not (out / "checkpoints").exists()


def test_a_damaged_checkpoint_is_one_line(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "rec"
    with pytest.MonkeyPatch.context() as patch:
        Steps(patch, stop_at=33)
        run(data, out)
    (kept,) = (out / "checkpoints").iterdir()
    kept.write_bytes(kept.read_bytes()[:200])
    result = run(data, out)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert str(kept) in line
    assert "Delete it to start from the beginning" in line


def test_without_checkpoints_nothing_is_kept(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "rec"
    with pytest.MonkeyPatch.context() as patch:
        Steps(patch, stop_at=33)
        result = run(data, out, "--no-checkpoints")
    assert result.exit_code == 130
    assert "nothing was written" in result.stderr
    assert list(out.iterdir()) == []


def test_foreign_files_beside_the_checkpoints_are_left_alone(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "rec"
    (out / "checkpoints").mkdir(parents=True)
    (out / "checkpoints" / "notes.txt").write_text("mine")
    assert run(data, out).exit_code == 0
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["notes.txt"]
