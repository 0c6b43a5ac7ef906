"""Epoch time of our MLP against scikit-learn's, same width, depth and batch, in one run.

100,000 rows x 50 columns without gaps (scikit-learn takes none), hidden (256, 256), batch 200,
Adam. Both train for a few epochs without validation; the sides alternate, and the ratio of each
round is taken. scikit-learn is timed on float64 input (its default) and on float32.

Run: python benchmarks/mlp_epoch.py [--rounds 3] [--threads 2]
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

from _fair import fix_malloc


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    fix_malloc(args.threads)
    sides = make_sides(args.rows, args.epochs, args.threads)
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(args.rounds):
        for name, fit in sides.items():
            start = time.perf_counter()
            fit()
            times[name].append((time.perf_counter() - start) / args.epochs)
    report(times)


def make_sides(rows: int, epochs: int, threads: int) -> dict[str, Callable[[], object]]:
    import numpy as np
    import torch
    from sklearn.neural_network import MLPClassifier

    from nanwise import NanClassifier, Plan

    torch.set_num_threads(threads)
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 50))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    X32 = X.astype(np.float32)
    theirs = MLPClassifier((256, 256), batch_size=200, max_iter=epochs, random_state=0)
    plan = Plan(epochs=epochs, batch=200, optimizer="adam", weight_decay=0.0, schedule=None)
    ours = NanClassifier("zero", dropout=0.0, plan=plan, random_state=0)
    # The first small fit pays for imports, which are no part of an epoch.
    ours.fit(X[:500], y[:500])
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.3] = np.nan
    sn = NanClassifier("sparsity_norm", dropout=0.0, plan=plan, random_state=0)
    return {
        "scikit-learn, float64": lambda: theirs.fit(X, y),
        "scikit-learn, float32": lambda: theirs.fit(X32, y),
        "nanwise, zero": lambda: ours.fit(X, y),
        "nanwise, sparsity_norm, 30 % gaps": lambda: sn.fit(gaps, y),
    }


def report(times: dict[str, list[float]]) -> None:
    ours = times["nanwise, zero"]
    print("| side | seconds per epoch (median) | times the epoch of nanwise, zero (median) |")
    print("|---|---|---|")
    for name, taken in times.items():
        ratio = statistics.median(a / b for a, b in zip(taken, ours, strict=True))
        print(f"| {name} | {statistics.median(taken):.2f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
