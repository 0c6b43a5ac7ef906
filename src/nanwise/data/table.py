"""Tables in files: read whole or in chunks, write so that no half-written file is ever seen."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nanwise.data.frames import as_frame, listed, refuse_twice
from nanwise.data.parse import (
    MARKERS,
    dates_of,
    distinct,
    is_text,
    may_be_grouped,
    numbers_of,
    used,
)
from nanwise.data.sniff import Format, explain_encoding, is_parquet, open_bytes, sniff, told
from nanwise.data.watch import watched
from nanwise.data.writing import TableWriter, write_table
from nanwise.errors import DataError, GapWarning, need

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableWriter", "infer_task", "read_chunks", "read_table", "split_target", "write_table"]

#: integers with at most this many different values, each three times on average, are classes
FEW_CLASSES = 20
_DATE_TARGET = "a date cannot be a target; turn it into a number, such as days from today"
_DECIMAL_COMMA = re.compile(r"^([-+]?\d+),(\d+)$")


def read_table(
    path: str | PathLike[str],
    *,
    sep: str | None = None,
    encoding: str | None = None,
    text: Callable[[list[str]], Collection[str]] | None = None,
) -> pd.DataFrame:
    """Read a table: CSV, TSV or other delimited text (gzip too), or Parquet.

    Parameters
    ----------
    path : path
        The content decides what it is, not the name.
    sep : str, optional
        The delimiter; found among comma, semicolon, tab and bar when not given. In files with
        semicolon, tab or bar, a decimal comma is recognised.
    encoding : str, optional
        UTF-8 (a byte order mark is allowed) when not given.
    text : function, optional
        Of the names in the header; says which columns of a text file are names to the letter: 001
        is no number there, NA no gap.

    Returns
    -------
    pandas.DataFrame
        Gaps are NaN. Empty cells, NA, N/A, NaN, null, None, ? and - are gaps. Text such as
        "1,234" throughout a column is read as numbers with thousands separators. Cells that a row
        lacks at its end are gaps; a warning counts such rows.

    Raises
    ------
    DataError
        One line that says what is wrong with the file and what to do.
    """
    path = Path(path)
    if is_parquet(path):
        return _read_parquet(path)
    form = sniff(path, sep, encoding)
    names = _names(path, form) if text is not None else []
    chosen = set(text([name.strip() for name in names])) if text is not None else set()
    literal = [name for name in names if name.strip() in chosen]
    with _telling(path, form), watched(path, form) as file:
        frame = _text_reader(file, form, literal, names, low_memory=False).rename(columns=str.strip)
    if not len(frame):
        raise DataError(f"{path} has a header but no rows")
    _warn_headless(path, list(frame.columns))
    return _tidy(frame, chosen)


def _warn_headless(path: Path, names: list[str]) -> None:
    """A first line of numbers is hardly one of names; a few years or sizes may be."""
    numbers = numbers_of(list(names))
    if len(names) > 1 and not np.isnan(numbers).any() and (numbers != np.rint(numbers)).any():
        warnings.warn(
            f"{path}: the first line holds numbers only ({listed(names, 3)}) and is taken as names "
            "of the columns; if it is a row, put a line of names before it",
            GapWarning,
            stacklevel=3,
        )


def read_chunks(
    path: str | PathLike[str],
    rows: int = 50_000,
    *,
    sep: str | None = None,
    encoding: str | None = None,
    numeric: Collection[str] = (),
) -> Iterator[pd.DataFrame]:
    """Read a table piece by piece, for files larger than memory.

    The same rules as in :func:`read_table`, but the cells of text files stay text, so that a column
    has one dtype in all chunks; :meth:`nanwise.data.schema.Schema.check` converts them. The index
    goes on from chunk to chunk. Columns named in ``numeric`` are known to hold numbers and read as
    such, which is several times faster; where a chunk of one holds anything else, it stays text.
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    path = Path(path)
    start = 0
    parquet = is_parquet(path)
    chunks = (
        _parquet_chunks(path, rows)
        if parquet
        else _text_chunks(path, rows, sniff(path, sep, encoding), numeric)
    )
    for chunk in chunks:
        chunk.index = range(start, start + len(chunk))
        start += len(chunk)
        yield chunk
    if not start:
        raise DataError(f"{path} has a header but no rows")


def split_target(frame: Any, target: str) -> tuple[pd.DataFrame, pd.Series, int]:
    """Features, target, and how many rows were dropped because their target is missing."""
    frame = as_frame(frame)
    if target not in frame.columns:
        near = difflib.get_close_matches(target, list(frame.columns), n=3)
        hint = (
            f"did you mean {listed(near)}?" if near else f"there are: {listed(frame.columns, 10)}"
        )
        raise DataError(f"no column is called {target!r}; {hint}")
    there = (distinct(frame[target])[0] >= 0) & frame[target].notna().to_numpy()
    if not there.any():
        raise DataError(f"the target {target!r} has no value in any row")
    kept = frame[there]
    return kept.drop(columns=target), kept[target], int((~there).sum())


def infer_task(y: Any) -> Literal["classification", "regression"]:
    """Classes or numbers?

    Classification: text, truth values, categories; numbers with two different values; integers
    (also stored as floats) with at most 20 different values that occur three times on average.
    Regression: all other numbers. Gaps are not looked at.
    """
    pd = need("pandas", "cli")
    column = y if isinstance(y, pd.Series) else as_frame({"y": _flat(y)})["y"]
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        raise DataError(_DATE_TARGET)
    if pd.api.types.is_bool_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
        return "classification"
    codes, cells = distinct(column)
    there = [cells[k] for k in used(codes, cells)]
    values = numbers_of(there)
    if there and not np.isnat(dates_of(there)).any():
        raise DataError(_DATE_TARGET)
    if np.isnan(values).any() or len(values) <= 2:
        return "classification"
    whole = bool((values == np.rint(values)).all())
    few = len(values) <= min(FEW_CLASSES, (codes >= 0).sum() / 3)
    return "classification" if whole and few else "regression"


