"""Facts about a completed table as plain values: what a report tells of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from nanwise import registry
from nanwise.bench.case import versions
from nanwise.bench.overview import top_levels
from nanwise.bench.run import curve
from nanwise.estimators.impute.densities import density
from nanwise.estimators.table_imputer import TableImputer

if TYPE_CHECKING:
    import pandas as pd

#: columns that get a picture, those with most gaps
SHOWN_COLUMNS = 24


def facts_of(
    model: TableImputer,
    before: pd.DataFrame,
    tables: list[pd.DataFrame],
    check: dict[str, Any] | None,
    seconds: dict[str, float],
    notes: list[Any],
) -> dict[str, Any]:
    """Everything the report of ``nanwise impute`` shows, but the names of files."""
    gap = before.isna().to_numpy()
    still = tables[0].isna().to_numpy()
    return {
        "kind": "impute",
        "title": "Imputation",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": model.method,
        "summary": registry.find(model.method).summary,
        "draws": len(tables) if len(tables) > 1 else 0,
        "data": {
            "source": None,
            "rows": len(before),
            "columns": before.shape[1],
            "missing": int(gap.sum()),
            "missing_share": float(gap.mean()),
            "complete_rows": int((~gap.any(axis=1)).sum()),
            "filled": int((gap & ~still).sum()),
            "left": int((gap & still).sum()),
            "notes": [str(note) for note in notes] + _left_notes(model, gap & still),
        },
        "columns": _columns(model, before, tables, gap, still),
        "densities": _densities(model, before, tables, gap, still),
        "check": check,
        "seconds": seconds,
        "history": curve(model.imputer_),
        "files": [],
        "model": {"path": None, "params": _told(model.imputer_)},
        "versions": versions(),
        "command": None,
    }


def _told(imputer: Any) -> dict[str, Any]:
    """Parameters as texts; those of a treatment or a plan by their own names."""
    out: dict[str, Any] = {}
    for name, value in imputer.get_params(deep=False).items():
        if hasattr(value, "get_params") and not isinstance(value, type):
            out |= {f"{name}.{key}": v for key, v in value.get_params(deep=False).items()}
        else:
            out[name] = value
    return {name: v if isinstance(v, (int, float, str)) else str(v) for name, v in out.items()}


def _left_notes(model: TableImputer, left: np.ndarray) -> list[str]:
    notes = []
    for name in model.empty_:
        notes.append(f"nothing was observed in column {name!r}: it stays empty")
    for j, column in enumerate(model.schema_.columns):
        if left[:, j].any() and column.name not in model.empty_:
            notes.append(
                f"column {column.name!r}: {int(left[:, j].sum())} gaps stay, since a text that is "
                "hardly ever seen twice would have to be made up"
            )
    return notes


def _columns(
    model: TableImputer,
    before: pd.DataFrame,
    tables: list[pd.DataFrame],
    gap: np.ndarray,
    still: np.ndarray,
) -> list[dict[str, Any]]:
    """What was filled, column by column."""
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "missing": int(gap[:, j].sum()),
            "share": float(gap[:, j].mean()),
            "filled": int((gap & ~still)[:, j].sum()),
            "observed": _summary(before[column.name].dropna(), column.kind),
            "imputed": _summary(_new(tables, column.name, gap[:, j]), column.kind),
        }
        for j, column in enumerate(model.schema_.columns)
    ]


def _new(tables: list[pd.DataFrame], name: str, gap: np.ndarray) -> Any:
    """What stands in the gaps of a column now, all draws together."""
    import pandas as pd

    return pd.concat([table[name][gap] for table in tables], ignore_index=True).dropna()


def _summary(values: Any, kind: str) -> str:
    if not len(values):
        return ""
    if kind == "numeric":
        numbers = values.to_numpy(dtype=np.float64)
        return f"mean {numbers.mean():.4g}, sd {numbers.std():.3g}"
    if kind == "date":
        return f"{values.min():%Y-%m-%d} to {values.max():%Y-%m-%d}"
    return top_levels(values)


def _densities(
    model: TableImputer,
    before: pd.DataFrame,
    tables: list[pd.DataFrame],
    gap: np.ndarray,
    still: np.ndarray,
) -> list[dict[str, Any]]:
    """Pictures of the columns with most filled cells, in the order of the table."""
    filled = (gap & ~still).sum(axis=0)
    most = np.argsort(-filled, kind="stable")[:SHOWN_COLUMNS]
    columns = [(j, model.schema_.columns[j]) for j in np.sort(most) if filled[j]]
    return [
        density(column, before[column.name].dropna(), _new(tables, column.name, gap[:, j]))
        for j, column in columns
    ]
