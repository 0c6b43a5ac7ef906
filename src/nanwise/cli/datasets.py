"""``nanwise datasets``: the named data sets, and a way to write one to a file."""

from __future__ import annotations

from typing import Any

import click


@click.command("datasets", short_help="List the data sets, or write one to a file.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option("-o", "--out", help="Write the set called NAME to this file (CSV, TSV, Parquet).")
@click.option(
    "--download", is_flag=True, help="With -o: fetch it from its official home if need be."
)
def command(name: str | None, as_json: bool, out: str | None, download: bool) -> None:
    """List the data sets, tell about the one called NAME, or write it to a file.

    Some come with nanwise or scikit-learn; the others are looked for in the folder $NANWISE_DATA.
    """
    from nanwise.cli import show

    if out and not name:
        raise click.UsageError("-o needs the NAME of a data set", click.get_current_context())
    if out:
        _export(str(name), out, download)
    elif as_json:
        show.as_json(_find(name) if name else _all())
    elif name:
        show.listing({key: _words(value) for key, value in _find(name).items()})
    else:
        _list()


def _all() -> list[dict[str, Any]]:
    from nanwise.data.sets import known_datasets

    return [dict(facts) for facts in known_datasets()]


def _find(name: str) -> dict[str, Any]:
    from nanwise.cli.wording import nearest

    for facts in _all():
        if facts["name"] == name:
            return facts
    hint = nearest(name, (facts["name"] for facts in _all()), most=20)
    raise ValueError(f"no data set is called {name!r}; {hint}")


def _list() -> None:
    from nanwise.cli import show

    heads = ("name", "task", "target", "rows", "columns", "missing", "from", "about")
    show.table(heads, map(_row, _all()), right=("rows", "columns", "missing"))
    click.echo("Try one: nanwise compare NAME")
    click.echo("Write one to a file: nanwise datasets NAME -o FILE")


def _row(facts: dict[str, Any]) -> list[str]:
    known = [facts[key] for key in ("name", "task", "target", "rows", "columns")]
    return [*known, f"{facts['missing_share']:.1%}", facts["origin"], facts["about"]]


def _export(name: str, out: str, download: bool) -> None:
    from nanwise.cli.files import output_file
    from nanwise.cli.wording import counted
    from nanwise.data.sets import load_dataset
    from nanwise.data.table import write_table

    _find(name)
    path = output_file(out)
    found = load_dataset(name, download=download)
    write_table(found.frame, path)
    rows, columns = found.frame.shape
    click.echo(
        f"{path}: {counted(rows, 'row')}, {counted(columns, 'column')}, target {found.target!r}"
    )


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
