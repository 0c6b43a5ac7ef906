"""One training step of AutoRec on sparse ratings: each product by itself, and the whole step.

Every line alternates all its sides and gives medians, since other work on the machine disturbs any
single figure; the least time is that of the calmest moment. ``dense`` is what one would write first
in PyTorch: unobserved cells are 0, the error is multiplied by a mask. ``csr`` is torch's CSR
tensor. ``ours`` is ``nanwise.nn.sparse``, and ``unfused`` the same with the loss written out after
``sampled_mm``. A step ends with Adam, and with batches it begins with taking the batch's rows out
of the whole.

Each memory figure comes from a process of its own: the peak of a few steps above its imports. There
glibc returns freed blocks at once, so that the peak is that of memory in use.

    NANWISE_DATA=... python benchmarks/sparse_kernels.py --data ml-1m 10m-like
"""

from __future__ import annotations

import argparse
import gzip
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from _fair import fix_malloc
from scipy import sparse as sp
from torch import Tensor

from nanwise.nn.sparse import Pattern, Rows, sampled_mm, sampled_squared_error, sparse_mm

SKEWED = {"10m-like": (69_878, 10_677, 10_000_000, 1000), "tiny": (60, 40, 500, 20)}
SIDES = ("dense", "unfused", "ours")
HIDDEN = 500
Step = Callable[[], object]


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore", "Sparse")
    if options.peak:
        print(peak(options.data[0], options.peak))
        return 0
    for name in options.data:
        rows, batch = load(name)
        cells = f"{rows.counts().numel():,} x {rows.width:,}, {rows.values.numel():,} ratings"
        print(f"\n{name}: {cells}, batches of {batch:,} rows, {options.threads} threads\n")
        kernels(rows, batch, options.rounds)
        steps(rows, batch, options.rounds)
        if options.memory:
            report_memory(name, options.threads)
    return 0


def kernels(rows: Rows, batch: int, rounds: int) -> None:
    """Table of the products on one batch."""
    part = rows.take(torch.randperm(rows.counts().numel())[:batch])
    left, right = torch.randn(part.counts().numel(), HIDDEN), torch.randn(part.width, HIDDEN)
    print("| product | dense, ms | csr, ms | ours, ms | dense : ours | ours, GFLOP/s |")
    print("|---|---|---|---|---|---|")
    work = 2 * part.values.numel() * HIDDEN
    for name, sides in _products(part, left, right).items():
        dense, csr, ours = alternate(sides, rounds)
        ratio = statistics.median(d / o for d, o in zip(dense, ours, strict=True))
        figures = [statistics.median(times) * 1e3 for times in (dense, csr, ours)]
        speed = work / figures[2] / 1e6
        print(f"| {name} | " + " | ".join(f"{f:.1f}" for f in figures), end="")
        print(f" | {ratio:.1f} | {speed:.1f} |", flush=True)


def _products(part: Rows, left: Tensor, right: Tensor) -> dict[str, list[Step]]:
    pattern, values = Pattern.of(part), part.values
    full = part.to_nan().nan_to_num(0.0)
    csr = torch.sparse_csr_tensor(pattern.offsets, pattern.columns, values, full.shape)
    turned = torch.sparse_csr_tensor(
        pattern.T.offsets, pattern.T.columns, pattern.across(values), pattern.T.shape
    )
    return {
        "sparse @ dense": [
            lambda: full @ right,
            lambda: csr @ right,
            lambda: sparse_mm(pattern, values, right),
        ],
        "sparse.T @ dense": [
            lambda: full.T @ left,
            lambda: turned @ left,
            lambda: sparse_mm(pattern.T, pattern.across(values), left),
        ],
        "dense @ dense.T at the cells": [
            lambda: left @ right.T,
            lambda: torch.sparse.sampled_addmm(csr, left, right.T, beta=0),
            lambda: sampled_mm(pattern, left, right),
        ],
    }


def steps(rows: Rows, batch: int, rounds: int) -> None:
    """Table of whole training steps."""
    count = rows.counts().numel()
    sides = {name: Trainer(rows, batch, name) for name in SIDES}
    losses = {name: float(side.step()) for name, side in sides.items()}
    times = dict(zip(sides, alternate([side.step for side in sides.values()], rounds), strict=True))
    print("\n| step | ms, median | ms, least | dense : this, median | least | epoch, s | loss |")
    print("|---|---|---|---|---|---|---|")
    for name, taken in times.items():
        ratio = statistics.median(d / t for d, t in zip(times["dense"], taken, strict=True))
        middle, least = statistics.median(taken), min(taken)
        print(f"| {name} | {middle * 1e3:.1f} | {least * 1e3:.1f} | {ratio:.1f} ", end="")
        print(f"| {min(times['dense']) / least:.1f} ", end="")
        print(f"| {middle * count / batch:.2f} | {losses[name]:.7g} |", flush=True)


