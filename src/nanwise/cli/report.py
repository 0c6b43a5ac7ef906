"""``nanwise report``: render the facts of a comparison again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

FACTS = "report.json"


@click.command("report", short_help="Write a report again from its facts.")
@click.argument("source", metavar="DIR|report.json")
@click.option("-o", "--out", metavar="DIR", help="Folder to write to instead of the one read.")
def command(source: str, out: str | None) -> None:
    """Write the .html and .md of a report again from the facts in its .json.

    Also for the stress.json of nanwise stress and the .json of nanwise reproduce.
    """
    from nanwise.cli.files import output_folder
    from nanwise.report import write

    path = _facts_in(Path(source)) if Path(source).is_dir() else Path(source)
    facts = read_facts(path)
    folder = output_folder(out or str(path.parent))
    written = write(facts, folder, name=path.stem)
    click.echo(f"report: {written['html']}")


def _facts_in(folder: Path) -> Path:
    """The facts in a folder: of a comparison, or else the only ones there are."""
    there = sorted(folder.glob("*.json"))
    return there[0] if len(there) == 1 else folder / FACTS


def read_facts(path: Path) -> dict[str, Any]:
    """The facts of a report, or an error that says what the file is not."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"there is no {path}; nanwise compare writes it into its folder") from None
    except ValueError as error:  # not JSON, or not UTF-8
        raise ValueError(f"{path} is not the report.json of a comparison: {error}") from error
    if not isinstance(facts, dict):
        raise ValueError(f"{path} is not the report.json of a comparison: no object at its top")
    return facts
