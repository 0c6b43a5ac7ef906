"""``nanwise compare-imputers``: which imputer fills this table best."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanwise.cli import options

if TYPE_CHECKING:
    from nanwise.cli.files import Table

#: scores beside the errors: name and heading
SCORES = {
    "rmse": "RMSE/sd",
    "rmse_range": "RMSE/range",
    "rmse_rms": "RMSE/RMS",
    "pfc": "PFC",
    "wasserstein": "Wasserst.",
    "crps": "CRPS",
    "energy": "energy",
}


@click.command("compare-imputers", short_help="Rank imputers on cells of DATA that are known.")
@click.argument("data")
@click.option("--methods", metavar="A,B", help="Only these; see: nanwise methods.")
@click.option("--rates", default="0.2,0.5", show_default=True, help="Shares of cells to hide.")
@click.option(
    "--mechanisms", default="mcar,mar,mnar", show_default=True, help="How; see: nanwise ampute -h."
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Hide so often.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="For CRPS and energy score.",
)
@click.option("--out", metavar="DIR", help="Folder for everything; default: nanwise-DATA-imputers.")
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
@options.quiet
@click.pass_context
def command(ctx: click.Context, data: str, **given: Any) -> None:
    """Hide cells of DATA that are known, let imputers fill them, and rank the imputers.

    DATA is a file (CSV, TSV, Parquet; .gz too) or the name of a data set. A parameter of one
    imputer is set as METHOD.NAME=VALUE, as in --set softimpute.max_iter=50. Finished cells are kept
    in the folder: the same command again goes on where it was stopped.
    """
    from nanwise.bench.imputers import choose, compare_imputers, settings_of
    from nanwise.cli.files import open_data, output_folder
    from nanwise.cli.trouble import RESUME
    from nanwise.cli.wording import names

    methods = names(given["methods"])
    mechanisms, rates = names(given["mechanisms"]) or [], shares(given["rates"])
    settings_of(mechanisms, rates)
    params = _params(given["pairs"], [m.name for m in choose(methods)])
    table = open_data(data)
    folder = output_folder(given["out"] or f"nanwise-{table.name}-imputers", [table.path])
    ctx.meta[RESUME] = f"finished cells are kept in {folder}: the same command again goes on there"
    found = compare_imputers(
        table.frame,
        methods,
        rates,
        mechanisms,
        repeats=given["repeats"],
        draws=given["draws"],
        out=folder,
        budget=given["budget"],
        jobs=given["jobs"],
        backend=given["backend"],
        schema=given["schema"],
        params=params,
        seed=given["seed"],
        progress=not given["quiet"],
    )
    _tell(found.facts, table, folder)


def shares(text: str) -> list[float]:
    """``.2,.5`` as numbers."""
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"--rates takes shares such as 0.2,0.5; got {text!r}") from None


def _params(pairs: tuple[str, ...], methods: list[str]) -> dict[str, dict[str, Any]]:
    """``METHOD.NAME=VALUE`` by method."""
    from nanwise.cli.settings import imputer_params
    from nanwise.cli.wording import nearest

    own: dict[str, list[str]] = {}
    for pair in pairs:
        method, dot, rest = pair.partition(".")
        if not dot or "=" in method:
            raise ValueError(f"--set takes METHOD.NAME=VALUE here, got {pair!r}")
        if method not in methods:
            raise ValueError(
                f"--set {pair}: {method!r} is not compared; {nearest(method, methods)}"
            )
        own.setdefault(method, []).append(rest)
    return {method: imputer_params(rest, method) for method, rest in own.items()}


def _tell(facts: dict[str, Any], table: Table, folder: Path) -> None:
    from nanwise.cli.trouble import warn
    from nanwise.report import write

    source = table.path.name if table.path else table.name
    facts["title"] = f"Imputers on {source}"
    facts["data"]["source"] = source
    facts["command"] = shlex.join(["nanwise", *sys.argv[1:]])
    write(facts, folder)
    for note in facts["data"]["notes"]:
        warn(note)
    _show(facts)
    for failure in facts["failures"]:
        warn(f"{failure['method']} failed in {failure['fold']}: {failure['error']}")
    click.echo(f"report: {folder / 'report.html'}")


def _show(facts: dict[str, Any]) -> None:
    from nanwise.cli import show

    rows = facts["leaderboard"]
    names = [n for n in SCORES if any(row["scores"][n] is not None for row in rows)]
    settings = [setting["name"] for setting in facts["settings_facts"]]
    heads = ["#", "imputer", "error", *settings, *(SCORES[n] for n in names), "seconds"]
    listed = [
        (
            row["rank"] or "–",
            row["method"],
            show.number(row["mean"]),
            *map(show.number, row["settings"]),
            *(show.number(row["scores"][n]) for n in names),
            show.number(_seconds(row), 1),
        )
        for row in rows
    ]
    show.table(heads, listed, right=[head for head in heads if head != "imputer"])


def _seconds(row: dict[str, Any]) -> float | None:
    if row["fit_seconds"] is None:
        return None
    return row["fit_seconds"] + (row["fill_seconds"] or 0.0)
