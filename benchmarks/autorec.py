"""An epoch of AutoRec and its memory, against the dense autoencoder one would write in PyTorch.

The mathematics is the same on both sides: sigmoid, squared error at the observed ratings only, L2
on both matrices, Adam (fused, float32), 500 hidden units, the same first weights. ``dense`` holds
rows with 0 in the gaps and multiplies the error by 0 there. ``ours`` is ``AutoRec.fit`` with a
plan, as a user calls it; its seconds are those that the loop notes for each epoch.

    ml-1m      MovieLens 1M, rows of items, all rows in one step
    10m-like   69,878 x 10,677 with 10 million synthetic ratings, rows of users, 1000 in a step

The sides alternate round by round; the ratio is the median of those of the rounds. Of the 70 equal
batches of a dense epoch on ``10m-like`` only ``--share`` run, and count for all. A dense batch is
made from its sparse rows inside the clock: 69,878 x 10,677 numbers would take 3 GB.

Memory is the largest resident size (``VmHWM``; ``ru_maxrss`` would begin with that of the process
that starts this one) of a process of its own for each side, which takes the sparse ratings from a
binary file and trains ``--epochs`` epochs (``10m-like``: 1), with glibc as it comes. Imports are
counted after both sides have trained on a few ratings, since the first optimizer and the first fit
import more.

    NANWISE_DATA=... python benchmarks/autorec.py --threads 1 2
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from _fair import SETTINGS, fix_malloc
from scipy import sparse
from torch import Tensor

from nanwise import AutoRec, Plan
from nanwise.data.ratings import Ratings, from_csr, read_ratings, synthetic_ratings

HIDDEN, PENALTY, LR = 500, 100.0, 1e-3
SIDES = ("dense", "ours")


class Case(NamedTuple):
    """What is trained on: rows of users or of items, and how many of them in a step."""

    by: str
    batch: int | None


CASES = {
    "ml-1m": Case("item", None),
    "10m-like": Case("user", 1000),
    "tiny": Case("user", 20),
    "tiny-full": Case("item", None),
}


def load(name: str) -> Ratings:
    if name == "ml-1m":
        return read_ratings(Path(os.environ["NANWISE_DATA"]) / "ml-1m" / "ratings.dat.gz")
    if name == "10m-like":
        return synthetic_ratings(random_state=0)
    return synthetic_ratings(60, 40, 700, random_state=0)


# -- the two sides ------------------------------------------------------------------------------


def fit(ratings: Ratings, case: Case, epochs: int, lr: float = LR, hidden: int = HIDDEN) -> AutoRec:
    """Ours."""
    plan = Plan(epochs=epochs, batch=case.batch, lr=lr, optimizer="adam", schedule=None)
    plan.set_params(validation=None)
    model = AutoRec(case.by, hidden, normalize=None, penalty=PENALTY, plan=plan, random_state=0)
    return model.fit(ratings)


def first_weights(ratings: Ratings, case: Case, hidden: int = HIDDEN) -> list[Tensor]:
    """Where ours starts: with such a step Adam leaves every float32 weight as it is."""
    net = fit(ratings, case, 1, lr=1e-30, hidden=hidden).net_
    return [w.detach().clone() for w in (net.encode, net.hidden_bias, net.decode, net.bias)]


class Dense:
    """AutoRec on dense rows."""

    def __init__(self, ratings: Ratings, case: Case, weights: list[Tensor]) -> None:
        matrix = ratings.matrix if case.by == "user" else ratings.matrix.T
        self.matrix = matrix.tocsr()
        self.weights = [w.requires_grad_() for w in weights]
        decay = {"params": [weights[0], weights[2]], "weight_decay": PENALTY / matrix.nnz}
        free = {"params": [weights[1], weights[3]], "weight_decay": 0.0}
        self.adam = torch.optim.Adam([decay, free], lr=LR, fused=True)
        rows = np.flatnonzero(np.diff(self.matrix.indptr))
        parts = 1 if case.batch is None else -(-len(rows) // case.batch)
        mixed = np.random.default_rng(0).permutation(rows)
        self.batches = np.array_split(mixed if parts > 1 else rows, parts)
        self.whole = self._dense(rows) if parts == 1 else None

    def epoch(self, share: float = 1.0) -> tuple[float, float]:
        """Seconds of an epoch, and its mean squared error before each step."""
        chosen = self.batches[: max(1, round(share * len(self.batches)))]
        start = time.perf_counter()
        losses = [self._step(*(self.whole or self._dense(rows))) for rows in chosen]
        taken = time.perf_counter() - start
        return taken * len(self.batches) / len(chosen), statistics.mean(losses)

    def _dense(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        values = torch.from_numpy(self.matrix[rows].toarray())
        return values, (values > 0).float()  # no rating is 0

    def _step(self, values: Tensor, observed: Tensor) -> float:
        encode, shift, decode, bias = self.weights
        hidden = torch.sigmoid(values @ encode + shift)
        errors = (hidden @ decode.T + bias - values) * observed
        loss = errors.square().sum() * (len(self.batches) / self.matrix.nnz)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return loss.item()


# -- speed --------------------------------------------------------------------------------------


def speed(name: str, ratings: Ratings, options: argparse.Namespace) -> None:
    case, epochs = CASES[name], options.epochs
    for threads in options.threads:
        torch.set_num_threads(threads)
        dense = Dense(ratings, case, first_weights(ratings, case))
        times: dict[str, list[float]] = {side: [] for side in (*SIDES, "rest")}
        for _ in range(options.rounds):
            theirs = [dense.epoch(options.share) for _ in range(epochs if dense.whole else 1)]
            start = time.perf_counter()
            model = fit(ratings, case, epochs)
            whole = time.perf_counter() - start
            ours = statistics.median(epoch["seconds"] for epoch in model.history_)
            times["dense"].append(statistics.median(seconds for seconds, _ in theirs))
            times["ours"].append(ours)
            times["rest"].append(whole - epochs * ours)
        print(f"| {name} | {threads} | {_row(times)} |", flush=True)


def _row(times: dict[str, list[float]]) -> str:
    ratios = [d / o for d, o in zip(times["dense"], times["ours"], strict=True)]
    middle = [f"{statistics.median(times[side]):.3g}" for side in (*SIDES, "rest")]
    span = f"{min(ratios):.1f} to {max(ratios):.1f}"
    return " | ".join([*middle, f"**{statistics.median(ratios):.1f} x**", span])


def same(name: str, ratings: Ratings, epochs: int) -> None:
    """Both sides must learn the same, epoch by epoch, where they see the same batches."""
    case = CASES[name]
    dense = Dense(ratings, case, first_weights(ratings, case))
    theirs = [dense.epoch()[1] for _ in range(epochs)]
    ours = [epoch["train_loss"] for epoch in fit(ratings, case, epochs).history_]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    print(f"{name}: mean squared error after {epochs - 1} steps: {theirs[-1]:.6f} dense, ", end="")
    print(f"{ours[-1]:.6f} ours\n", flush=True)


# -- memory -------------------------------------------------------------------------------------


def memory(name: str, ratings: Ratings, options: argparse.Namespace) -> None:
    as_it_comes = {k: v for k, v in os.environ.items() if k not in SETTINGS}
    most = max(options.threads)
    dense = None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.npz"
        sparse.save_npz(path, ratings.matrix, compressed=False)
        for side in SIDES:
            call = [sys.executable, __file__, "--data", name, "--peak", side, "--file", str(path)]
            call += ["--threads", str(most), "--epochs", str(options.epochs)]
            out = subprocess.run(call, check=True, capture_output=True, text=True, env=as_it_comes)
            before, whole = map(float, out.stdout.split())
            above = whole - before
            dense = dense or above
            print(f"| {name} | {side} | {before:.2f} | {above:.3f} | {whole:.2f} ", end="")
            print(f"| {dense / above if above else 1:.1f} |", flush=True)


def peak(options: argparse.Namespace) -> str:
    """Largest resident memory after the imports, and at the end."""
    few, small = load("tiny"), CASES["tiny"]
    Dense(few, small, first_weights(few, small)).epoch()
    before, case = _gib(), CASES[options.data[0]]
    ratings = from_csr(sparse.load_npz(options.file))
    epochs = options.epochs if case.batch is None else 1
    if options.peak == "ours":
        fit(ratings, case, epochs)
        return f"{before} {_gib()}"
    width = ratings.matrix.shape[0 if case.by == "item" else 1]
    shapes = ((width, HIDDEN), (HIDDEN,), (width, HIDDEN), (width,))
    trainer = Dense(ratings, case, [torch.randn(shape) / 30 for shape in shapes])
    for _ in range(epochs):
        trainer.epoch(share=0.1)
    return f"{before} {_gib()}"


def _gib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    torch.set_num_threads(max(options.threads))
    if options.peak:
        print(peak(options))
        return 0
    sets: dict[str, Any] = {name: load(name) for name in options.data}
    for name, ratings in sets.items():
        if CASES[name].batch is None:
            same(name, ratings, options.epochs)
    print("| ratings | threads | dense, s | ours, s | ours, before the first epoch, s ", end="")
    print("| dense : ours | rounds |\n" + "|---" * 7 + "|")
    for name, ratings in sets.items():
        speed(name, ratings, options)
    if options.memory:
        print("\n| ratings | side | imports, GiB | above them | in all | dense : this |")
        print("|---" * 6 + "|")
        for name, ratings in sets.items():
            memory(name, ratings, options)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["ml-1m", "10m-like"], choices=list(CASES))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5, help="times each side runs")
    parser.add_argument("--epochs", type=int, default=4, help="epochs of a round")
    parser.add_argument("--share", type=float, default=0.2, help="of a dense epoch in batches")
    parser.add_argument("--memory", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--peak", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    if "--peak" not in sys.argv:
        fix_malloc(threads=max(_parser().parse_args().threads))
    sys.exit(main())
