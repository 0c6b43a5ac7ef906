"""What a data set is, and the check that what was read is what was meant."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nanwise.data.fetch import File, locate
from nanwise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Dataset:
    """A table with a target.

    Attributes
    ----------
    name : str
    frame : pandas.DataFrame
        The whole table, target included.
    target : str
        Name of the target column.
    task : str
        ``"classification"`` or ``"regression"``.
    about : dict
        ``about``, ``source``, ``licence``, ``citation``, ``n_rows``, ``n_columns``,
        ``missing_share`` (of the features).
    """

    name: str
    frame: pd.DataFrame
    target: str
    task: str
    about: dict[str, Any]

    @property
    def X(self) -> pd.DataFrame:
        """The features."""
        return self.frame.drop(columns=self.target)

    @property
    def y(self) -> pd.Series:
        """The target."""
        return self.frame[self.target]


@dataclass(frozen=True)
class Spec:
    """A data set described by plain values, before anything is read.

    Attributes
    ----------
    name, target, task, about, source, licence, citation : str
    rows, columns, gaps : int
        Rows, features and missing cells among the features.
    read : callable
        ``read(paths) -> frame`` with the target; ``paths`` are the places of ``files``.
    files : tuple of File
        None for sets that come with nanwise or scikit-learn.
    checksum : str
        :func:`content_checksum` of the frame; empty: not checked (scikit-learn's own sets).
    """

    name: str
    target: str
    about: str
    rows: int
    columns: int
    gaps: int
    source: str
    licence: str
    citation: str
    read: Callable[[list[Path]], pd.DataFrame]
    checksum: str = ""
    files: tuple[File, ...] = ()
    task: str = "classification"
    origin: str = "file"

    def facts(self) -> dict[str, Any]:
        """Plain values for lists."""
        return {
            "name": self.name,
            "task": self.task,
            "target": self.target,
            "rows": self.rows,
            "columns": self.columns,
            "missing_share": round(self.missing_share, 4),
            "about": self.about,
            "origin": self.origin,
            "files": [file.path for file in self.files],
            "source": self.source,
            "licence": self.licence,
            "citation": self.citation,
        }

    @property
    def missing_share(self) -> float:
        """Share of the features' cells that is missing."""
        return self.gaps / (self.rows * self.columns)

    def load(self, download: bool = False) -> Dataset:
        """Read the set and check that it is the one described here."""
        paths = [locate(file, self.name, self.source, download) for file in self.files]
        frame = self.read(paths)
        self._verify(frame, paths)
        about = {
            "about": self.about,
            "source": self.source,
            "licence": self.licence,
            "citation": self.citation,
            "n_rows": self.rows,
            "n_columns": self.columns,
            "missing_share": self.missing_share,
        }
        return Dataset(self.name, frame, self.target, self.task, about)

    def _verify(self, frame: pd.DataFrame, paths: list[Path]) -> None:
        where = ", ".join(map(str, paths)) or self.source
        got = (len(frame), frame.shape[1] - 1, int(frame.isna().sum().sum()))
        expected = (self.rows, self.columns, self.gaps)
        if got != expected:
            raise DataError(
                f"data set {self.name!r}: expected {expected[0]} rows, {expected[1]} features and "
                f"{expected[2]} gaps, got {got[0]}, {got[1]} and {got[2]} in {where}; "
                "the file is another version or cut off"
            )
        if self.checksum and content_checksum(frame) != self.checksum:
            raise DataError(
                f"data set {self.name!r}: the values in {where} are not the expected ones "
                "(checksum differs); the file is another version or was changed"
            )


def content_checksum(frame: pd.DataFrame) -> str:
    """Checksum of the values, whatever the order of rows, the header and the way of writing."""
    lines = zip(*(_as_written(frame[name]) for name in frame.columns), strict=True)
    text = "\n".join(sorted("\x1f".join(line) for line in lines))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _as_written(column: pd.Series) -> list[str]:
    if column.dtype.kind in "fiub":
        return [f"{x:.6g}" for x in column.to_numpy(dtype=np.float64, na_value=np.nan)]
    return column.astype(object).where(column.notna(), "").astype(str).tolist()