class Trainer:
    """AutoRec by one of the sides; ``step`` trains on the next batch and returns its loss."""

    def __init__(self, rows: Rows, batch: int, side: str) -> None:
        g = torch.Generator().manual_seed(0)
        self.rows, self.side = rows, side
        self.order = torch.randperm(rows.counts().numel(), generator=g).split(batch)
        self.at = 0
        first, second = (torch.randn(rows.width, HIDDEN, generator=g) / 30 for _ in "12")
        shift, bias = torch.zeros(HIDDEN), torch.zeros(rows.width)
        self.weights = [w.requires_grad_() for w in (first, shift, second, bias)]
        self.adam = torch.optim.Adam(self.weights, lr=1e-3, fused=True)
        self.whole = self._prepare(rows) if len(self.order) == 1 else None

    def step(self) -> Tensor:
        batch = self.whole
        if batch is None:
            index = self.order[self.at % (len(self.order) - 1)]  # the last may be a short one
            self.at += 1
            batch = self._prepare(self.rows.take(index))
        self.adam.zero_grad()
        loss = (self._dense if self.side == "dense" else self._sparse)(*batch)
        loss.backward()
        self.adam.step()
        return loss.detach()

    def _prepare(self, rows: Rows) -> tuple:
        if self.side != "dense":
            return Pattern.of(rows), rows.values
        nan = rows.to_nan()
        observed = nan.isnan().logical_not_()
        return nan.nan_to_num_(0.0), observed.to(nan.dtype)

    def _dense(self, values: Tensor, observed: Tensor) -> Tensor:
        first, shift, second, bias = self.weights
        hidden = torch.sigmoid(values @ first + shift)
        return ((hidden @ second.T + bias - values) * observed).square().sum()

    def _sparse(self, pattern: Pattern, values: Tensor) -> Tensor:
        first, shift, second, bias = self.weights
        hidden = torch.sigmoid(sparse_mm(pattern, values, first) + shift)
        if self.side == "ours":
            return sampled_squared_error(pattern, values, hidden, second, bias)
        fitted = sampled_mm(pattern, hidden, second) + bias.index_select(0, pattern.columns)
        return (fitted - values).square().sum()


def alternate(sides: Sequence[Step], rounds: int) -> list[list[float]]:
    """Seconds of each side, round after round."""
    for side in sides:
        side()
    times = [[_seconds(side) for side in sides] for _ in range(rounds)]
    return [list(column) for column in zip(*times, strict=True)]


def _seconds(step: Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def report_memory(name: str, threads: int) -> None:
    """Table of peaks, one process per side."""
    print("\n| memory | peak above imports, GiB | peak, GiB |")
    print("|---|---|---|")
    returning = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(2**20)}
    for side in SIDES:
        call = [sys.executable, __file__, "--data", name, "--peak", side]
        call += ["--threads", str(threads)]
        done = subprocess.run(call, check=True, capture_output=True, text=True, env=returning)
        print(f"| {side} | {done.stdout.strip()} |", flush=True)


def peak(name: str, side: str) -> str:
    """Peak of some steps above the imports, and in all. Ratings count, reading them does not."""
    torch.optim.Adam([torch.zeros(1)], fused=True)  # imports the compiler's front end
    before = _gib("VmRSS")
    data = load(name)
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    trainer = Trainer(*data, side)
    for _ in range(3):
        trainer.step()
    return f"{_gib('VmHWM') - before:.2f} | {_gib('VmHWM'):.2f}"


def _gib(field: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 2**20


def load(name: str) -> tuple[Rows, int]:
    """The training ratings, and the rows of a batch."""
    if name == "ml-1m":
        rows = movielens()
        return rows, rows.counts().numel()
    n, width, ratings, batch = SKEWED[name]
    return skewed(n, width, ratings), batch


def movielens() -> Rows:
    """Item vectors of nine tenths of MovieLens 1M."""
    path = Path(os.environ["NANWISE_DATA"]) / "ml-1m" / "ratings.dat.gz"
    with gzip.open(path, "rt") as file:
        table = np.fromstring(file.read().replace("::", " "), np.int32, sep=" ").reshape(-1, 4)
    kept = table[np.random.default_rng(0).permutation(len(table))[: len(table) * 9 // 10]]
    user, item = (np.unique(kept[:, at], return_inverse=True)[1] for at in (0, 1))
    return Rows.from_scipy(sp.csr_array((kept[:, 2].astype(np.float32), (item, user))))


def skewed(n: int, width: int, ratings: int) -> Rows:
    """Ratings with few active users and few popular items, as in MovieLens."""
    rng = np.random.default_rng(0)
    active, popular = (np.exp(rng.normal(0, s, k)) for s, k in ((1.1, n), (1.9, width)))
    ends = [np.cumsum(weight / weight.sum()) for weight in (active, popular)]
    cells = np.empty(0, np.int64)
    while len(cells) < ratings:
        more = int(1.5 * (ratings - len(cells))) + 10
        row, column = (np.searchsorted(e[:-1], rng.random(more), "right") for e in ends)
        cells = np.unique(np.concatenate([cells, row * width + column]))
    cells = np.sort(rng.permutation(cells)[:ratings])
    offsets = np.concatenate([[0], np.bincount(cells // width, minlength=n).cumsum()])
    stars = rng.integers(1, 11, ratings).astype(np.float32) / 2
    return Rows(*map(torch.from_numpy, (stars, cells % width, offsets)), width)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = ["ml-1m", *SKEWED]
    parser.add_argument("--data", nargs="+", default=["ml-1m", "10m-like"], choices=known)
    parser.add_argument("--rounds", type=int, default=7, help="times each side runs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", action="store_true", help="peaks, in processes of their own")
    parser.add_argument("--peak", choices=SIDES, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    if "--peak" not in sys.argv:
        fix_malloc(threads=2)  # what OpenMP may use at most; --threads says how many torch takes
    sys.exit(main())
