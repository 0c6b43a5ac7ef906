"""What the template of ``nanwise compare-imputers`` shows: one table, and curves over the rates."""

from __future__ import annotations

from typing import Any

from nanwise.report import svg
from nanwise.report.figures import Figure, figure
from nanwise.report.numbers import decimals, is_number, number, percent, seconds, whole

#: score -> heading; the error by setting stands before them
SCORES = {
    "rmse": "RMSE / sd",
    "rmse_range": "RMSE / range",
    "rmse_rms": "RMSE / RMS",
    "pfc": "PFC",
    "wasserstein": "Wasserstein",
    "wasserstein_draws": "Wasserstein, draws",
    "crps": "CRPS",
    "energy": "energy score",
}
#: curves in one picture, best first; the baseline is always among them
MOST_CURVES = 8


def view(facts: dict[str, Any]) -> dict[str, Any]:
    """Everything but what all kinds of reports have in common."""
    rows = facts.get("leaderboard") or []
    names = [n for n in SCORES if any(is_number((r.get("scores") or {}).get(n)) for r in rows)]
    settings = facts.get("settings_facts") or []
    return {
        "tiles": _tiles(facts, rows, settings),
        "notes": (facts.get("data") or {}).get("notes") or [],
        "setting_names": [str(setting.get("name")) for setting in settings],
        "score_names": [SCORES[name] for name in names],
        "board": _board(rows, len(settings), names),
        "figures": _figures(facts, rows, settings),
        "failures": facts.get("failures") or [],
    }


def _tiles(
    facts: dict[str, Any], rows: list[dict[str, Any]], settings: list[Any]
) -> list[dict[str, str]]:
    data = facts.get("data") or {}
    levels = (data.get("columns") or 0) - (data.get("numbers") or 0)
    kinds = f"{whole(data.get('numbers'))} of numbers, {whole(levels)} of levels"
    tiles = [
        ("rows", whole(data.get("rows")), ""),
        ("columns", whole(data.get("columns")), kinds),
        ("cells missing before", percent(data.get("missing_share"), 1), ""),
        ("imputers", whole(len(rows)), ""),
        ("settings", whole(len(settings)), "mechanisms × rates"),
        ("time", seconds(facts.get("seconds")), ""),
    ]
    return [{"label": a, "value": b, "note": c} for a, b, c in tiles if b != "–"]


def _board(rows: list[dict[str, Any]], settings: int, names: list[str]) -> list[dict[str, Any]]:
    by_setting = list(zip(*(r.get("settings") or [None] * settings for r in rows), strict=True))
    best = [_least(column) for column in by_setting]
    best_scores = {n: _least((r.get("scores") or {}).get(n) for r in rows) for n in names}
    digits = {n: max(decimals((r.get("scores") or {}).get(n) for r in rows), 3) for n in names}
    return [
        {
            **{key: row.get(key) for key in ("rank", "method", "role", "summary", "error")},
            "mean": row.get("mean"),
            "mean_text": number(row.get("mean"), 3),
            "relative": row.get("relative"),
            "relative_text": percent(row.get("relative")),
            "settings": [
                _cell(value, best[k], 3) for k, value in enumerate(row.get("settings") or [])
            ],
            "scores": [
                _cell((row.get("scores") or {}).get(n), best_scores[n], digits[n]) for n in names
            ],
            "fit": row.get("fit_seconds"),
            "fit_text": seconds(row.get("fit_seconds")),
            "fill_text": seconds(row.get("fill_seconds")),
        }
        for row in rows
    ]


def _least(values: Any) -> float | None:
    return min((v for v in values if is_number(v)), default=None)


def _cell(value: Any, best: float | None, digits: int) -> dict[str, Any]:
    leads = is_number(value) and value == best
    return {"value": value, "text": number(value, digits), "best": leads}


def _figures(
    facts: dict[str, Any], rows: list[dict[str, Any]], settings: list[dict[str, Any]]
) -> list[Figure]:
    """Of each mechanism the errors against the rate; of a single rate, intervals are no curves."""
    mechanisms = dict.fromkeys(s.get("mechanism") for s in settings)
    if len(dict.fromkeys(s.get("rate") for s in settings)) < 2:
        return []
    shown = [row for row in rows if is_number(row.get("mean"))]
    first = shown[:MOST_CURVES]
    first += [r for r in shown[MOST_CURVES:] if r.get("method") == facts.get("baseline")]
    return [_curves(str(name), first, settings, facts) for name in mechanisms]


def _curves(
    mechanism: str,
    rows: list[dict[str, Any]],
    settings: list[dict[str, Any]],
    facts: dict[str, Any],
) -> Figure:
    places = [k for k, s in enumerate(settings) if s.get("mechanism") == mechanism]
    series = [
        {
            "name": row["method"],
            "x": [100 * settings[k]["rate"] for k in places],
            "y": [row["settings"][k] for k in places],
            "tone": None if row["method"] == facts.get("baseline") else tone,
            "dash": row["method"] == facts.get("baseline"),
        }
        for tone, row in enumerate(rows)
    ]
    picture = svg.lines(
        series,
        title=f"Error against the share hidden, {mechanism.upper()}",
        desc="Mean error of the columns, one line per imputer.",
        x_label="share of known cells hidden (%)",
        y_label="error",
    )
    return figure(mechanism.upper(), picture, "", series)
