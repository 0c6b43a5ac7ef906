"""The leaderboard on the terminal: a function of the facts that ``compare`` found."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import click

from nanwise.cli import show

NARROW = 90


def show_leaderboard(facts: dict[str, Any]) -> None:
    """Print the ranking, then what it means."""
    metric, baseline, rows = facts["metric"], facts["baseline"], facts["leaderboard"]
    digits = places(row["mean"] for row in rows)
    columns = {
        "": [show.number(row["rank"]) for row in rows],
        "method": [row["method"] for row in rows],
        "role": [row["role"] for row in rows],
        f"{metric['label']} ± 95 %": [figure(row, digits) for row in rows],
        f"vs {baseline}": [figure(row["difference"], digits, "+") for row in rows],
        "fit s": [show.number(row["fit_seconds"], 2) for row in rows],
        "predict s": [show.number(row["predict_seconds"], 3) for row in rows],
        "note": [row["error"] or "" for row in rows],
    }
    useless = {
        "vs None": not baseline,
        "note": not any(columns["note"]),
        "role": show.width() < NARROW,
    }
    columns = {head: cells for head, cells in columns.items() if not useless.get(head)}
    right = [head for head in columns if head not in ("method", "role", "note")]
    show.table(list(columns), zip(*columns.values(), strict=True), right=right)
    click.echo(_legend(metric, baseline))


def _legend(metric: dict[str, Any], baseline: str | None) -> str:
    way = "Higher" if metric["higher_is_better"] else "Lower"
    beside = f" {baseline} is the best of the simple methods." if baseline else ""
    return f"{way} is better.{beside}"


def places(values: Iterable[float | None]) -> int:
    """Decimals that show four digits of the largest value, the same for a whole column."""
    largest = max((abs(v) for v in values if v), default=1.0)
    return min(6, max(0, 3 - math.floor(math.log10(largest))))


def figure(found: dict[str, Any] | None, digits: int, sign: str = "") -> str:
    """Mean and half width of its interval; a dash when there is none."""
    if found is None or found["mean"] is None:
        return "–"
    mean = f"{found['mean']:{sign}.{digits}f}"
    if found["low"] is None:
        return mean
    return f"{mean} ± {(found['high'] - found['low']) / 2:.{digits}f}"
