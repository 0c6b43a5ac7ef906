"""AutoRec in two processes (gloo) is AutoRec in one, up to the order of sums."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TIMEOUT = 240
WORKER = """
import json, os, sys
import torch
from nanwise import AutoRec, Plan
from nanwise.data.ratings import synthetic_ratings

out = {}
ratings = synthetic_ratings(61, 37, 700, random_state=2)
for name, by, batch, epochs in [
    ("item", "item", None, 25), ("user", "user", None, 25), ("batches", "user", 16, 25)
]:
    plan = Plan(epochs=epochs, batch=batch, lr=0.01, optimizer="adam", schedule=None,
                validation=0.1, patience=None, precision="float64")
    model = AutoRec(by=by, hidden=7, penalty=(2.0, 3.0), plan=plan, random_state=0).fit(ratings)
    out[name] = {
        "losses": [[e["train_loss"], e["valid_loss"]] for e in model.history_],
        "weights": {k: v.tolist() for k, v in model.net_.state_dict().items()},
        "score": model.score(ratings),
    }
rank = os.environ.get("RANK", "0")
with open(f"{sys.argv[1]}.{rank}", "w") as file:
    json.dump(out, file)
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(folder: Path, world: int) -> list[dict]:
    common = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    if world > 1:
        common |= {
            "WORLD_SIZE": str(world),
            "LOCAL_WORLD_SIZE": str(world),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port()),
        }
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder / f"out{world}")],
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
    return [json.loads((folder / f"out{world}.{r}").read_text()) for r in range(world)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, dict, dict]:
    folder = tmp_path_factory.mktemp("recommender")
    return (*run(folder, 2), *run(folder, 1))


@pytest.mark.parametrize("job", ["item", "user", "batches"])
def test_both_processes_end_with_the_same_model(job: str, results: tuple[dict, dict, dict]) -> None:
    one, two, _ = (result[job] for result in results)
    assert one == two


@pytest.mark.parametrize("job", ["item", "user"])
def test_two_processes_end_with_the_model_of_one(
    job: str, results: tuple[dict, dict, dict]
) -> None:
    both, _, alone = (result[job] for result in results)
    assert np.allclose(both["losses"], alone["losses"], rtol=1e-9, atol=0)
    for name, weights in alone["weights"].items():
        assert np.allclose(both["weights"][name], weights, rtol=1e-7, atol=1e-9), name


def test_batches_of_two_processes_are_as_good(results: tuple[dict, dict, dict]) -> None:
    both, _, alone = (result["batches"] for result in results)
    assert both["score"] == pytest.approx(alone["score"], abs=0.02)
