"""Seconds per epoch of NanSeriesClassifier against a plain loop around ``torch.nn.LSTM``.

Sequences of the size of the PhysioNet Challenge 2012, 4000 x 288 x 35, of which 4 % of the values
are there, three quarters of the steps without any. The plain loop has the filled array in memory
and does nothing but shuffle, forward, backward and Adam; it knows nothing of gaps. The sides
alternate, and the ratio of each round is taken.

Run: python benchmarks/series.py [--rounds 3] [--threads 1] [--rows 4000] [--gaps zero,decay]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

from _fair import fix_malloc

STEPS, WIDTH, UNITS, BATCH = 288, 35, 108, 512


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--gaps", default="zero,sparsity_norm")
    args = parser.parse_args()
    fix_malloc(args.threads)
    sides = make_sides(args.rows, args.threads, args.gaps.split(","))
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(args.rounds):
        for name, epoch in sides.items():
            times[name].append(epoch())
    report(times)


def make_data(rows: int) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, STEPS, WIDTH)).astype(np.float32)
    empty = rng.random((rows, STEPS, 1)) < 0.76
    X[empty | (rng.random(X.shape) < 0.84)] = np.nan
    return X, np.arange(rows) % 7 == 0


def make_sides(rows: int, threads: int, gaps: list[str]) -> dict[str, Callable[[], float]]:
    import torch

    torch.set_num_threads(threads)
    X, y = make_data(rows)
    sides = {"torch.nn.LSTM": plain(X, y)}
    return sides | {f"nanwise, {name}": ours(name, X, y) for name in gaps}


def plain(X: Any, y: Any) -> Callable[[], float]:
    """An epoch of a loop as one writes it by hand."""
    import torch
    from torch import nn

    values = torch.from_numpy(X).nan_to_num()
    target = torch.from_numpy(y).float()
    lstm, head = nn.LSTM(WIDTH, UNITS, batch_first=True), nn.Linear(UNITS, 1)
    adam = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=2e-4, fused=True)
    loss = nn.BCEWithLogitsLoss()

    def epoch() -> float:
        start = time.perf_counter()
        for rows in torch.randperm(len(values)).split(BATCH):
            adam.zero_grad()
            output = head(lstm(values[rows])[1][0][0])[:, 0]
            loss(output, target[rows]).backward()
            adam.step()
        return time.perf_counter() - start

    return epoch


def ours(gaps: str, X: Any, y: Any) -> Callable[[], float]:
    """An epoch as the history of a fit has it; reading and scaling happen once, before."""
    from nanwise import NanSeriesClassifier, Plan

    plan = Plan(epochs=1, batch=BATCH, lr=2e-4, optimizer="adam", weight_decay=0.0, schedule=None)
    NanSeriesClassifier(gaps, UNITS, plan=plan).fit(X[:8], y[:8])  # what is there only once

    def epoch() -> float:
        model = NanSeriesClassifier(gaps, UNITS, plan=plan, random_state=0).fit(X, y)
        return model.history_[0]["seconds"]

    return epoch


def report(times: dict[str, list[float]]) -> None:
    base = times["torch.nn.LSTM"]
    print("| side | seconds per epoch (median) | times the plain loop (median) |")
    print("|---|---|---|")
    for name, taken in times.items():
        ratio = statistics.median(a / b for a, b in zip(taken, base, strict=True))
        print(f"| {name} | {statistics.median(taken):.1f} | {ratio:.2f} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nPeak memory of the process, all sides together: {peak:.1f} GB")


if __name__ == "__main__":
    main()
