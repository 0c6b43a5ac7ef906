"""A mixed table as one float matrix with NaN in its gaps, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from nanwise.data import parse
from nanwise.data.schema import Column, Schema
from nanwise.errors import need

if TYPE_CHECKING:
    import pandas as pd


class Encoder(TransformerMixin, BaseEstimator):
    """Turn rows of a schema into numbers.

    Parameters
    ----------
    schema : Schema
        A complete one, as :meth:`Schema.infer` gives it.
    onehot : bool, default=True
        True: a categorical column becomes one 0/1 feature per level. False: one feature with the
        position of the level, for models that know categories themselves.

    Attributes
    ----------
    feature_names_ : list of str
        ``"color=red"`` for the level red of the column color, else the column's name.
    groups_ : list of list of int
        For each column of the schema the features made of it.
    categorical_ : ndarray of bool
        True for features made of categorical and boolean columns.

    Notes
    -----
    numeric: the number; boolean: 0 or 1; date: days since 1970-01-01; ordinal: 0, 1, … in the order
    of the levels. A missing category is NaN in its whole group. Nothing is learnt from values, so
    the features of a row never depend on other rows.
    """

    def __init__(self, schema: Schema, onehot: bool = True):
        self.schema = schema
        self.onehot = onehot

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Lay out the features; ``X`` is looked at only to refuse what does not fit the schema."""
        if X is not None:
            self.schema.check(X)
        self.feature_names_: list[str] = []
        self.groups_: list[list[int]] = []
        categorical: list[bool] = []
        for column in self.schema.columns:
            names = self._names(column)
            start = len(self.feature_names_)
            self.groups_.append(list(range(start, start + len(names))))
            self.feature_names_ += names
            categorical += [column.kind in ("categorical", "boolean")] * len(names)
        self.categorical_ = np.array(categorical, dtype=bool)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """float64 array of shape (rows, features), NaN in gaps."""
        return self.encode(self.schema.check(X)[0])

    def encode(self, frame: pd.DataFrame) -> np.ndarray:
        """As :meth:`transform`, for a frame that :meth:`Schema.check` has given back."""
        out = np.full((len(frame), len(self.feature_names_)), np.nan)
        numeric = [column.kind == "numeric" for column in self.schema.columns]
        starts = [group[0] for group, is_one in zip(self.groups_, numeric, strict=True) if is_one]
        out[:, starts] = frame.loc[:, numeric].to_numpy(dtype=np.float64)
        for column, group in zip(self.schema.columns, self.groups_, strict=True):
            if group and column.kind != "numeric":
                out[:, group[0] : group[-1] + 1] = self._features(frame[column.name], column)
        return out

    def inverse_transform(self, X: np.ndarray) -> pd.DataFrame:
        """Frame as :meth:`Schema.check` gives it.

        Numbers that are not exactly a level go to the nearest one (one-hot: the largest; a tie to
        the first), so that imputed features become valid cells.
        """
        pd = need("pandas", "cli")
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.feature_names_):
            raise ValueError(
                f"X must have {len(self.feature_names_)} features, got an array of shape {X.shape}"
            )
        columns = {
            column.name: self._cells(pd, X[:, group], column)
            for column, group in zip(self.schema.columns, self.groups_, strict=True)
        }
        return pd.DataFrame(columns, index=range(len(X)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features, for scikit-learn."""
        return np.asarray(self.feature_names_, dtype=object)

    def __nanwise_state__(self) -> dict[str, Any]:
        # The layout follows from the schema: a saved model cannot hold one that does not fit.
        return {"schema": self.schema, "onehot": self.onehot}

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Encoder:
        return cls(state["schema"], state["onehot"]).fit()

    def _names(self, column: Column) -> list[str]:
        if column.kind == "categorical" and self.onehot:
            return [f"{column.name}={level}" for level in column.levels]
        return [column.name]

    def _features(self, cells: pd.Series, column: Column) -> np.ndarray:
        if column.kind == "date":
            return parse.days(cells.to_numpy())[:, None]
        if column.kind == "boolean":
            return cells.to_numpy(dtype=np.float64, na_value=np.nan)[:, None]
        codes = cells.cat.codes.to_numpy()
        if column.kind == "ordinal" or not self.onehot:
            return np.where(codes < 0, np.nan, codes)[:, None]
        onehot = np.vstack([np.eye(len(column.levels)), np.full(len(column.levels), np.nan)])
        return onehot[codes]

    def _cells(self, pd: Any, features: np.ndarray, column: Column) -> Any:
        gap = np.isnan(features).any(axis=1) if features.shape[1] else np.ones(len(features), bool)
        if column.kind == "numeric":
            return features[:, 0]
        if column.kind == "date":
            stamps = np.rint(np.where(gap, 0, features[:, 0]) * 86_400e6).astype("datetime64[us]")
            return np.where(gap, np.datetime64("NaT"), stamps)
        if column.kind == "boolean":
            return pd.arrays.BooleanArray(features[:, 0] >= 0.5, gap)
        if column.kind == "categorical" and self.onehot:
            codes = np.where(gap[:, None], 0, features).argmax(axis=1) if len(column.levels) else 0
        else:
            codes = np.rint(np.clip(np.where(gap, 0, features[:, 0]), 0, len(column.levels) - 1))
        dtype = pd.CategoricalDtype(list(column.levels), ordered=column.kind == "ordinal")
        return pd.Categorical.from_codes(np.where(gap, -1, codes).astype(np.int64), dtype=dtype)
