"""What the template of ``nanwise recommend`` shows: tables, tiles and pictures."""

from __future__ import annotations

from typing import Any

from nanwise.report import svg
from nanwise.report.figures import Figure, figure, learning
from nanwise.report.numbers import interval, is_number, number, percent, seconds, signed, whole
from nanwise.report.recommend_story import best_of, own_row, short
from nanwise.report.story import steadiness

#: score -> (heading, is more better?, decimals)
SCORES = {
    "rmse": ("RMSE", False, 4),
    "mae": ("MAE", False, 4),
    "ndcg": ("NDCG@{k}", True, 4),
    "recall": ("recall@{k}", True, 4),
    "precision": ("precision@{k}", True, 4),
    "coverage": ("coverage", True, 3),
}


def view(facts: dict[str, Any]) -> dict[str, Any]:
    """Everything but what all kinds of reports have in common."""
    protocol = facts.get("protocol") or {}
    stress = facts.get("stress") or {}
    history = facts.get("history") or []
    return {
        "tiles": _tiles(facts),
        "protocol": _protocol(protocol),
        "heads": [_head(name, protocol.get("k")) for name in SCORES],
        "board": _board(facts),
        "stress_rows": [_drift_row(name, s) for name, s in stress.items()],
        "stress_figures": _stress_figures(stress),
        "curve_figures": learning({str(facts.get("method")): history}),
        "best_epoch": facts.get("best_epoch"),
        "data": _data(facts.get("data") or {}),
        "model": _model(facts),
        "top": facts.get("top"),
    }


def _head(name: str, k: Any) -> dict[str, Any]:
    title, higher, _ = SCORES[name]
    return {
        "name": title.format(k="k" if k is None else k),
        "first": "descending" if higher else "ascending",
    }


def _tiles(facts: dict[str, Any]) -> list[dict[str, str]]:
    data, own = facts.get("data") or {}, own_row(facts)
    k = (facts.get("protocol") or {}).get("k")
    tiles = [
        ("ratings", whole(data.get("ratings")), f"{percent(data.get('density'), 2)} of all pairs"),
        ("users", whole(data.get("users")), ""),
        ("items", whole(data.get("items")), ""),
        ("RMSE", number(own.get("rmse"), 4), str(facts.get("method", ""))),
        (f"NDCG@{k}", number(own.get("ndcg"), 4), ""),
        ("items recommended", percent(own.get("coverage")), "coverage"),
    ]
    return [{"label": a, "value": b, "note": c} for a, b, c in tiles if b != "–"]


def _protocol(protocol: dict[str, Any]) -> list[str]:
    """How it was measured, in sentences."""
    if not protocol:
        return []
    ways = {
        "rating": "at random",
        "time": "as the latest ones",
        "leave_k_out": "as the last ones of each user",
    }
    way = ways.get(str(protocol.get("split")), "")
    out = [
        f"{whole(protocol.get('held'))} ratings were held out {way}; "
        f"{whole(protocol.get('train'))} were left to learn from.",
        f"Lists rank every item that the user had not rated in the training part. A held-out item "
        f"counts as liked if it was rated {short(protocol.get('liked_from'))} or better, not below "
        f"the mean rating; {whole(protocol.get('ranked_users'))} users have such items, "
        f"{whole(protocol.get('left_out'))} do not and are left out of these scores.",
        "Items of equal score share their places. Coverage is the share of items that stand in "
        "somebody's list.",
    ]
    return [" ".join(sentence.split()) for sentence in out]


def _board(facts: dict[str, Any]) -> list[dict[str, Any]]:
    rows = facts.get("scores") or []
    best = {name: best_of(rows, name, higher) for name, (_, higher, _) in SCORES.items()}
    return [
        {
            **{key: row.get(key) for key in ("method", "role", "summary")},
            "own": row.get("method") == facts.get("method"),
            "cells": [_cell(row, name, best[name]) for name in SCORES],
            "fit": row.get("fit_seconds"),
            "fit_text": seconds(row.get("fit_seconds")),
            "score_text": seconds(row.get("score_seconds")),
        }
        for row in rows
    ]


def _cell(row: dict[str, Any], name: str, best: dict[str, Any] | None) -> dict[str, Any]:
    value = row.get(name)
    leads = best is not None and is_number(value) and value == best[name]
    return {"value": value, "text": number(value, SCORES[name][2]), "best": leads}


def _drift_row(name: str, stress: dict[str, Any]) -> dict[str, Any]:
    bias = stress.get("sparsity_bias")
    return {
        "method": name,
        "slope": stress.get("slope"),
        "slope_text": signed(stress.get("slope")),
        "interval": interval(stress.get("slope_low"), stress.get("slope_high"), sign=True),
        "bias": bias,
        "bias_text": number(bias),
        "word": steadiness(bias),
    }


def _stress_figures(stress: dict[str, Any]) -> list[Figure]:
    known = {name: s for name, s in stress.items() if s.get("outputs")}
    if not known:
        return []
    rows = str(next(iter(known.values())).get("rows_are") or "row")
    out = [_mean_curves(known, rows), _error_curves(known, rows)]
    return [*out, *(_single(name, s, rows) for name, s in known.items() if s.get("samples"))]


