"""NeuMiss and its rivals on ten tables: ``nanwise.compare``, five folds, default settings.

Five tables with gaps of their own and five with 20 or 50 % of the cells hidden completely at random
(``SETS`` of tables.py). Of the two larger ones, spam and credit, 3,000 rows are drawn, stratified
by class. The first table has the mean AUROC over the folds, the best of a set in bold. The second
has differences on the same folds with their 95 % interval, corrected for overlapping training rows
as in ``compare``: a NeuMiss method less one that differs from it in the treatment of gaps only.

Run: NANWISE_DATA=... python benchmarks/neumiss_tables.py --out FOLDER [--sets heart,...]
A folder keeps finished cells; a second call goes on from them.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from tables import SETS

from nanwise.bench.board import interval

METHODS = (
    "neumiss",
    "neumiss_net",
    "em",
    "zero_linear",
    "mice_linear",
    "sparsity_norm",
    "missing_indicator",
    "hist_gradient_boosting",
    "linear",
)
PAIRS = (
    ("neumiss", "em"),
    ("neumiss", "missing_indicator"),
    ("neumiss", "sparsity_norm"),
    ("neumiss_net", "mice_linear"),
    ("neumiss_net", "linear"),
)
MOST_ROWS = 3000
FOLDS = 5
TARGET = "target"


def table_of(name: str) -> pd.DataFrame:
    """The set with its target, cells hidden, at most ``MOST_ROWS`` rows."""
    from nanwise import ampute, load_dataset

    data = load_dataset(name)
    X, y = data.X.astype(float), data.y
    if len(X) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=0)
    if SETS[name]:
        X = ampute(X, share=SETS[name], mechanism="mcar", random_state=0)
    return X.assign(**{TARGET: y}).reset_index(drop=True)


def measure(name: str, folder: Path, jobs: int) -> dict[str, Any]:
    """Method name to the records of its folds."""
    from nanwise import compare

    found = compare(
        table_of(name),
        TARGET,
        task="classification",
        methods=METHODS,
        folds=FOLDS,
        out=folder / name,
        jobs=jobs,
        stress=False,
    )
    if found.facts["failures"]:
        raise RuntimeError(f"on {name} failed: {found.facts['failures']}")
    return {method: [r for r in found.records if r.method == method] for method in METHODS}


def score(records: list[Any]) -> np.ndarray:
    return np.array([record.scores["auroc"] for record in sorted(records, key=lambda r: r.fold)])


def row(name: str, found: dict[str, Any]) -> str:
    means = [score(found[method]).mean() for method in METHODS]
    cells = [f"**{mean:.3f}**" if mean == max(means) else f"{mean:.3f}" for mean in means]
    return f"| {name} | " + " | ".join(cells) + " |"


def differences(name: str, found: dict[str, Any]) -> str:
    cells = []
    for one, other in PAIRS:
        mean, half = interval(score(found[one]) - score(found[other]), shared=1 / (FOLDS - 1))
        cells.append(f"{mean:+.3f} ± {half:.3f}" + (" *" if abs(mean) > half else ""))
    return f"| {name} | " + " | ".join(cells) + " |"


def ranks(measured: dict[str, dict[str, Any]]) -> str:
    """Mean rank over the sets, 1 is best."""
    means = pd.DataFrame(
        {name: {m: score(r).mean() for m, r in found.items()} for name, found in measured.items()}
    )
    mean_rank = means.rank(ascending=False).mean(axis=1)
    return "| mean rank | " + " | ".join(f"{mean_rank[m]:.1f}" for m in METHODS) + " |"


def seconds(measured: dict[str, dict[str, Any]]) -> str:
    """Median over sets and folds of the time of a fit."""
    took = {
        method: np.median([r.fit_seconds for found in measured.values() for r in found[method]])
        for method in METHODS
    }
    return "| seconds per fit | " + " | ".join(f"{took[m]:.2f}" for m in METHODS) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.filterwarnings("ignore")
    measured = {}
    for name in options.sets.split(","):
        measured[name] = measure(name, options.out, options.jobs)
    print("\n| set | " + " | ".join(METHODS) + " |\n" + "|---" * (len(METHODS) + 1) + "|")
    print("\n".join(row(name, found) for name, found in measured.items()))
    print(ranks(measured))
    print(seconds(measured))
    heads = " | ".join(f"{one} − {other}" for one, other in PAIRS)
    print(f"\n| set | {heads} |\n" + "|---" * (len(PAIRS) + 1) + "|")
    print("\n".join(differences(name, found) for name, found in measured.items()))


if __name__ == "__main__":
    main()
