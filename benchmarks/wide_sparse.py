"""A wide sparse table, absent = missing, trained without being made dense: time and memory.

100,000 rows x 50,000 columns at 0.1 % observed (5 million cells; dense float32 would be 20 GB).

Run: python benchmarks/wide_sparse.py [--rows 100000] [--columns 50000] [--epochs 2]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from scipy import sparse as sp

from nanwise import NanRegressor, Plan


def table(rows: int, columns: int, share: float) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    counts = np.maximum(rng.poisson(columns * share * rng.gamma(2, 0.5, rows)), 1)
    index = rng.integers(0, columns, counts.sum())
    row = np.repeat(np.arange(rows), counts)
    taste = rng.normal(size=rows)
    value = (taste[row] + rng.normal(size=len(row)) + 3).astype(np.float32)
    X = sp.csr_array((value, (row, index)), shape=(rows, columns))
    return X, taste


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=50_000)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    X, y = table(args.rows, args.columns, 0.001)
    held = args.rows // 10
    for gaps in ("zero", "sparsity_norm"):
        plan = Plan(epochs=args.epochs, batch=1000, validation=None)
        model = NanRegressor(
            gaps, hidden=(256,), scale=None, sparse="stored", plan=plan, random_state=0
        )
        start = time.perf_counter()
        model.fit(X[held:], y[held:])
        seconds = time.perf_counter() - start
        score = model.score(X[:held], y[:held])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{gaps}: {X.nnz:,} stored cells, {seconds / args.epochs:.1f} s per epoch, "
            f"R2 on new rows {score:.3f}, peak memory so far {peak:.2f} GiB"
        )


if __name__ == "__main__":
    main()
