"""The same report as Markdown, for a terminal, an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nanwise.report.story import story_of
from nanwise.report.view import view_of

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|#~"} | {"<": "&lt;", ">": "&gt;"})


def to_markdown(facts: dict[str, Any]) -> str:
    """Title, sentences, tables and settings; where the pictures are is said at the end."""
    page = view_of(facts)
    body = {
        "compare": _compare,
        "stress": _stress,
        "reproduce": _reproduce,
        "recommend": _recommend,
        "impute": _impute,
        "compare_imputers": _compare_imputers,
        "images": _images,
        "cells": _cells,
    }[facts["kind"]]
    parts = [
        f"# {text(page['title'])}",
        "\n".join(f"- {text(s)}" for s in story_of(facts)),
        *body(page),
        *_pairs("Settings", page["settings"]),
        *_pairs("Versions", page["versions"]),
    ]
    if page["command"]:
        parts.append(f"Command: {code(page['command'])}")
    parts.append(_pictures(page))
    return "\n\n".join(p for p in parts if p) + "\n"


def text(value: Any) -> str:
    """Any value as Markdown text that means only itself, on one line."""
    return " ".join(str("" if value is None else value).split()).translate(_SPECIAL)


def code(value: Any) -> str:
    """Any value as inline code; the fence is longer than any run of backticks inside."""
    inner = " ".join(str(value).split())
    fence = "`"
    while fence in inner:
        fence += "`"
    return f"{fence} {inner} {fence}" if "`" in inner else f"`{inner}`"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; an empty one is nothing."""
    lines = ["| " + " | ".join(text(c) for c in row) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join(
        ["| " + " | ".join(map(text, head)) + " |", "|" + " --- |" * len(head), *lines]
    )


def _section(title: str, *parts: str) -> list[str]:
    there = [p for p in parts if p]
    return [f"## {title}", *there] if there else []


def _pairs(title: str, pairs: list[tuple[str, str]]) -> list[str]:
    return _section(title, "\n".join(f"- {text(k)}: {text(v)}" for k, v in pairs))


def _pictures(page: dict[str, Any]) -> str:
    found = [figure for key, value in page.items() if key.endswith("figures") for figure in value]
    if not found:
        return ""
    names = ", ".join(dict.fromkeys(text(figure["title"]) for figure in found))
    return f"Pictures are in the HTML report, the file beside this one that ends in .html: {names}."


def _compare(page: dict[str, Any]) -> list[str]:
    metric = page["metric"]
    return [
        *_section(
            "Leaderboard",
            f"{text(metric['label'])}, {metric['direction']}." if page["board"] else "",
            table(_BOARD, [_board_row(r) for r in page["board"]]),
        ),
        *_section("Failures", table(("method", "folds", "reason"), _failures(page))),
        *_section("Drift with fewer values", table(_DRIFT, map(_drift_row, page["stress_rows"]))),
        *_data(page["data"]),
        *_winner(page),
    ]


_BOARD = (
    "rank",
    "method",
    "role",
    "score",
    "95 % interval",
    "difference",
    "95 % interval",
    "fit",
    "predict",
    "failures",
)
_DRIFT = ("method", "slope per 10 % more values", "95 % interval", "sparsity bias", "")


def _board_row(row: dict[str, Any]) -> tuple[Any, ...]:
    score = f"failed: {row['error']}" if row["error"] and row["mean"] is None else row["score"]
    return (
        row["rank"],
        row["method"],
        row["role"],
        score,
        row["interval"],
        row["gap_text"],
        row["gap_interval"],
        row["fit_text"],
        row["predict_text"],
        row["failures"],
    )


def _failures(page: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(f.get("method"), f.get("fold"), f.get("error")) for f in page["failures"]]


def _drift_row(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["method"], row["slope_text"], row["interval"], row["bias_text"], row["word"])


def _data(data: dict[str, Any] | None) -> list[str]:
    if not data:
        return []
    columns = [
        (c["name"], c["kind"], c["missing"], c["distinct"], c["summary"]) for c in data["columns"]
    ]
    return _section(
        "Data",
        f"Source: {code(data['source'])}" if data["source"] else "",
        "\n".join(f"- {text(n)}" for n in data["notes"]),
        table(("column", "kind", "missing", "distinct", "summary"), columns),
        f"{data['more_columns']} more columns are listed in the JSON."
        if data["more_columns"]
        else "",
    )


def _winner(page: dict[str, Any]) -> list[str]:
    winner = page["winner"]
    if not winner:
        return []
    lines = [f"{text(winner.get('method'))}, saved in {code(winner.get('path'))}."]
    lines += [f"- {text(k)}: {text(v)}" for k, v in page["winner_params"]]
    return _section("Model", "\n".join(lines[:1]), "\n".join(lines[1:]))


def _stress(page: dict[str, Any]) -> list[str]:
    rows = [(r["share"], *(cell[0] for cell in r["cells"])) for r in page["scores"]]
    tiles = [(t["label"], t["value"], t["note"]) for t in page["tiles"]]
    return [
        *_section("Result", table(("", "value", ""), tiles)),
        *_section("Outputs", table(("output", *_DRIFT[1:]), map(_drift_row, page["outputs"]))),
        *_section("Scores", table(("share of values left", *page["score_names"]), rows)),
    ]


def _reproduce(page: dict[str, Any]) -> list[str]:
    head = ("", *page["columns"])
    rows = [(r["name"], *(_cell(c) for c in r["cells"])) for r in page["rows"]]
    about = [("Source", page["source"]), ("Scale", page["scale"]), ("Metric", page["metric"])]
    return [
        "\n".join(f"- {name}: {text(value)}" for name, value in about if value),
        *_section("Ours, and the published figure", table(head, rows)),
        *_section("Notes", "\n".join(f"- {text(n)}" for n in page["notes"])),
    ]


def _cell(cell: dict[str, Any]) -> str:
    figures = f"{cell['ours']} ({cell['published']}, {cell['verdict']})"
    return f"{figures}: {cell['error']}" if cell["error"] else figures


def _recommend(page: dict[str, Any]) -> list[str]:
    heads = ("method", "role", *(head["name"] for head in page["heads"]), "fit", "score")
    return [
        *_section(
            "Scores on held-out ratings",
            "\n".join(f"- {text(sentence)}" for sentence in page["protocol"]),
            table(heads, map(_score_row, page["board"])),
        ),
        *_section("Drift with fewer ratings", table(_DRIFT, map(_drift_row, page["stress_rows"]))),
        *_ratings(page["data"]),
        *_lists(page),
    ]


def _score_row(row: dict[str, Any]) -> tuple[Any, ...]:
    cells = (cell["text"] for cell in row["cells"])
    return (row["method"], row["role"], *cells, row["fit_text"], row["score_text"])


def _ratings(data: dict[str, Any] | None) -> list[str]:
    if not data:
        return []
    return _section(
        "Data",
        "\n".join(f"- {text(note)}" for note in data["notes"]),
        "\n".join(f"- {text(name)}: {text(value)}" for name, value in data["pairs"]),
        table(("", "least", "median", "most"), [(name, *row) for name, row in data["spread"]]),
        table(("rating", "how often"), [(r["rating"], r["text"]) for r in data["levels"]]),
    )


def _lists(page: dict[str, Any]) -> list[str]:
    model, top = page["model"], page["top"]
    lines = []
    if model:
        how = f", {text(model['how'])}" if model["how"] else ""
        lines.append(f"{text(model['method'])}{how}; saved in {code(model['path'])}.")
    if top:
        lines.append(
            f"The first {text(top['n'])} items for {text(top['users'])} users: {code(top['path'])}."
        )
    return _section("Model and lists", *lines)


def _impute(page: dict[str, Any]) -> list[str]:
    filled = [
        (r["name"], r["kind"], r["share_text"], r["filled_text"], r["observed"], r["imputed"])
        for r in page["columns"]
    ]
    errors = [
        (r["name"], r["measure"], r["held"], r["error_text"], r["mean_text"], r["wasserstein_text"])
        for r in page["check_rows"]
    ]
    return [
        *_section(
            "What was filled",
            "\n".join(f"- {code(file)}" for file in page["files"]),
            "\n".join(f"- {text(note)}" for note in page["notes"]),
            table(("column", "kind", "missing", "filled", "observed", "imputed"), filled),
        ),
        *_section(
            "Observed against imputed",
            table(("column", "range of the curves", "observed", "imputed"), page["densities"]),
        ),
        *_section(
            "Error on hidden cells",
            "\n".join(f"- {text(sentence)}" for sentence in page["check"]),
            table(("column", "measure", "hidden", "error", "mean filling", "Wasserstein"), errors),
            table(("score", page["method"], "mean filling"), page["scores"]),
        ),
        *_pairs("Imputer", page["model"]["params"]),
    ]


def _compare_imputers(page: dict[str, Any]) -> list[str]:
    heads = ("rank", "imputer", "error", "of mean filling", *page["setting_names"], "fit", "fill")
    rows = [
        (
            r["rank"],
            r["method"],
            f"failed: {r['error']}" if r["mean"] is None else r["mean_text"],
            r["relative_text"],
            *(cell["text"] for cell in r["settings"]),
            r["fit_text"],
            r["fill_text"],
        )
        for r in page["board"]
    ]
    scores = [(r["method"], *(cell["text"] for cell in r["scores"])) for r in page["board"]]
    return [
        *_section(
            "Leaderboard", "\n".join(f"- {text(n)}" for n in page["notes"]), table(heads, rows)
        ),
        *_section("Other scores", table(("imputer", *page["score_names"]), scores)),
        *_section("Failures", table(("imputer", "setting", "reason"), _failures(page))),
    ]


def _images(page: dict[str, Any]) -> list[str]:
    heads = ("rank", "treatment", "accuracy", "95 % interval", *page["score_names"], "fit")
    rows = [
        (
            r["rank"],
            r["method"],
            f"failed: {r['error']}" if r["accuracy"] is None else r["accuracy_text"],
            r["interval"],
            *(cell["text"] for cell in r["scores"]),
            r["fit_text"],
        )
        for r in page["board"]
    ]
    return [
        *_section("Notes", "\n".join(f"- {text(note)}" for note in page["notes"])),
        *_section("Leaderboard", table(heads, rows)),
        *_section("Files", "\n".join(f"- {code(file)}" for file in page["files"])),
        *_pairs("Classes", page["classes"]),
    ]


def _cells(page: dict[str, Any]) -> list[str]:
    heads = ("method", "hidden", *page["score_names"], "fit")
    rows = [
        (r["method"], r["share_text"], *(cell["text"] for cell in r["scores"]), r["fit_text"])
        for r in page["board"]
    ]
    return [
        *_section("Notes", "\n".join(f"- {text(note)}" for note in page["notes"])),
        *_section("Files", "\n".join(f"- {code(file)}" for file in page["files"])),
        *_section("Errors on hidden entries", table(heads, rows)),
        *_section("Failures", table(("method", "run", "reason"), _failures(page))),
    ]
