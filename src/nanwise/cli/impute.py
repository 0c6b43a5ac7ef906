"""``nanwise impute``: a table with gaps in, completed tables, a report and a model out."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanwise.cli import options

if TYPE_CHECKING:
    from nanwise.cli.files import Table
    from nanwise.estimators.table_imputer import TableImputer

MODEL, META = "model", "meta.json"
#: columns in the table on the terminal, those with most gaps
SHOWN = 30
HEADS = ("column", "kind", "gaps", "filled", "error", "mean filling")


@click.command("impute", short_help="Fill the gaps of a table, once or several times.")
@click.argument("source", metavar="DATA|MODEL")
@click.argument("new", metavar="[NEW]", required=False)
@click.option("--method", metavar="NAME", help="See: nanwise methods.  [default: see below]")
@click.option(
    "-m",
    "count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Completed files; more than one: random draws.",
)
@click.option("--out", metavar="DIR", help="Folder for everything; default: nanwise-DATA.")
@click.option(
    "--check",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.1,
    show_default=True,
    metavar="SHARE",
    help="Share of known cells hidden to measure errors on; 0: none.",
)
@click.option("--save", "keep", is_flag=True, help="Keep the fitted imputer in DIR/model.")
@click.option("--device", metavar="NAME", help="For networks: cpu, cuda, cuda:1 or auto.")
@click.option(
    "--chunk-rows",
    type=click.IntRange(min=1),
    default=50_000,
    show_default=True,
    help="With a MODEL: rows in memory at once.",
)
@options.settings
@options.schema
@options.seed
@options.quiet
def command(source: str, new: str | None, **given: Any) -> None:
    """Fill the gaps of DATA; write the completed table and a report.

    DATA is a file (CSV, TSV, Parquet; .gz too) or the name of a data set. Nothing but gaps is
    changed: all other cells of a text file are copied as they stand, byte for byte; a Parquet file
    keeps its types. Without --method, the best single value comes from chained regressions, several
    draws (-m 5) from an imputer that samples.

    With the folder of a MODEL that --save has kept, fill the gaps of the file NEW.
    """
    if (Path(source) / META).is_file() or new is not None:
        _fill_new(source, new, given)
    else:
        _fill(source, given)


# -- learn and fill -------------------------------------------------------------------------------


def _fill(source: str, given: dict[str, Any]) -> None:
    from nanwise.bench.imputing import default_method, impute
    from nanwise.cli.completed import copy, outputs, patching
    from nanwise.cli.files import open_data
    from nanwise.cli.settings import imputer_params

    method = given["method"] or default_method(given["count"])
    params = imputer_params(given["pairs"], method, given["device"])
    table = open_data(source)
    folder = _folder(given, table.name, table.path)
    paths = outputs(folder, table.path, given["count"])
    if not table.frame.isna().to_numpy().any():
        copy(table, paths[0])
        return
    found = impute(
        table.frame,
        method,
        params,
        m=given["count"],
        schema=given["schema"],
        check=given["check"],
        seed=given["seed"],
        progress=not given["quiet"],
    )
    for path, after in zip(paths, found.tables, strict=True):
        with patching(table, path, found.model, len(found.before)) as patch:
            patch.put(found.before, after)
    _conclude(found.facts, found.model, table, folder, paths, given["keep"])


def _folder(given: dict[str, Any], name: str, path: Path | None) -> Path:
    from nanwise.cli.files import output_folder
    from nanwise.cli.models import model_folder

    folder = output_folder(given["out"] or f"nanwise-{name}", [path])
    if given["keep"]:
        model_folder(str(folder / MODEL))
    return folder


# -- new rows -------------------------------------------------------------------------------------


def _fill_new(source: str, new: str | None, given: dict[str, Any]) -> None:
    from nanwise.cli.completed import outputs
    from nanwise.cli.files import Table
    from nanwise.cli.models import open_saved
    from nanwise.cli.wording import counted

    if new is None:
        raise ValueError(f"{source} is a saved model; name the file to fill after it")
    model = open_saved(source)
    if not hasattr(model, "imputer_"):
        raise ValueError(f"{source} holds a {type(model).__name__}, which is no imputer")
    _refuse_learning(model, given)
    name = Path(new).name.split(".")[0]
    table = Table(name, None, "", Path(new))  # type: ignore[arg-type]
    folder = _folder({**given, "keep": False}, name, table.path)
    paths = outputs(folder, table.path, given["count"])
    rows, filled = _stream(model, table, paths, given)
    for path in paths:
        click.echo(f"{path}: {counted(filled, 'gap')} filled in {counted(rows, 'row')}")


def _refuse_learning(model: TableImputer, given: dict[str, Any]) -> None:
    """What is fixed when a model is learnt cannot be asked for afterwards."""
    for option in ("method", "schema", "pairs", "device", "keep"):
        if given[option]:
            spelt = {"pairs": "set", "keep": "save"}.get(option, option)
            raise ValueError(f"--{spelt} belongs to learning; a saved model has learnt already")
    if given["count"] > 1 and not model.imputer_.samples:
        raise ValueError(f"-m {given['count']}: {model.method} gives one answer and cannot draw")
    most = model.imputer_.own_draws_
    if most is not None and given["count"] > most:
        raise ValueError(
            f"-m {given['count']}: this model has parameters for {most} draws that can be pooled; "
            "learn it again with a larger -m"
        )


def _stream(
    model: TableImputer, table: Table, paths: Sequence[Path], given: dict[str, Any]
) -> tuple[int, int]:
    """Fill a file some rows at a time, into all outputs; how many rows and gaps there were."""
    from sklearn.utils import check_random_state
    from tqdm import tqdm

    from nanwise.cli.completed import patching
    from nanwise.cli.trouble import warn
    from nanwise.data.schema import merge_notes
    from nanwise.data.table import read_chunks

    count, size, random = len(paths), given["chunk_rows"], check_random_state(given["seed"])
    numeric = {c.name for c in model.schema_.columns if c.kind == "numeric"}
    rows, filled, notes = 0, 0, []
    with ExitStack() as stack:
        patches = [stack.enter_context(patching(table, p, model, size)) for p in paths]
        bar = stack.enter_context(
            tqdm(unit=" rows", unit_scale=True, disable=given["quiet"], delay=1)
        )
        for chunk in read_chunks(str(table.path), rows=size, numeric=numeric):
            before, found = model.check(chunk)
            notes = merge_notes([*notes, *found])
            done = [model.transform(before)] if count == 1 else model.sample(before, count, random)
            counts = [p.put(before, after) for p, after in zip(patches, done, strict=True)]
            filled += counts[0]
            rows += len(chunk)
            bar.update(len(chunk))
    for note in notes:
        warn(str(note))
    return rows, filled


# -- results --------------------------------------------------------------------------------------


def _conclude(
    facts: dict[str, Any],
    model: TableImputer,
    table: Table,
    folder: Path,
    paths: list[Path],
    keep: bool,
) -> None:
    from nanwise.cli.trouble import warn
    from nanwise.report import write
    from nanwise.saving import save

    source = table.path.name if table.path else table.name
    facts["title"] = f"Gaps of {source}, filled by {facts['method']}"
    facts["data"]["source"] = source
    facts["files"] = [str(path) for path in paths]
    facts["command"] = shlex.join(["nanwise", *sys.argv[1:]])
    if keep:
        save(model, folder / MODEL)
        facts["model"]["path"] = str(folder / MODEL)
    write(facts, folder)
    for note in facts["data"]["notes"]:
        warn(note)
    _show(facts)
    for path in paths:
        click.echo(f"completed: {path}")
    if keep:
        click.echo(f"model:     {folder / MODEL}")
    click.echo(f"report:    {folder / 'report.html'}")


def _show(facts: dict[str, Any]) -> None:
    from nanwise.cli import show

    check = {row["name"]: row for row in (facts["check"] or {}).get("columns", ())}
    most = sorted(facts["columns"], key=lambda row: -row["missing"])[:SHOWN]
    rows = [
        (
            row["name"],
            row["kind"],
            f"{row['missing']:,}",
            f"{row['filled']:,}",
            *_errors(check.get(row["name"])),
        )
        for row in most
        if row["missing"]
    ]
    show.table(HEADS, rows, right=HEADS[2:], title=_caption(facts))


def _errors(row: dict[str, Any] | None) -> tuple[str, str]:
    from nanwise.cli import show

    if row is None:
        return "–", "–"
    mark = " wrong" if row["measure"] == "share wrong" else " sd"
    ours, theirs = (show.number(row[name], 2) for name in ("error", "mean_error"))
    return tuple(text if text == "–" else text + mark for text in (ours, theirs))  # type: ignore[return-value]


def _caption(facts: dict[str, Any]) -> str:
    from nanwise.cli.wording import counted, seconds

    data, took = facts["data"], sum(facts["seconds"].values())
    head = f"{facts['method']}: {counted(data['filled'], 'gap')} filled, {seconds(took)}"
    if not facts["check"]:
        return head
    return f"{head}; errors on {counted(facts['check']['cells'], 'known cell')} that were hidden"
