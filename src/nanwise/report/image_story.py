"""The sentences at the top of the reports of ``nanwise images``."""

from __future__ import annotations

from typing import Any

from nanwise.report.numbers import is_number, percent, whole


def tell(facts: dict[str, Any]) -> list[str]:
    """The sentences at the top."""
    rows = facts.get("leaderboard")
    if rows is None:
        return [_filled(facts)]
    scored = [row for row in rows if is_number(row.get("accuracy"))]
    if not scored:
        return ["No treatment gave a result; the reasons stand below."]
    return [_best(scored[0], facts), _second(scored), _failed(facts), _held(facts)]


def _best(row: dict[str, Any], facts: dict[str, Any]) -> str:
    held = (facts.get("protocol") or {}).get("test")
    return (
        f"{row['method']} is right on {percent(row['accuracy'], 1)} of {whole(held)} held-out "
        f"pictures (95 % interval {percent(row.get('low'), 1)} to {percent(row.get('high'), 1)})."
    )


def _second(rows: list[dict[str, Any]]) -> str:
    if len(rows) < 2:
        return ""
    first, second = rows[:2]
    if first.get("low") is not None and first["low"] <= second["accuracy"]:
        close = [row["method"] for row in rows[1:] if row["accuracy"] >= first["low"]]
        names = " and ".join([", ".join(close[:-1]), close[-1]] if len(close) > 1 else close)
        verb = "lies" if len(close) == 1 else "lie"
        return (
            f"{names} {verb} within that interval: with so few held-out pictures the order may be "
            "chance."
        )
    return f"The next is {second['method']} with {percent(second['accuracy'], 1)}."


def _failed(facts: dict[str, Any]) -> str:
    names = [row["method"] for row in facts.get("failures") or []]
    if not names:
        return ""
    return f"{', '.join(names)} failed; the reasons stand in the table."


def _held(facts: dict[str, Any]) -> str:
    hidden = (facts.get("data") or {}).get("hidden")
    if hidden:
        return f"The holes were cut on purpose ({hidden}), in training and held-out pictures alike."
    return "Training and held-out pictures have the holes they came with."


def _filled(facts: dict[str, Any]) -> str:
    data = facts.get("data") or {}
    torn = (data.get("pictures") or 0) - (data.get("whole") or 0)
    text = f"{facts.get('method')} filled the holes of {whole(torn)} pictures"
    if facts.get("draws"):
        text += f", {facts['draws']} times over with different draws"
    return text + "; no pixel outside of a hole was changed."
