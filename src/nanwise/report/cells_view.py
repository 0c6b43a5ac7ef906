"""What the template of ``nanwise cells`` shows: tiles, a table and a chart."""

from __future__ import annotations

from typing import Any

from nanwise.report import figures
from nanwise.report.cells_story import mean_of, text_of
from nanwise.report.numbers import is_number, percent, seconds, whole

SCORES = {"rmse": "RMSE", "mae": "MAE", "nmse": "NMSE"}


def view(facts: dict[str, Any]) -> dict[str, Any]:
    """Everything but what all kinds of reports have in common."""
    rows = facts.get("rows") or []
    data = facts.get("data") or {}
    return {
        "tiles": _tiles(facts, data),
        "notes": data.get("notes") or [],
        "score_names": list(SCORES.values()),
        "board": [_row(row, _best(rows, row.get("share"))) for row in rows],
        "figures": figures.named_charts([_chart(rows)] if rows else []),
        "files": facts.get("files") or [],
        "failures": facts.get("failures") or [],
    }


def _tiles(facts: dict[str, Any], data: dict[str, Any]) -> list[dict[str, str]]:
    tiles = [
        ("cells", whole(data.get("cells"))),
        ("genes", whole(data.get("genes"))),
        ("zeros", percent(data.get("zero_share"), 1)),
        ("time", seconds(facts.get("seconds"))),
    ]
    return [{"label": a, "value": b, "note": ""} for a, b in tiles if b != "–"]


def _row(row: dict[str, Any], best: float | None) -> dict[str, Any]:
    return {
        "method": row.get("method"),
        "share": row.get("share"),
        "share_text": percent(row.get("share")),
        "failed": row.get("failed") or 0,
        "best": best is not None and mean_of(row) == best,
        "scores": [
            {"value": (row.get(name) or {}).get("mean"), "text": text_of(row.get(name))}
            for name in SCORES
        ],
        "fit": row.get("fit_seconds"),
        "fit_text": seconds(row.get("fit_seconds")),
    }


def _best(rows: list[dict[str, Any]], share: Any) -> float | None:
    found = [mean_of(row) for row in rows if row.get("share") == share]
    return min((mean for mean in found if is_number(mean)), default=None)


def _chart(rows: list[dict[str, Any]]) -> dict[str, Any]:
    methods: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        if is_number(mean_of(row)):
            methods.setdefault(row.get("method"), []).append(row)
    return {
        "title": "Error against the share of hidden entries",
        "x_label": "share of what was seen that is hidden",
        "y_label": "RMSE",
        "series": [_line(str(name), found) for name, found in methods.items()],
    }


def _line(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    means = [mean_of(row) for row in rows]
    halves = [row["rmse"].get("ci") or 0.0 for row in rows]
    pairs = list(zip(means, halves, strict=True))
    return {
        "name": name,
        "x": [row["share"] for row in rows],
        "y": means,
        "low": [mean - half for mean, half in pairs],
        "high": [mean + half for mean, half in pairs],
    }