def _flat(y: Any) -> Any:
    if hasattr(y, "to_list"):
        return y.to_list()
    y = np.asarray(y)
    if y.ndim != 1:
        raise DataError(f"a target has one axis, got shape {y.shape}")
    return y


def _names(path: Path, form: Format) -> list[str]:
    """Names of the columns as pandas has them, with the blanks around them."""
    with _telling(path, form), open_bytes(path, form.gzipped) as file:
        return list(_text_reader(file, form, nrows=0).columns)


def _text_reader(
    file: Any,
    form: Format,
    literal: Collection[str] = (),
    names: Collection[str] = (),
    **options: Any,
) -> Any:
    """Of the columns ``names``, cells of ``literal`` ones stay as they are."""
    pd = need("pandas", "cli")
    gaps: Any = sorted(MARKERS)
    if literal:
        gaps = {name: [""] if name in literal else gaps for name in names}
        options["dtype"] = dict.fromkeys(literal, str)
    return pd.read_csv(
        file,
        sep=form.sep,
        encoding=form.encoding,
        decimal=form.decimal,
        na_values=gaps,
        keep_default_na=False,
        skipinitialspace=True,
        index_col=False,
        **options,
    )


@contextmanager
def _telling(path: Path, form: Format) -> Iterator[None]:
    """DataErrors of one line for everything a text file can be wrong in."""
    pd = need("pandas", "cli")
    try:
        with told(path), warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except UnicodeDecodeError as error:
        raise explain_encoding(path, form) from error
    except pd.errors.ParserWarning as error:
        raise DataError(
            f"{path}: rows have more cells than the {len(form.header)} names in the header; "
            "is a name, or the whole header, missing?"
        ) from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise DataError(f"{path} is not a regular table: {reason}") from error


def _text_chunks(
    path: Path, rows: int, form: Format, numeric: Collection[str]
) -> Iterator[pd.DataFrame]:
    names = _names(path, form)
    texts = {name: str for name in names if name.strip() not in numeric}
    with watched(path, form) as file:
        with _telling(path, form):
            reader = _text_reader(file, form, dtype=texts, chunksize=rows, low_memory=False)
        while True:
            # Not around the loop: what the caller does with a chunk is no fault of the file.
            with _telling(path, form):
                chunk = next(reader, None)
            if chunk is None:
                return
            chunk = _as_texts(chunk.rename(columns=str.strip))
            yield chunk if form.decimal == "." else _with_points(chunk)


def _as_texts(chunk: pd.DataFrame) -> pd.DataFrame:
    """Truth values are no numbers: the words as they may have stood in the file."""
    words = chunk.columns[[dtype.kind == "b" for dtype in chunk.dtypes]]
    return chunk.astype(dict.fromkeys(words, str)) if len(words) else chunk


def _with_points(chunk: pd.DataFrame) -> pd.DataFrame:
    """Text cells such as 1,5 as 1.5, the way ``decimal=","`` does it for numbers."""
    texts = {
        name: chunk[name].str.replace(_DECIMAL_COMMA, r"\1.\2", regex=True)
        for name in chunk.columns
        if is_text(chunk[name])
    }
    return chunk.assign(**texts)


def _tidy(frame: pd.DataFrame, literal: Collection[str] = ()) -> pd.DataFrame:
    """Cut blanks off texts; a column that is then numbers throughout becomes numeric.

    In ``literal`` columns blanks are all that is cut off; nothing but blanks is a gap.
    """
    for name in frame.columns[[dtype.kind in "OUT" for dtype in frame.dtypes]]:
        if not is_text(frame[name]):
            continue
        stripped = frame[name].str.strip()
        if name in literal:
            frame[name] = stripped.mask(stripped == "")
            continue
        if stripped.equals(frame[name]) and not may_be_grouped(stripped):
            continue
        stripped = stripped.mask(stripped.isin(MARKERS))
        codes, cells = distinct(stripped)
        values = numbers_of(cells)
        numeric = not np.isnan(values[used(codes, cells)]).any()
        frame[name] = np.append(values, np.nan)[codes] if numeric else stripped
    return frame


def _read_parquet(path: Path) -> pd.DataFrame:
    pd = need("pandas", "cli")
    chunks = list(_parquet_chunks(path, 1_000_000))
    if not sum(map(len, chunks)):
        raise DataError(f"{path} has columns but no rows")
    return pd.concat(chunks, ignore_index=True) if len(chunks) > 1 else chunks[0]


def _parquet_chunks(path: Path, rows: int) -> Iterator[pd.DataFrame]:
    parquet = need("pyarrow.parquet", "cli")
    lib = need("pyarrow", "cli")
    try:
        with told(path), open(path, "rb") as handle:
            file = parquet.ParquetFile(handle)
            refuse_twice(file.schema_arrow.names, str(path))
            for batch in file.iter_batches(batch_size=rows):
                yield batch.to_pandas()
    except lib.ArrowException as error:
        raise DataError(
            f"{path} is a damaged Parquet file: {str(error).splitlines()[0]}"
        ) from error
