"""``nanwise predict``: a model and a file in, a file of predictions out, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanwise.cli import options

if TYPE_CHECKING:
    import pandas as pd

#: rows of a chunk, and cells of a chunk of a wide table (80 MB of numbers)
ROWS, CELLS = 50_000, 10_000_000


@click.command("predict")
@click.argument("model")
@click.argument("data")
@click.option("-o", "--out", required=True, help="File to write (CSV, TSV, Parquet).")
@click.option("--proba", is_flag=True, help="Add a probability for each class.")
@click.option(
    "--keep",
    metavar="COLUMN",
    multiple=True,
    help="Carry a column over, e.g. an id; may be given several times.",
)
@click.option(
    "--chunk-rows",
    type=click.IntRange(min=1),
    help="Rows in memory at once.  [default: 50000, fewer for wide tables]",
)
@click.option(
    "--step",
    type=float,
    metavar="WIDTH",
    help="For a model of series: width of a time step.  [default: as the model was fitted]",
)
@click.option("--end", type=float, metavar="TIME", help="For a model of series: all end here.")
@click.option(
    "--variables",
    metavar="A,B",
    help="For a model of series that knows no names: the variables in the order of its fit.",
)
@options.quiet
def command(model: str, data: str, out: str, **given: Any) -> None:
    """Predict every row of the file DATA with the saved MODEL.

    Rows keep their order. The file is read and written in chunks and may be larger than memory.

    With a model of series, as nanwise compare --series saves it, DATA is a long table with the
    columns id, time, variable, value. It is read whole, and there is one prediction per id.
    """
    from nanwise.cli.files import output_file
    from nanwise.cli.models import open_saved, refuse_apart
    from nanwise.estimators.series.net import SeriesEstimator

    file = output_file(out, [Path(data)])
    found = open_saved(model)
    refuse_unable(found, given["proba"])
    if isinstance(found, SeriesEstimator):
        from nanwise.cli.predict_series import predict_file

        predict_file(found, data, file, given)
        return
    refuse_apart(found, "see nanwise images predict")
    for option in ("step", "end", "variables"):
        if given[option] is not None:
            raise click.UsageError(f"--{option} is for models of series, not {_kind(found)}.")
    _predict_table(found, data, file, given)


def _predict_table(model: Any, data: str, file: Path, given: dict[str, Any]) -> None:
    from nanwise.cli.trouble import warn
    from nanwise.cli.wording import counted
    from nanwise.data.table import TableWriter, read_chunks

    predictor = Predictor(model, given["proba"], given["keep"])
    with TableWriter(file) as writer:
        rows = given["chunk_rows"] or predictor.chunk_rows
        chunks = read_chunks(data, rows=rows, numeric=predictor.numeric)
        for answer in predictor.answers(chunks, given["quiet"]):
            writer.write(answer)
    for note in predictor.notes:
        warn(str(note))
    click.echo(f"{file}: {counted(predictor.rows, 'prediction')}")


def refuse_unable(model: Any, proba: bool) -> None:
    """ValueError for a saved object that cannot give what is asked for."""
    if not hasattr(model, "predict"):
        raise ValueError(f"a saved {_kind(model)} does not predict")
    if proba and not hasattr(model, "predict_proba"):
        raise ValueError("--proba: this model predicts numbers, not classes")


def answer_columns(model: Any, X: Any, proba: bool) -> dict[str, Any]:
    """Columns of the output: predictions, and the probability of each class."""
    found = model.predict(X)
    columns = {"prediction": found} if found.ndim == 1 else _numbered(found)
    if proba:
        table = model.predict_proba(X)
        columns |= {f"probability_{c}": table[:, j] for j, c in enumerate(model.classes_)}
    return columns


def _numbered(found: Any) -> dict[str, Any]:
    return {f"prediction_{j}": column for j, column in enumerate(found.T)}


def _kind(model: Any) -> str:
    return type(model).__name__


class Predictor:
    """A model that answers chunk by chunk and remembers what was odd about them.

    Parameters
    ----------
    model : fitted model
    proba : bool
        Whether to add the probability of each class.
    keep : sequence of str
        Columns that are carried over.
    """

    def __init__(self, model: Any, proba: bool = False, keep: Iterable[str] = ()):
        refuse_unable(model, proba)
        self.model = model
        self.proba = proba
        self.keep = list(keep)
        self.rows = 0
        self.notes: list[Any] = []

    @property
    def numeric(self) -> set[str]:
        """Columns that may be read as numbers; what is carried over stays as it stands."""
        schema = getattr(self.model, "schema_", None)
        columns = schema.columns if schema is not None else ()
        return {c.name for c in columns if c.kind == "numeric"} - set(self.keep)

    @property
    def chunk_rows(self) -> int:
        """As many rows as fit well into memory."""
        schema = getattr(self.model, "schema_", None)
        width = len(schema.columns) if schema is not None else 1
        return max(1, min(ROWS, CELLS // max(1, width)))

    def answers(self, chunks: Iterable[pd.DataFrame], quiet: bool) -> Iterable[pd.DataFrame]:
        """One frame of predictions for each chunk."""
        from tqdm import tqdm

        with tqdm(unit=" rows", unit_scale=True, disable=quiet, delay=1) as bar:
            for chunk in chunks:
                yield self(chunk)
                self.rows += len(chunk)
                bar.update(len(chunk))

    def __call__(self, chunk: pd.DataFrame) -> pd.DataFrame:
        """Predictions of one chunk, in the order of its rows."""
        kept = self._kept(chunk)
        X = self._features(chunk)
        answer = answer_columns(self.model, X, self.proba)
        twice = [name for name in kept.columns if name in answer]
        if twice:
            raise ValueError(f"--keep {twice[0]}: the output has a column of that name already")
        return kept.assign(**answer)

    def _kept(self, chunk: pd.DataFrame) -> pd.DataFrame:
        from nanwise.cli.wording import nearest

        for name in self.keep:
            if name not in chunk.columns:
                raise ValueError(f"--keep: no column is called {name!r}; {nearest(name, chunk)}")
        return chunk[self.keep]

    def _features(self, chunk: pd.DataFrame) -> pd.DataFrame:
        """Columns as the model knows them; target and kept columns are not strangers."""
        schema = getattr(self.model, "schema_", None)
        if schema is None:
            return chunk
        from nanwise.data.schema import merge_notes

        known = {getattr(self.model, "target", None), *self.keep} - set(schema.names)
        checked, notes = schema.check(chunk.drop(columns=[n for n in chunk if n in known]))
        # Merged at once: a long file must not gather a long list.
        self.notes = merge_notes([*self.notes, *notes])
        return checked
