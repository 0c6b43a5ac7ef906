"""Rows of ratings out of the lines of a text file."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nanwise.data.parse import MARKERS, dates_of
from nanwise.data.ratings.blocks import Block, blocks, one_byte, undecodable
from nanwise.data.ratings.layout import Layout
from nanwise.errors import DataError, need
from nanwise.missing import is_gap

if TYPE_CHECKING:
    import pandas as pd

_DECIMAL_COMMA = re.compile(r"^([-+]?\d+),(\d+)$")
#: what a file consists of in which every cell is a number written plainly
_PLAIN = b"0123456789.-\r\n"


class Chunk(NamedTuple):
    """Some rows of ratings, unchecked.

    Attributes
    ----------
    users, items : Series, Categorical or array
        Ids; gaps are None or NaN.
    ratings : ndarray of float64
        NaN where there is none.
    time : ndarray or None
        Numbers or datetime64; NaN or NaT where there is none.
    where : callable
        ``where(row)`` names a row for messages, such as ``ratings.csv, line 7``.
    """

    users: Any
    items: Any
    ratings: np.ndarray
    time: np.ndarray | None
    where: Callable[[int], str]


def text_chunks(layout: Layout, rows: int) -> Iterator[Chunk]:
    """The rows of a file, about ``rows`` at a time.

    Ids come as whole numbers from blocks in which every cell is a plain number, and as texts from
    others; :class:`nanwise.data.ratings.ids.Ids` brings them together.
    """
    for block in blocks(layout, max(1 << 12, int(rows * layout.line_bytes))):
        where = partial(_where, block, layout)
        frame = _plain_frame(block, layout)
        if frame is None:
            frame = _text_frame(block, layout)
        _refuse_long(frame, layout, where)
        if len(frame):
            yield _chunk(frame, layout, where)


def _chunk(frame: pd.DataFrame, layout: Layout, where: Callable[[int], str]) -> Chunk:
    column = {role: frame[place] for role, place in layout.places.items()}
    return Chunk(
        _id_column(column["user"]),
        _id_column(column["item"]),
        numbers(column["rating"], where, decimal_comma=layout.sep != ","),
        times(column["time"], where) if "time" in column else None,
        where,
    )


def numbers(column: pd.Series, where: Callable[[int], str], decimal_comma: bool) -> np.ndarray:
    """Ratings as float64, NaN in gaps; anything that is no number is refused."""
    pd = need("pandas", "data")
    if pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind != "b":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = _to_float(column)
    rest = np.flatnonzero(np.isnan(values))
    codes, cells = pd.factorize(column.iloc[rest].astype(object))
    decimals = [_decimal(cell) if decimal_comma else np.nan for cell in cells]
    values[rest] = np.array([*decimals, np.nan])[codes]
    wrong = [k for k, cell in enumerate(cells) if np.isnan(decimals[k]) and not _is_gap(cell)]
    if wrong:
        row = int(rest[np.flatnonzero(np.isin(codes, wrong))[0]])
        raise DataError(
            f"{where(row)}: the rating {str(column.iloc[row])[:60]!r} is not a number; "
            "correct it, or name another column with columns="
        )
    return values


def _to_float(column: pd.Series) -> np.ndarray:
    """float64 that may be written to; NaN for whatever is no number."""
    pd = need("pandas", "data")
    found = pd.to_numeric(_without_truth(column), errors="coerce")
    return np.array(found.to_numpy(dtype=np.float64, na_value=np.nan))


def _without_truth(column: pd.Series) -> pd.Series:
    """True and False are no numbers here, although Python counts them as such."""
    cells = column.astype(object)
    if column.dtype.kind not in "bO":
        return cells
    return cells.mask(cells.map(lambda cell: isinstance(cell, (bool, np.bool_))), None)


def _decimal(cell: Any) -> float:
    """3.5 for the text 3,5."""
    if isinstance(cell, str) and _DECIMAL_COMMA.match(cell.strip()):
        return float(cell.replace(",", "."))
    return np.nan


def times(column: pd.Series, where: Callable[[int], str]) -> np.ndarray:
    """Times as int64, float64 or datetime64[us]; gaps and what is no time are refused."""
    pd = need("pandas", "data")
    if column.dtype.kind in "iu" and isinstance(column.dtype, np.dtype):
        return column.to_numpy(dtype=np.int64)
    if column.dtype.kind == "M":
        values = pd.to_datetime(column, utc=True).dt.tz_localize(None)
        values = values.to_numpy().astype("datetime64[us]")
    else:
        values = _numbers_or_dates(column)
    wrong = np.flatnonzero(pd.isna(values))
    if len(wrong):
        cell = column.iloc[int(wrong[0])]
        raise DataError(
            f"{where(int(wrong[0]))}: expected a time (a number, or a date such as 2024-05-31), "
            f"got {str(cell)[:60]!r}; correct it, or leave the time out with columns="
        )
    whole = values.dtype.kind == "f" and np.array_equal(values, np.rint(values))
    return values.astype(np.int64) if whole else values


def _numbers_or_dates(column: pd.Series) -> np.ndarray:
    pd = need("pandas", "data")
    values = _to_float(column)
    values[np.isinf(values)] = np.nan
    if not np.isnan(values).all():
        return values
    codes, cells = pd.factorize(column.astype(object))
    return np.append(dates_of(list(cells)), np.datetime64("NaT"))[codes]


def _plain_frame(block: Block, layout: Layout) -> pd.DataFrame | None:
    """The block if its ids are whole numbers that are written as Python writes them, else None.

    Ids such as 007 or 1.0 must stay apart from 7 and 1, so the parser may only be trusted with
    numbers when no cell starts with a zero, or has another sign than digits, point and minus.
    """
    pd = need("pandas", "data")
    sep = one_byte(layout.sep).encode()
    if block.data.translate(None, _PLAIN + sep) or b"-0" in block.data:
        return None
    if _has_leading_zeros(block.data, sep[0]):
        return None
    try:
        frame = _parse(block, layout)
    except (ValueError, OverflowError, pd.errors.ParserError):
        return None
    ids = (frame[layout.places[role]] for role in ("user", "item"))
    return frame if all(column.dtype == np.int64 for column in ids) else None


def _has_leading_zeros(data: bytes, sep: int) -> bool:
    """Whether a cell starts with a zero and another digit."""
    signs = np.frombuffer(b"\n" + data + b"\n\n", dtype=np.uint8)
    zeros = np.flatnonzero(signs[1:-1] == ord("0")) + 1
    zeros = zeros[(signs[zeros + 1] >= ord("0")) & (signs[zeros + 1] <= ord("9"))]
    return bool(np.isin(signs[zeros - 1], (sep, ord("\n"), ord("\r"))).any())


def _text_frame(block: Block, layout: Layout) -> pd.DataFrame:
    pd = need("pandas", "data")
    try:
        # Categories: the parser makes a text of each different id only, not of each cell.
        ids = dict.fromkeys((layout.places["user"], layout.places["item"]), "category")
        return _parse(block, layout, "id", dtype=ids)
    except UnicodeDecodeError as error:
        raise undecodable(layout) from error
    except pd.errors.ParserError as error:
        found = re.search(r"starting at row (\d+)", str(error))
        line = block.line_of(int(found[1]) - 1, layout) if found else block.first_line
        raise DataError(
            f"{layout.path} is not a regular table in or after line {line}: "
            f"{str(error).strip().removeprefix('Error tokenizing data. C error: ')}"
        ) from error


def _parse(block: Block, layout: Layout, first: str = "0", **options: Any) -> pd.DataFrame:
    """The columns that matter, and one beyond the last, in which too long rows show.

    That column exists for the parser because of a line put before the others. Its other cells are
    0, or ``first`` in the columns of ids, where a text keeps the parser from seeing numbers.
    """
    pd = need("pandas", "data")
    sep = one_byte(layout.sep)
    cells = ["0"] * layout.width
    cells[layout.places["user"]] = cells[layout.places["item"]] = first
    line = sep.join([*cells, "\n"])
    frame = pd.read_csv(
        io.BytesIO(line.encode() + block.data),
        sep=sep,
        header=None,
        names=range(layout.width + 1),
        usecols=[*layout.places.values(), layout.width],
        quoting=layout.quoting,
        na_filter=False,
        low_memory=False,
        **options,
    )
    return frame.iloc[1:]


def _refuse_long(frame: pd.DataFrame, layout: Layout, where: Callable[[int], str]) -> None:
    beyond = frame[layout.width]
    wrong = np.flatnonzero((beyond != "").to_numpy() & beyond.notna().to_numpy())
    if len(wrong):
        raise DataError(
            f"{where(int(wrong[0]))}: expected {layout.width} cells, got more; "
            "put cells that contain the delimiter in quotes"
        )


def _id_column(column: pd.Series) -> Any:
    """Ids as they are written, without blanks around them; an empty cell is no id."""
    pd = need("pandas", "data")
    if column.dtype == np.int64:
        return column.to_numpy()
    texts = [str(text).strip() or None for text in column.cat.categories]
    codes, ids = pd.factorize(np.array(texts, dtype=object))
    return pd.Categorical.from_codes(codes[column.cat.codes], ids)


def _is_gap(cell: Any) -> bool:
    return cell.strip() in MARKERS if isinstance(cell, str) else is_gap(cell)


def _where(block: Block, layout: Layout, row: int) -> str:
    return f"{layout.path}, line {block.line_of(row, layout)}"
