"""One imputation after the other by one library: what ``imputers.py`` runs, under either Python.

Each line of the standard input is ``LIBRARY:METHOD SEED INCOMPLETE.npz COMPLETED.npz``. The first
file has ``x`` (N, D) with NaN in gaps; the method is fitted to it and transforms it; the second
gets ``filled`` and the ``seconds`` on the clock and on a processor, children included, or
``error``. An answer is the word "done" on a line of its own. Imports are no part of the seconds.
All sides have as many threads as ``OMP_NUM_THREADS`` says.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

#: read at once: HyperImpute sets it to the number of processors when it is imported
THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))

Fill = Callable[[np.ndarray], Any]


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        side, seed, source, target = line.split()
        try:
            found = impute(side, int(seed), source)
        except Exception:  # noqa: BLE001, whatever a library raises is the result of the cell
            found = {"error": np.array(traceback.format_exc())}
        np.savez(target, **found)
        print("\ndone", flush=True)


def impute(side: str, seed: int, source: str) -> dict[str, np.ndarray]:
    library, _, method = side.partition(":")
    with np.load(source) as file:
        x = file["x"]
    fill = LIBRARIES[library](method, seed)
    if library != "sklearn":
        steady()
    wall, cpu = time.perf_counter(), processor()
    filled = np.asarray(fill(x), dtype=np.float64)
    seconds = np.array([time.perf_counter() - wall, processor() - cpu])
    if filled.shape != x.shape or not np.isfinite(filled).all():
        raise ValueError(f"{side} gave a table of shape {filled.shape}, or one with gaps")
    return {"filled": filled, "seconds": seconds}


def steady() -> None:
    """Threads as asked for, whatever an import has set, and what torch loads at the first step."""
    import torch
    from threadpoolctl import threadpool_limits

    threadpool_limits(THREADS)
    torch.set_num_threads(THREADS)
    weight = torch.zeros(1, requires_grad=True)
    weight.sum().backward()
    torch.optim.Adam([weight]).step()


def processor() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def ours(method: str, seed: int) -> Fill:
    from nanwise import make_imputer
    from nanwise.registry import find

    few = np.random.default_rng(0).normal(size=(40, 3))
    few[::4, 0] = np.nan
    make_imputer(method, **find(method).tiny).fit_transform(few)  # imports what it needs
    return make_imputer(method, random_state=seed).fit_transform


def sklearn(method: str, seed: int) -> Fill:
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer

    if method == "knn":
        return KNNImputer().fit_transform
    if method == "iterative":
        return IterativeImputer(random_state=seed).fit_transform
    trees = ExtraTreesRegressor(random_state=seed)
    return IterativeImputer(trees, random_state=seed).fit_transform


def hyperimpute(method: str, seed: int) -> Fill:
    import pandas as pd
    from hyperimpute.plugins.imputers import Imputers

    if int(pd.__version__.split(".")[0]) > 2:
        raise ImportError("with pandas 3 HyperImpute fills in means: install pandas<3 for it")
    plugin = Imputers().get(method, random_state=seed + 1)  # 0: the time

    def fill(x: np.ndarray) -> Any:
        table = pd.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])])
        return plugin.fit_transform(table)

    return fill


def miceforest(method: str, seed: int) -> Fill:
    """Five rounds, as by default; "expect" fills in predictions, "draw" matched values."""
    import miceforest as mf
    import pandas as pd

    def fill(x: np.ndarray) -> Any:
        table = pd.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])])
        settings = {"mean_match_candidates": 0} if method == "expect" else {}
        kernel = mf.ImputationKernel(table, random_state=seed, **settings)
        kernel.mice(5)
        return kernel.complete_data(0)

    return fill


LIBRARIES = {
    "ours": ours,
    "sklearn": sklearn,
    "hyperimpute": hyperimpute,
    "miceforest": miceforest,
}

if __name__ == "__main__":
    main()
