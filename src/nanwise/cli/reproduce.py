"""``nanwise reproduce``: the tables of the papers, ours beside the published figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from nanwise.cli import options

SCALES = ("smoke", "laptop", "paper")
SIGNS = {"within": "=", "above": "↑", "below": "↓"}


@click.command("reproduce", short_help="Compute a published table again.")
@click.argument("table", metavar="[ID]", required=False)
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="laptop",
    show_default=True,
    help="Sizes and number of runs; never the method.",
)
@click.option(
    "--only",
    metavar="NAME",
    multiple=True,
    help="Only this row or column of the table; may be given several times.",
)
@options.jobs
@options.backend
@click.option("--out", metavar="DIR", default="reproduced", show_default=True, help="Results.")
@options.quiet
@click.pass_context
def command(ctx: click.Context, table: str | None, scale: str, out: str, **given: Any) -> None:
    """Compute the published table called ID again, or list the tables there are."""
    if table is None:
        _list()
        return
    from nanwise.bench.reproduce import reproduce
    from nanwise.cli.files import output_folder
    from nanwise.cli.trouble import RESUME
    from nanwise.report import write

    _refuse_unknown(table)
    folder = output_folder(out)
    ctx.meta[RESUME] = f"finished runs are kept in {folder}: the same command again goes on there"
    facts = reproduce(
        table,
        scale=scale,
        jobs=given["jobs"],
        backend=given["backend"],
        out=folder,
        only=given["only"] or None,
        progress=not given["quiet"],
    )
    written = write(facts, folder, name=table.replace("/", "-"))
    _tell(facts)
    click.echo(f"report: {written['html']}")


def _list() -> None:
    from nanwise.bench.reproduce import known_tables
    from nanwise.cli import show

    show.table(("id", "title"), ((t["id"], t["title"]) for t in known_tables()))
    click.echo("Compute one: nanwise reproduce ID [--scale smoke]")


def _refuse_unknown(name: str) -> None:
    from nanwise.bench.reproduce import known_tables
    from nanwise.cli.wording import nearest

    there = [facts["id"] for facts in known_tables()]
    if name not in there:
        raise ValueError(f"no table is called {name!r}; {nearest(name, there, most=20)}")


def _tell(facts: dict[str, Any]) -> None:
    """Rows and columns as printed in the paper; the published figure stands in brackets."""
    from nanwise.cli import show
    from nanwise.cli.trouble import warn

    cells = [cell for row in facts["rows"] for cell in row["cells"]]
    columns = zip(*(row["cells"] for row in facts["rows"]), strict=True)
    digits = [_digits(column) for column in columns]
    rows = ([row["name"], *map(_cell, row["cells"], digits)] for row in facts["rows"])
    show.table(
        ["", *facts["columns"]], rows, title=f"{facts['title']} ({facts['metric']['label']})"
    )
    click.echo("ours ± 95 % (published); = within the published interval, ↑ above, ↓ below")
    if facts["stand_in"]:
        click.echo(f"{facts['stand_in']}: published figures are of other data and not judged")
    if facts.get("scale") == "smoke":
        click.echo("smoke scale shows that it runs; its figures are not to be compared")
    for line in dict.fromkeys(cell["error"] for cell in cells if cell["error"]):
        warn(line)


def _digits(cells: Iterable[dict[str, Any]]) -> int:
    """Decimals of one column: data sets differ in the size of their errors."""
    from nanwise.cli.leaderboard import places

    return places(f["mean"] for c in cells for f in (c["ours"], c["published"]) if f)


def _cell(cell: dict[str, Any], digits: int) -> str:
    ours, published = _pair(cell["ours"], digits), _pair(cell["published"], digits)
    beside = f" ({published})" if published else ""
    return f"{ours or '–'}{beside} {SIGNS.get(cell['verdict'], '')}".rstrip()


def _pair(figure: dict[str, Any] | None, digits: int) -> str:
    if figure is None:
        return ""
    half = "" if figure["ci"] is None else f" ± {figure['ci']:.{digits}f}"
    return f"{figure['mean']:.{digits}f}{half}"
