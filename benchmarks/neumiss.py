"""Time to the accuracy of the public NeuMiss code, on the same rows, in one run.

Their code: github.com/marineLM/NeuMiss (BSD-3-Clause), ``python/neumannS0_mlp.py``. It is no part
of this project: clone it and pass its folder (with NumPy 2, first replace ``np.Inf`` by ``np.inf``
in ``pytorchtools.py``). Settings as in their ``launch_simu_perf.py``: SGD, batches of 10, learning
rate 0.01 / d, at most 100 epochs, no residual, no early stopping. They train depths 0 to 9 and
choose on validation rows; each line here is charged for one of them only.

Rows: ``nanwise.data.simulate.linear_gaussian`` (their simulation and seeds), values missing
completely at random, 10,000 test rows. Both sides use the same number of threads. Ours is
``NeuMissRegressor()`` as it comes, fitted before and after theirs; its time is the mean of the two,
so that other work on the machine weighs on both sides. Shown are CPU seconds, which with one thread
are the time on a machine that does nothing else, and seconds on the clock in brackets.

On both sides R² on the test rows is taken once per epoch, with the clock stopped. "Whole fit"
compares the two fits from start to end. "To their R²" is the time up to which R² first reaches
99.9 % of what theirs has at the end (theirs spend their last epochs on the rest), for ours
including EM and the fit to the predictions of the moments.

Run: python benchmarks/neumiss.py --authors NeuMiss/python [--cases 10000x10 20000x20] [--depths 3]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from _fair import fix_malloc

HOLDOUT = 10_000
NEARLY = 0.999
#: of NeuMissRegressor
BATCH = 256


class Seconds(NamedTuple):
    """Time that passed, and time that this process had on a processor."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Seconds:
        return cls(time.perf_counter(), time.process_time())

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(self.wall + other.wall, self.cpu + other.cpu)

    def __sub__(self, other: Seconds) -> Seconds:
        return Seconds(self.wall - other.wall, self.cpu - other.cpu)

    def __str__(self) -> str:
        return f"{self.cpu:.1f} ({self.wall:.1f})"

    def over(self, other: Seconds) -> str:
        return f"**{self.cpu / other.cpu:.1f} x** ({self.wall / other.wall:.1f} x)"


class Clock:
    """Seconds and a score, note by note; the time that scoring takes is left out."""

    def __init__(self, score: Any) -> None:
        self.score = score
        self.notes: list[tuple[Seconds, float]] = []
        self.start = Seconds.now()

    def note(self, *known: Any) -> None:
        """Score now; ``known`` is handed to the function that scores."""
        now = Seconds.now()
        self.notes.append((now - self.start, self.score(*known)))
        self.start += Seconds.now() - now

    def until(self, aim: float) -> Seconds | None:
        return next((seconds for seconds, found in self.notes if found >= aim), None)


class Ticking(list):
    """Stands in for the list to which their ``fit`` appends once per epoch."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def append(self, value: Any) -> None:
        super().append(value)
        self.clock.note()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--authors", type=Path, required=True, help="folder of their Python files")
    parser.add_argument(
        "--cases", nargs="+", default=["10000x10", "20000x20"], help="rows x columns"
    )
    parser.add_argument("--depths", nargs="+", type=int, default=[3])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    fix_malloc(options.threads)
    sys.path.insert(0, str(options.authors))
    warm_up(options.threads)
    print(
        "| n | d | their depth | their R² | our R² | Bayes | their s | our s | whole fit "
        "| theirs to their R² | ours to their R² | to their R² |"
    )
    print("|---" * 12 + "|")
    for case in options.cases:
        n, d = map(int, case.split("x"))
        for depth in options.depths:
            print(line(n, d, depth, options.seed), flush=True)


def warm_up(threads: int) -> None:
    """Imports and first calls are no part of a fit."""
    import torch

    torch.set_num_threads(threads)
    data = rows(500, 5, 0)
    fit_ours(*data[:4], seed=0)
    fit_theirs(*data[:4], depth=3, seed=0, epochs=1)


def line(n: int, d: int, depth: int, seed: int) -> str:
    *data, bayes = rows(n, d, seed)
    before = fit_ours(*data, seed)
    theirs = fit_theirs(*data, depth, seed)
    after = fit_ours(*data, seed)
    whole, reached = theirs.notes[-1]
    aim = NEARLY * reached
    ours = mean(before.notes[-1][0], after.notes[-1][0])
    sooner = mean(before.until(aim), after.until(aim))
    return (
        f"| {n} | {d} | {depth} | {reached:.4f} | {after.notes[-1][1]:.4f} | {bayes:.4f} "
        f"| {whole} | {ours} | {whole.over(ours)} "
        f"| {theirs.until(aim)} | {sooner} | {theirs.until(aim).over(sooner)} |"
    )


def mean(one: Seconds, other: Seconds) -> Seconds:
    return Seconds((one.wall + other.wall) / 2, (one.cpu + other.cpu) / 2)


def rows(n: int, d: int, seed: int) -> tuple:
    """Training rows, test rows, and the best R² there is on the test rows."""
    from nanwise.data.simulate import linear_gaussian
    from nanwise.gaussian.predict import GaussianPredictor

    data = linear_gaussian(n + 2 * HOLDOUT, d, "mcar", random_state=seed)
    X, y = data.X[2 * HOLDOUT :], data.y[2 * HOLDOUT :]
    X_test, y_test = data.X[:HOLDOUT], data.y[:HOLDOUT]
    bayes = GaussianPredictor(data.moments, data.coef, data.intercept).predict(X_test)
    return X, y, X_test, y_test, r2(y_test, bayes)


def fit_ours(X: Any, y: Any, X_test: Any, y_test: Any, seed: int) -> Clock:
    """The network is scored at the start of each epoch, and the model at the end.

    A hook on the forward passes of training counts batches: the fit to the predictions of the
    moments and the training on the target.
    """
    import numpy as np
    import torch
    from torch.nn.modules.module import register_module_forward_pre_hook

    from nanwise import NeuMissRegressor
    from nanwise.nn import NeuMiss

    scaled = (X_test - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    rows, target = torch.from_numpy(scaled).float(), (y_test - y.mean()) / y.std()
    per_epoch, passes = math.ceil(len(X) / BATCH), 0

    @torch.no_grad()
    def score(net: Any) -> float:
        return r2(target, net.eval()(rows)[:, 0].double().numpy())

    def count(net: Any, _: Any) -> None:
        nonlocal passes
        if isinstance(net, NeuMiss) and net.training:
            if passes % per_epoch == 0:
                clock.note(net)
                net.train()
            passes += 1

    hook = register_module_forward_pre_hook(count)
    clock = Clock(score)
    try:
        model = NeuMissRegressor(random_state=seed).fit(X, y)
    finally:
        hook.remove()
    clock.score = lambda: r2(y_test, model.predict(X_test))
    clock.note()
    return clock


def fit_theirs(
    X: Any, y: Any, X_test: Any, y_test: Any, depth: int, seed: int, epochs: int = 100
) -> Clock:
    """The network is scored at the end of each epoch."""
    import torch
    from neumannS0_mlp import Neumann_mlp

    torch.manual_seed(seed)
    model = Neumann_mlp(depth=depth, n_epochs=epochs, batch_size=10, lr=1e-2 / X.shape[1])
    clock = Clock(lambda: r2(y_test, model.predict(X_test)))
    model.r2_train = Ticking(clock)
    model.fit(X, y)
    return clock


def r2(y: Any, predicted: Any) -> float:
    return float(1 - ((y - predicted) ** 2).mean() / y.var())


if __name__ == "__main__":
    main()
