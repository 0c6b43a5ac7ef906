"""Where commands read and write: checks made before the work, not after an hour of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

    from nanwise.data.schema import Schema

#: what commands call the place that they write to, unless they say otherwise
OUT = "--out"


class Table(NamedTuple):
    """What stands behind the argument DATA."""

    name: str
    frame: pd.DataFrame
    target: str
    path: Path | None


def open_data(data: str) -> Table:
    """Read a file, or the data set of that name when there is no such file."""
    path = Path(data)
    if path.exists():
        from nanwise.data.table import read_table

        return Table(path.name.split(".")[0], read_table(path), "", path)
    if not _is_dataset(data):
        raise ValueError(
            f"{data}: no such file, and no data set of that name (list them: nanwise datasets)"
        )
    from nanwise.data.sets import load_dataset

    found = load_dataset(data)
    return Table(found.name, found.frame, found.target, None)


def open_any(data: str) -> tuple[pd.DataFrame, Path | None]:
    """Frame and path of :func:`open_data`."""
    table = open_data(data)
    return table.frame, table.path


def open_table(data: str, target: str | None) -> Table:
    """Like :func:`open_any`, for commands that need to know which column to predict."""
    table = open_data(data)
    target = target or table.target
    if not target:
        raise ValueError(f"say which column of {data} to predict: --target NAME")
    if target not in table.frame.columns:
        from nanwise.cli.wording import nearest

        raise ValueError(f"{data} has no column {target!r}; {nearest(target, table.frame.columns)}")
    return table._replace(target=target)


def complete_schema(path: str | None, table: Table) -> Schema | None:
    """The user's schema file, completed by what the table shows; None: all is inferred later."""
    if path is None:
        return None
    from nanwise.data.schema import Schema

    features = table.frame.drop(columns=table.target)
    return Schema.infer(features, overrides=path, target=table.target)


def output_file(path: str, inputs: Iterable[Path | None] = (), option: str = OUT) -> Path:
    """A file that may be written: not an input, not a folder; its folder is created.

    ``option`` is what the command calls it.
    """
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{option} {path} is a folder; name a file in it")
    for source in inputs:
        if source is not None and _same(source, target):
            raise ValueError(
                f"{option} {path} is the input file; choose another name, nothing was changed"
            )
    _make_folder(target.parent, option)
    return target


def output_folder(path: str, inputs: Iterable[Path | None] = (), option: str = OUT) -> Path:
    """A folder that may be written; created when it is not there.

    ``option`` is what the command calls it.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        what = "the input file" if any(s and _same(s, folder) for s in inputs) else "a file"
        raise ValueError(f"{path} is {what}, not a folder; choose another name with {option}")
    _make_folder(folder, option)
    return folder


def _is_dataset(name: str) -> bool:
    if os.sep in name or "." in name:
        return False
    from nanwise.data.sets import known_datasets

    return any(facts["name"] == name for facts in known_datasets())


def _make_folder(folder: Path, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"cannot create the folder {folder}: {error.strerror}") from error
    if not os.access(folder, os.W_OK):
        raise ValueError(f"the folder {folder} is not writable; choose another with {option}")


def _same(a: Path, b: Path) -> bool:
    return a.exists() and b.exists() and a.samefile(b)
