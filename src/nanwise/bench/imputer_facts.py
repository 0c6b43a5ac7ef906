"""Facts about a comparison of imputers as plain values: what a report tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from nanwise.bench.case import Record, versions
from nanwise.bench.compare import warnings_of
from nanwise.bench.impute_score import IMPUTE_METRICS
from nanwise.bench.imputer_board import RANKED, Line, Setting, best_in, leaderboard
from nanwise.bench.store import Store
from nanwise.registry import Method

BASELINE = "mean"


def facts_of(
    table: Any,
    chosen: Sequence[Method],
    settings: Sequence[Setting],
    repeats: int,
    records: list[Record],
    store: Store,
) -> dict[str, Any]:
    """Everything the report of ``nanwise compare-imputers`` shows, but how it was asked for."""
    lines = [Line(method, records, settings, repeats) for method in chosen]
    baseline = next((line for line in lines if line.method.name == BASELINE), None)
    return {
        "kind": "compare_imputers",
        "title": f"Imputers on {table.source}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": _data(table, store, records),
        "metric": dict(IMPUTE_METRICS[RANKED].__dict__),
        "baseline": BASELINE if baseline is not None else None,
        "settings_facts": [
            {**setting.__dict__, "name": setting.name, "best": best_in(lines, setting)}
            for setting in settings
        ],
        "leaderboard": leaderboard(lines, baseline),
        "failures": _failures(records),
        "versions": versions(),
        "command": None,
    }


def _data(table: Any, store: Store, records: list[Record]) -> dict[str, Any]:
    gap = table.X.isna().to_numpy()
    notes = list(table.notes)
    if store.torn:
        notes.append(f"{store.torn} cut-off lines among the stored cells were passed over")
    kinds = [column.kind for column in table.schema.columns]
    return {
        "source": table.source,
        "rows": len(table.X),
        "columns": table.X.shape[1],
        "numbers": sum(kind in ("numeric", "date") for kind in kinds),
        "missing_share": float(gap.mean()),
        "notes": notes + warnings_of(records),
    }


def _failures(records: list[Record]) -> list[dict[str, Any]]:
    return [
        {
            "method": r.method,
            "fold": f"{Setting(r.case['hide']['mechanism'], r.case['hide']['share']).name}, "
            f"repeat {r.fold + 1}",
            "error": r.reason,
        }
        for r in records
        if r.failed
    ]