def _mean_curves(known: dict[str, Any], rows: str) -> Figure:
    series = [_mean_line(name, s, k) for k, (name, s) in enumerate(known.items())]
    picture = svg.lines(
        series,
        title="Mean prediction with fewer ratings",
        desc="Mean prediction at held-out ratings against the share of ratings known.",
        x_label=f"share of each {rows}'s ratings known (%)",
        y_label="mean prediction",
    )
    caption = (
        f"The model is given fewer and fewer of each {rows}'s training ratings and predicts the "
        "same held-out ratings again. Which ratings it is given is chance, so the mean prediction "
        "has no reason to move: a level line means no drift. Bands: 95 % intervals of the change."
    )
    return figure("Prediction against ratings known", picture, caption, series)


def _mean_line(name: str, stress: dict[str, Any], tone: int) -> dict[str, Any]:
    output = stress["outputs"][0]
    base = output.get("full_mean") or 0.0
    bands = {
        side: [base + v if is_number(v) else None for v in output.get(f"change_{side}") or []]
        for side in ("low", "high")
    }
    return {"name": name, "x": _shares(stress), "y": output["mean"], "tone": tone, **bands}


def _error_curves(known: dict[str, Any], rows: str) -> Figure:
    series = [
        {
            "name": name,
            "x": _shares(s),
            **{
                at: (s.get("scores") or {}).get("RMSE", {}).get(key) or []
                for at, key in (("y", "mean"), ("low", "low"), ("high", "high"))
            },
            "tone": k,
        }
        for k, (name, s) in enumerate(known.items())
    ]
    picture = svg.lines(
        series,
        title="RMSE with fewer ratings",
        desc="RMSE at held-out ratings against the share of ratings known.",
        x_label=f"share of each {rows}'s ratings known (%)",
        y_label="RMSE",
    )
    caption = (
        "How much is lost with fewer ratings. Some loss is natural, as there is less to know. "
        "Bands: middle 95 % of the repeats."
    )
    return figure("Error against ratings known", picture, caption, series)


def _single(name: str, stress: dict[str, Any], rows: str) -> Figure:
    groups = [
        {
            "name": str(sample.get("row")),
            "x": sample.get("observed") or [],
            "y": sample.get("prediction") or [],
            "line_x": sample.get("mean_observed"),
            "line_y": sample.get("mean_prediction"),
            "tone": k,
        }
        for k, sample in enumerate(stress["samples"])
    ]
    picture = svg.scatter(
        groups,
        title=f"Single {rows}s: {name}",
        desc=f"Mean prediction of a few {rows}s against the number of ratings known.",
        x_label="ratings known",
        y_label="mean prediction",
    )
    caption = (
        f"A few {rows}s with many ratings, each predicted again and again from other ones. Dots: "
        "single draws; line: their mean."
    )
    return figure(f"Single {rows}s: {name}", picture, caption, groups)


def _shares(stress: dict[str, Any]) -> list[Any]:
    return [100 * v for v in stress.get("kept") or stress.get("shares") or []]


def _data(data: dict[str, Any]) -> dict[str, Any] | None:
    if not data:
        return None
    spread = [
        (f"ratings per {axis}", data[f"per_{axis}"])
        for axis in ("user", "item")
        if data.get(f"per_{axis}")
    ]
    return {
        "pairs": _data_pairs(data),
        "spread": [
            (name, [_count(s.get(at)) for at in ("least", "median", "most")]) for name, s in spread
        ],
        "levels": _levels(data.get("levels") or []),
        "notes": data.get("notes") or [],
    }


def _count(value: Any) -> str:
    """The median of counts may be half a number."""
    return whole(int(value) if is_number(value) and value == int(value) else value)


def _data_pairs(data: dict[str, Any]) -> list[tuple[str, str]]:
    rule = data.get("duplicates_rule")
    found = [
        ("scale", data.get("scale")),
        ("mean rating", number(data.get("mean"), 3)),
        ("rows read", whole(data.get("rows_read"))),
        ("rows without user, item or rating", whole(data.get("rows_dropped") or None)),
        (f"rows merged (the {rule} counts)", whole(data.get("duplicates") or None)),
        ("users without ratings", whole(data.get("empty_users") or None)),
        ("items without ratings", whole(data.get("empty_items") or None)),
    ]
    return [(name, str(text)) for name, text in found if text not in (None, "–")]


def _levels(levels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    total = sum(level["count"] for level in levels) or 1
    return [
        {
            "rating": f"{level['rating']:g}",
            "value": level["rating"],
            "share": level["count"] / total,
            "text": f"{percent(level['count'] / total, 1)}, {whole(level['count'])}",
        }
        for level in levels
    ]


def _model(facts: dict[str, Any]) -> dict[str, Any] | None:
    model = facts.get("model")
    if not model:
        return None
    params = model.get("params") or {}
    return {
        **{key: model.get(key) for key in ("method", "path", "how")},
        "params": [(str(name), str(value)) for name, value in params.items()],
    }
