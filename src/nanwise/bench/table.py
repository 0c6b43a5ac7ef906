"""The user's table, ready for a grid: read, checked, and with a fingerprint."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nanwise.bench.case import digest
from nanwise.errors import DataError, need

TASKS = ("auto", "classification", "regression")


@dataclass
class Table:
    """Features and target of all rows that have a target.

    Attributes
    ----------
    X : DataFrame
        Features, without the target.
    y : array of shape (N,)
    task : str
        ``classification`` or ``regression``.
    schema : Schema
        Kinds of the columns of ``X``.
    target : str
        Name of the target column.
    source : str
        File name, or ``data frame``.
    dropped : int
        Rows left out because their target is missing.
    notes : list of str
        What the reader of a report should know.
    """

    X: Any
    y: np.ndarray
    task: str
    schema: Any
    target: str
    source: str = "data frame"
    dropped: int = 0
    notes: list[str] = field(default_factory=list)

    def fingerprint(self) -> str:
        """Hash of values, names, kinds of columns, target and task; equal on every machine."""
        pandas = need("pandas", "cli")
        cells = hashlib.sha256()
        for column in (*self.X.columns, None):
            values = self.y if column is None else self.X[column].to_numpy()
            hashed = pandas.util.hash_array(np.asarray(values, dtype=_hashable(values)))
            cells.update(hashed.tobytes())
        names = [str(name) for name in self.X.columns]
        facts = [names, self.schema.to_dict(), self.target, self.task, cells.hexdigest()]
        return digest(facts)


def read(source: Any, target: str, task: str = "auto", schema: Any = None) -> Table:
    """Read a file or take a data frame, split off the target and refuse what cannot be learnt.

    Parameters
    ----------
    source : path or DataFrame
    target : str
        Name of the target column.
    task : {"auto", "classification", "regression"}
    schema : Schema, mapping of column name to kind, or path of a JSON file, optional
        Kinds of columns; what is not said is inferred.
    """
    from nanwise.data.table import infer_task, split_target

    if task not in TASKS:
        raise ValueError(f"task must be one of {TASKS}, got {task!r}")
    frame, name = _frame(source)
    X, y, dropped = split_target(frame, target)
    y = np.asarray(y)
    task = infer_task(y) if task == "auto" else task
    table = Table(X, _target(y, task, target), task, _schema(schema, X), target, name, dropped)
    _refuse_constant(table)
    if dropped:
        table.notes.append(f"{dropped} rows without a value of {target!r} were left out")
    return table


def _frame(source: Any) -> tuple[Any, str]:
    if isinstance(source, str | os.PathLike):
        from nanwise.data.table import read_table

        return read_table(source), Path(source).name
    if hasattr(source, "to_pandas"):  # polars, pyarrow
        return source.to_pandas(), "data frame"
    if hasattr(source, "iloc") and hasattr(source, "columns"):
        return source, "data frame"
    raise TypeError(f"compare takes a path or a data frame, got {type(source).__name__}")


def _schema(given: Any, X: Any) -> Any:
    from nanwise.data.schema import Schema

    if given is None:
        return Schema.infer(X)
    if isinstance(given, str | os.PathLike):
        return Schema.read(given)
    if isinstance(given, Mapping):
        return Schema.infer(X, overrides=given)
    return given


def _target(y: np.ndarray, task: str, name: str) -> np.ndarray:
    if task == "classification":
        return y.astype(str) if y.dtype.kind == "O" else y
    try:
        return y.astype(float)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the target {name!r} of a regression must be numeric, got for example {y[0]!r}; "
            "choose task='classification' or another target"
        ) from error


def _refuse_constant(table: Table) -> None:
    distinct = np.unique(table.y)
    if len(distinct) == 0:
        raise DataError(f"no row has a value of the target {table.target!r}")
    if len(distinct) == 1:
        raise DataError(
            f"the target {table.target!r} has one value only, {distinct[0]!r}, in all "
            f"{len(table.y)} rows that have one; there is nothing to predict"
        )


def _hashable(values: Any) -> Any:
    """Objects are hashed by their text, so that mixed types and missing marks are no obstacle."""
    kind = getattr(values, "dtype", np.dtype(object)).kind
    return str if kind in "OUST" else None
