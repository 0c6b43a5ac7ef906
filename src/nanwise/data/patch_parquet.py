"""A Parquet file copied with values put into its gaps; schema and metadata stay."""

from __future__ import annotations

from datetime import time
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nanwise.data.parse import MARKERS
from nanwise.data.writing import TableWriter
from nanwise.errors import DataError, need

if TYPE_CHECKING:
    import pandas as pd

    from nanwise.data.schema import Column, Schema


_DAY = 86_400e6  # microseconds


class ParquetPatch(TableWriter):
    """Copies a Parquet file, some rows at a time; the twin of ``TextPatch``.

    Parameters
    ----------
    source, path : path
        What is copied, and where to.
    schema : Schema
        What the columns that may be filled are.
    rows : int
        Rows that are put at a time, as ``read_chunks`` gives them.
    """

    def __init__(
        self,
        source: str | PathLike[str],
        path: str | PathLike[str],
        schema: Schema,
        rows: int = 50_000,
    ):
        super().__init__(path)
        parquet = need("pyarrow.parquet", "cli")
        self._source = parquet.ParquetFile(Path(source))
        self._batches = self._source.iter_batches(batch_size=rows)
        self._schema = schema

    def put(self, before: pd.DataFrame, after: pd.DataFrame) -> int:
        """Copy the next rows with their gaps filled; how many cells were."""
        arrow, parquet = need("pyarrow", "cli"), need("pyarrow.parquet", "cli")
        form = self._source.schema_arrow
        if self._parquet is None:
            self._parquet = parquet.ParquetWriter(self._file, form)
        table = arrow.Table.from_batches(self._take(len(before)), schema=form)
        filled = 0
        for column in self._schema.columns:
            place = form.get_field_index(column.name)
            if place < 0:
                continue
            cells = table.column(place).combine_chunks()
            new, count = _filled(cells, column, before[column.name], after[column.name])
            table = table.set_column(place, form.field(place), new) if count else table
            filled += count
        self._parquet.write_table(table)
        return filled

    def _take(self, rows: int) -> list[Any]:
        """Batches that have so many rows together."""
        found: list[Any] = []
        while sum(map(len, found)) < rows and (more := next(self._batches, None)) is not None:
            found.append(more)
        if sum(map(len, found)) != rows:
            raise DataError(f"{self.path}: rows were not read in the pieces they are written in")
        return found


def _filled(cells: Any, column: Column, before: Any, after: Any) -> tuple[Any, int]:
    """The column with its gaps filled, and how many were."""
    arrow, compute = need("pyarrow", "cli"), need("pyarrow.compute", "cli")
    form = cells.type
    plain = cells.cast(form.value_type) if arrow.types.is_dictionary(form) else cells
    wanted = before.isna().to_numpy() & after.notna().to_numpy() & _gaps(arrow, plain)
    count = int(wanted.sum())
    if not count:
        return cells, 0
    values = _values(arrow, after[wanted], column, plain.type)
    if arrow.types.is_duration(plain.type):  # has no replacing of its own
        whole = plain.view(arrow.int64()), values.view(arrow.int64())
        out = compute.replace_with_mask(whole[0], arrow.array(wanted), whole[1]).view(form)
        return out, count
    out = compute.replace_with_mask(plain, arrow.array(wanted), values)
    return (out.dictionary_encode().cast(form) if plain is not cells else out), count


def _gaps(arrow: Any, cells: Any) -> np.ndarray:
    """Nulls, NaN, and texts that stand for nothing."""
    gaps = cells.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if _is_text(arrow, cells.type):
        texts = cells.to_pylist()
        gaps = gaps | np.array([t is not None and t.strip() in MARKERS for t in texts], bool)
    return gaps


def _values(arrow: Any, new: Any, column: Column, form: Any) -> Any:
    """Filled cells in the type of the file."""
    kinds = arrow.types
    if column.kind == "date":
        stamps = arrow.array(new.to_numpy().astype("datetime64[us]"))
        if _is_text(arrow, form):
            return arrow.array([str(v)[:10] for v in new], form)
        zoned = arrow.timestamp("us", "UTC") if getattr(form, "tz", None) else stamps.type
        return stamps.cast(zoned).cast(form, safe=False)
    if _is_text(arrow, form):
        return arrow.array([_text(v) for v in new], form)
    if kinds.is_time(form):
        return arrow.array([time.fromisoformat(str(v)) for v in new], form)
    if kinds.is_boolean(form):
        return arrow.array([str(v) in ("True", "1") for v in new], form)
    numbers = [float(v) for v in new]
    if kinds.is_integer(form):
        low, high = _ends(form)
        return arrow.array([min(max(round(v), low), high) for v in numbers], form)
    if kinds.is_duration(form):
        spans = np.rint(np.array(numbers) * _DAY).astype("timedelta64[us]")
        return arrow.array(spans).cast(form, safe=False)
    if kinds.is_decimal(form):
        return arrow.array([round(Decimal(repr(v)), form.scale) for v in numbers], form)
    return arrow.array(numbers).cast(form, safe=False)


def _ends(form: Any) -> tuple[int, int]:
    """Smallest and largest number of an integer type."""
    info = np.iinfo(form.to_pandas_dtype())
    return info.min, info.max


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _is_text(arrow: Any, form: Any) -> bool:
    return arrow.types.is_string(form) or arrow.types.is_large_string(form)
