"""From facts to what a template shows: sentences, tiles, tables and pictures."""

from __future__ import annotations

from typing import Any

from nanwise.report import (
    cells_view,
    drift_figures,
    figures,
    image_view,
    impute_view,
    imputers_view,
    pictures,
    recommend_view,
)
from nanwise.report.numbers import (
    decimals,
    interval,
    is_number,
    moment,
    number,
    percent,
    seconds,
    signed,
    whole,
)
from nanwise.report.story import higher_is_better, randomness, steadiness, story_of

MOST_COLUMNS_LISTED = 200


def view_of(facts: dict[str, Any]) -> dict[str, Any]:
    """Everything the template of this kind of facts needs; absent sections are None or empty."""
    make = {
        "compare": _compare,
        "stress": _stress,
        "reproduce": _reproduce,
        "recommend": recommend_view.view,
        "impute": impute_view.view,
        "compare_imputers": imputers_view.view,
        "images": image_view.view,
        "cells": cells_view.view,
    }[facts["kind"]]
    return {
        "title": title_of(facts),
        "meta": _meta(facts),
        "command": facts.get("command"),
        "story": story_of(facts),
        "settings": pairs(facts.get("settings")),
        "versions": pairs(facts.get("versions")),
        **make(facts),
    }


def title_of(facts: dict[str, Any]) -> str:
    """The title given, or one made of the facts."""
    default = {
        "compare": "Comparison",
        "stress": f"Stress test of {facts.get('model', 'a model')}",
        "reproduce": f"Reproduction of {facts.get('id', 'a table')}",
        "recommend": "Recommendations",
        "impute": "Imputation",
        "compare_imputers": "Comparison of imputers",
        "images": "Pictures with holes",
        "cells": "Imputation of cells",
    }
    return str(facts.get("title") or default[facts["kind"]])


def _meta(facts: dict[str, Any]) -> list[str]:
    source = (facts.get("data") or {}).get("source") or facts.get("source")
    scale = facts.get("scale") and f"scale {facts['scale']}"
    created = facts.get("created") and moment(facts["created"])
    return [str(part) for part in (facts.get("id"), source, scale, created) if part]


def pairs(tree: Any) -> list[tuple[str, str]]:
    """Settings as lines of name and value, nested names joined by a dot."""
    out: list[tuple[str, str]] = []
    for key, value in (tree or {}).items():
        if isinstance(value, dict):
            out += [(f"{key}.{inner}", text) for inner, text in pairs(value)]
        elif isinstance(value, list):
            out.append((str(key), ", ".join(map(str, value))))
        else:
            out.append((str(key), str(value)))
    return out


def _compare(facts: dict[str, Any]) -> dict[str, Any]:
    data = facts.get("data") or {}
    stress = facts.get("stress") or {}
    return {
        "tiles": _compare_tiles(facts, data),
        "data": _data(data) if data else None,
        "data_figures": figures.missingness(data.get("pattern")),
        "metric": _metric(facts),
        "board": board(facts),
        "other_scores": [name.replace("_", " ") for name in _other_names(facts)],
        "score_figures": figures.scores(facts),
        "stress_rows": _drift_rows(stress),
        "stress_figures": drift_figures.stress_overview(stress, facts),
        "stress_details": [(m, drift_figures.stress(s, m)) for m, s in stress.items()],
        "curve_figures": figures.learning(facts.get("curves") or {}),
        "validated": figures.validated(facts.get("curves") or {}),
        "winner": _winner(facts.get("winner")),
        "winner_params": pairs((facts.get("winner") or {}).get("params")),
        "failures": _failures(facts.get("failures") or []),
    }


def _winner(winner: dict[str, Any] | None) -> dict[str, Any] | None:
    return {k: winner.get(k) for k in ("method", "path")} if winner else None


def _metric(facts: dict[str, Any]) -> dict[str, Any]:
    metric = facts.get("metric") or {}
    higher = higher_is_better(facts)
    return {
        "label": metric.get("label") or metric.get("name") or "score",
        "direction": "higher is better" if higher else "lower is better",
        "higher": higher,
    }


