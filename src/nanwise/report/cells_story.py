"""The sentences at the top of the reports of ``nanwise cells``."""

from __future__ import annotations

from typing import Any

from nanwise.report.numbers import is_number, number, percent, whole


def tell(facts: dict[str, Any]) -> list[str]:
    """The sentences at the top."""
    rows = [row for row in facts.get("rows") or [] if is_number(mean_of(row))]
    if not rows:
        return [_filled(facts)]
    shares = sorted({row["share"] for row in rows})
    best = [_best_at(rows, share) for share in dict.fromkeys((shares[0], shares[-1]))]
    failed = len(facts.get("failures") or [])
    return [*best, f"Fits that failed: {failed}, see Failures."] if failed else best


def _filled(facts: dict[str, Any]) -> str:
    data = facts.get("data") or {}
    return (
        f"{facts.get('method')} filled the zeros ({percent(data.get('zero_share'), 1)}) of "
        f"{whole(data.get('cells'))} cells and {whole(data.get('genes'))} genes; what was seen "
        "stays as it was."
    )


def _best_at(rows: list[dict[str, Any]], share: float) -> str:
    here = sorted((row for row in rows if row["share"] == share), key=mean_of)
    text = (
        f"With {percent(share)} of what was seen hidden, {here[0]['method']} has the smallest RMSE "
        f"on it, {text_of(here[0].get('rmse'))}"
    )
    if len(here) == 1:
        return text + "."
    return f"{text}; next is {here[1]['method']} with {text_of(here[1].get('rmse'))}."


def mean_of(row: dict[str, Any]) -> Any:
    """Mean RMSE of a line of the table."""
    return (row.get("rmse") or {}).get("mean")


def text_of(score: dict[str, Any] | None) -> str:
    """``0.812 ± 0.010``; the interval is missing after a single run."""
    mean, half = (score or {}).get("mean"), (score or {}).get("ci")
    return f"{number(mean, 3)} ± {number(half, 3)}" if is_number(half) else number(mean, 3)
