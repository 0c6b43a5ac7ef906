"""From the cells of one column to numbers, dates, truth values and level codes.

Every function works on the *distinct* cells and spreads the answers, so that a column of a million
cells with ten different texts costs ten conversions. Gaps are NaN, NaT or code -1. What cannot be
converted raises a :class:`~nanwise.errors.DataError` that names column, row and value.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from nanwise.errors import DataError, need

if TYPE_CHECKING:
    import pandas as pd

#: what stands for "no value" in a text cell, after blanks at both ends are cut off
MARKERS = frozenset(
    ("", "?", "-", "NA", "N/A", "na", "n/a", "NaN", "nan", "NAN", "<NA>", "#N/A")
) | {"null", "NULL", "Null", "None"}
#: truth values in text, lower case: (false, true)
WORDS = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"))
_TRUTH = {word: bool(k) for pair in (*WORDS, ("0", "1")) for k, word in enumerate(pair)}
#: 1,234 and 1,234,567.8: thousands set apart by commas
GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_DATE = re.compile(
    r"\d{4}([-/])\d{2}\1\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
)


def distinct(column: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """Code of each cell (-1: gap) and the distinct cells; texts are stripped, markers are gaps."""
    pd = need("pandas", "cli")
    try:
        codes, cells = pd.factorize(column, use_na_sentinel=True)
    except TypeError as error:
        raise DataError(
            f"column {column.name!r} holds {error}; a cell must be a number, text or date"
        ) from error
    cells = [cell.strip() if isinstance(cell, str) else cell for cell in list(cells)]
    gap = np.array([isinstance(cell, str) and cell in MARKERS for cell in cells], dtype=bool)
    if gap.any():
        codes = np.where(np.append(gap, True)[codes], -1, codes)
    return codes, cells


def used(codes: np.ndarray, cells: list[Any]) -> list[int]:
    """Codes that occur in the column, in order of first appearance in ``cells``."""
    counts = np.bincount(codes[codes >= 0], minlength=len(cells))
    return [int(k) for k in np.flatnonzero(counts)]


def to_numbers(column: pd.Series) -> np.ndarray:
    """float64, NaN in gaps. Infinity and text that is no number are refused."""
    plain = _plain_numbers(column)
    if plain is None:
        codes, cells = distinct(column)
        values = numbers_of(cells)
        wrong = [k for k in used(codes, cells) if np.isnan(values[k])]
        if wrong:
            raise _unfit(column, codes, wrong, cells, "a number")
        plain = np.append(values, np.nan)[codes]
    if np.isinf(plain).any():
        row = column.index[int(np.flatnonzero(np.isinf(plain))[0])]
        raise DataError(
            f"column {column.name!r} contains infinity, first in row {row}; infinity is neither "
            "a number nor a gap: replace it by an empty cell or a finite value"
        )
    return plain


def numbers_at_once(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Columns of numbers, and of texts that are numbers, converted as one block.

    Returns float64 (N, D) and, per column, whether it is done; the others need :func:`to_numbers`,
    which looks at their cells. For thousands of columns this is a hundred times faster.
    """
    pd = need("pandas", "cli")
    dtypes = list(frame.dtypes)
    plain = np.array([isinstance(d, np.dtype) and d.kind in "fiu" for d in dtypes], dtype=bool)
    text = np.array([isinstance(d, pd.StringDtype) for d in dtypes], dtype=bool)
    out = np.full(frame.shape, np.nan)
    out[:, plain] = frame.loc[:, plain].to_numpy(dtype=np.float64)
    if text.any():
        cells = frame.loc[:, text].to_numpy(dtype=object)
        out[:, text] = pd.to_numeric(cells.ravel(), errors="coerce").reshape(cells.shape)
        text[text] = (np.isnan(out[:, text]) == pd.isna(cells)).all(axis=0)
    return out, (plain | text) & ~np.isinf(out).any(axis=0)


def numbers_of(cells: list[Any]) -> np.ndarray:
    """float64 of each cell, NaN where it is no number; truth values and dates are none.

    Texts such as 1,234 are numbers; a decimal comma is dealt with when a file is read.
    """
    pd = need("pandas", "cli")
    fit = [_ungrouped(cell) if _may_be_number(cell) else None for cell in cells]
    numbers = pd.to_numeric(pd.Series(fit, dtype=object), errors="coerce")
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def to_dates(column: pd.Series) -> np.ndarray:
    """datetime64[us] in UTC, NaT in gaps."""
    pd = need("pandas", "cli")
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if isinstance(column.dtype, pd.ArrowDtype) and column.dtype.kind == "M":
        column = pd.to_datetime(column.astype(object), utc=True).dt.tz_localize(None)
    if column.dtype.kind == "M":
        return column.to_numpy().astype("datetime64[us]")
    codes, cells = distinct(column)
    values = dates_of(cells)
    wrong = [k for k in used(codes, cells) if np.isnat(values[k])]
    if wrong:
        raise _unfit(column, codes, wrong, cells, "a date such as 2024-05-31")
    return np.append(values, np.datetime64("NaT"))[codes]


