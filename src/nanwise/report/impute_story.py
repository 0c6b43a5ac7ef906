"""The sentences at the top of the reports of ``nanwise impute`` and ``compare-imputers``."""

from __future__ import annotations

from typing import Any

from nanwise.report.numbers import is_number, number, percent, seconds, whole


def tell_impute(facts: dict[str, Any]) -> list[str]:
    """What was filled, and how far off it may be."""
    return [
        _filled(facts),
        _against_mean(facts),
        _worse_columns(facts),
        _spread(facts),
        _draws(facts),
        _time(facts.get("seconds") or {}),
    ]


def tell_comparison(facts: dict[str, Any]) -> list[str]:
    """Which imputer is best, by how much, and where another one is."""
    rows = [row for row in facts.get("leaderboard") or [] if is_number(row.get("mean"))]
    if not rows:
        return ["No imputer gave a result; the reasons stand below."]
    return [
        _best(rows[0], facts),
        _elsewhere(rows[0], facts),
        _nothing_gained(rows, facts),
        _failed(facts),
        _held(facts),
    ]


def _filled(facts: dict[str, Any]) -> str:
    data = facts.get("data") or {}
    if not is_number(data.get("missing")):
        return ""
    all_of_them = data.get("filled") == data["missing"]
    text = (
        f"{whole(data['missing'])} of the cells are missing "
        f"({percent(data.get('missing_share'), 1)}); {facts.get('method')} filled "
        f"{'all' if all_of_them else whole(data.get('filled'))} of them"
    )
    if facts.get("draws"):
        text += f", {facts['draws']} times over with different draws"
    return text + "; no other cell was touched."


def _against_mean(facts: dict[str, Any]) -> str:
    check = facts.get("check") or {}
    ours, theirs = ((check.get(k) or {}).get("error") for k in ("scores", "mean_scores"))
    if not (is_number(ours) and is_number(theirs)) or not theirs:
        return ""
    gap = 1 - ours / theirs
    word = "less" if gap >= 0 else "more"
    return (
        f"On {whole(check.get('cells'))} known cells that were hidden from a second fit the error "
        f"is {number(ours, 2)}, {percent(abs(gap), 1)} {word} than with columns' means and most "
        f"frequent levels ({number(theirs, 2)})."
    )


def _worse_columns(facts: dict[str, Any]) -> str:
    rows = (facts.get("check") or {}).get("columns") or []
    scored = [r for r in rows if is_number(r.get("error")) and is_number(r.get("mean_error"))]
    worse = [str(r["name"]) for r in scored if r["error"] > r["mean_error"]]
    if not worse:
        return ""
    names = ", ".join(worse[:4]) + (" and others" if len(worse) > 4 else "")
    return (
        f"In {len(worse)} of {len(scored)} columns it is no better than that: {names}. Their "
        "values cannot be told from the other columns, or too few were hidden to see it."
    )


def _spread(facts: dict[str, Any]) -> str:
    """What single values do to a distribution, where they were asked for."""
    apart = ((facts.get("check") or {}).get("scores") or {}).get("wasserstein")
    if facts.get("draws") or not is_number(apart) or apart < 0.1:
        return ""
    return (
        "Filled cells are best guesses and vary less than true values would: for standard errors "
        "and tests, take several draws (-m 5) and pool what they say."
    )


def _draws(facts: dict[str, Any]) -> str:
    if not facts.get("draws"):
        return ""
    return (
        "Estimate on each of the completed tables and pool the results (nanwise.pool): their "
        "spread is what the gaps cost."
    )


def _time(took: dict[str, Any]) -> str:
    if not is_number(took.get("fit")):
        return ""
    text = f"Learning took {seconds(took['fit'])}, filling {seconds(took.get('fill'))}"
    return text + (f", the check {seconds(took['check'])}." if took.get("check") else ".")


def _best(row: dict[str, Any], facts: dict[str, Any]) -> str:
    text = f"{row['method']} is best over all settings: mean error {number(row['mean'], 3)}"
    ratio = row.get("relative")
    if is_number(ratio) and row["method"] != facts.get("baseline"):
        text += f", {percent(ratio)} of that of filling with means and most frequent levels"
    return text + "."


def _elsewhere(best: dict[str, Any], facts: dict[str, Any]) -> str:
    """Settings in which another method wins."""
    others = [
        (setting["name"], setting["best"])
        for setting in facts.get("settings_facts") or []
        if setting.get("best") not in (None, best["method"])
    ]
    if not others:
        return ""
    return "Elsewhere: " + "; ".join(f"{name} {method}" for name, method in others[:6]) + "."


def _nothing_gained(rows: list[dict[str, Any]], facts: dict[str, Any]) -> str:
    worse = [r["method"] for r in rows if is_number(r.get("relative")) and r["relative"] > 1]
    if not worse:
        return ""
    return f"Worse than filling with means on average: {', '.join(worse)}."


def _failed(facts: dict[str, Any]) -> str:
    rows = facts.get("leaderboard") or []
    failed = [r["method"] for r in rows if r.get("error")]
    if not failed:
        return ""
    return f"{len(failed)} of {len(rows)} imputers have no result somewhere: {', '.join(failed)}."


def _held(facts: dict[str, Any]) -> str:
    data = facts.get("data") or {}
    if not is_number(data.get("rows")):
        return ""
    return (
        f"The table has {whole(data['rows'])} rows and {whole(data.get('columns'))} columns; "
        f"{percent(data.get('missing_share'), 1)} of its cells were missing before any were hidden."
    )
