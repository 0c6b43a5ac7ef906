"""Ratings from files, frames and sparse matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from nanwise.data.frames import as_frame, refuse_twice
from nanwise.data.ratings.collect import Collector, Rule
from nanwise.data.ratings.core import Ratings
from nanwise.data.ratings.ids import as_ids
from nanwise.data.ratings.layout import Columns, assign, look
from nanwise.data.ratings.scale import Scale, given_scale, learn_scale
from nanwise.data.ratings.text import Chunk, numbers, text_chunks, times
from nanwise.data.sniff import is_parquet, told
from nanwise.errors import DataError, need

if TYPE_CHECKING:
    import pandas as pd


def read_ratings(
    path: str | PathLike[str],
    columns: Columns = None,
    *,
    duplicates: Rule = "last",
    missing: Literal["error", "drop"] = "error",
    scale: Scale | Sequence[float] | None = None,
    sep: str | None = None,
    encoding: str = "",
    chunk_rows: int = 500_000,
) -> Ratings:
    """Read ratings from a file, piece by piece.

    Parameters
    ----------
    path : path
        CSV, TSV, other delimited text, lines such as ``1::1193::5::978300760``, all of them
        gzipped or not, with or without a header; or Parquet. The content decides, not the name.
    columns : mapping or sequence, optional
        Which columns are meant: ``{"user": …, "item": …, "rating": …, "time": …}`` or the same in
        this order; each a name in the header or a position from 0. When not given, names such as
        userId, movie_id, rating and timestamp are recognised; without a header, the order is user,
        item, rating, time. Times are optional: leave the key out to ignore them.
    duplicates : {"last", "first", "mean", "error"}, default="last"
        What counts when a user rated an item more than once. ``"last"`` and ``"first"`` go by time
        where times are known, and by the order of rows among equals. ``"mean"`` may lie between
        the levels of the scale; it takes the latest time. ``facts["duplicates"]`` counts the rows
        that were merged into others.
    missing : {"error", "drop"}, default="error"
        What to do with rows without user, item or rating; dropped ones are counted in
        ``facts["rows_dropped"]``.
    scale : (smallest, largest) or (smallest, largest, step), optional
        Ratings that are not on it are refused. Learnt from the ratings when not given.
    sep : str, optional
        The delimiter, of one or more characters; found when not given.
    encoding : str, optional
        UTF-8 when not given.
    chunk_rows : int, default=500_000
        About how many rows are in memory as text at a time.

    Returns
    -------
    Ratings
        Users and items in order of their first appearance. Ids are int64 if every id of the column
        is a whole number as Python writes it; else they are texts, so 007 and 7 stay apart.

    Raises
    ------
    DataError
        One line that says what is wrong, in which line of the file, and what to do.
    """
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1, got {chunk_rows}")
    path = Path(path)
    in_text = not is_parquet(path)
    into = Collector(str(path), duplicates, missing, given_scale(scale), written=in_text)
    if in_text:
        chunks = text_chunks(look(path, columns, sep, encoding), chunk_rows)
    else:
        chunks = _parquet_chunks(path, columns, chunk_rows)
    return _collected(chunks, into)


def from_frame(
    frame: Any,
    columns: Columns = None,
    *,
    duplicates: Rule = "last",
    missing: Literal["error", "drop"] = "error",
    scale: Scale | Sequence[float] | None = None,
) -> Ratings:
    """Ratings from a frame of pandas or polars, or a mapping of names to columns.

    The parameters are those of :func:`read_ratings`. Ids keep their type; those of a column of
    objects may be anything hashable.
    """
    into = Collector("the frame", duplicates, missing, given_scale(scale))
    table = as_frame(frame)
    places = assign(list(table.columns), columns, "the frame")
    return _collected([_frame_chunk(table, places, "the frame", 0)] if len(table) else [], into)


def from_csr(matrix: Any, users: Any = None, items: Any = None, time: Any = None) -> Ratings:
    """Ratings from a sparse matrix of users × items whose stored cells are the observed ones.

    Parameters
    ----------
    matrix : scipy.sparse matrix or array, users × items
        A stored 0 is a rating of 0. It is not changed.
    users, items : sequences, optional
        Ids along the axes; 0, 1, 2, … when not given.
    time : array, optional
        Aligned with ``matrix.data`` of a CSR matrix with sorted indices.
    """
    if not sparse.issparse(matrix):
        raise DataError(
            f"expected a sparse matrix in which stored cells are ratings, got "
            f"{type(matrix).__name__}; for tables with user, item and rating use from_frame"
        )
    csr = _canonical(matrix, time is not None)
    wrong = np.flatnonzero(~np.isfinite(csr.data))
    if len(wrong):
        row = int(np.searchsorted(csr.indptr, wrong[0], side="right")) - 1
        raise DataError(
            f"the stored cell in row {row}, column {csr.indices[wrong[0]]} is "
            f"{csr.data[wrong[0]]}; a rating is a finite number, and a missing one is not stored"
        )
    return Ratings(
        as_ids(users, csr.shape[0], "user"),
        as_ids(items, csr.shape[1], "item"),
        csr,
        learn_scale(csr.data),
        None if time is None else np.asarray(time),
        {"source": "a sparse matrix", "rows_read": csr.nnz, "rows_dropped": 0, "duplicates": 0},
    )


def _canonical(matrix: Any, timed: bool) -> sparse.csr_array:
    """float32 CSR with int32 indices, sorted; nothing of the caller's is changed."""
    if timed and not (matrix.format == "csr" and matrix.has_sorted_indices):
        raise DataError("times can only be aligned with a CSR matrix with sorted indices")
    csr = sparse.csr_array(matrix)
    # Making CSR of COO adds up what is stored twice.
    stored_twice = csr.nnz < matrix.nnz
    csr = sparse.csr_array(
        (
            csr.data.astype(np.float32),
            csr.indices.astype(np.int32),
            csr.indptr.astype(np.int32),
        ),
        shape=csr.shape,
    )
    csr.sort_indices()
    if stored_twice or not csr.has_canonical_format:
        raise DataError("the matrix stores some cell more than once; a cell holds one rating")
    return csr


def _collected(chunks: Iterable[Chunk], into: Collector) -> Ratings:
    for chunk in chunks:
        into.add(chunk)
    return into.finish()


def _parquet_chunks(path: Path, columns: Columns, rows: int) -> Iterator[Chunk]:
    parquet, lib = need("pyarrow.parquet", "cli"), need("pyarrow", "cli")
    try:
        with told(path), open(path, "rb") as handle:
            file = parquet.ParquetFile(handle)
            names = file.schema_arrow.names
            refuse_twice(names, str(path))
            places = assign(names, columns, str(path))
            chosen = [names[place] for place in places.values()]
            roles = {role: place for place, role in enumerate(places)}
            start = 0
            for batch in file.iter_batches(batch_size=rows, columns=chosen):
                frame = batch.to_pandas()[chosen]
                yield _frame_chunk(frame, roles, str(path), start)
                start += len(frame)
    except lib.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path} is a damaged Parquet file: {reason}") from error


def _frame_chunk(frame: pd.DataFrame, places: dict[str, int], source: str, start: int) -> Chunk:
    def where(row: int) -> str:
        return f"{source}, row {start + row}"

    column = {role: frame.iloc[:, place] for role, place in places.items()}
    return Chunk(
        column["user"],
        column["item"],
        numbers(column["rating"], where, decimal_comma=False),
        times(column["time"], where) if "time" in column else None,
        where,
    )