def _compare_tiles(facts: dict[str, Any], data: dict[str, Any]) -> list[dict[str, str]]:
    board_rows = facts.get("leaderboard") or []
    tiles = [
        ("rows", whole(data.get("rows")), _dropped(data)),
        ("columns", whole(data.get("columns")), f"target {data.get('target', '–')}"),
        ("cells missing", percent(data.get("missing_share"), 1), ""),
        ("complete rows", whole(data.get("complete_rows")), ""),
        ("methods", whole(len(board_rows)), str(data.get("task", ""))),
    ]
    return [
        {"label": label, "value": value, "note": note}
        for label, value, note in tiles
        if value != "–"
    ]


def _dropped(data: dict[str, Any]) -> str:
    return f"{whole(data['dropped_rows'])} dropped" if data.get("dropped_rows") else ""


def _data(data: dict[str, Any]) -> dict[str, Any]:
    columns = data.get("column_facts") or []
    rows = data.get("rows") or 0
    listed = sorted(columns, key=lambda c: -(c.get("missing") or 0))
    if len(columns) <= MOST_COLUMNS_LISTED:
        listed = columns
    return {
        "source": data.get("source"),
        "task": data.get("task"),
        "target": data.get("target"),
        "target_stats": _target_stats(data),
        "notes": [*(data.get("about") or []), *(data.get("notes") or []), *randomness(data)],
        "columns": [_column(c, rows) for c in listed[:MOST_COLUMNS_LISTED]],
        "more_columns": max(0, len(columns) - MOST_COLUMNS_LISTED),
    }


def _target_stats(data: dict[str, Any]) -> list[tuple[str, str]]:
    if data.get("classes"):
        total = sum(data["classes"].values()) or 1
        return [
            (str(k), f"{whole(n)} rows, {percent(n / total)}") for k, n in data["classes"].items()
        ]
    return [
        (k, number(v) if is_number(v) else str(v))
        for k, v in (data.get("target_stats") or {}).items()
    ]


def _column(column: dict[str, Any], rows: int) -> dict[str, Any]:
    """``missing`` may be a count of rows or a share; a float below or at 1 is a share."""
    missing = column.get("missing")
    share = missing / rows if isinstance(missing, int) and rows else missing
    return {
        "name": column.get("name"),
        "kind": column.get("kind", ""),
        "share": share if is_number(share) else 0,
        "missing": percent(share, 1),
        "distinct": whole(column.get("distinct")),
        "distinct_value": column.get("distinct"),
        "summary": column.get("summary") or "",
    }


