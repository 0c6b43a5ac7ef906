"""Small pieces of text and parsing that several commands share."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any

WORDS = {"true": True, "false": False, "none": None, "null": None}


def nearest(name: str, names: Iterable[object], most: int = 8) -> str:
    """A hint after "no … is called …": near names, else the first few there are."""
    there = [str(n) for n in names]
    near = difflib.get_close_matches(name, there, n=3)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    more = f" and {len(there) - most} more" if len(there) > most else ""
    return f"there are: {', '.join(there[:most])}{more}"


def counted(n: int, one: str, many: str | None = None) -> str:
    """``1 row``, ``1,234 rows``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def seconds(value: float) -> str:
    """A duration as a person says it."""
    if value < 60:
        return f"{value:.3g} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def names(text: str | None) -> list[str] | None:
    """``a,b , c`` to a list; None stays None."""
    if text is None:
        return None
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise ValueError(f"a list of names separated by commas was expected, got {text!r}")
    return found


def settings(pairs: Iterable[str]) -> dict[str, Any]:
    """``["hidden=64,64", "plan.lr=0.1"]`` to ``{"hidden": (64, 64), "plan": {"lr": 0.1}}``."""
    tree: dict[str, Any] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        path = key.strip().split(".")
        if not sign or not all(path):
            raise ValueError(f"--set takes NAME=VALUE, for example hidden=128,128; got {pair!r}")
        _put(tree, path, value(text), pair)
    return tree


def value(text: str) -> Any:
    """A number, a word (true, false, none), a JSON value, a comma list of these, or the text."""
    text = text.strip()
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    if "," in text:
        return tuple(value(part) for part in text.split(",") if part.strip())
    return text


def _put(tree: dict[str, Any], path: list[str], new: Any, pair: str) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
        if not isinstance(tree, dict):
            raise ValueError(f"--set {pair}: {name!r} was already set to a single value")
    tree[path[-1]] = new
