"""``nanwise reproduce``: the tables of the papers, ours beside the published figures."""

from __future__ import annotations

import click

from nanwise.cli import options

SCALES = ("smoke", "laptop", "paper")


@click.command("reproduce")
@click.argument("table", metavar="[ID]", required=False)
@click.option(
    "--scale", type=click.Choice(SCALES), default="laptop", show_default=True, help="Sizes only."
)
@options.jobs()
@click.option("--out", metavar="DIR", help="Folder for results; default: reproduced/ID.")
@options.quiet
@click.pass_context
def command(
    ctx: click.Context, table: str | None, scale: str, jobs: int, out: str | None, quiet: bool
) -> None:
    """Compute a published table again, or list the tables there are."""
