"""``nanwise compare``: every treatment of the gaps on one table, ranked."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanwise.cli import options

if TYPE_CHECKING:
    from nanwise.cli.files import Table


@click.command("compare", short_help="Rank every method on DATA by cross-validation.")
@click.argument("data", required=False)
@click.option(
    "--series",
    metavar="FILE",
    help="In the place of DATA: a long table with the columns id, time, variable, value.",
)
@click.option(
    "--target",
    metavar="COLUMN",
    help="Column to predict; a named data set knows its own. With --series: FILE or FILE:COLUMN, "
    "a table with one line per id.",
)
@click.option("--step", type=float, metavar="WIDTH", help="With --series: width of a time step.")
@click.option("--end", type=float, metavar="TIME", help="With --series: all sequences end here.")
@options.task
@click.option("--methods", metavar="A,B", help="Only these; see: nanwise methods.")
@click.option(
    "--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Cross-validation."
)
@click.option("--out", metavar="DIR", help="Folder for everything; default: nanwise-DATA.")
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Start no fit later.",
)
@options.jobs
@options.backend
@options.settings
@options.schema
@options.seed
@click.option("--no-stress", is_flag=True, help="Leave out the stress test.")
@options.quiet
@click.pass_context
def command(ctx: click.Context, data: str | None, target: str | None, **given: Any) -> None:
    """Cross-validate every method on DATA, rank them, save the best, write a report.

    DATA is a file (CSV, TSV, Parquet; .gz too) or the name of a data set. Finished cells are kept
    in the folder: the same command again goes on where it was stopped.

    With --series, treatments of gaps in series are compared: nanwise compare --series long.csv
    --target outcomes.csv. Times are numbers or dates, which count in hours.
    """
    if given["series"]:
        from nanwise.cli.compare_series import compare_files

        compare_files(ctx, data, target, given)
        return
    if data is None:
        raise click.UsageError("Missing argument 'DATA' (or --series FILE).")
    for option in ("step", "end"):
        if given[option] is not None:
            raise click.UsageError(f"--{option} is for --series.")
    from nanwise.bench.compare import compare
    from nanwise.cli.files import complete_schema, open_table, output_folder
    from nanwise.cli.settings import network_settings
    from nanwise.cli.trouble import RESUME
    from nanwise.cli.wording import names

    params = network_settings(given["pairs"])
    table = open_table(data, target)
    folder = output_folder(given["out"] or f"nanwise-{table.name}", [table.path])
    ctx.meta[RESUME] = f"finished cells are kept in {folder}: the same command again goes on there"
    found = compare(
        table.frame,
        table.target,
        task=given["task"],
        methods=names(given["methods"]),
        folds=given["folds"],
        out=folder,
        budget=given["budget"],
        jobs=given["jobs"],
        backend=given["backend"],
        schema=complete_schema(given["schema"], table),
        params={"*": params} if params else None,
        seed=given["seed"],
        stress=not given["no_stress"],
        progress=not given["quiet"],
    )
    tell(_named(found.facts, table), folder)


def _named(facts: dict[str, Any], table: Table) -> dict[str, Any]:
    """The facts with the name of the file or data set, and the command that made them."""
    source = table.path.name if table.path else table.name
    facts["title"] = f"{table.target} from {source}"
    facts["data"]["source"] = source
    facts["command"] = shlex.join(["nanwise", *sys.argv[1:]])
    return facts


def tell(facts: dict[str, Any], folder: Path) -> None:
    """Write the report, then say on the terminal what came out."""
    from nanwise.cli.leaderboard import show_leaderboard
    from nanwise.cli.trouble import warn
    from nanwise.report import write

    write(facts, folder)
    for note in [*facts["data"]["notes"], *_empty_columns(facts)]:
        warn(note)
    show_leaderboard(facts)
    click.echo(f"model:  {facts['winner']['path']}  ({facts['winner']['method']})")
    click.echo(f"report: {folder / 'report.html'}")


def _empty_columns(facts: dict[str, Any]) -> list[str]:
    """In the words of the estimators, so that it is not said twice when one of them warns too."""
    empty = [c["name"] for c in facts["data"]["column_facts"] if c["missing"] == 1]
    shown = ", ".join(map(repr, empty[:5])) + (f" and {len(empty) - 5} more" if empty[5:] else "")
    return [f"nothing was observed in column {shown}: it cannot be learnt from"] if empty else []
