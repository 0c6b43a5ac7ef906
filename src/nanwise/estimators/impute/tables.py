"""From whatever table the user holds to a matrix of codes, and back with its gaps filled."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.data.attributes import Layout
from nanwise.errors import DataError
from nanwise.estimators.impute.columns import fill_pandas, fill_polars
from nanwise.estimators.inputs import (
    encode_frame,
    has_other_than_numbers,
    is_frame,
    read_features,
    refuse_equal_names,
    refuse_without_names,
)

#: kinds of the schema that hold level numbers when encoded, and what they are called here
_LEVELLED = {"boolean": "binary", "categorical": "categorical", "ordinal": "ordinal"}


def read_cells(imputer: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Codes (N, D) in float64, NaN in gaps; what is learnt of the columns when ``reset``.

    Sets ``schema_encoder_`` (None unless a frame has other columns than numbers) and
    ``table_layout_``.
    """
    if is_frame(X) and not X.shape[1]:
        raise DataError("the table has no columns")
    if reset:
        imputer.schema_encoder_ = _learn_encoder(X) if is_frame(X) else None
    if imputer.schema_encoder_ is None:
        cells = read_features(imputer, X, reset=reset)
    else:
        if not is_frame(X):
            refuse_without_names(imputer.schema_encoder_, X)
        cells = encode_frame(imputer, imputer.schema_encoder_, X, reset=reset)
    if reset:
        if np.isnan(cells).all():
            rows = len(cells)
            raise DataError(f"no cell of the {rows} rows holds a value: nothing can be learnt")
        imputer.table_layout_ = _learn_layout(imputer, cells)
    return imputer.table_layout_.encode(cells)


def give_back(imputer: Any, X: Any, codes: np.ndarray) -> Any:
    """A table like ``X`` in which the gaps, and only these, hold what ``codes`` says."""
    filled = imputer.table_layout_.decode(codes)
    if not is_frame(X):
        return _fill_array(X, filled)
    if imputer.schema_encoder_ is not None:
        columns = imputer.schema_encoder_.inverse_transform(filled)
        cells = {name: columns[name] for name in columns.columns}
        for column in imputer.schema_encoder_.schema.columns:
            if column.kind == "boolean":
                cells[column.name] = _in_words(X[column.name], cells[column.name], column.levels)
    else:
        cells = {str(name): filled[:, j] for j, name in enumerate(X.columns)}
    if type(X).__module__.split(".")[0] == "polars":
        return _fill_polars(X, cells)
    return _fill_pandas(X, cells)


def _learn_encoder(X: Any) -> Any:
    from nanwise.data.encode import Encoder
    from nanwise.data.schema import Schema

    refuse_equal_names(X)
    return Encoder(Schema.infer(X), onehot=False).fit() if has_other_than_numbers(X) else None


def _learn_layout(imputer: Any, cells: np.ndarray) -> Layout:
    encoder = imputer.schema_encoder_
    if encoder is None:
        return Layout.infer(cells, getattr(imputer, "feature_names_in_", None), imputer.kinds)
    columns = encoder.schema.columns
    levels = {
        j: (_LEVELLED[column.kind], 2 if column.kind == "boolean" else len(column.levels))
        for j, column in enumerate(columns)
        if column.kind in _LEVELLED
    }
    return Layout.infer(cells, [column.name for column in columns], imputer.kinds, levels)


def _fill_array(X: Any, filled: np.ndarray) -> np.ndarray:
    given = np.asarray(X)
    if given.dtype.kind != "f":
        from nanwise.missing import gaps_to_nan

        given = np.asarray(gaps_to_nan(given), dtype=np.float64)
    return np.where(np.isnan(given), filled.astype(given.dtype), given)


def _fill_pandas(frame: Any, cells: dict[str, Any]) -> Any:
    """A copy of the frame with gaps filled column by column; dtypes stay."""
    out = frame.copy()
    for name in frame.columns:
        column, new = frame[name], cells[str(name)]
        gap = column.isna().to_numpy()
        if gap.any():
            out[name] = fill_pandas(column, new, gap)
    return out


def _in_words(column: Any, truth: Any, levels: tuple[str, ...]) -> Any:
    """Truth values as the column writes them: bool as it is, texts by the words it uses."""
    import pandas as pd

    from nanwise.data.parse import WORDS, to_truth

    met = pd.Series(list(column.unique()), dtype=object).dropna()
    if not met.map(lambda cell: isinstance(cell, str)).all():
        return truth
    pairs = (tuple(levels), *WORDS) if levels else WORDS
    lower = set(met.str.strip().str.lower())
    words = list(next((pair for pair in pairs if lower & set(pair)), pairs[0]))
    for cell, value in zip(met, to_truth(met, levels), strict=True):
        if value == value:
            words[int(value)] = cell
    return pd.Series([words[int(value)] for value in truth], dtype=object)


def _fill_polars(frame: Any, cells: dict[str, Any]) -> Any:
    import polars as pl

    filled = []
    for column in frame.get_columns():
        gap = column.is_null().to_numpy()
        if column.dtype.is_float():
            gap = gap | column.is_nan().fill_null(False).to_numpy()
        if gap.any():
            column = fill_polars(column, cells[column.name], gap)
        filled.append(column)
    return pl.DataFrame(filled)
