"""New tables that look like the one an imputer was fitted on: same sort, names and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.data.kinds import OTHER, Column
from nanwise.data.parse import to_truth
from nanwise.data.schema import level_codes
from nanwise.estimators.inputs import is_frame


def describe(X: Any, encoder: Any) -> dict[str, Any]:
    """What :func:`make_table` has to know of the training table, as plain values.

    ``encoder`` is that of the imputer: None if all columns are numbers.
    """
    if not is_frame(X):
        dtype = np.asarray(X).dtype
        return {"sort": "array", "dtype": dtype.str if dtype.kind == "f" else "<f8"}
    polars = type(X).__module__.split(".")[0] == "polars"
    names = list(X.columns)
    kinds = encoder.schema.columns if encoder is not None else [None] * len(names)
    return {
        "sort": "polars" if polars else "pandas",
        "columns": [
            _describe(X[name], str(name), kind) for name, kind in zip(names, kinds, strict=True)
        ],
    }


def make_table(imputer: Any, template: dict[str, Any], codes: np.ndarray) -> Any:
    """The table of these codes (N, D), as the training table was."""
    values = imputer.table_layout_.decode(codes)
    if template["sort"] == "array":
        return values.astype(template["dtype"])
    encoder, wanted = imputer.schema_encoder_, template["columns"]
    decoded = None if encoder is None else encoder.inverse_transform(values)
    made = {}
    for j, column in enumerate(wanted):
        cells = values[:, j] if decoded is None else decoded[column["name"]].to_numpy()
        if "own" in column:
            cells = _own(column["own"], values[:, j], cells)
        make = _polars_cells if template["sort"] == "polars" else _pandas_cells
        made[column["name"]] = make(column, cells)
    return _frame(template["sort"], made)


def _describe(column: Any, name: str, kind: Column | None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "dtype": str(column.dtype)}
    categories = getattr(column.dtype, "categories", None)
    if categories is not None:
        found["levels"] = [_plain(level) for level in categories]
        found["ordered"] = bool(getattr(column.dtype, "ordered", False))
    if kind is not None and kind.kind in ("boolean", "categorical", "ordinal"):
        found["own"] = _own_cells(column, kind)
    return found


def _own_cells(column: Any, kind: Column) -> list[Any]:
    """The user's own cell for every level number, None where none was met."""
    import pandas as pd

    met = pd.Series(list(column.unique()), dtype=object).dropna()
    codes = to_truth(met, kind.levels) if kind.kind == "boolean" else level_codes(met, kind)[0]
    own: list[Any] = [None] * (2 if kind.kind == "boolean" else len(kind.levels))
    for cell, code in zip(met, codes, strict=True):
        shared = code < 0 or (kind.levels and kind.levels[int(code)] == OTHER)
        if not shared and own[int(code)] is None:
            own[int(code)] = _plain(cell)
    return own


def _own(own: list[Any], numbers: np.ndarray, cells: Any) -> list[Any]:
    return [
        cell if own[int(k)] is None else own[int(k)] for k, cell in zip(numbers, cells, strict=True)
    ]


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else cell


def _frame(sort: str, made: dict[str, Any]) -> Any:
    if sort == "polars":
        import polars as pl

        return pl.DataFrame(made)
    import pandas as pd

    return pd.DataFrame(made)


def _pandas_cells(column: dict[str, Any], cells: Any) -> Any:
    import pandas as pd

    if "levels" in column:
        return pd.Categorical(cells, categories=column["levels"], ordered=column["ordered"])
    dtype = pd.api.types.pandas_dtype(column["dtype"])
    if pd.api.types.is_integer_dtype(dtype):
        cells = np.rint(np.asarray(cells, dtype=np.float64))
    if isinstance(dtype, pd.DatetimeTZDtype):
        return pd.Series(cells).dt.tz_localize("UTC").astype(dtype)
    return pd.Series(cells, dtype=object if dtype.kind == "O" else None).astype(dtype)


def _polars_cells(column: dict[str, Any], cells: Any) -> Any:
    import polars as pl

    series = pl.Series(column["name"], cells)
    if "levels" in column and column["dtype"].startswith("Enum"):
        return series.cast(pl.Enum(column["levels"]))
    dtype = getattr(pl, column["dtype"].partition("(")[0])
    return (series.round() if dtype.is_integer() else series).cast(dtype)
