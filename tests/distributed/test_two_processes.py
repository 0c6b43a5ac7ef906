"""Two processes on one machine (gloo): nothing hangs, both end with the same model."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

WORKERS = Path(__file__).with_name("workers.py")
TIMEOUT = 240


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(jobs: list[str], folder: Path, world: int = 2, **variables: str) -> list[dict]:
    """Start ``world`` processes as torchrun would; the results of each by job."""
    common = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""} | variables
    if world > 1:
        common |= {
            "WORLD_SIZE": str(world),
            "LOCAL_WORLD_SIZE": str(world),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port()),
        }
    processes = [
        subprocess.Popen(
            [sys.executable, str(WORKERS), str(folder / "out"), *jobs],
            env=common | ({"RANK": str(r), "LOCAL_RANK": str(r)} if world > 1 else {}),
            stderr=subprocess.PIPE,
            text=True,
        )
        for r in range(world)
    ]
    try:
        for process in processes:
            _, errors = process.communicate(timeout=TIMEOUT)
            assert process.returncode == 0, errors
    finally:
        for process in processes:
            process.kill()
    return [json.loads((folder / f"out.{r}").read_text()) for r in range(world)]


SAME = [
    "even",
    "uneven",
    "fewer_batches",
    "empty_validation_shard",
    "fewer_rows_than_processes",
    "no_validation",
    "checkpoint",
]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, checkpoints: Path) -> list[dict]:
    """All jobs in one pair of processes: starting them takes longer than the work."""
    folder = tmp_path_factory.mktemp("both")
    jobs = [*SAME, "broken", "different_rows"]
    return run(jobs, folder, CHECKPOINTS=str(checkpoints))


@pytest.mark.parametrize("job", SAME)
def test_both_end_with_the_same_model(job: str, both: list[dict]) -> None:
    one, two = (results[job] for results in both)
    assert one["epochs"] == two["epochs"] > 0
    assert one["losses"] == two["losses"]
    assert one["state"] == two["state"]
    assert one["clean"]
    assert two["clean"]


def test_as_good_as_one_process(both: list[dict], tmp_path: Path) -> None:
    alone = run(["even"], tmp_path, world=1)[0]["even"]
    # the target has a variance of 5 and a noise of 0.01
    assert alone["error"] < 0.2
    assert both[0]["even"]["error"] < 0.2


def test_a_bad_row_stops_all(both: list[dict]) -> None:
    for results in both:
        assert "epoch 1" in results["broken"]["error"]
    assert any("'b' holds inf" in results["broken"]["error"] for results in both)


def test_different_rows_are_refused(both: list[dict]) -> None:
    for results in both:
        assert "[100, 101]" in results["different_rows"]["error"]


def test_checkpoints_change_nothing_and_are_removed(both: list[dict], checkpoints: Path) -> None:
    assert both[0]["checkpoint"]["state"] == both[0]["uneven"]["state"]
    assert list(checkpoints.iterdir()) == []


def test_processes_that_met_by_themselves(tmp_path: Path) -> None:
    one, two = run(["uneven"], tmp_path, INIT="1")
    assert one["uneven"]["state"] == two["uneven"]["state"]
