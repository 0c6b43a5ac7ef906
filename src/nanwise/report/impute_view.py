"""What the template of ``nanwise impute`` shows: tables, tiles and pictures."""

from __future__ import annotations

from typing import Any

from nanwise.report import svg
from nanwise.report.bars import bars
from nanwise.report.figures import Figure, figure, learning
from nanwise.report.numbers import interval, is_number, number, percent, seconds, spark, whole

#: score -> what it is called; those that are not there are left out
SCORES = {
    "error": "error, mean over columns",
    "rmse": "RMSE / standard deviation, all held numbers",
    "rmse_column": "RMSE / standard deviation, mean over columns",
    "rmse_range": "RMSE / range",
    "rmse_rms": "RMSE / RMS of the values, scaled to 0–1",
    "rmse_rms_column": "the same, mean over columns",
    "mae": "mean absolute error / standard deviation",
    "pfc": "share of wrong levels (PFC)",
    "wasserstein": "Wasserstein distance, best single values",
    "wasserstein_draws": "Wasserstein distance, draws",
    "crps": "CRPS of draws",
    "energy": "energy score of draws",
}
#: how much better than mean filling counts as better
CLEAR = 0.02


def view(facts: dict[str, Any]) -> dict[str, Any]:
    """Everything but what all kinds of reports have in common."""
    check = facts.get("check") or {}
    return {
        "tiles": _tiles(facts, check),
        "draws": facts.get("draws") or 0,
        "method": facts.get("method"),
        "summary": facts.get("summary"),
        "files": facts.get("files") or [],
        "notes": (facts.get("data") or {}).get("notes") or [],
        "columns": _columns(facts),
        "figures": [_density(found) for found in facts.get("densities") or []],
        "densities": [_density_text(found) for found in facts.get("densities") or []],
        "check": _check(check),
        "check_rows": _check_rows(check),
        "drawn": any(is_number(row.get("crps")) for row in check.get("columns") or []),
        "scores": _scores(check),
        "curve_figures": learning({str(facts.get("method")): facts.get("history") or []}),
        "model": _model(facts.get("model") or {}),
    }


def _tiles(facts: dict[str, Any], check: dict[str, Any]) -> list[dict[str, str]]:
    data, took = facts.get("data") or {}, facts.get("seconds") or {}
    error = (check.get("scores") or {}).get("error")
    base = (check.get("mean_scores") or {}).get("error")
    tiles = [
        ("gaps filled", whole(data.get("filled")), f"of {whole(data.get('missing'))}"),
        ("cells missing", percent(data.get("missing_share"), 1), ""),
        ("rows", whole(data.get("rows")), f"{whole(data.get('complete_rows'))} were complete"),
        ("columns", whole(data.get("columns")), ""),
        ("error on hidden cells", number(error, 2), f"mean filling {number(base, 2)}"),
        ("time", seconds(sum(v for v in took.values() if is_number(v)) or None), ""),
    ]
    return [{"label": a, "value": b, "note": c} for a, b, c in tiles if b != "–"]


def _columns(facts: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [row for row in facts.get("columns") or [] if row.get("missing")]
    return [
        {
            **{key: row.get(key) for key in ("name", "kind", "observed", "imputed", "missing")},
            "share": row.get("share") or 0,
            "share_text": f"{percent(row.get('share'), 1)}, {whole(row.get('missing'))}",
            "filled": row.get("filled"),
            "filled_text": whole(row.get("filled")),
        }
        for row in rows
    ]


def _density(found: dict[str, Any]) -> Figure:
    name = str(found.get("name"))
    label = f"{name}: observed against imputed"
    series: list[dict[str, Any]] = [
        {
            "name": f"{side} ({whole(found.get(f'n_{side}'))})",
            "y": found.get(side) or [],
            "tone": tone,
            "dash": side == "imputed" and "x" in found,
        }
        for tone, side in enumerate(("observed", "imputed"))
    ]
    if "levels" in found:
        picture = bars(
            found["levels"], series, title=label, desc="Shares of the levels.", x_label="share"
        )
        return figure(name, picture, "", [{**s, "dash": False} for s in series])
    curves = [{**s, "x": found.get("x") or []} for s in series]
    picture = svg.lines(
        curves,
        title=label,
        desc="Smoothed densities of observed and of imputed values.",
        x_label="year" if found.get("kind") == "date" else name,
        y_label="density",
        size=svg.SMALL,
    )
    return figure(name, picture, "", curves)


def _density_text(found: dict[str, Any]) -> tuple[str, str, str, str]:
    """The same where there are no pictures: name, range, and both sides as letters or shares."""
    sides = [found.get(side) or [] for side in ("observed", "imputed")]
    name, levels = str(found.get("name")), found.get("levels")
    if levels:
        there, new = (
            ", ".join(f"{a} {percent(b)}" for a, b in zip(levels, y, strict=True)) for y in sides
        )
        return name, "", there, new
    top = max((v for y in sides for v in y if is_number(v)), default=0.0)
    there, new = (spark(y, top) for y in sides)
    x = found.get("x") or [None]
    return name, interval(x[0], x[-1]), there, new


def _check(check: dict[str, Any]) -> list[str]:
    """How it was measured, in sentences."""
    if not check:
        return []
    return [
        f"{whole(check.get('cells'))} known cells ({percent(check.get('share'))} of those looked "
        "at) were hidden at random, the imputer was fitted again without them, and its answers "
        "were compared with what had stood there. If gaps fall where values are unusual, errors "
        "in the gaps are larger than these.",
        "Numbers: root of the mean squared error in standard deviations of the column, so that "
        "filling with the mean is near 1. Levels: share of wrong answers.",
    ]


def _check_rows(check: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [row for row in check.get("columns") or [] if is_number(row.get("error"))]
    return [
        {
            **{key: row.get(key) for key in ("name", "measure", "held", "error", "mean_error")},
            "error_text": number(row.get("error"), 3),
            "mean_text": number(row.get("mean_error"), 3),
            "mood": _mood(row),
            "wasserstein": row.get("wasserstein"),
            "wasserstein_text": number(row.get("wasserstein"), 3),
            "crps": row.get("crps"),
            "crps_text": number(row.get("crps"), 3),
        }
        for row in rows
    ]


def _mood(row: dict[str, Any]) -> str:
    ours, theirs = row.get("error"), row.get("mean_error")
    if not (is_number(ours) and is_number(theirs)):
        return ""
    if ours < (1 - CLEAR) * theirs:
        return "good"
    return "bad" if ours > (1 + CLEAR) * theirs else ""


def _scores(check: dict[str, Any]) -> list[tuple[str, str, str]]:
    ours, theirs = check.get("scores") or {}, check.get("mean_scores") or {}
    return [
        (label, number(ours.get(name), 3), number(theirs.get(name), 3))
        for name, label in SCORES.items()
        if is_number(ours.get(name))
    ]


def _model(model: dict[str, Any]) -> dict[str, Any]:
    params = model.get("params") or {}
    return {
        "path": model.get("path"),
        "params": [(str(name), str(value)) for name, value in params.items()],
    }
