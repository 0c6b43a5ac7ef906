"""One imputation by one library: what ``imputers.py`` runs for each cell, under either Python.

    python imputers_side.py LIBRARY:METHOD INCOMPLETE.npz COMPLETED.npz SEED

Reads ``x`` (N, D) with NaN in gaps, fits and transforms it, and writes ``filled`` and the
``seconds`` on the clock and on a processor, children included. Imports are no part of these.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Fill = Callable[[np.ndarray], Any]


def main(side: str, source: str, target: str, seed: int) -> None:
    warnings.simplefilter("ignore")
    library, _, method = side.partition(":")
    with np.load(source) as file:
        x = file["x"]
    fill = LIBRARIES[library](method, seed)
    wall, cpu = time.perf_counter(), processor()
    filled = np.asarray(fill(x), dtype=np.float64)
    seconds = time.perf_counter() - wall, processor() - cpu
    if filled.shape != x.shape or not np.isfinite(filled).all():
        raise SystemExit(f"{side} gave a table of shape {filled.shape} or one with gaps")
    np.savez(target, filled=filled, seconds=seconds)


def processor() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def ours(method: str, seed: int) -> Fill:
    import torch

    from nanwise import make_imputer
    from nanwise.registry import find

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
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
        raise SystemExit("with pandas 3 HyperImpute fills in means: install pandas<3 for it")
    plugin = Imputers().get(method, random_state=seed)

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
    main(*sys.argv[1:4], seed=int(sys.argv[4]))