def board(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Lines of the leaderboard with their numbers and their texts."""
    rows = facts.get("leaderboard") or []
    winner = (facts.get("winner") or {}).get("method")
    scores = decimals(row.get("mean") for row in rows)
    gaps = decimals((row.get("difference") or {}).get("mean") for row in rows)
    others = _other_names(facts)
    return [_board_row(row, winner, scores, gaps) | _others(row, others) for row in rows]


def _other_names(facts: dict[str, Any]) -> list[str]:
    rows = facts.get("leaderboard") or []
    return list(dict.fromkeys(name for row in rows for name in row.get("other_scores") or {}))


def _others(row: dict[str, Any], names: list[str]) -> dict[str, Any]:
    found = [(row.get("other_scores") or {}).get(name) for name in names]
    return {"other": [(value, number(value)) for value in found]}


def _board_row(row: dict[str, Any], winner: Any, scores: int, gaps: int) -> dict[str, Any]:
    """``scores`` and ``gaps``: decimals of the two columns."""
    gap = row.get("difference") or {}
    return {
        **{k: row.get(k) for k in ("rank", "method", "role", "summary", "mean", "error")},
        "winner": row.get("method") == winner,
        "score": number(row.get("mean"), scores),
        "interval": interval(row.get("low"), row.get("high"), scores),
        "gap": gap.get("mean"),
        "gap_text": signed(gap.get("mean"), gaps) if gap else "",
        "gap_interval": interval(gap.get("low"), gap.get("high"), gaps, sign=True),
        "gap_to": gap.get("to"),
        "fit": row.get("fit_seconds"),
        "fit_text": seconds(row.get("fit_seconds")),
        "predict_text": seconds(row.get("predict_seconds")),
        "failures": row.get("failures") or 0,
    }


def _failures(failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per method and reason, with all folds it happened in."""
    folds: dict[tuple[Any, Any], list[Any]] = {}
    for item in failures:
        folds.setdefault((item.get("method"), item.get("error")), []).append(item.get("fold"))
    return [
        {
            "method": method,
            "error": error,
            "fold": ", ".join(str(f) for f in where if f is not None),
        }
        for (method, error), where in folds.items()
    ]


def _drift_rows(stress: dict[str, Any]) -> list[dict[str, Any]]:
    digits = decimals(s.get("slope") for s in stress.values())
    return [_stress_row(name, s, digits) for name, s in stress.items()]


def _stress_row(method: str, stress: dict[str, Any], digits: int | None = None) -> dict[str, Any]:
    bias = stress.get("sparsity_bias")
    return {
        "method": method,
        "slope": stress.get("slope"),
        "slope_text": signed(stress.get("slope"), digits),
        "interval": interval(stress.get("slope_low"), stress.get("slope_high"), digits, sign=True),
        "bias": bias,
        "bias_text": number(bias),
        "word": steadiness(bias),
    }


def _stress(facts: dict[str, Any]) -> dict[str, Any]:
    tiles = [
        (
            "slope per 10 % more values",
            signed(facts.get("slope")),
            _stress_row("", facts)["interval"],
        ),
        (
            "sparsity bias",
            number(facts.get("sparsity_bias")),
            steadiness(facts.get("sparsity_bias")),
        ),
        ("rows", whole(facts.get("rows")), f"of {whole(facts.get('rows_total'))}"),
        ("repeats", whole(facts.get("repeats")), str(facts.get("mechanism", "")).upper()),
    ]
    outputs = {o["name"]: o for o in facts.get("outputs") or []}
    return {
        "tiles": [{"label": a, "value": b, "note": c} for a, b, c in tiles if b != "–"],
        "figures": drift_figures.stress(facts, str(facts.get("model", "model"))),
        "outputs": _drift_rows(outputs) if len(outputs) > 1 else [],
        "caution": _caution(facts.get("mechanism")),
        "scores": _score_rows(facts),
        "score_names": list(facts.get("scores") or {}),
    }


def _caution(mechanism: Any) -> str:
    if mechanism in (None, "mcar"):
        return ""
    return (
        f"Here hiding is not blind ({str(mechanism).upper()}: it depends on the values), so the "
        "mean prediction may move for a good reason, too."
    )


def _score_rows(facts: dict[str, Any]) -> list[dict[str, Any]]:
    scores = facts.get("scores") or {}
    if not scores:
        return []
    return [
        {
            "share": percent(share),
            "share_value": share,
            "cells": [
                (number(s["mean"][k]), s["mean"][k], interval(s["low"][k], s["high"][k]))
                for s in scores.values()
            ],
        }
        for k, share in enumerate(facts.get("shares") or [])
    ]


def _reproduce(facts: dict[str, Any]) -> dict[str, Any]:
    metric = facts.get("metric")
    named = metric if isinstance(metric, dict) else {"label": metric}
    return {
        "source": facts.get("source"),
        "scale": facts.get("scale"),
        "metric": named.get("label") or named.get("name"),
        "higher": higher_is_better(facts),
        "columns": [str(c) for c in facts.get("columns") or []],
        "rows": [
            {
                "name": row.get("name"),
                "cells": [_figure_pair(c, higher_is_better(facts)) for c in row.get("cells") or []],
            }
            for row in facts.get("rows") or []
        ],
        "notes": facts.get("notes") or [],
        "figures": [
            *figures.named_charts(facts.get("curves") or []),
            *figures.panels(
                facts.get("panels") or [], "right" if higher_is_better(facts) else "left"
            ),
            *pictures.sheets(facts.get("pictures") or []),
        ],
    }


def _figure_pair(cell: dict[str, Any], higher: bool) -> dict[str, Any]:
    ours, published = cell.get("ours") or {}, cell.get("published") or {}
    return {
        "ours": with_interval(ours),
        "value": ours.get("mean"),
        "n": ours.get("n"),
        "published": with_interval(published),
        "verdict": cell.get("verdict") or "not measured",
        "mood": {**_MOODS[higher], "within": "good"}.get(str(cell.get("verdict")), ""),
        "error": cell.get("error"),
    }


_MOODS = {True: {"above": "good", "below": "bad"}, False: {"above": "bad", "below": "good"}}


def with_interval(figure: dict[str, Any]) -> str:
    """``0.812 ± 0.010``, or only the mean, or a dash."""
    text = number(figure.get("mean"))
    return f"{text} ± {number(figure['ci'])}" if is_number(figure.get("ci")) else text
