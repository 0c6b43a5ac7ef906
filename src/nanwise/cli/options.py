"""Options that several commands share, so that they read and behave alike."""

from __future__ import annotations

import click

TASKS = ("auto", "classification", "regression")

target = click.option(
    "--target", metavar="COLUMN", help="Column to predict; a named data set knows its own."
)
task = click.option(
    "--task", type=click.Choice(TASKS), default="auto", show_default=True, help="Kind of target."
)
schema = click.option(
    "--schema", metavar="FILE", help="JSON file that says what kind each column is."
)
seed = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Same seed, same result.",
)
settings = click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter, e.g. hidden=128,128 or plan.epochs=50; may be given several times.",
)
backend = click.option(
    "--backend",
    type=click.Choice(("loky", "dask")),
    default="loky",
    show_default=True,
    help="Processes of this machine, or a dask cluster.",
)
quiet = click.option("-q", "--quiet", is_flag=True, help="No progress bar.")
jobs = click.option(
    "--jobs",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Processes to use; -1: every core.",
)
