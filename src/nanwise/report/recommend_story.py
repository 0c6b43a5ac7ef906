"""The sentences at the top of the report of ``nanwise recommend``."""

from __future__ import annotations

from typing import Any

from nanwise.report.numbers import is_number, number, percent, signed, whole

BASELINE = "baseline"


def tell(facts: dict[str, Any]) -> list[str]:
    """What came out, in plain words; empty sentences are left out by the caller."""
    return [
        _accuracy(facts),
        _lists(facts),
        _contrast(facts),
        _drift(facts),
        _cold(facts.get("protocol") or {}),
        _data(facts.get("data") or {}),
    ]


def own_row(facts: dict[str, Any]) -> dict[str, Any]:
    """The line of the method that was asked for."""
    rows = facts.get("scores") or []
    return next((row for row in rows if row.get("method") == facts.get("method")), {})


def best_of(rows: list[dict[str, Any]], score: str, higher: bool) -> dict[str, Any] | None:
    """The line with the best score; None if no line has it."""
    scored = [row for row in rows if is_number(row.get(score))]
    return (max if higher else min)(scored, key=lambda row: row[score]) if scored else None


def short(value: Any) -> str:
    """A rating with no more decimals than it needs."""
    return f"{value:.4g}".replace("-", "−") if is_number(value) else number(value)


def _baselines(facts: dict[str, Any]) -> list[dict[str, Any]]:
    own = facts.get("method")
    rows = facts.get("scores") or []
    return [r for r in rows if r.get("role") == BASELINE and r.get("method") != own]


def _accuracy(facts: dict[str, Any]) -> str:
    own = own_row(facts)
    if not is_number(own.get("rmse")):
        return ""
    held = (facts.get("protocol") or {}).get("held")
    head = f"{own['method']} misses {whole(held)} held-out ratings by an RMSE of "
    head += f"{number(own['rmse'], 4)} (on average by {number(own.get('mae'), 2)})"
    rival = best_of(_baselines(facts), "rmse", higher=False)
    if rival is None or not rival["rmse"]:
        return head + "."
    gap = 1 - own["rmse"] / rival["rmse"]
    word = "less" if gap >= 0 else "more"
    return (
        f"{head}, {percent(abs(gap), 1)} {word} than the better baseline, {rival['method']} "
        f"({number(rival['rmse'], 4)})."
    )


def _lists(facts: dict[str, Any]) -> str:
    own, protocol = own_row(facts), facts.get("protocol") or {}
    if not is_number(own.get("recall")):
        return ""
    k = protocol.get("k")
    head = (
        f"Of the held-out items that users rated {short(protocol.get('liked_from'))} or "
        f"better, {percent(own['recall'], 1)} are among the first {k} of {own['method']}'s lists"
    )
    rival = best_of(_baselines(facts), "recall", higher=True)
    return (
        f"{head}; {rival['method']} finds {percent(rival['recall'], 1)}." if rival else head + "."
    )


def _contrast(facts: dict[str, Any]) -> str:
    """What the sparsity normalisation is worth here, if it was left out for comparison."""
    name = facts.get("contrast")
    rows = {row.get("method"): row for row in facts.get("scores") or []}
    own, other = own_row(facts).get("rmse"), (rows.get(name) or {}).get("rmse")
    if not (is_number(own) and is_number(other)):
        return ""
    word = "lowers" if own < other else "raises" if own > other else "does not change"
    return (
        f"Sparsity normalisation {word} the RMSE here: {number(other, 4)} without it, all other "
        "settings being the same, although the best penalty may differ."
    )


def _drift(facts: dict[str, Any]) -> str:
    stress = facts.get("stress") or {}
    own = stress.get(facts.get("method")) or {}
    if not is_number(own.get("slope")):
        return ""
    text = (
        f"When ratings are hidden, its mean prediction moves by {signed(-own['slope'])} for every "
        "10 % of each row's ratings"
    )
    other = stress.get(facts.get("contrast")) or {}
    if is_number(other.get("slope")):
        text += f" ({signed(-other['slope'])} without the normalisation)"
    return text + "."


def _cold(protocol: dict[str, Any]) -> str:
    cold = protocol.get("cold_ratings")
    if not cold:
        return ""
    return (
        f"{whole(cold)} held-out ratings are of users or items without any rating left to learn "
        "from; their prediction is the prior, and they count."
    )


def _data(data: dict[str, Any]) -> str:
    if not is_number(data.get("ratings")):
        return ""
    return (
        f"{whole(data['ratings'])} ratings of {whole(data.get('items'))} items by "
        f"{whole(data.get('users'))} users are known, {percent(data.get('density'), 2)} of all "
        "pairs."
    )
