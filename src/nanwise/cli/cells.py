"""``nanwise cells``: fill what was not seen in single cells, and measure how well."""

from __future__ import annotations

import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from nanwise.cli import options

if TYPE_CHECKING:
    from nanwise.data.cells import CellPrep, Counts

HEADS = ("method", "hidden", "RMSE", "MAE", "NMSE", "seconds")

_genes_in = click.option(
    "--genes-in",
    type=click.Choice(("rows", "columns")),
    default="rows",
    show_default=True,
    help="For CSV: where the genes are.",
)
_layer = click.option("--layer", metavar="NAME", help="For .h5ad: the layer with counts, or raw.")
_prepared = click.option(
    "--prepared", is_flag=True, help="Values are logarithms of scaled counts: take them as is."
)
_genes = click.option(
    "--genes",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Most variable genes to keep; of counts, not with --prepared.",
)
_epochs = click.option("--epochs", type=click.IntRange(min=1), help="Most steps of training.")
_device = click.option("--device", metavar="NAME", help="cpu, cuda, cuda:1 or auto.")


@click.group("cells", short_help="Counts of single cells: impute, evaluate.")
def command() -> None:
    """Counts of genes in single cells, in which zero means not seen.

    FILE is an .h5ad file (needs anndata), a folder of 10x with matrix.mtx, barcodes.tsv and
    features.tsv or genes.tsv, or a CSV or TSV file with names; .gz too.
    """


@command.command("impute", short_help="Fill the zeros.")
@click.argument("source", metavar="FILE")
@click.option("--out", required=True, metavar="FILE", help="To write: .h5ad, .csv or .tsv; .gz.")
@click.option(
    "--unit",
    type=click.Choice(("counts", "log")),
    default="counts",
    show_default=True,
    help="Of what is written: counts of the cell, or log2(scaled + 1).",
)
@click.option("--report", metavar="DIR", help="Folder for a report.  [default: none]")
@_genes_in
@_layer
@_prepared
@_genes
@_epochs
@_device
@options.settings
@options.seed
@options.quiet
def impute(source: str, out: str, unit: str, report: str | None, **given: Any) -> None:
    """Fill the zeros of FILE by AutoImpute and write the most variable genes.

    Counts are prepared as published: genes with a count above 2 in more than 3 cells, library size,
    the most variable of them, log2. What was seen stays as it was. A parameter of AutoImpute is set
    as in --set normalize=false.
    """
    from nanwise.cli.files import output_file, output_folder
    from nanwise.data.cells import CellPrep, write_cells
    from nanwise.data.cells.writing import check_target

    start = perf_counter()
    target = check_target(output_file(out, [Path(source)]))
    folder = None if report is None else output_folder(report, [Path(source)], "--report")
    model = _model(given)
    counts = _read(source, given)
    prep = None if given["prepared"] else CellPrep(genes=given["genes"]).fit(counts)
    before = counts if prep is None else prep.transform(counts)
    filled = model.fit_transform(before)
    if prep is not None and unit == "counts":
        filled, before = _as_counts(prep, filled, counts)
    write_cells(filled, target, before=before, genes_in=given["genes_in"])
    cells, genes = filled.shape
    click.echo(f"filled: {target}  ({cells:,} cells, {genes:,} genes)")
    if folder is not None:
        facts = _filled_facts(before, model, target, perf_counter() - start)
        _write(facts, source, given, folder)


@command.command("evaluate", short_help="Errors on entries that are hidden on purpose.")
@click.argument("source", metavar="FILE")
@click.option("--out", metavar="DIR", help="Folder for the report; default: nanwise-FILE.")
@click.option(
    "--hide",
    metavar="A,B",
    default="0.1,0.3,0.5,0.7,0.9",
    show_default=True,
    help="Shares of what was seen.",
)
@click.option("--runs", type=click.IntRange(min=1), default=3, show_default=True)
@_genes_in
@_layer
@_prepared
@_genes
@_epochs
@_device
@options.settings
@options.seed
@options.quiet
def evaluate(source: str, out: str | None, hide: str, runs: int, **given: Any) -> None:
    """Hide some of what was seen in FILE, fit on the rest, and compare answers with it.

    Compared are AutoImpute with and without sparsity normalisation and the mean of each gene. A fit
    that fails is reported, and the others go on.
    """
    from nanwise.bench.cells import METHODS, evaluate_hidden
    from nanwise.cli.files import output_folder
    from nanwise.cli.trouble import warn
    from nanwise.data.cells import CellPrep

    shares = _shares(hide)
    params = _params(given, taken=("normalize",))
    methods = {name: _with(make, params) for name, make in METHODS.items()}
    counts = _read(source, given)
    folder = output_folder(out or f"nanwise-{Path(source).stem}", [Path(source)])
    if not given["prepared"]:
        counts = CellPrep(genes=given["genes"]).fit_transform(counts)
    facts = evaluate_hidden(
        counts,
        methods,
        shares=shares,
        runs=runs,
        seed=given["seed"],
        progress=not given["quiet"],
    )
    facts["settings"] |= {"hide": list(shares), **params}
    for note in facts["data"]["notes"]:
        warn(note)
    _show(facts)
    for failure in facts["failures"]:
        warn(f"{failure['method']} failed with {failure['fold']}: {failure['error']}")
    _write(facts, source, given, folder)


