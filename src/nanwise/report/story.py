"""The few sentences at the top of a report: what came out, in plain words."""

from __future__ import annotations

from typing import Any

from nanwise.report import cells_story, image_story, impute_story, recommend_story
from nanwise.report.numbers import interval, is_number, number, percent, signed, whole

#: sparsity bias below which a model is called steady, and from which its drift is called strong
STEADY, STRONG = 0.1, 0.3
#: p-value below which gaps are said not to fall completely at random
NOT_BY_CHANCE = 0.05


def story_of(facts: dict[str, Any]) -> list[str]:
    """Sentences for the top of the report; facts that are absent are not talked about."""
    tell = {
        "compare": _compare,
        "stress": _stress,
        "reproduce": _reproduce,
        "recommend": recommend_story.tell,
        "impute": impute_story.tell_impute,
        "compare_imputers": impute_story.tell_comparison,
        "images": image_story.tell,
        "cells": cells_story.tell,
    }[facts["kind"]]
    return [sentence for sentence in tell(facts) if sentence]


def steadiness(bias: Any) -> str:
    """One word or two for a sparsity bias."""
    if not is_number(bias):
        return "unknown"
    if bias < STEADY:
        return "steady"
    return "some drift" if bias < STRONG else "strong drift"


def higher_is_better(facts: dict[str, Any]) -> bool:
    """What the metric says of itself; a metric given by its name alone counts as a gain."""
    metric = facts.get("metric")
    return metric.get("higher_is_better") is not False if isinstance(metric, dict) else True


