"""VSAE, Table 7, with all pairs of digits: the published rows, fewer passes over them.

Scale ``paper`` of ``nanwise reproduce vsae/table7`` takes half a day for a single cell on one core,
scale ``laptop`` has 2,000 pairs. This runs cells of scale ``laptop`` (missing ratio 0.5) on all
29,071 training and 4,832 test pairs, for as many epochs as asked for. In the table, rivals are
trained as published (a fifth of the pairs for validation, one learning rate all the time), "VSAE,
our defaults" by its own plan; ``--one-plan`` gives that plan to all.

    NANWISE_DATA=... python benchmarks/vsae_pairs.py "VSAE, our defaults" "CVAE w/ mask" \
        --epochs 8 --one-plan --runs 0 1 2
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product

import torch
from _fair import fix_malloc

from nanwise.bench.case import Case
from nanwise.bench.papers.table import find_table

RATIO = "0.5"
#: what ``plan=None`` stands for in VSAEImputer, but for the epochs
OWN = {"lr": 2e-3, "optimizer": "adam", "weight_decay": 0.0}


def main() -> None:
    table = find_table("vsae/table7")
    rows = {row.name: row for row in table.rows}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="+", choices=list(rows))
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--runs", type=int, nargs="+", default=[0], help="seeds")
    parser.add_argument("--one-plan", action="store_true", help="VSAE's own plan for all")
    options = parser.parse_args()
    torch.set_num_threads(1)
    column = next(c for c in table.columns if c.name == RATIO)
    for run, name in product(options.runs, options.rows):
        case = table.cases(rows[name], column, "laptop")[run]
        found = table.run(longer(case, options.epochs, options.one_plan))
        if found.error is not None:
            raise RuntimeError(found.error)
        total = found.scores["sum"]
        print(f"{name}, run {run}: {total:.4f}, {found.fit_seconds:.0f} s to fit", flush=True)


def longer(case: Case, epochs: int, own: bool) -> Case:
    params = dict(case.params)
    if "plan" in params:
        params["plan"] = {**(OWN if own else params["plan"]), "epochs": epochs}
    return replace(case, params=params, protocol={**case.protocol, "rows": None})


if __name__ == "__main__":
    fix_malloc(threads=1)
    main()
