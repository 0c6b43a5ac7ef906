"""The completed files that ``nanwise impute`` writes: their names, and copies with gaps filled."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from nanwise.cli.files import Table
    from nanwise.estimators.table_imputer import TableImputer

COMPLETED = "completed"


def outputs(folder: Path, source: Path | None, count: int) -> list[Path]:
    """Names of the completed files: ``completed.csv``, or ``completed-1.csv`` and so on."""
    numbers = [""] if count == 1 else [f"-{k}" for k in range(1, count + 1)]
    paths = [folder / f"{COMPLETED}{number}{_suffix(source)}" for number in numbers]
    for path in paths:
        if source is not None and path.exists() and path.samefile(source):
            raise ValueError(f"{source} would be overwritten; choose another --out")
    _refuse_others(folder, paths)
    return paths


def _refuse_others(folder: Path, paths: list[Path]) -> None:
    """Completed files of an earlier run that would stand beside ours: whoever pools, mixes."""
    named = re.compile(rf"{COMPLETED}(-\d+)?\.(csv|tsv|txt|parquet)(\.gz)?")
    there = folder.iterdir() if folder.is_dir() else ()
    others = sorted(one.name for one in there if named.fullmatch(one.name) and one not in paths)
    if others:
        raise ValueError(
            f"{folder} has {others[0]} of an earlier run, which would stand among the files of "
            "this one; remove it, or choose another --out"
        )


def _suffix(source: Path | None) -> str:
    if source is None:
        return ".csv"
    return "".join(source.suffixes[-2:]) if source.suffix == ".gz" else source.suffix


def copy(table: Table, path: Path) -> None:
    """Nothing to fill: the same table under the new name."""
    from nanwise.data.patch import WholeFile

    with WholeFile(path) as out, _unpacked(table) as file:
        while block := file.read(1 << 20):
            out.put(block)
    click.echo(f"{path}: there are no gaps to fill, so this is a copy")


@contextmanager
def _unpacked(table: Table) -> Iterator[Any]:
    """The bytes of the file, or of the CSV file that a data set would be."""
    from nanwise.data.sniff import open_bytes

    if table.path is None:
        # Whole numbers without a point, as a file of them would have them.
        frame = table.frame.convert_dtypes(convert_string=False, convert_boolean=False)
        yield io.BytesIO(frame.to_csv(index=False).encode())
        return
    with open(table.path, "rb") as file:
        gzipped = file.read(2) == b"\x1f\x8b"
    with open_bytes(table.path, gzipped) as file:
        yield file


@contextmanager
def patching(table: Table, path: Path, model: TableImputer, rows: int) -> Iterator[Any]:
    """What copies the table to ``path`` with gaps filled, ``rows`` at a time."""
    from nanwise.data.patch import TextPatch
    from nanwise.data.patch_parquet import ParquetPatch
    from nanwise.data.sniff import is_parquet, sniff

    if table.path is not None and is_parquet(table.path):
        with ParquetPatch(table.path, path, model.schema_, rows) as patch:
            yield patch
        return
    form = sniff(table.path) if table.path is not None else None
    sep, decimal = (form.sep, form.decimal) if form else (",", ".")
    with (
        _unpacked(table) as file,
        TextPatch(file, path, model.schema_, model.decimals_, sep, decimal) as patch,
    ):
        yield patch