# -- what is typed --------------------------------------------------------------------------------


def _read(source: str, given: dict[str, Any]) -> Counts:
    from nanwise.data.cells import read_cells

    return read_cells(source, genes_in=given["genes_in"], layer=given["layer"])


def _params(given: dict[str, Any], taken: tuple[str, ...] = ()) -> dict[str, Any]:
    from nanwise.cli.image_args import params_of
    from nanwise.estimators.cells.autoimpute import AutoImpute

    return params_of(given, AutoImpute(), taken)


def _model(given: dict[str, Any]) -> Any:
    from nanwise.estimators.cells.autoimpute import AutoImpute

    return AutoImpute(random_state=given["seed"]).set_params(**_params(given))


def _with(make: Any, params: dict[str, Any]) -> Any:
    """Models with parameters, where they have any."""

    def made(seed: int) -> Any:
        model = make(seed)
        return model.set_params(**params) if hasattr(model, "set_params") else model

    return made


def _shares(text: str) -> tuple[float, ...]:
    try:
        shares = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        shares = ()
    if not shares or not all(0 < share < 1 for share in shares):
        raise ValueError(f"--hide takes shares above 0 and below 1, as in 0.1,0.5; got {text!r}")
    return tuple(dict.fromkeys(shares))


# -- results --------------------------------------------------------------------------------------


def _as_counts(prep: CellPrep, filled: Counts, counts: Counts) -> tuple[Counts, Counts]:
    """Filled values as counts of their cells, those seen to the last digit; and those before."""
    import numpy as np

    from nanwise.data.cells import Counts as Made
    from nanwise.data.cells.counts import dense

    raw = prep.inverse_transform(filled, counts).matrix
    seen = dense(counts.matrix[:, prep.places_], np.float64)
    kept = Made(np.where(seen != 0, seen, raw), filled.cells, filled.genes)
    return kept, Made(seen, filled.cells, filled.genes)


def _filled_facts(before: Counts, model: Any, target: Path, took: float) -> dict[str, Any]:
    from nanwise.bench.case import plain, versions
    from nanwise.bench.cells import cell_facts

    chosen = model.get_params(deep=False)
    return plain(
        {
            "kind": "cells",
            "title": "Imputation of cells",
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "method": "AutoImpute",
            "data": cell_facts(before),
            "files": [str(target)],
            "seconds": took,
            "settings": {k: v for k, v in chosen.items() if k not in ("plan", "device")},
            "versions": versions(),
        }
    )


def _write(facts: dict[str, Any], source: str, given: dict[str, Any], folder: Path) -> None:
    from nanwise.report import write

    facts["data"]["source"] = Path(source).name
    if not given["prepared"]:
        kept = facts["data"]["genes"]
        facts["data"]["notes"] = [
            f"Counts were prepared as published: {kept:,} genes are kept, cells are scaled to the "
            "median library size, and errors are in units of log2(x + 1).",
            *facts["data"]["notes"],
        ]
    facts["command"] = shlex.join(["nanwise", *sys.argv[1:]])
    write(facts, folder)
    click.echo(f"report: {folder / 'report.html'}")


def _show(facts: dict[str, Any]) -> None:
    from nanwise.cli import show

    data = facts["data"]
    rows = [
        (
            row["method"],
            f"{row['share']:g}",
            *(_figure(row[name]) for name in ("rmse", "mae", "nmse")),
            show.number(row["fit_seconds"], 1),
        )
        for row in facts["rows"]
    ]
    title = f"{data['cells']:,} cells, {data['genes']:,} genes"
    show.table(HEADS, rows, right=HEADS[1:], title=title)


def _figure(score: dict[str, Any]) -> str:
    if score["mean"] is None:
        return "failed"
    half = "" if score["ci"] is None else f" ± {score['ci']:.3f}"
    return f"{score['mean']:.3f}{half}"
