"""Files, all or nothing: a temporary name in the same folder, then a rename."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from nanwise.data.frames import as_frame
from nanwise.errors import DataError, need


class TableWriter:
    """Write a table piece by piece; the file appears when all pieces are there.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv`` (also ``.csv.gz``, ``.tsv.gz``) or ``.parquet``; any other name is CSV.

    Examples
    --------
    >>> with TableWriter("out.csv") as writer:        # doctest: +SKIP
    ...     for chunk in read_chunks("in.csv"):
    ...         writer.write(chunk)

    Notes
    -----
    When the block is left by an error, nothing is left behind and an older file of that name stays
    as it was. All pieces must have the same columns.
    """

    def __init__(self, path: str | PathLike[str]):
        self.path = Path(path)
        self.rows = 0
        self._columns: list[str] | None = None
        self._parquet: Any = None

    def __enter__(self) -> Self:
        folder = self.path.parent
        try:
            handle, name = tempfile.mkstemp(
                prefix=f".{self.path.name}.", suffix=".part", dir=folder
            )
        except OSError as error:
            raise DataError(f"cannot write to the folder {folder}: {error.strerror}") from error
        self._part = Path(name)
        self._raw = os.fdopen(handle, "wb")
        self._file: Any = self._raw
        if self.path.suffix == ".gz":
            # No time stamp: the same table gives the same bytes.
            self._file = gzip.GzipFile(filename="", fileobj=self._raw, mode="wb", mtime=0)
        return self

    def write(self, frame: Any) -> None:
        """Append the rows of one frame."""
        frame = as_frame(frame)
        names = list(frame.columns)
        if self._columns not in (None, names):
            raise DataError(f"{self.path}: expected the columns {self._columns}, got {names}")
        if self._kind() == ".parquet":
            self._write_parquet(frame)
        else:
            sep = "\t" if self._kind() == ".tsv" else ","
            text = frame.to_csv(index=False, sep=sep, header=self._columns is None)
            self._file.write(text.encode("utf-8"))
        self._columns = names
        self.rows += len(frame)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._close()
            if kind is None:
                _as_usual(self._part)
                os.replace(self._part, self.path)
        except OSError as failure:
            raise DataError(f"{self.path} cannot be written: {failure.strerror}") from failure
        finally:
            self._raw.close()
            self._part.unlink(missing_ok=True)

    def _kind(self) -> str:
        suffixes = [suffix.lower() for suffix in self.path.suffixes if suffix != ".gz"]
        return suffixes[-1] if suffixes else ".csv"

    def _write_parquet(self, frame: Any) -> None:
        arrow = need("pyarrow", "cli")
        schema = self._parquet.schema if self._parquet else None
        table = arrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if self._parquet is None:
            self._parquet = need("pyarrow.parquet", "cli").ParquetWriter(self._file, table.schema)
        self._parquet.write_table(table)

    def _close(self) -> None:
        if self._parquet is not None:
            self._parquet.close()
        if self._file is not self._raw:
            self._file.close()
        if not self._raw.closed:
            self._raw.flush()
            os.fsync(self._raw.fileno())


def replace(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write under a temporary name and rename: the file is the old or the new one, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            write(file)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_table(frame: Any, path: str | PathLike[str]) -> None:
    """Write a frame to CSV, TSV (gzip too) or Parquet by its name, all or nothing."""
    with TableWriter(path) as writer:
        writer.write(frame)


def _as_usual(part: Path) -> None:
    """Give a temporary file, private by default, the permissions of an ordinary new file."""
    mask = os.umask(0)
    os.umask(mask)
    part.chmod(0o666 & ~mask)
