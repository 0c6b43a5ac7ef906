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
@click.option(
    "--runs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Runs of every cell, instead of as many as the scale has.",
)
@options.jobs
@options.backend
@click.option("--out", metavar="DIR", default="reproduced", show_default=True, help="Results.")
@options.quiet
@click.pass_context
def command(ctx: click.Context, table: str | None, scale: str, out: str, **given: Any) -> None:
    """Compute the published table called ID again.

    Without an ID, the tables there are. With the name of a family alone (sn, vsae, …), all tables
    and figures of its papers, how far each was measured, and where the figures are.
    """
    if table is None:
        _list()
        return
    if _is_family(table):
        if given["only"]:
            raise click.UsageError(f"--only needs the ID of a table; {table} is a family of papers")
        _survey(table, out)
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
        runs=given["runs"],
    )
    written = write(facts, folder, name=table.replace("/", "-"))
    _tell(facts)
    click.echo(f"report: {written['html']}")


def _list() -> None:
    from nanwise.bench.contents import families
    from nanwise.bench.reproduce import known_tables
    from nanwise.cli import show

    show.table(("id", "title"), ((t["id"], t["title"]) for t in known_tables()))
    click.echo("Compute one: nanwise reproduce ID [--scale smoke]")
    click.echo(f"What was measured so far: nanwise reproduce {'|'.join(families())}")


def _is_family(name: str) -> bool:
    from nanwise.bench.contents import families

    return name in families()


def _survey(family: str, out: str) -> None:
    from nanwise.bench.states import overview
    from nanwise.cli import show

    lines = overview(family, out)
    for paper in dict.fromkeys(line["paper"] for line in lines):
        rows = [
            (line["name"], line["id"] or "", line["what"], _state(line), line["where"])
            for line in lines
            if line["paper"] == paper
        ]
        show.table(("printed as", "id", "what", "state", "figures in"), rows, title=paper)
    click.echo("Compute one: nanwise reproduce ID [--scale laptop|paper]")


def _state(line: dict[str, Any]) -> str:
    """``laptop scale: 50 of 60 cells, 37 of 50 within the published interval or better``."""
    if not line["measured"]:
        # What to do about it stands in the message of the run itself.
        remark = line["remark"].partition("; ")[0]
        return f"{line['state']}: {remark}" if remark else line["state"]
    text = f"{line['state']}: {line['measured']} of {line['cells']} cells"
    if line["absent"]:
        text += f", no data for {line['absent']}"
    if not line["judged"]:
        return text
    return f"{text}, {line['good']} of {line['judged']} within the published interval or better"


def _refuse_unknown(name: str) -> None:
    from nanwise.bench.contents import families
    from nanwise.bench.reproduce import known_tables
    from nanwise.cli.wording import nearest

    there = [*families(), *(facts["id"] for facts in known_tables())]
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
