"""``nanwise fit``: train one method and save it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

import click

from nanwise.cli import options

if TYPE_CHECKING:
    from nanwise.estimators.table_model import TableModel


@click.command("fit")
@click.argument("data")
@options.target
@click.option("--method", default="sparsity_norm", show_default=True, help="See: nanwise methods.")
@options.settings
@click.option("-o", "--out", required=True, metavar="MODEL", help="Folder for the model.")
@options.task
@options.schema
@options.seed
@options.quiet
def command(
    data: str,
    target: str | None,
    method: str,
    pairs: tuple[str, ...],
    out: str,
    task: str,
    schema: str | None,
    seed: int,
    quiet: bool,
) -> None:
    """Train one method on DATA and save the model.

    DATA is a file (CSV, TSV, Parquet; .gz too) or the name of a data set.
    """
    from nanwise.cli.files import complete_schema, open_table
    from nanwise.cli.models import model_folder
    from nanwise.cli.settings import method_settings
    from nanwise.data.table import split_target
    from nanwise.estimators.table_model import TableModel
    from nanwise.saving import save

    params = method_settings(pairs, method)
    table = open_table(data, target)
    folder = model_folder(out, [table.path])
    X, y, dropped = split_target(table.frame, table.target)
    kinds = complete_schema(schema, table)
    model = TableModel(
        method, task, target=table.target, params=params, schema=kinds, random_state=seed
    )
    start = perf_counter()
    with _progress(model, quiet):
        model.fit(X, y)
    save(model, folder)
    _tell(model, len(X), dropped, perf_counter() - start, folder)


@contextmanager
def _progress(model: TableModel, quiet: bool) -> Iterator[None]:
    """Show a bar for this one fit; the model that is saved knows nothing of it."""
    from nanwise.cli.settings import GAPS
    from nanwise.registry import find

    # Networks have epochs to show; the others are done before a bar is drawn.
    if quiet or find(model.method).kind not in GAPS:
        yield
        return
    params = model.params
    model.params = params | {"plan": {"progress": True} | params.get("plan", {})}
    yield
    model.params = params
    model.estimator_.plan.progress = bool(params.get("plan", {}).get("progress", False))


def _tell(model: TableModel, rows: int, dropped: int, took: float, folder: object) -> None:
    from nanwise.cli.trouble import warn
    from nanwise.cli.wording import counted, seconds

    for note in getattr(model.schema_, "notes", ()):
        warn(note)
    if dropped:
        warn(f"{counted(dropped, 'row')} without a target left out")
    epochs = len(getattr(model, "history_", None) or ())
    trained = f", {counted(epochs, 'epoch')}" if epochs else ""
    click.echo(
        f"{model.task_} with {model.method}: {counted(rows, 'row')}{trained}, {seconds(took)}"
    )
    click.echo(f"model: {folder}")
