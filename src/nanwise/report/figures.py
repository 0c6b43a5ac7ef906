"""Which pictures a report shows: each a dict of title, svg, legend and how to read it."""

from __future__ import annotations

from typing import Any

from nanwise.report import svg
from nanwise.report.numbers import is_number
from nanwise.report.story import ranked

MOST_COLUMNS = 60
MOST_COLOURED = 6

Figure = dict[str, Any]


def figure(
    title: str, picture: str, caption: str, series: list[dict[str, Any]] | None = None
) -> Figure:
    """Put a picture together with what is written around it."""
    legend = [
        {"name": s["name"], "tone": svg.tone(s.get("tone")), "dash": bool(s.get("dash"))}
        for s in series or []
        if s.get("named", True)
    ]
    return {"title": title, "svg": picture, "caption": caption, "legend": legend}


def missingness(pattern: dict[str, Any] | None) -> list[Figure]:
    """Where values are: sampled rows, and the most frequent patterns."""
    if not pattern or not pattern.get("columns"):
        return []
    chosen = _columns_to_show(pattern)
    names = [pattern["columns"][j] for j in chosen]
    some = "" if len(chosen) == len(pattern["columns"]) else _only(chosen, pattern)
    out = []
    if pattern.get("rows"):
        picture = svg.pattern(
            names,
            [[row[j] for j in chosen] for row in pattern["rows"]],
            title="Where values are missing",
            desc="One line per sampled row, one column per column; gaps are marked.",
        )
        caption = (
            f"Each thin line is one of {len(pattern['rows'])} sampled rows, each column one column "
            "of the table; the strong colour marks a gap. Blocks mean that values are missing "
            f"together, speckle that they are missing one by one.{some}"
        )
        out.append(figure("Where values are missing", picture, caption))
    if pattern.get("patterns"):
        out.append(_frequent(names, chosen, pattern["patterns"], some))
    return out


def _frequent(
    names: list[str], chosen: list[int], found: list[dict[str, Any]], some: str
) -> Figure:
    picture = svg.patterns(
        names,
        [{"observed": [p["observed"][j] for j in chosen], "count": p["count"]} for p in found],
        title="Most frequent patterns of gaps",
        desc="One line per pattern with the number of rows that have it.",
    )
    caption = (
        "Each line is one combination of gaps, the most frequent first; the bar and the number say "
        f"how many rows have it.{some}"
    )
    return figure("Most frequent patterns", picture, caption)


def _columns_to_show(pattern: dict[str, Any]) -> list[int]:
    count = len(pattern["columns"])
    if count <= MOST_COLUMNS:
        return list(range(count))
    rows = pattern.get("rows") or []
    gaps = [sum(not row[j] for row in rows) for j in range(count)]
    most = sorted(range(count), key=lambda j: -gaps[j])[:MOST_COLUMNS]
    return sorted(most)


def _only(chosen: list[int], pattern: dict[str, Any]) -> str:
    return f" Shown are the {len(chosen)} of {len(pattern['columns'])} columns with most gaps."


def scores(facts: dict[str, Any]) -> list[Figure]:
    """Interval plot of the scores and of the differences to the baseline."""
    rows = ranked(facts)
    if not rows:
        return []
    metric = facts.get("metric") or {}
    label = str(metric.get("label") or metric.get("name") or "score")
    better = "right" if metric.get("higher_is_better", True) else "left"
    base = next((r["mean"] for r in rows if r["method"] == facts.get("baseline")), None)
    items = [_item(r, r["method"], r.get("folds")) for r in rows]
    picture = svg.forest(
        items,
        title=f"{label} of each method",
        desc="Mean and 95 % interval per method, with the single folds.",
        x_label=label,
        rule=base,
    )
    caption = (
        f"Big dot: mean over the folds; line: its 95 % interval; small dots: single folds. Further "
        f"{better} is better."
        + (f" The dashed line is the best simple baseline, {facts['baseline']}." if base else "")
    )
    out = [figure(f"{label} with 95 % intervals", picture, caption)]
    return out + _differences(rows, label, better)


def _differences(rows: list[dict[str, Any]], label: str, better: str) -> list[Figure]:
    items = [_item(r["difference"], r["method"]) for r in rows if r.get("difference")]
    if not items:
        return []
    to = next(r["difference"]["to"] for r in rows if r.get("difference"))
    picture = svg.forest(
        items,
        title=f"Difference to {to}",
        desc="Mean difference per method with its 95 % interval; the line is at no difference.",
        x_label=f"difference in {label}",
        rule=0,
    )
    caption = (
        f"Difference to {to} on the same folds, with its 95 % interval. An interval that crosses "
        f"the dashed line may be chance; further {better} is better."
    )
    return [figure("Difference to the simple baseline", picture, caption)]


def _item(source: dict[str, Any], name: str, points: Any = None) -> dict[str, Any]:
    values = {k: source.get(k) for k in ("mean", "low", "high")}
    return {"name": name, **values, "points": points, "tone": 0}


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
        x_label="change of the mean prediction per 10 % more values",
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
    )
    caption = (
        "A few rows, each predicted again and again with other values hidden. Dots: single draws; "
        "line: their mean. The dots may spread; the line should stay level."
    )
    return figure("Single rows", picture, caption, groups)


def _mean_curve(facts: dict[str, Any], name: str) -> Figure:
    series = [_mean_line(o, facts, k) for k, o in enumerate(facts["outputs"][: svg.TONES])]
    picture = svg.lines(
        series,
        title=f"Mean prediction: {name}",
        desc="Mean prediction over all rows against the share of values left, with 95 % bands.",
        x_label="share of values left (%)",
        y_label="mean prediction",
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
    )
    caption = (
        "How much is lost with fewer values; the band holds the middle 95 % of the repeats. Some "
        "loss is natural, as there is less to know."
    )
    return figure(f"{score} with fewer values", picture, caption, None)


def learning(curves: dict[str, Any]) -> list[Figure]:
    """One small picture of the losses per trained method."""
    return [_learning(method, epochs) for method, epochs in curves.items() if epochs]


def _learning(method: str, epochs: list[dict[str, Any]]) -> Figure:
    x = [e.get("epoch") for e in epochs]
    series = [
        {"name": "training", "x": x, "y": [e.get("train_loss") for e in epochs], "dash": True},
        {"name": "validation", "x": x, "y": [e.get("valid_loss") for e in epochs]},
    ]
    series = [{**s, "tone": k} for k, s in enumerate(series) if any(map(is_number, s["y"]))]
    picture = svg.lines(
        series,
        title=f"Learning curve of {method}",
        desc="Loss on training and validation rows against the epoch.",
        x_label="epoch",
        y_label="loss",
    )
    return figure(method, picture, "", series)


def named_charts(charts: list[dict[str, Any]]) -> list[Figure]:
    """Line charts that a paper's table brings along."""
    out = []
    for chart in charts:
        series = [{**s, "tone": k} for k, s in enumerate(chart.get("series") or [])]
        picture = svg.lines(
            series,
            title=str(chart.get("title", "")),
            desc=f"{chart.get('y_label', '')} against {chart.get('x_label', '')}",
            x_label=str(chart.get("x_label", "")),
            y_label=str(chart.get("y_label", "")),
        )
        out.append(figure(str(chart.get("title", "")), picture, chart.get("caption") or "", series))
    return out
