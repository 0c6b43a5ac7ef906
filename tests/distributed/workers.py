"""What the processes of the distributed tests run: ``python workers.py <out> <job> <job> ...``."""

from __future__ import annotations

import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

from nanwise.errors import TrainingError
from nanwise.train import Plan, train


class Rows:
    def __init__(self, *parts: torch.Tensor) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, index: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(part[index] for part in self.parts)


class Net(nn.Module):
    """Regression with batch normalisation, whose running averages differ between processes."""

    def __init__(self, norm: bool = True) -> None:
        super().__init__()
        middle = nn.BatchNorm1d(16) if norm else nn.Identity()
        self.layers = nn.Sequential(
            nn.Linear(3, 16), middle, nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)[:, 0]

    def training_step(self, batch: tuple, phase: str = "main") -> torch.Tensor:
        total, count = self.validation_step(batch)
        return total / count

    def validation_step(self, batch: tuple) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = batch
        return ((self(x) - y) ** 2).sum(), torch.tensor(len(y))


def rows(n: int, seed: int) -> Rows:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=generator)
    return Rows(x, x[:, 0] - 2 * x[:, 1] + 0.1 * torch.randn(n, generator=generator))


def fit(n: int, n_valid: int, norm: bool = True, **settings: object) -> dict:
    torch.manual_seed(dist.get_rank() if dist.is_initialized() else 0)  # ranks start differently
    net = Net(norm)
    plan = Plan(**{"epochs": 30, "batch": 32, "lr": 1e-2, "patience": 8, **settings})
    history = train(net, rows(n, 1), plan, seed=5, validation=rows(n_valid, 2) if n_valid else None)
    x, y = rows(500, 3).parts
    with torch.no_grad():
        error = float(((net(x) - y) ** 2).mean())
    state = {name: value.tolist() for name, value in net.state_dict().items()}
    return {
        "epochs": len(history),
        "losses": [[h["train_loss"], h["valid_loss"]] for h in history],
        "state": state,
        "error": error,
        "clean": "forward" not in vars(net) and not net.training,
    }


def broken() -> dict:
    """One bad row, seen by one of the processes only: all must stop."""
    source = rows(101, 1)
    source.parts[0][7, 1] = float("inf")
    try:
        train(Net(), source, Plan(epochs=3, batch=32), seed=5, names=["a", "b", "c"])
    except TrainingError as error:
        return {"error": str(error)}
    return {"error": ""}


def different_rows() -> dict:
    """Processes that were given different rows would wait for each other for ever."""
    try:
        train(Net(), rows(100 + dist.get_rank(), 1), Plan(epochs=1), seed=5)
    except TrainingError as error:
        return {"error": str(error)}
    return {"error": ""}


JOBS = {
    "even": lambda: fit(320, 64),
    "uneven": lambda: fit(321, 65),
    # 65 rows in batches of 32: without wrapping round one process has two batches, one has three
    "fewer_batches": lambda: fit(65, 9, batch=22),
    "empty_validation_shard": lambda: fit(100, 1, epochs=5),
    "fewer_rows_than_processes": lambda: fit(1, 1, norm=False, epochs=3, batch=None),
    "no_validation": lambda: fit(33, 0, epochs=4),
    "checkpoint": lambda: fit(321, 65, checkpoint=os.environ["CHECKPOINTS"], checkpoint_every=2),
    "broken": broken,
    "different_rows": different_rows,
}

if __name__ == "__main__":
    out, *jobs = sys.argv[1:]
    if os.environ.get("INIT") == "1":
        dist.init_process_group("gloo")
    results = {job: JOBS[job]() for job in jobs}
    with open(f"{out}.{os.environ.get('RANK', '0')}", "w") as file:
        json.dump(results, file)
    if dist.is_initialized():
        dist.destroy_process_group()
    if os.environ.get("INIT") == "1":
        # In one of 30 runs a thread of torch outlives Python, where this script, not nanwise, has
        # made the group: C++ then aborts while it tidies up, long after all is written.
        os._exit(0)
