"""What the template of ``nanwise images`` shows: a table, tiles and sheets of pictures."""

from __future__ import annotations

from typing import Any

from nanwise.report import figures, pictures
from nanwise.report.numbers import interval, is_number, number, percent, seconds, whole

#: score, its heading, and whether more is better
SCORES = (
    ("log_loss", "log loss", False),
    ("balanced_accuracy", "balanced accuracy", True),
    ("auroc", "AUROC", True),
)


def view(facts: dict[str, Any]) -> dict[str, Any]:
    """Everything but what all kinds of reports have in common."""
    rows = facts.get("leaderboard") or []
    data = facts.get("data") or {}
    names = [name for name, *_ in SCORES if any(is_number(row.get(name)) for row in rows)]
    winner = facts.get("winner") or {}
    return {
        "tiles": _tiles(facts, data, rows),
        "notes": data.get("notes") or [],
        "board": _board(rows, names),
        "score_names": [head for name, head, _ in SCORES if name in names],
        "sheet_figures": pictures.sheets(facts.get("sheets") or []),
        "curve_figures": figures.learning(facts.get("curves") or {}),
        "classes": _classes(data),
        "files": facts.get("files") or [],
        "winner": {"method": winner.get("method"), "path": winner.get("path")} if winner else None,
        "failures": facts.get("failures") or [],
    }


def _tiles(
    facts: dict[str, Any], data: dict[str, Any], rows: list[dict[str, Any]]
) -> list[dict[str, str]]:
    size = f"{data.get('width')} × {data.get('height')}, {_channels(data.get('channels'))}"
    tiles = [
        ("pictures", whole(data.get("pictures")), size if data.get("width") else ""),
        ("pixels missing", percent(data.get("missing_share"), 1), ""),
        ("whole pictures", whole(data.get("whole")), ""),
        ("classes", whole(len(data.get("classes") or {}) or None), ""),
        ("treatments", whole(len(rows) or None), ""),
        ("time", seconds(facts.get("seconds")), ""),
    ]
    return [{"label": a, "value": b, "note": c} for a, b, c in tiles if b != "–"]


def _channels(count: Any) -> str:
    return "grey" if count == 1 else "colour" if count == 3 else f"{count} channels"


def _board(rows: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    best = {name: _extreme(rows, name, more) for name, _, more in SCORES}
    return [
        {
            **{key: row.get(key) for key in ("rank", "method", "role", "summary", "error")},
            "accuracy": row.get("accuracy"),
            "accuracy_text": percent(row.get("accuracy"), 1),
            "interval": _percents(row.get("low"), row.get("high")),
            "scores": [
                {
                    "value": row.get(name),
                    "text": number(row.get(name), 3),
                    "best": is_number(row.get(name)) and row.get(name) == best[name],
                }
                for name in names
            ],
            "fit": row.get("fit_seconds"),
            "fit_text": seconds(row.get("fit_seconds")),
            "predict_text": seconds(row.get("predict_seconds")),
            "warnings": row.get("warnings") or [],
        }
        for row in rows
    ]


def _percents(low: Any, high: Any) -> str:
    if not (is_number(low) and is_number(high)):
        return ""
    return interval(100 * low, 100 * high, 1)


def _extreme(rows: list[dict[str, Any]], name: str, more: bool) -> float | None:
    found = [row[name] for row in rows if is_number(row.get(name))]
    return (max if more else min)(found, default=None)


def _classes(data: dict[str, Any]) -> list[tuple[str, str]]:
    counts = data.get("classes") or {}
    total = sum(counts.values()) or 1
    return [(str(name), f"{whole(n)} ({percent(n / total, 1)})") for name, n in counts.items()]
