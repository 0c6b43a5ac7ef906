"""How close a NeuMiss network comes to the Bayes predictor, and what brings it there.

The simulated data of Le Morvan et al. (2020), their seeds and layout: 10,000 test rows, 10,000
validation rows (not used by us), n training rows, 50 % of the values missing. A cell is R² of the
Bayes predictor minus R² of the network on the test rows; the table shows medians over seeds beside
the published ones (medians over 20 seeds, depth chosen on validation; ours has the default depth).

Variants: ``ours`` is ``NeuMissRegressor()`` as it comes; ``random`` starts from random weights with
the same optimizer, batches and number of steps; ``analytic`` starts from the weights of the
iteration without the fit to the predictions of the moments; ``fitted`` is that fit alone, without
training on the target; ``no pull`` trains as ours, but nothing holds the matrices at their start.

    python benchmarks/neumiss_gap.py --out gaps.jsonl --seeds 5
    python benchmarks/neumiss_gap.py --out gaps.jsonl --seeds 2 --d 50 --variants random analytic \
        fitted "no pull"
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

PUBLISHED = {
    "mcar": {10: 0.005, 20: 0.021, 50: 0.067},
    "mar": {10: 0.006, 20: 0.018, 50: 0.070},
    "gaussian_self_masking": {10: 0.004, 20: 0.014, 50: 0.052},
}
HOLDOUT = 10_000
VARIANTS = ("ours", "random", "analytic", "fitted", "no pull")


def main() -> None:
    options = _parser().parse_args()
    import torch

    torch.set_num_threads(options.threads)
    done = _read(options.out)
    for d in options.d:
        for mechanism in options.mechanisms:
            for seed in range(options.seeds):
                for variant in options.variants:
                    key = (mechanism, d, options.n, variant, seed)
                    if key not in done:
                        done[key] = measure(*key)
                        _append(options.out, done[key])
    print(table(done, options.n))


def measure(mechanism: str, d: int, n: int, variant: str, seed: int) -> dict[str, Any]:
    """One network on one simulation."""
    from nanwise.data.simulate import linear_gaussian
    from nanwise.gaussian.predict import GaussianPredictor

    parts = [size for size in (10_000, 20_000) if size < n]
    sizes = tuple(size + 2 * HOLDOUT for size in (*parts, n))
    data = linear_gaussian(sizes[-1], d, mechanism, n_sizes=sizes, random_state=seed)
    X, y = data.X[:HOLDOUT], data.y[:HOLDOUT]
    bayes = GaussianPredictor(data.moments, data.coef, data.intercept, data.masking).predict(X)
    start = time.perf_counter()
    model = _fit(variant, data.X[2 * HOLDOUT :], data.y[2 * HOLDOUT :], seed)
    seconds = time.perf_counter() - start
    gap = _r2(y, np.ravel(bayes)) - _r2(y, model.predict(X))
    return dict(mechanism=mechanism, d=d, n=n, variant=variant, seed=seed, gap=gap, seconds=seconds)


def _fit(variant: str, X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    from nanwise import NeuMissRegressor, Plan
    from nanwise.estimators import neumiss_start

    usual = {"epochs": 20, "batch": 256, "lr": 3e-3, "weight_decay": 0.0}
    fitting = neumiss_start.fitting_plan
    model = NeuMissRegressor(random_state=seed)
    if variant == "random":
        more = fitting(len(X)).epochs
        model.set_params(start="random", plan=Plan(**usual | {"epochs": 20 + more}))
    elif variant == "fitted":
        model.set_params(plan=Plan(**usual | {"epochs": 1, "lr": 1e-12}))
    elif variant == "no pull":
        model.set_params(plan=Plan(**usual))
    if variant != "analytic":
        return model.fit(X, y)
    neumiss_start.fitting_plan = lambda *_: Plan(**usual | {"epochs": 1, "lr": 1e-12})
    try:
        return model.fit(X, y)
    finally:
        neumiss_start.fitting_plan = fitting


def table(done: dict[tuple, dict[str, Any]], n: int) -> str:
    """Medians over seeds; the number of seeds in brackets."""
    variants = [v for v in VARIANTS if any(key[3] == v for key in done)]
    lines = [
        "| mechanism | d | published | " + " | ".join(variants) + " | seconds (ours) |",
        "|---" * (4 + len(variants)) + "|",
    ]
    for mechanism, by_d in PUBLISHED.items():
        for d, published in by_d.items():
            cells = [
                [r for key, r in done.items() if key[:4] == (mechanism, d, n, variant)]
                for variant in variants
            ]
            if not any(cells):
                continue
            shown = [
                f"{statistics.median(r['gap'] for r in cell):.4f} ({len(cell)})" if cell else "–"
                for cell in cells
            ]
            took = statistics.median(r["seconds"] for r in cells[0]) if cells[0] else float("nan")
            lines.append(
                f"| {mechanism} | {d} | {published} | " + " | ".join(shown) + f" | {took:.0f} |"
            )
    return "\n".join(lines)


def _r2(y: np.ndarray, p: np.ndarray) -> float:
    return float(1 - ((y - p) ** 2).mean() / y.var())


def _read(path: Path | None) -> dict[tuple, dict[str, Any]]:
    if path is None or not path.exists():
        return {}
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {(r["mechanism"], r["d"], r["n"], r["variant"], r["seed"]): r for r in records}


def _append(path: Path | None, record: dict[str, Any]) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON lines; finished cells are kept")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=100_000, help="training rows")
    parser.add_argument("--d", type=int, nargs="+", default=[10, 20, 50])
    parser.add_argument("--mechanisms", nargs="+", default=list(PUBLISHED), choices=PUBLISHED)
    parser.add_argument("--variants", nargs="+", default=["ours"], choices=VARIANTS)
    parser.add_argument("--threads", type=int, default=1)
    return parser


if __name__ == "__main__":
    main()
