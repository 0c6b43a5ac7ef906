"""Two networks that play against each other, in two processes: the same game as in one."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np

WORKER = """
import atexit, json, os, sys
import torch
from torch import nn
from nanwise.train import Plan, train

class Memory:
    def __init__(self, x): self.x = x
    def __len__(self): return len(self.x)
    def __getitem__(self, index): return self.x[index]

class Game(nn.Module):
    every = {"maker": 2}
    def __init__(self):
        super().__init__()
        self.maker, self.judge = nn.Linear(2, 2), nn.Linear(2, 1)
    @property
    def players(self):
        return {"judge": list(self.judge.parameters()), "maker": list(self.maker.parameters())}
    def training_step(self, batch, phase="main"):
        gap = self.judge(self.maker(batch)).mean() - self.judge(batch).mean()
        size = sum((p**2).sum() for p in self.parameters())
        return gap + size if phase == "judge" else size - gap

def parted():  # registered first, so called last
    with open(f"{sys.argv[1]}.{os.environ.get('RANK', '0')}.parted", "w") as file:
        json.dump(not torch.distributed.is_initialized(), file)

atexit.register(parted)
torch.manual_seed(int(os.environ.get("RANK", 0)))  # processes start differently
net = Game().double()
x = torch.randn(40, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
plan = Plan(epochs=5, batch=10, lr=0.05, clip=1.0, precision="float64")
history = train(net, Memory(x), plan, seed=3)
out = {"losses": [h["losses"] for h in history],
       "state": {k: v.tolist() for k, v in net.state_dict().items()}}
with open(f"{sys.argv[1]}.{os.environ.get('RANK', '0')}", "w") as file:
    json.dump(out, file)
"""


def run(folder: Path, world: int) -> list[dict]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    together = {
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    out = folder / f"out{world}"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(out)],
            env=common | (together | {"RANK": str(r), "LOCAL_RANK": str(r)} if world > 1 else {}),
            stderr=subprocess.PIPE,
            text=True,
        )
        for r in range(world)
    ]
    try:
        for process in processes:
            _, errors = process.communicate(timeout=240)
            assert process.returncode == 0, errors
    finally:
        for process in processes:
            process.kill()
    for r in range(world):  # a group that outlives Python aborts now and then
        assert json.loads(Path(f"{out}.{r}.parted").read_text())
    return [json.loads(Path(f"{out}.{r}").read_text()) for r in range(world)]


def test_two_processes_play_the_game_of_one(tmp_path: Path) -> None:
    (alone,) = run(tmp_path, 1)
    one, two = run(tmp_path, 2)
    assert one == two
    for name, value in alone["state"].items():
        np.testing.assert_allclose(one["state"][name], value, rtol=1e-9)
    for ours, theirs in zip(one["losses"], alone["losses"], strict=True):
        assert list(ours) == list(theirs)
        np.testing.assert_allclose(list(ours.values()), list(theirs.values()), rtol=1e-9)
