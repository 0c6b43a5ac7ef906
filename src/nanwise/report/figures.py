"""Which pictures a report shows: each a dict of title, svg, legend and how to read it."""

from __future__ import annotations

from typing import Any

from nanwise.report import svg
from nanwise.report.marks import tone
from nanwise.report.numbers import is_number
from nanwise.report.story import higher_is_better, ranked

MOST_COLUMNS = 60

Figure = dict[str, Any]


def figure(
    title: str, picture: str, caption: str, series: list[dict[str, Any]] | None = None
) -> Figure:
    """Put a picture together with what is written around it."""
    legend = [
        {"name": s["name"], "tone": tone(s.get("tone")), "dash": bool(s.get("dash"))}
        for s in series or []
        if s.get("named", True)
    ]
    legend.sort(key=lambda entry: entry["tone"] == tone(None))  # the quiet ones last
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
    better = "right" if higher_is_better(facts) else "left"
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


def learning(curves: dict[str, Any]) -> list[Figure]:
    """One small picture of the losses per trained method."""
    return [_learning(method, epochs) for method, epochs in curves.items() if epochs]


def validated(curves: dict[str, Any]) -> bool:
    """Whether any method was trained beside validation rows."""
    return any(is_number(e.get("valid_loss")) for epochs in curves.values() for e in epochs or ())


def _learning(method: str, epochs: list[dict[str, Any]]) -> Figure:
    x = [e.get("epoch") for e in epochs]
    series: list[dict[str, Any]] = [
        {"name": "training", "x": x, "y": [e.get("train_loss") for e in epochs], "dash": True},
        {"name": "validation", "x": x, "y": [e.get("valid_loss") for e in epochs]},
    ]
    series = [{**s, "tone": k} for k, s in enumerate(series) if any(map(is_number, s["y"]))]
    picture = svg.lines(
        series,
        title=f"Learning curve of {method}",
        desc=f"Loss on {' and '.join(s['name'] for s in series)} rows against the epoch.",
        x_label="epoch",
        y_label="loss",
        size=svg.SMALL,
    )
    return figure(method, picture, "", series)


def named_charts(charts: list[dict[str, Any]]) -> list[Figure]:
    """Line charts that a paper's table brings along."""
    out = []
    for chart in charts:
        series = [{"tone": k, **s} for k, s in enumerate(chart.get("series") or [])]
        picture = svg.lines(
            series,
            title=str(chart.get("title", "")),
            desc=f"{chart.get('y_label', '')} against {chart.get('x_label', '')}",
            x_label=str(chart.get("x_label", "")),
            y_label=str(chart.get("y_label", "")),
        )
        out.append(figure(str(chart.get("title", "")), picture, chart.get("caption") or "", series))
    return out


def panels(charts: list[dict[str, Any]], better: str) -> list[Figure]:
    """Interval plots that a paper's table brings along: its rows, ours above the printed ones."""
    return [
        figure(
            str(chart.get("title", "")),
            svg.forest(
                chart.get("items") or [],
                title=str(chart.get("title", "")),
                desc="Mean and 95 % interval per row, ours and the published ones.",
                x_label=str(chart.get("x_label", "")),
                rule=0,
            ),
            f"Means with 95 % intervals; the published ones are grey. Further {better} is better.",
        )
        for chart in charts
    ]
