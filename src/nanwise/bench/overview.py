"""What a table looks like, as plain facts for a report."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.bench.case import plain
from nanwise.bench.table import Table
from nanwise.gaussian.little import MCARTest, mcar_test

SHOWN_ROWS = 120
SHOWN_COLUMNS = 80
SHOWN_PATTERNS = 20
#: the test of randomness sees at most so much of a table, which takes less than about a second
TESTED_ROWS = 1000
TESTED_COLUMNS = 12


def overview(table: Table) -> dict[str, Any]:
    """The ``data`` part of the facts of a comparison."""
    observed = table.X.notna().to_numpy(dtype=bool)
    return plain(
        {
            "source": table.source,
            "rows": len(table.y),
            "columns": table.X.shape[1],
            "target": table.target,
            "task": table.task,
            **target_facts(table.y, table.task),
            "missing_share": float(1 - observed.mean()) if observed.size else 0.0,
            "complete_rows": int(observed.all(axis=1).sum()),
            "dropped_rows": table.dropped,
            "notes": table.notes,
            "column_facts": _columns(table, observed),
            "mcar_test": _mcar_test(table, observed),
            "pattern": pattern(observed, [str(name) for name in table.X.columns]),
        }
    )


def pattern(observed: np.ndarray, names: list[str], seed: int = 0) -> dict[str, Any]:
    """Which cells are there: a sample of rows, sorted, and the commonest patterns with counts.

    Of a very wide table the columns with most gaps are shown, in the order of the file.
    """
    shown = np.sort(np.argsort(observed.mean(axis=0), kind="stable")[:SHOWN_COLUMNS])
    observed = observed[:, shown]
    kinds, counts = np.unique(observed, axis=0, return_counts=True)
    common = np.argsort(-counts, kind="stable")[:SHOWN_PATTERNS]
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(observed), min(SHOWN_ROWS, len(observed)), replace=False)
    sample = observed[drawn]
    sample = sample[np.lexsort((*sample.T, -sample.sum(axis=1)))]
    return {
        "columns": [names[column] for column in shown],
        "rows": sample.astype(int),
        "patterns": [{"observed": kinds[i].astype(int), "count": int(counts[i])} for i in common],
    }


def _mcar_test(table: Table, observed: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """Little's test on columns of numbers, those with most gaps first, or why it was not done.

    Columns with hardly a value are left out: the test needs more values than columns in each.
    """
    drawn = np.random.default_rng(seed).permutation(len(observed))[:TESTED_ROWS]
    numeric = [
        j
        for j, name in enumerate(table.X.columns)
        if table.schema[name].kind == "numeric" and observed[drawn, j].sum() > TESTED_COLUMNS
    ]
    columns = sorted(sorted(numeric, key=lambda j: observed[:, j].mean())[:TESTED_COLUMNS])
    facts = {"rows": len(drawn), "columns": len(columns), "reason": None}
    empty = dict.fromkeys(MCARTest._fields)
    if not columns:
        reason = f"no column of numbers has more than {TESTED_COLUMNS} values"
        return facts | empty | {"reason": reason}
    if observed[:, columns].all():
        return facts | empty | {"reason": "no number is missing"}
    try:
        found = mcar_test(table.X.iloc[np.sort(drawn), columns])
    except ValueError as error:
        return facts | empty | {"reason": str(error)}
    if found.df == 0:
        return facts | empty | {"reason": "all rows have the same gaps"}
    return facts | found._asdict()


def target_facts(y: np.ndarray, task: str) -> dict[str, Any]:
    """Classes and how often they occur, or the distribution of a number."""
    if task == "classification":
        names, counts = np.unique(y, return_counts=True)
        classes = {str(name): int(count) for name, count in zip(names, counts, strict=True)}
        return {"classes": classes, "target_stats": None}
    stats = {"mean": y.mean(), "std": y.std(), "min": y.min(), "median": np.median(y)}
    return {"classes": None, "target_stats": {**stats, "max": y.max()}}


def _columns(table: Table, observed: np.ndarray) -> list[dict[str, Any]]:
    return [
        {
            "name": str(name),
            "kind": table.schema[name].kind,
            "missing": float(1 - observed[:, place].mean()),
            "distinct": int(table.X[name].nunique()),
            "summary": _summary(table.X[name].dropna(), table.schema[name].kind),
        }
        for place, name in enumerate(table.X.columns)
    ]


def _summary(values: Any, kind: str) -> str:
    if not len(values):
        return "never observed"
    if kind == "numeric":
        low, middle, high = np.quantile(values.to_numpy(dtype=float), [0, 0.5, 1])
        return f"{low:.4g} to {high:.4g}, median {middle:.4g}"
    if kind == "date":
        return f"{values.min()} to {values.max()}"
    return top_levels(values)


def top_levels(values: Any) -> str:
    """The most frequent levels of a column and their shares, in a few words."""
    shares = values.astype(str).value_counts(normalize=True)
    top = ", ".join(f"{level} {share:.0%}" for level, share in shares.head(3).items())
    return top + (", …" if len(shares) > 3 else "")
