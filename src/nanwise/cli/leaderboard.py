"""The leaderboard on the terminal: a function of the facts that ``compare`` found."""

from __future__ import annotations

from typing import Any

import click

from nanwise.cli import show


def show_leaderboard(facts: dict[str, Any]) -> None:
    """Print the ranking, then what it means."""
    metric = facts["metric"]
    way = "higher" if metric["higher_is_better"] else "lower"
    score = f"{metric['label']} ({way} is better)"
    heads = ["", "method", "role", score, "95 %", "vs baseline", "95 % of it", "fit s", "predict s"]
    rows = facts["leaderboard"]
    failed = any(row["error"] for row in rows)
    show.table(
        [*heads, "note"] if failed else heads,
        ([*_cells(row), *([row["error"] or ""] if failed else [])] for row in rows),
        right=[heads[0], *heads[3:]],
    )
    if facts["baseline"]:
        click.echo(f"baseline: {facts['baseline']}, the best of the simple methods")


def _cells(row: dict[str, Any]) -> list[str]:
    difference = row["difference"] or {}
    return [
        show.number(row["rank"]),
        row["method"],
        row["role"],
        figure(row["mean"]),
        bounds(row["low"], row["high"]),
        figure(difference.get("mean"), "+"),
        bounds(difference.get("low"), difference.get("high"), "+"),
        show.number(row["fit_seconds"], 2),
        show.number(row["predict_seconds"], 3),
    ]


def figure(value: float | None, sign: str = "") -> str:
    """Four digits that count; a dash when there is none."""
    return "–" if value is None else f"{value:{sign}.4g}"


def bounds(low: float | None, high: float | None, sign: str = "") -> str:
    """An interval; a dash when there is none."""
    return "–" if low is None or high is None else f"{low:{sign}.3g} … {high:{sign}.3g}"