def ranked(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Lines of the leaderboard that have a score, best first."""
    scored = [row for row in facts.get("leaderboard") or [] if is_number(row.get("mean"))]
    return sorted(scored, key=lambda row: row.get("rank") or len(scored) + 1)


def _compare(facts: dict[str, Any]) -> list[str]:
    rows = ranked(facts)
    if not rows:
        return [_data(facts), "No method gave a result; the reasons stand below."]
    return [
        _best(rows[0], facts),
        _other_winner(rows[0], facts),
        _against_baseline(rows[0], facts),
        _luck(rows),
        _drift(rows[0]["method"], facts.get("stress") or {}),
        _failed(facts),
        _data(facts),
    ]


def _label(facts: dict[str, Any]) -> str:
    metric = facts.get("metric") or {}
    return str(metric.get("label") or metric.get("name") or "score")


def _best(row: dict[str, Any], facts: dict[str, Any]) -> str:
    span = interval(row.get("low"), row.get("high"))
    span = f" (95 % interval {span})" if span else ""
    return f"{row['method']} is best: {_label(facts)} {number(row['mean'])}{span}."


def _luck(rows: list[dict[str, Any]]) -> str:
    """What a reader of leaderboards forgets."""
    if len(rows) < 3:
        return ""
    return (
        f"It was picked as the best of {len(rows)} on these very folds, so expect a little less "
        "of it on new rows."
    )


def _other_winner(row: dict[str, Any], facts: dict[str, Any]) -> str:
    saved = (facts.get("winner") or {}).get("method")
    return "" if saved in (None, row["method"]) else f"The model that was saved is {saved}."


def _against_baseline(row: dict[str, Any], facts: dict[str, Any]) -> str:
    gap = row.get("difference")
    if row["method"] == facts.get("baseline"):
        return "It is itself one of the simple baselines: nothing more elaborate did better here."
    if not gap or not is_number(gap.get("mean")):
        return ""
    better = "better" if (gap["mean"] >= 0) == higher_is_better(facts) else "worse"
    head = f"That is {number(abs(gap['mean']))} {better} than the best simple baseline, {gap['to']}"
    low, high = gap.get("low"), gap.get("high")
    if not (is_number(low) and is_number(high)):
        return head + "."
    span = f" (difference {signed(low)} to {signed(high)})"
    if low <= 0 <= high:
        return f"{head}{span}; the interval holds 0, so the simple baseline may be just as good."
    return f"{head}{span}: more than chance explains."


def _drift(best: str, stress: dict[str, Any]) -> str:
    known = {m: s for m, s in stress.items() if is_number(s.get("slope"))}
    if best not in known:
        return ""
    own = _moves(f"With fewer values the mean prediction of {best}", known[best])
    worst = max(known, key=lambda m: abs(known[m]["slope"]))
    if worst == best or abs(known[worst]["slope"]) < 2 * abs(known[best]["slope"]):
        return own + "."
    return f"{own}; {worst} drifts most, by {signed(-known[worst]['slope'])}."


def _moves(subject: str, stress: dict[str, Any]) -> str:
    """The slope is told per 10 % *more* values; readers think of values that stay away."""
    low, high = stress.get("slope_low"), stress.get("slope_high")
    word = steadiness(stress.get("sparsity_bias"))
    flat = is_number(low) and is_number(high) and low <= 0 <= high
    if flat and word == "steady":
        return f"{subject} stays where it was"
    return f"{subject} moves by {signed(-stress['slope'])} per 10 % of values hidden ({word})"


def _failed(facts: dict[str, Any]) -> str:
    rows = facts.get("leaderboard") or []
    failed = [r["method"] for r in rows if r.get("failures") or r.get("error")]
    if not failed:
        return ""
    names = ", ".join(failed[:4]) + (" and others" if len(failed) > 4 else "")
    return f"{len(failed)} of {len(rows)} methods failed at least once: {names}."


def _data(facts: dict[str, Any]) -> str:
    data = facts.get("data") or {}
    if not is_number(data.get("rows")):
        return ""
    text = f"The table has {whole(data['rows'])} rows and {whole(data.get('columns'))} columns"
    if is_number(data.get("missing_share")):
        text += f"; {percent(data['missing_share'], 1)} of the cells are missing"
    if is_number(data.get("complete_rows")):
        text += f", {whole(data['complete_rows'])} rows are complete"
    return text + "."


def randomness(data: dict[str, Any]) -> list[str]:
    """One sentence on Little's test; nothing for a table without it or without gaps."""
    test = data.get("mcar_test") or {}
    if not test or not data.get("missing_share"):
        return []
    if not is_number(test.get("p_value")):
        return [f"Whether gaps fall completely at random was not tested: {test.get('reason')}."]
    p = f"p = {number(test['p_value'], 3)}" if test["p_value"] >= 0.001 else "p < 0.001"
    seen = f"{whole(test.get('rows'))} rows and {whole(test.get('columns'))} columns of numbers"
    figures = f"Little's test on {seen}, {whole(test.get('df'))} degrees of freedom, {p}"
    if test["p_value"] < NOT_BY_CHANCE:
        return [
            f"Gaps do not fall completely at random ({figures}): the averages of what is observed "
            "differ between rows with different gaps."
        ]
    return [
        f"Nothing speaks against gaps that fall completely at random ({figures}), which does not "
        "prove that they do."
    ]


def _stress(facts: dict[str, Any]) -> list[str]:
    if not is_number(facts.get("slope")):
        return []
    out = [_moves(f"With fewer values the mean prediction of {facts.get('model')}", facts) + "."]
    bias = facts.get("sparsity_bias")
    if is_number(bias):
        out.append(
            f"The sparsity bias is {number(bias)}: hiding values moves the mean prediction by "
            f"{percent(bias)} of how much rows differ from each other."
        )
    out += [
        _score_loss(name, s, facts) for name, s in list((facts.get("scores") or {}).items())[:1]
    ]
    return out


def _score_loss(name: str, score: dict[str, Any], facts: dict[str, Any]) -> str:
    means, shares = score.get("mean") or [], facts.get("shares") or []
    if not (means and shares and is_number(means[0]) and is_number(means[-1])):
        return ""
    return (
        f"{name} goes from {number(means[0])} with {percent(shares[0])} of the values "
        f"to {number(means[-1])} with {percent(shares[-1])}."
    )


def _reproduce(facts: dict[str, Any]) -> list[str]:
    verdicts = [c.get("verdict") for r in facts.get("rows") or [] for c in r.get("cells") or []]
    done = [v for v in verdicts if v in ("within", "above", "below")]
    ours = verdicts.count("not published")
    if facts.get("stand_in") and any(v not in (None, "not measured") for v in verdicts):
        return [f"Not to be compared with the published figures: {facts['stand_in']}."]
    if not done and ours:
        return [f"{ours} figures were measured; the paper shows them as a plot, without numbers."]
    if not done:
        return ["Nothing was measured yet."]
    if facts.get("scale") == "smoke":
        return ["The smoke scale shows that everything runs; its figures are not to be compared."]
    worse = "below" if higher_is_better(facts) else "above"
    good = sum(v != worse for v in done)
    text = (
        f"{good} of {len(done)} measured figures are within or better than the published interval"
    )
    open_ = verdicts.count("not measured")
    return [text + (f"; {open_} were not measured." if open_ else ".")]
