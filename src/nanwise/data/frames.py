"""Whatever holds a table becomes a pandas frame: pandas, polars, a dict of arrays, a 2-D array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nanwise.errors import DataError, need

if TYPE_CHECKING:
    import pandas as pd


def as_frame(data: Any) -> pd.DataFrame:
    """A pandas frame with text column names, each of them once.

    Parameters
    ----------
    data : DataFrame of pandas or polars, LazyFrame, mapping of name to column, or 2-D array
        The columns of an array are called ``x0``, ``x1``, … A pandas frame is not copied.

    Raises
    ------
    DataError
        If a column name occurs twice, or the data is no table.
    """
    pd = need("pandas", "cli")
    if is_polars(data):
        data = _polars_columns(data)
    if isinstance(data, Mapping):
        frame = _from_mapping(pd, data)
    elif isinstance(data, pd.DataFrame):
        frame = data
    else:
        frame = _from_array(pd, data)
    if any(not isinstance(name, str) for name in frame.columns):
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    refuse_twice(frame.columns)
    return frame


def is_polars(data: Any) -> bool:
    """Whether ``data`` is a polars frame, without importing polars."""
    return type(data).__module__.split(".")[0] == "polars"


def refuse_twice(names: Any, where: str = "the table") -> None:
    """Raise a DataError that names the columns that occur more than once."""
    names = list(names)
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    twice = sorted({name for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
    raise DataError(f"{where} has more than one column called {listed(twice)}; rename them")


def listed(names: Any, most: int = 5) -> str:
    """``'a', 'b' and 7 more``: names in a message, never a page of them."""
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _from_mapping(pd: Any, data: Mapping[Any, Any]) -> pd.DataFrame:
    lengths = {len(column) for column in data.values()}
    if len(lengths) > 1:
        raise DataError(f"the columns of the table differ in length: {sorted(lengths)}")
    return pd.DataFrame(dict(data))


def _from_array(pd: Any, data: Any) -> pd.DataFrame:
    array = np.asarray(data)
    if array.ndim != 2:
        raise DataError(
            f"a table has two axes, rows and columns; got {type(data).__name__} "
            f"of shape {array.shape}"
        )
    return pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])


def _polars_columns(data: Any) -> dict[str, Any]:
    """Columns of a polars frame as numpy arrays; pyarrow is not needed for this."""
    frame = data.collect() if hasattr(data, "collect") else data
    return {column.name: _polars_column(column) for column in frame.get_columns()}


def _polars_column(column: Any) -> np.ndarray:
    if column.dtype.is_numeric() and not column.dtype.is_decimal():
        return column.to_numpy()
    if column.dtype.is_temporal() and str(column.dtype).startswith("Date"):
        return column.to_numpy().astype("datetime64[us]")
    out = np.empty(len(column), dtype=object)
    out[:] = column.to_list()
    return out
