"""One column of a frame with its gaps filled, in the dtype that the user gave it.

What is filled in comes from codes: numbers are float64 (durations: days), dates naive UTC stamps,
levels texts. A column takes them in its own words: whole numbers within its range, its unit and
time zone, its categories, its spelling. What is still missing stays a gap.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from nanwise.data.parse import numbers_of, text_of

_DAY = 86_400e6  # microseconds


def fill_pandas(column: Any, new: Any, gap: np.ndarray) -> Any:
    """A copy of a pandas Series in which ``gap`` holds what ``new`` says."""
    import pandas as pd

    new = pd.Series(new).array if not isinstance(new, np.ndarray) else new
    gap = gap & ~np.asarray(pd.isna(new))
    cells, filled = new[gap], column.copy()
    if isinstance(column.dtype, pd.CategoricalDtype):
        cells, more = _own_levels(cells, column.cat.categories)
        filled = filled.cat.add_categories(more) if more else filled
    else:
        cells = _pandas_cells(pd, column, cells)
    filled.iloc[np.flatnonzero(gap)] = cells
    return filled


def _pandas_cells(pd: Any, column: Any, cells: Any) -> Any:
    dtype, kinds = column.dtype, pd.api.types
    plain = getattr(dtype, "numpy_dtype", dtype)
    if kinds.is_integer_dtype(dtype):
        return _whole(cells, plain)
    if kinds.is_float_dtype(dtype):
        return np.asarray(cells, dtype=np.float64).astype(plain)
    if plain.kind == "m":
        return list(pd.TimedeltaIndex(_durations(cells)).as_unit(_unit(plain)))
    if isinstance(dtype, pd.DatetimeTZDtype):
        stamps = pd.DatetimeIndex(cells).as_unit(dtype.unit)
        return stamps.tz_localize("UTC").tz_convert(dtype.tz)
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        return pd.DatetimeIndex(cells).as_unit(_unit(dtype))
    if getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None):
        return list(pd.DatetimeIndex(cells).tz_localize("UTC"))
    # days of Arrow, date32, are Python objects in pandas
    if dtype.kind == "O" or isinstance(dtype, pd.StringDtype) or "date3" in str(dtype):
        return _as_written(cells, list(column.dropna().unique()))
    return cells


def fill_polars(column: Any, new: Any, gap: np.ndarray) -> Any:
    """A polars Series in which ``gap`` holds what ``new`` says."""
    import pandas as pd
    import polars as pl

    new = new if isinstance(new, np.ndarray) else np.asarray(pd.Series(new), dtype=object)
    gap = gap & ~np.asarray(pd.isna(new))
    cells = _polars_cells(pl, column, new[gap])
    dtype = column.dtype
    # An Enum may lack a level that other rows had: that gap stays one.
    strict = not isinstance(dtype, pl.Enum)
    every = pl.Series(cells).gather(np.maximum(gap.cumsum() - 1, 0)) if gap.any() else column
    return column.zip_with(pl.Series(~gap), every.cast(dtype, strict=strict)).alias(column.name)


def _polars_cells(pl: Any, column: Any, cells: np.ndarray) -> Any:
    dtype = column.dtype
    if dtype.is_integer():
        return _whole(cells, np.dtype(str(dtype).lower()))
    if dtype == pl.Duration:
        return _durations(cells)
    if dtype == pl.Datetime and dtype.time_zone:
        stamps = pl.Series(cells.astype("datetime64[us]")).dt.replace_time_zone("UTC")
        return stamps.dt.convert_time_zone(dtype.time_zone)
    if dtype in (pl.Date, pl.Datetime):
        return cells.astype("datetime64[us]")
    if dtype in (pl.String, pl.Time):
        return _as_written(cells, column.drop_nulls().unique().to_list())
    return cells.tolist()


def _whole(cells: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Whole numbers within the range of an integer type."""
    ends = np.iinfo(dtype)
    high = float(ends.max)
    if int(high) > ends.max:  # the largest int64 is no float64, and the nearest is one too many
        high = float(np.nextafter(high, 0))
    return np.clip(np.rint(np.asarray(cells, dtype=np.float64)), ends.min, high).astype(dtype)


def _durations(days: Any) -> np.ndarray:
    return np.rint(np.asarray(days, dtype=np.float64) * _DAY).astype("timedelta64[us]")


def _unit(dtype: np.dtype[Any]) -> str:
    return np.datetime_data(dtype)[0]


def _own_levels(new: Any, categories: Any) -> tuple[list[Any], list[Any]]:
    """Levels, which are texts in a schema, as the categories are; and those these rows lack."""
    own = {text_of(level): level for level in categories}
    lacking = sorted({str(text) for text in new} - set(own))
    more = [_like(text, list(categories)) for text in lacking]
    own |= dict(zip(lacking, more, strict=True))
    return [own[str(text)] for text in new], more


def _like(text: str, known: list[Any]) -> Any:
    """A level in the type of the known ones: 3 beside 1 and 2, "3" beside "a"."""
    numbers = bool(known) and all(isinstance(level, (int, float, np.number)) for level in known)
    if not numbers:
        return text
    number = float(text)
    return int(number) if all(float(level).is_integer() for level in known) else number


def _as_written(new: Any, known: list[Any]) -> list[Any]:
    """New cells the way a column of objects has them: spelling, whole numbers, dates."""
    own = {text_of(cell): cell for cell in known}
    if not all(isinstance(cell, str) for cell in known):
        return [own.get(text_of(cell), _object(cell, known)) for cell in new]
    numbers = numbers_of(known)
    whole = bool((numbers == np.rint(numbers)).all())
    days = not any(":" in cell for cell in known)
    return [_text(cell, own, whole, days) for cell in new]


def _object(cell: Any, known: list[Any]) -> Any:
    """A cell as a Python object of the type that all of the known ones have."""
    kinds = {type(one) for one in known}
    if hasattr(cell, "isoformat"):
        if kinds == {datetime.date}:
            return cell.date()
        return cell.to_pydatetime() if kinds == {datetime.datetime} else cell
    if not isinstance(cell, (float, np.floating)):
        return cell
    if all(issubclass(kind, (int, np.integer)) for kind in kinds):
        return round(float(cell))
    if kinds == {Decimal}:
        least = min(one.as_tuple().exponent for one in known if one.is_finite())
        return round(Decimal(float(cell)), max(-int(least), 0))
    return float(cell)


def _text(cell: Any, own: dict[str, Any], whole: bool, days: bool) -> str:
    if isinstance(cell, (float, np.floating)):
        cell = np.rint(cell) if whole else cell
    elif hasattr(cell, "isoformat"):
        cell = cell.isoformat(sep=" ", timespec="seconds")[: 10 if days else None]
    return own.get(text_of(cell), text_of(cell))
