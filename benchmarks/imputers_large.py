"""Memory and time of deep imputers on a large table: 100,000 x 100, 30 % missing.

Rows of ten factors with noise. Each imputer runs in a process of its own, with glibc as it comes:
``fit`` on all rows for a few epochs (GAIN: for as many steps), ``transform`` of the first rows and
of all. Memory is the largest resident size (``VmHWM``) above that after the imports and the table
were there; the table itself has 80 MB, and so has the completed one. ``transform`` streams: what it
needs beyond its output must not grow with the number of rows, which is why it is asked twice.
Error is the root mean square over hidden cells, in standard deviations, beside the best that can
be known, the conditional mean given the true factors.

    python benchmarks/imputers_large.py
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

FACTORS, NOISE, MISSING = 10, 0.5, 0.3


def table(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Complete rows, which cells are observed, and the covariance of the columns."""
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((FACTORS, columns)) / FACTORS**0.5
    complete = rng.standard_normal((rows, FACTORS)) @ loadings
    complete += NOISE * rng.standard_normal(complete.shape)
    observed = rng.random(complete.shape) >= MISSING
    return complete, observed, loadings.T @ loadings + NOISE**2 * np.eye(columns)


def best(complete: np.ndarray, observed: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Rows with gaps filled by their conditional means."""
    filled = complete.copy()
    for row, there in zip(filled, observed, strict=True):
        gain = np.linalg.solve(covariance[np.ix_(there, there)], covariance[np.ix_(there, ~there)])
        row[~there] = row[there] @ gain
    return filled


def error(filled: np.ndarray, complete: np.ndarray, observed: np.ndarray) -> float:
    """In standard deviations."""
    off = ((filled - complete) / complete.std(axis=0))[~observed]
    return float(np.sqrt(np.mean(off**2)))


def imputer(name: str, epochs: int, rows: int) -> Any:
    from nanwise import Plan
    from nanwise.estimators.impute.by_treatment import make_imputer

    if name == "gain":
        return make_imputer(name, iterations=-(-rows * epochs // 128), random_state=0)
    return make_imputer(name, plan=Plan(epochs=epochs, lr=2e-3), random_state=0)


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One imputer, in this process."""
    complete, observed, covariance = table(options.rows, options.columns)
    holey = np.where(observed, complete, np.nan)
    imputer(name, 1, 64).fit(holey[:64, :5])  # the first fit imports torch and more
    model, before = imputer(name, options.epochs, options.rows), _mib("VmRSS")
    start = time.perf_counter()
    model.fit(holey)
    fitted, fit_peak = time.perf_counter(), _mib("VmHWM") - before
    few = min(options.asked, options.rows)
    filled = model.transform(holey[:few])
    asked, few_peak = time.perf_counter(), _mib("VmHWM") - before
    more = min(4 * few, options.rows)
    model.transform(holey[:more])
    part = slice(0, min(few, 2000))
    known = best(complete[part], observed[part], covariance)
    return {
        "imputer": name,
        "fit, s per epoch": (fitted - start) / options.epochs,
        "fit, MiB": fit_peak,
        f"transform, s per {few} rows": asked - fitted,
        f"peak after {few} rows, MiB": few_peak,
        f"peak after {more} rows, MiB": _mib("VmHWM") - before,
        "error": error(filled, complete[:few], observed[:few]),
        "best there is": error(known, complete[part], observed[part]),
    }


def _mib(field: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 2**10


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    if options.one:
        print(json.dumps(measure(options.one, options)))
        return 0
    heads: list[str] = []
    for name in options.imputers:
        call = [sys.executable, __file__, "--one", name]
        for key in ("rows", "columns", "epochs", "asked"):
            call += [f"--{key}", str(getattr(options, key))]
        out = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(out.stdout.splitlines()[-1])
        if not heads:
            heads = list(found)
            print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
        cells = [v if isinstance(v, str) else f"{v:.3g}" for v in found.values()]
        print("| " + " | ".join(cells) + " |", flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--imputers", nargs="+", default=["gain", "miwae", "vsae"])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--asked", type=int, default=1000, help="rows of the first transform")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
