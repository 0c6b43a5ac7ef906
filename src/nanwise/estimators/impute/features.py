"""Codes as the inputs of a network: scaled numbers and one feature per level, and back."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from nanwise.data.attributes import Layout
from nanwise.estimators.scale import Scaler

#: kinds that are scaled after log(1 + x)
SKEWED = ("positive", "count")


class Part(NamedTuple):
    """One attribute as a network sees it: consecutive features.

    Attributes
    ----------
    kind : str
        See :mod:`nanwise.data.attributes`.
    width : int
        Number of features: of columns, or of levels of a categorical or ordinal attribute. A binary
        one is one feature, 0 or 1; an ordinal one of level k has ones up to level k.
    shift, scale : float
        A number x is the feature (x - shift) / scale, a positive number or a count
        (log(1 + x) - shift) / scale; 0 and 1 for levels and vectors.
    """

    kind: str
    width: int
    shift: float = 0.0
    scale: float = 1.0


class Features:
    """The way from codes to features, learnt from training rows.

    Parameters
    ----------
    layout : Layout
        What the columns are.
    kind : {"standard", "minmax"}
        How numbers are scaled (:class:`nanwise.estimators.scale.Scaler`); the columns of a vector
        have their own shifts and share a width.

    Attributes
    ----------
    parts_ : list of Part
        One for each attribute, in order.
    """

    def __init__(self, layout: Layout, kind: str = "standard") -> None:
        self.layout, self.kind = layout, kind

    def fit(self, codes: np.ndarray) -> Self:
        """Learn the scales from (N, D) codes with NaN in gaps."""
        self.scaler_ = Scaler(self.kind).fit(self._levelled_out(codes))
        self._scale_vectors(codes)
        self.parts_ = [self._part(attribute) for attribute in self.layout.attributes]
        return self

    def encode(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features (N, F), 0 in gaps, and which attributes are observed (N, A)."""
        scaled = self.scaler_.transform(self._levelled_out(codes))
        blocks = []
        for attribute, part in zip(self.layout.attributes, self.parts_, strict=True):
            columns = list(attribute.columns)
            if part.kind == "categorical":
                blocks.append(_onehot(codes[:, columns[0]], part.width))
            elif part.kind == "ordinal":
                blocks.append(_staircase(codes[:, columns[0]], part.width))
            elif part.kind == "binary":
                blocks.append(codes[:, columns])
            else:
                blocks.append(scaled[:, columns])
        features = np.concatenate(blocks, axis=1)
        return np.nan_to_num(features, nan=0.0), self.layout.observed(codes)

    def decode(self, features: np.ndarray) -> np.ndarray:
        """Codes (N, D) of features; levels may be probabilities, the largest counts.

        Of an ordinal attribute the features are the probabilities to reach each level.
        """
        codes = np.empty((len(features), self.layout.n_columns))
        start = 0
        for attribute, part in zip(self.layout.attributes, self.parts_, strict=True):
            block = features[:, start : start + part.width]
            codes[:, list(attribute.columns)] = self._codes(block, attribute.columns, part)
            start += part.width
        return codes

    def _scale_vectors(self, codes: np.ndarray) -> None:
        """One width for all columns of a vector: numbers of one sort, such as pixels.

        A pixel that is hardly ever lit would else be blown up, and count as much as all others.
        """
        for attribute in self.layout.attributes:
            if attribute.kind != "vector":
                continue
            columns = np.array(attribute.columns)
            lowest, highest = (f.reduce(codes[:, columns], axis=0) for f in (np.fmin, np.fmax))
            own = self.scaler_.width_[columns[highest > lowest]]
            if len(own):
                common = own.max() if self.kind == "minmax" else np.sqrt(np.mean(own**2))
                self.scaler_.width_[columns] = common

    def log_units(self, codes: np.ndarray) -> np.ndarray:
        """Log of features per unit of the table, added up over the observed numbers, (N,).

        It turns a log density of features into one of the numbers of the table.
        """
        found = np.zeros(len(codes))
        there = self.layout.observed(codes).T
        for attribute, observed in zip(self.layout.attributes, there, strict=True):
            if attribute.kind not in ("real", "positive", "vector"):
                continue
            columns = list(attribute.columns)
            each = -np.log(self.scaler_.width_[columns]).sum()
            if attribute.kind in SKEWED:
                each = each - np.log1p(codes[:, columns[0]])
            found += np.where(observed, each, 0.0)
        return found

    def _part(self, attribute: Any) -> Part:
        if attribute.kind in ("categorical", "ordinal"):
            return Part(attribute.kind, len(attribute.levels))
        if attribute.kind == "binary":
            return Part("binary", 1)
        if attribute.kind == "vector":
            return Part("vector", len(attribute.columns))
        j = attribute.columns[0]
        shift, width = float(self.scaler_.shift_[j]), float(self.scaler_.width_[j])
        return Part(attribute.kind, 1, shift, width)

    def _levelled_out(self, codes: np.ndarray) -> np.ndarray:
        """Skewed columns by their logarithms."""
        columns = [a.columns[0] for a in self.layout.attributes if a.kind in SKEWED]
        if not columns:
            return codes
        out = codes.copy()
        out[:, columns] = np.log1p(np.maximum(out[:, columns], 0))
        return out

    def _codes(self, block: np.ndarray, columns: tuple[int, ...], part: Part) -> np.ndarray:
        if part.kind == "categorical":
            return block.argmax(axis=1)[:, None]
        if part.kind == "ordinal":
            return np.maximum((block >= 0.5).sum(axis=1) - 1, 0)[:, None]
        if part.kind == "binary":
            return (block >= 0.5).astype(np.float64)
        where = list(columns)
        numbers = block * self.scaler_.width_[where] + self.scaler_.shift_[where]
        return np.maximum(np.expm1(numbers), 0) if part.kind in SKEWED else numbers

    def __nanwise_state__(self) -> dict[str, Any]:
        return dict(vars(self)) | {"parts_": [list(part) for part in self.parts_]}

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Features:
        made = cls(state["layout"], state["kind"])
        vars(made).update(state)
        made.parts_ = [Part(*part) for part in state["parts_"]]
        return made


def _onehot(codes: np.ndarray, width: int) -> np.ndarray:
    return np.where(np.isnan(codes)[:, None], np.nan, codes[:, None] == np.arange(width))


def _staircase(codes: np.ndarray, width: int) -> np.ndarray:
    return np.where(np.isnan(codes)[:, None], np.nan, codes[:, None] >= np.arange(width))
