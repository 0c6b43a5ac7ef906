"""The user's table, ready for a grid: read, checked, and with a fingerprint."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from nanwise.bench.case import Case, digest
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
    #: methods that are stressed beside the winner, and sizes of the stress test
    stressed: ClassVar[tuple[str, ...]] = ("zero", "sparsity_norm", "hist_gradient_boosting")
    stress_sizes: ClassVar[dict[str, Any]] = {"repeats": 20}

    def part(self, rows: np.ndarray) -> tuple[Any, np.ndarray]:
        """Features and target of some rows."""
        return self.X.iloc[rows], self.y[rows]

    def whole(self) -> tuple[Any, np.ndarray]:
        """Features and target of all rows, for the model that is kept."""
        return self.X, self.y

    def model_of(self, case: Case) -> Any:
        """The unfitted model of a case."""
        from nanwise.estimators.table_model import TableModel

        return TableModel(
            case.method,
            self.task,
            target=self.target,
            params=dict(case.params),
            schema=self.schema,
            random_state=case.seed,
        )

    def overview(self) -> dict[str, Any]:
        """What it looks like, as plain facts for a report."""
        from nanwise.bench.overview import overview

        return overview(self)

    def fingerprint(self) -> str:
        """Hash of values, names, kinds of columns, target and task; equal on every machine."""
        pandas = need("pandas", "cli")
        cells = hashlib.sha256(pandas.util.hash_pandas_object(self.X, index=False).to_numpy())
        cells.update(pandas.util.hash_array(_hashable(self.y)))
        return digest([self.schema.to_dict(), self.target, self.task, cells.hexdigest()])


def read(source: Any, target: str, task: str = "auto", schema: Any = None) -> Table:
    """Read a file or take a data frame, split off the target and refuse what cannot be learnt.

    Parameters
    ----------
    source : path or DataFrame
    target : str
        Name of the target column.
    task : {"auto", "classification", "regression"}
    schema : Schema, mapping of column name to kind, or path of a JSON file, optional
        Kinds of columns; what is not said is inferred (:meth:`nanwise.data.schema.Schema.infer`).
    """
    from nanwise.data.schema import Schema
    from nanwise.data.table import split_target

    if task not in TASKS:
        raise ValueError(f"task must be one of {TASKS}, got {task!r}")
    frame, name = _frame(source)
    X, y, dropped = split_target(frame, target)
    found = Schema.infer(X, overrides=schema, target=target)
    X, notes = found.check(X)
    values, task = read_target(y, task, target)
    table = Table(X, values, task, found, target, name, dropped)
    table.notes += [str(note) for note in (*found.notes, *notes)]
    if dropped:
        table.notes.append(f"{dropped} rows without a value of {target!r} were left out")
    return table


def read_target(y: Any, task: str, name: str) -> tuple[np.ndarray, str]:
    """The target as it is learnt, and the task; a target of one value only is refused."""
    from nanwise.data.table import infer_task

    task = infer_task(y) if task == "auto" else task
    values = _target(np.asarray(y), task, name)
    _refuse_constant(values, name)
    return values, task


def _frame(source: Any) -> tuple[Any, str]:
    if isinstance(source, str | os.PathLike):
        from nanwise.data.table import read_table

        return read_table(source), Path(source).name
    return source, "data frame"


def _target(y: np.ndarray, task: str, name: str) -> np.ndarray:
    if task == "classification":
        return _tidy_classes(y)
    try:
        y = y.astype(float)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the target {name!r} of a regression must be numeric, got for example {y[0]!r}; "
            "choose task='classification' or another target"
        ) from error
    if np.isinf(y).any():
        raise DataError(f"the target {name!r} is infinite in {np.isinf(y).sum()} rows")
    return y


def _refuse_constant(y: np.ndarray, name: str) -> None:
    distinct = np.unique(y)
    if len(distinct) == 1:
        raise DataError(
            f"the target {name!r} has one value only, {distinct[0]!r}, in all "
            f"{len(y)} rows that have one; there is nothing to predict"
        )


def _tidy_classes(y: np.ndarray) -> np.ndarray:
    """Texts as texts; whole numbers as integers, also when gaps in the file made them floats."""
    if y.dtype.kind not in "fiub":
        return y.astype(str)
    return y.astype(np.int64) if y.dtype.kind == "f" and (y == np.rint(y)).all() else y


def _hashable(y: np.ndarray) -> np.ndarray:
    return y.astype(object) if y.dtype.kind == "U" else y
