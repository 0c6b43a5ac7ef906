"""Time to the accuracy of the public NeuMiss code, on the same rows, in one run.

Their code: github.com/marineLM/NeuMiss (BSD-3-Clause), ``python/neumannS0_mlp.py``. It is no part
of this project: clone it and pass its folder (with NumPy 2, first replace ``np.Inf`` by ``np.inf``
in ``pytorchtools.py``). Settings as in their ``launch_simu_perf.py``: SGD, batches of 10, learning
rate 0.01 / d, at most 100 epochs, no residual, no early stopping. They train depths 0 to 9 and
choose on validation rows; each line here is charged for one of them only.

Rows: ``nanwise.data.simulate.linear_gaussian`` (their simulation and seeds), values missing
completely at random, 10,000 test rows. Both sides use the same number of threads. Ours is
``NeuMissRegressor()`` as it comes, fitted before and after theirs; its time is the mean of the two,
so that other work on the machine weighs on both sides. With one thread CPU seconds are shown too,
in brackets: they hardly depend on what else runs.

"Whole fit" compares with their whole training; "to 99.9 %" with their time up to the first epoch
whose R² on the test rows is 99.9 % of their final one, which leaves out their late epochs. Scoring
their epochs is not counted as time.

Run: python benchmarks/neumiss.py --authors NeuMiss/python [--cases 10000x10 20000x20] [--depths 3]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from _fair import fix_malloc

HOLDOUT = 10_000
NEARLY = 0.999


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
        return f"{self.wall:.1f} ({self.cpu:.1f})"

    def over(self, other: Seconds) -> str:
        return f"**{self.wall / other.wall:.1f} x** ({self.cpu / other.cpu:.1f} x)"


class Clock(list):
    """Stands in for the list to which their ``fit`` appends once per epoch.

    It notes the seconds since the start and a score; the time that the score takes is left out.
    """

    def __init__(self, score: Any) -> None:
        super().__init__()
        self.score = score
        self.epochs: list[tuple[Seconds, float]] = []
        self.start = Seconds.now()

    def append(self, value: Any) -> None:
        super().append(value)
        now = Seconds.now()
        self.epochs.append((now - self.start, self.score()))
        self.start += Seconds.now() - now


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
        "| n | d | their depth | their R² | our R² | Bayes | their epochs | their s | to 99.9 % "
        "| our s | whole fit | to 99.9 % |"
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
    X, y, _, _, _ = rows(500, 5, 0)
    fit_ours(X, y, 0)
    fit_theirs(X, y, X, y, depth=3, seed=0, epochs=1)


def line(n: int, d: int, depth: int, seed: int) -> str:
    X, y, X_test, y_test, bayes = rows(n, d, seed)
    before, _ = fit_ours(X, y, seed)
    epochs = fit_theirs(X, y, X_test, y_test, depth, seed)
    after, model = fit_ours(X, y, seed)
    whole, theirs = epochs[-1]
    soon = next(seconds for seconds, found in epochs if found >= NEARLY * theirs)
    both = before + after
    ours, reached = Seconds(both.wall / 2, both.cpu / 2), r2(y_test, model.predict(X_test))
    note = "" if reached >= theirs else " (theirs not reached)"
    return (
        f"| {n} | {d} | {depth} | {theirs:.4f} | {reached:.4f}{note} | {r2(y_test, bayes):.4f} "
        f"| {len(epochs)} | {whole} | {soon} | {ours} | {whole.over(ours)} | {soon.over(ours)} |"
    )


def rows(n: int, d: int, seed: int) -> tuple:
    """Training rows, test rows, and the best possible predictions of the test rows."""
    from nanwise.data.simulate import linear_gaussian
    from nanwise.gaussian.predict import GaussianPredictor

    data = linear_gaussian(n + 2 * HOLDOUT, d, "mcar", random_state=seed)
    X, y = data.X[2 * HOLDOUT :], data.y[2 * HOLDOUT :]
    X_test, y_test = data.X[:HOLDOUT], data.y[:HOLDOUT]
    bayes = GaussianPredictor(data.moments, data.coef, data.intercept).predict(X_test)
    return X, y, X_test, y_test, bayes


def fit_ours(X: Any, y: Any, seed: int) -> tuple[Seconds, Any]:
    from nanwise import NeuMissRegressor

    start = Seconds.now()
    model = NeuMissRegressor(random_state=seed).fit(X, y)
    return Seconds.now() - start, model


def fit_theirs(
    X: Any, y: Any, X_test: Any, y_test: Any, depth: int, seed: int, epochs: int = 100
) -> list[tuple[Seconds, float]]:
    """Seconds and R² on the test rows at the end of each epoch."""
    import torch
    from neumannS0_mlp import Neumann_mlp

    torch.manual_seed(seed)
    model = Neumann_mlp(depth=depth, n_epochs=epochs, batch_size=10, lr=1e-2 / X.shape[1])
    clock = Clock(lambda: r2(y_test, model.predict(X_test)))
    model.r2_train = clock
    model.fit(X, y)
    return clock.epochs


def r2(y: Any, predicted: Any) -> float:
    return float(1 - ((y - predicted) ** 2).mean() / y.var())


if __name__ == "__main__":
    main()
