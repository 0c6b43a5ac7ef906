"""Tables on the terminal."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

WIDE = 200


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    right: Iterable[str] = (),
    title: str = "",
) -> None:
    """Print rows under heads; the columns named in ``right`` are aligned to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(
        box=box.SIMPLE_HEAD,
        title=title or None,
        title_justify="left",
        pad_edge=False,
        collapse_padding=True,
    )
    right = set(right)
    for head in heads:
        grid.add_column(head, justify="right" if head in right else "left", overflow="fold")
    for row in rows:
        # Text, not str: a name such as "[a]" must not be read as markup.
        grid.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    Console(highlight=False, width=width()).print(grid)


def width() -> int:
    """Columns of the terminal. A pipe has none: what a program may read is never folded."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDE


def as_json(facts: Any) -> None:
    """Print plain values as JSON."""
    click.echo(json.dumps(facts, indent=2, ensure_ascii=False, default=_plain))


def listing(facts: Mapping[str, object]) -> None:
    """Print name and value, one per line, leaving out what is empty."""
    width = max(map(len, facts), default=0)
    for name, text in facts.items():
        if text not in ("", None, (), {}, []):
            click.echo(f"{name:<{width}}  {text}")


def number(value: object, digits: int = 3) -> str:
    """A figure for a table; a dash when there is none."""
    if value is None or value != value:
        return "–"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def _plain(thing: Any) -> Any:
    if hasattr(thing, "item") and getattr(thing, "size", 0) == 1:
        return thing.item()
    if hasattr(thing, "tolist"):
        return thing.tolist()
    return dict(thing) if isinstance(thing, Mapping) else str(thing)
