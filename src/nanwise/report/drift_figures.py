"""Pictures of the stress test: of one model, and of all methods of a comparison."""

from __future__ import annotations

from typing import Any

from nanwise.report import svg
from nanwise.report.figures import Figure, figure
from nanwise.report.marks import TONES
from nanwise.report.numbers import is_number
from nanwise.report.story import ranked

MOST_COLOURED = 6


def stress_overview(stress: dict[str, Any], facts: dict[str, Any]) -> list[Figure]:
    """All methods in one picture, and the steepness of each."""
    known = {m: s for m, s in stress.items() if s.get("outputs")}
    if not known:
        return []
    series = _overview_series(known, facts)
    picture = svg.lines(
        series,
        title="Drift of the mean prediction",
        desc="Change of the mean prediction against the share of values left, one line per method.",
        x_label="share of values left (%)",
        y_label="change of the mean prediction",
        rule=0,
    )
    caption = (
        "Values are hidden at random, so the mean prediction should stay on the dashed line from "
        "right (all values) to left (few). A line that bends away drifts only because fewer values "
        "arrive."
    )
    return [figure("Drift with fewer values", picture, caption, series), _slopes(known)]


def _overview_series(known: dict[str, Any], facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Colour for the best, the baseline and the steepest; the others stay in the background."""
    order = [r["method"] for r in ranked(facts) if r["method"] in known]
    first = [m for m in (*order[:1], facts.get("baseline")) if m in known]
    steep = sorted(known, key=lambda m: -abs(known[m].get("slope") or 0))
    loud = list(dict.fromkeys([*first, *steep[:2], *order, *known]))[:MOST_COLOURED]
    quiet = [m for m in known if m not in loud]
    named = [_overview_line(known[m], m, k) for k, m in enumerate(loud)]
    others = [_overview_line(known[m], m, None) for m in quiet]
    if others:
        others[0] = {**others[0], "name": f"{len(quiet)} others", "named": True}
    return [*others, *named]


def _overview_line(stress: dict[str, Any], name: str, tone: int | None) -> dict[str, Any]:
    out = _followed(stress)
    x = [100 * v for v in stress.get("kept") or stress.get("shares") or []]
    return {"name": name, "x": x, "y": out["change"], "tone": tone, "named": tone is not None}


def _followed(stress: dict[str, Any]) -> dict[str, Any]:
    outputs = stress["outputs"]
    return next((o for o in outputs if o.get("name") == stress.get("output")), outputs[0])


def _slopes(known: dict[str, Any]) -> Figure:
    items = [
        {
            "name": m,
            "mean": s.get("slope"),
            "low": s.get("slope_low"),
            "high": s.get("slope_high"),
            "tone": 0,
        }
        for m, s in sorted(known.items(), key=lambda pair: abs(pair[1].get("slope") or 0))
    ]
    picture = svg.forest(
        items,
        title="Slope of the mean prediction",
        desc="Slope per 10 percentage points more values, with its 95 % interval, per method.",
        x_label="change per 10 % more values",
        rule=0,
    )
    caption = (
        "How far the mean prediction moves for every 10 percentage points more values, with its "
        "95 % interval. At the dashed line nothing moves."
    )
    return figure("Steepness of the drift", picture, caption)


def stress(facts: dict[str, Any], name: str) -> list[Figure]:
    """Single rows, mean curve and score of one model."""
    out = []
    if facts.get("samples"):
        out.append(_single_rows(facts, name))
    if facts.get("outputs"):
        out.append(_mean_curve(facts, name))
    for score, values in list((facts.get("scores") or {}).items())[:1]:
        if any(is_number(v) for v in values.get("mean") or []):
            out.append(_score_curve(facts, name, score, values))
    return out


def _single_rows(facts: dict[str, Any], name: str) -> Figure:
    groups = [
        {
            "name": f"row {s['row']}",
            "x": s["observed"],
            "y": s["prediction"],
            "line_x": s.get("mean_observed"),
            "line_y": s.get("mean_prediction"),
            "tone": k,
        }
        for k, s in enumerate(facts["samples"])
    ]
    picture = svg.scatter(
        groups,
        title=f"Single rows: {name}",
        desc="Prediction of a few rows against the number of values observed.",
        x_label="values observed",
        y_label="prediction",
        size=svg.SMALL,
    )
    caption = (
        "A few rows, each predicted again and again with other values hidden. Dots: single draws; "
        "line: their mean. The dots may spread; the line should stay level."
    )
    return figure("Single rows", picture, caption, groups)


def _mean_curve(facts: dict[str, Any], name: str) -> Figure:
    series = [_mean_line(o, facts, k) for k, o in enumerate(facts["outputs"][:TONES])]
    picture = svg.lines(
        series,
        title=f"Mean prediction: {name}",
        desc="Mean prediction over all rows against the share of values left, with 95 % bands.",
        x_label="share of values left (%)",
        y_label="mean prediction",
        size=svg.SMALL,
    )
    caption = (
        "Mean prediction over all rows; the band is the 95 % interval of its change from the right "
        "end, where nothing is hidden. A level line means no drift."
    )
    return figure("All rows", picture, caption, series if len(series) > 1 else None)


def _mean_line(output: dict[str, Any], facts: dict[str, Any], k: int) -> dict[str, Any]:
    base = output.get("full_mean") or 0.0
    low, high = output.get("change_low") or [], output.get("change_high") or []
    return {
        "name": output["name"],
        "x": [100 * v for v in facts.get("kept") or facts.get("shares") or []],
        "y": output["mean"],
        "low": [base + v if is_number(v) else None for v in low],
        "high": [base + v if is_number(v) else None for v in high],
        "tone": k,
    }


def _score_curve(facts: dict[str, Any], name: str, score: str, values: dict[str, Any]) -> Figure:
    line = {
        "name": score,
        "x": [100 * v for v in facts.get("kept") or facts.get("shares") or []],
        "y": values["mean"],
        "low": values.get("low"),
        "high": values.get("high"),
        "tone": 0,
    }
    picture = svg.lines(
        [line],
        title=f"{score}: {name}",
        desc=f"{score} against the share of values left, with the middle 95 % of the repeats.",
        x_label="share of values left (%)",
        y_label=score,
        size=svg.SMALL,
    )
    caption = (
        "How much is lost with fewer values; the band holds the middle 95 % of the repeats. Some "
        "loss is natural, as there is less to know."
    )
    return figure(f"{score} with fewer values", picture, caption, None)