def dates_of(cells: list[Any]) -> np.ndarray:
    """datetime64[us] of each cell in UTC, NaT where it is no date."""
    pd = need("pandas", "cli")
    texts = [_date_text(cell) for cell in cells]
    dates = pd.to_datetime(
        pd.Series(texts, dtype=object), format="ISO8601", utc=True, errors="coerce"
    )
    return dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]")


def days(dates: np.ndarray) -> np.ndarray:
    """Days since 1970-01-01 as float64, NaN for NaT."""
    out = dates.astype("datetime64[us]").astype(np.int64) / 86_400e6
    return np.where(np.isnat(dates), np.nan, out)


def to_truth(column: pd.Series, levels: tuple[str, ...] = ()) -> np.ndarray:
    """1.0, 0.0 and NaN in gaps. ``levels``: the texts that stand for (false, true)."""
    codes, cells = distinct(column)
    values = np.array([_truth(cell, levels) for cell in cells] + [np.nan])
    wrong = [k for k in used(codes, cells) if np.isnan(values[k])]
    if wrong:
        expected = (
            " or ".join(map(repr, levels)) if levels else "a truth value (yes/no, true/false)"
        )
        raise _unfit(column, codes, wrong, cells, expected)
    return values[codes]


def to_texts(column: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Code of each cell (-1: gap) and the text of each distinct cell.

    Two cells may share a text: 1 and 1.0 are both ``"1"``, whatever dtype a file came in.
    """
    codes, cells = distinct(column)
    return codes, [text_of(cell) for cell in cells]


def text_of(cell: Any) -> str:
    """One text for one value: 3, 3.0 and np.float32(3) are all ``"3"``."""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


def _plain_numbers(column: pd.Series) -> np.ndarray | None:
    """Columns of a number dtype, without a look at the cells."""
    pd = need("pandas", "cli")
    if column.dtype.kind == "m":
        return column.dt.total_seconds().to_numpy(dtype=np.float64) / 86_400
    if isinstance(column.dtype, pd.CategoricalDtype):
        return None
    if pd.api.types.is_complex_dtype(column.dtype):
        raise DataError(f"column {column.name!r} holds complex numbers, which have no order")
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return None


def is_text(column: pd.Series) -> bool:
    """Whether all cells that are there are texts, whichever dtype holds them."""
    pd = need("pandas", "cli")
    if isinstance(column.dtype, pd.StringDtype):
        return True
    return column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "string"


def may_be_grouped(column: pd.Series) -> bool:
    """Whether a text column may hold numbers such as 1,234; its first comma tells."""
    with_comma = column[column.str.contains(",", regex=False, na=False)]
    return bool(len(with_comma) and GROUPED.fullmatch(with_comma.iloc[0]))


def _ungrouped(cell: Any) -> Any:
    grouped = isinstance(cell, str) and "," in cell and GROUPED.fullmatch(cell.strip())
    return cell.replace(",", "") if grouped else cell


def _may_be_number(cell: Any) -> bool:
    if isinstance(cell, (bool, np.bool_, complex)):
        return False
    return isinstance(cell, (str, int, float, np.number, Decimal))


def _date_text(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell.replace("/", "-") if _DATE.fullmatch(cell) else None
    return cell.isoformat() if hasattr(cell, "isoformat") and hasattr(cell, "year") else None


def _truth(cell: Any, levels: tuple[str, ...]) -> float:
    if levels and text_of(cell) in levels:
        return float(levels.index(text_of(cell)))
    return float(_TRUTH.get(text_of(cell).lower(), np.nan))


def _unfit(
    column: pd.Series, codes: np.ndarray, wrong: list[int], cells: list[Any], expected: str
) -> DataError:
    """The error for the first cell that is not what its column's kind asks for."""
    rows = np.flatnonzero(np.isin(codes, wrong))
    value = cells[codes[rows[0]]]
    more = f" ({len(rows)} such cells)" if len(rows) > 1 else ""
    return DataError(
        f"column {column.name!r}, row {column.index[rows[0]]}: expected {expected}, "
        f"got {str(value)[:60]!r}{more}; correct the cell, or give the column another kind "
        "in the schema"
    )
