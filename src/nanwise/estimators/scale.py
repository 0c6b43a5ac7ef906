"""Scaling of columns with gaps, learnt as plain arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np

SCALES = ("standard", "clipped", "minmax", "symmetric", "quantile", None)
#: share of a column's values at either end that ``clipped`` moves to where the others begin
ENDS = 0.005


class Scaler:
    """Bring every column to a common range; gaps stay gaps.

    Parameters
    ----------
    kind : {"standard", "clipped", "minmax", "symmetric", "quantile", None}
        ``standard``: mean 0, variance 1. ``clipped``: the same after values below the 0.5 % and
        above the 99.5 % quantile of a column were moved there, for columns with wild values; a
        column of which both quantiles are equal is left as it is. ``minmax``: [0, 1].
        ``symmetric``: [-1, 1]. ``quantile``: ranks mapped to a standard normal, by at most
        ``n_quantiles`` knots. None: as it is.
    n_quantiles : int
        Number of knots of ``quantile``.

    Notes
    -----
    All but ``quantile`` are ``(x - shift) / width`` per column. A constant or never observed column
    keeps its width of 1. Weights count rows several times, so that a row of weight 2 equals two
    rows; ``minmax`` and ``symmetric`` do not depend on positive weights.
    """

    def __init__(self, kind: str | None = "standard", n_quantiles: int = 200) -> None:
        if kind not in SCALES:
            raise ValueError(f"scale must be one of {SCALES}, got {kind!r}")
        self.kind = kind
        self.n_quantiles = n_quantiles

    def fit(self, x: np.ndarray, weight: np.ndarray | None = None) -> Self:
        """Learn from (N, D) rows in which NaN is a gap."""
        there = ~np.isnan(x)
        if self.kind == "standard":
            self.shift_, self.width_ = _moments(np.where(there, x, 0.0), there, weight)
        elif self.kind == "clipped":
            parts = [
                (x[seen, j], None if weight is None else weight[seen])
                for j, seen in enumerate(there.T)
            ]
            self.low_, self.high_ = _ends(parts)
            inside = np.where(there, np.clip(x, self.low_, self.high_), 0.0)
            self.shift_, self.width_ = _moments(inside, there, weight)
        elif self.kind == "quantile":
            self.knots_, self.scores_ = _knots(x, there, weight, self.n_quantiles)
        elif self.kind is not None:
            low = np.min(x, axis=0, where=there, initial=np.inf)
            high = np.max(x, axis=0, where=there, initial=-np.inf)
            self.shift_, self.width_ = self._range(low, high)
        return self

    def fit_sparse(self, csr: Any, weight: np.ndarray | None = None) -> Self:
        """Learn from the stored cells of a CSR matrix."""
        if self.kind == "quantile":
            raise ValueError("scale='quantile' is not available for sparse rows; use 'standard'")
        if self.kind == "standard":
            self.shift_, self.width_ = _sparse_moments(csr, weight)
        elif self.kind == "clipped":
            self.low_, self.high_ = _ends(_sparse_columns(csr, weight))
            self.shift_, self.width_ = _sparse_moments(self._clipped(csr), weight)
        elif self.kind is not None:
            low, high = _sparse_extremes(csr)
            self.shift_, self.width_ = self._range(low, high)
        return self

    def transform(self, x: np.ndarray) -> np.ndarray:
        """Scaled copy of (N, D) rows."""
        if self.kind is None:
            return x.copy()
        if self.kind == "quantile":
            return self._to_normal(x)
        if self.kind == "clipped":
            x = np.clip(x, self.low_, self.high_)
        return (x - self.shift_) / self.width_

    def transform_sparse(self, csr: Any) -> Any:
        """Scaled copy of a CSR matrix, same cells stored."""
        if self.kind is None:
            return csr
        out = self._clipped(csr) if self.kind == "clipped" else csr.copy()
        out.data = (out.data - self.shift_[csr.indices]) / self.width_[csr.indices]
        return out

    def _clipped(self, csr: Any) -> Any:
        out = csr.copy()
        out.data = np.clip(csr.data, self.low_[csr.indices], self.high_[csr.indices])
        return out

    def _range(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen = high >= low
        low, high = np.where(seen, low, 0.0), np.where(seen, high, 0.0)
        width = np.where(high > low, high - low, 1.0)
        if self.kind == "minmax":
            return low, width
        half = np.where(high > low, width / 2, 1.0)
        return (low + high) / 2, half

    def _to_normal(self, x: np.ndarray) -> np.ndarray:
        out = np.full(x.shape, np.nan)
        for j in range(x.shape[1]):
            there = ~np.isnan(x[:, j])
            if self.knots_[j].size == 0:
                out[there, j] = 0.0
                continue
            # The mean of the two one-sided interpolations gives ties their middle rank.
            knots, scores, column = self.knots_[j], self.scores_, x[there, j]
            up = np.interp(column, knots, scores)
            down = -np.interp(-column, -knots[::-1], -scores[::-1])
            out[there, j] = (up + down) / 2
        return out

    def __nanwise_state__(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Scaler:
        scaler = cls(state["kind"], state["n_quantiles"])
        vars(scaler).update(state)
        return scaler


def _moments(
    values: np.ndarray, there: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    w = there if weight is None else there * weight[:, None]
    total = np.maximum(w.sum(axis=0), np.finfo(float).tiny)
    mean = (w * values).sum(axis=0) / total
    variance = (w * (values - mean) ** 2).sum(axis=0) / total
    return mean, _width(mean, variance)


def _width(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    # A constant column has a variance of rounding errors only; dividing by it would blow it up.
    constant = variance <= (10 * np.finfo(float).eps * np.maximum(np.abs(mean), 1e-300)) ** 2
    return np.where(constant, 1.0, np.sqrt(variance))


def _sparse_moments(csr: Any, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    n, d = csr.shape
    rows = np.repeat(np.arange(n), np.diff(csr.indptr))
    w = np.ones(csr.nnz) if weight is None else weight[rows]
    total = np.maximum(np.bincount(csr.indices, w, d), np.finfo(float).tiny)
    mean = np.bincount(csr.indices, w * csr.data, d) / total
    squares = w * (csr.data - mean[csr.indices]) ** 2
    return mean, _width(mean, np.bincount(csr.indices, squares, d) / total)


def _sparse_extremes(csr: Any) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.full(csr.shape[1], np.inf), np.full(csr.shape[1], -np.inf)
    np.minimum.at(low, csr.indices, csr.data)
    np.maximum.at(high, csr.indices, csr.data)
    return low, high


def _sparse_columns(
    csr: Any, weight: np.ndarray | None
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Stored values of each column, and the weights of their rows."""
    csc = csr.tocsc()
    parts = [slice(a, b) for a, b in pairwise(csc.indptr)]
    return [(csc.data[p], None if weight is None else weight[csc.indices[p]]) for p in parts]


def _ends(parts: list[tuple[np.ndarray, np.ndarray | None]]) -> tuple[np.ndarray, np.ndarray]:
    """Between which values each column is kept; without bounds where it would become constant."""
    low, high = np.full(len(parts), -np.inf), np.full(len(parts), np.inf)
    for j, (column, weight) in enumerate(parts):
        if column.size:
            ends = _quantiles(column, np.array([ENDS, 1 - ENDS]), weight)
            if ends[0] < ends[1]:
                low[j], high[j] = ends
    return low, high


def _knots(
    x: np.ndarray, there: np.ndarray, weight: np.ndarray | None, n_quantiles: int
) -> tuple[list[np.ndarray], np.ndarray]:
    from scipy.stats import norm

    shares = np.linspace(0, 1, n_quantiles)
    scores = norm.ppf(np.clip(shares, 1e-3, 1 - 1e-3))
    knots = []
    for j in range(x.shape[1]):
        column = x[there[:, j], j]
        constant = column.size == 0 or column.min() == column.max()
        part = None if weight is None else weight[there[:, j]]
        knots.append(np.empty(0) if constant else _quantiles(column, shares, part))
    return knots, scores


def _quantiles(column: np.ndarray, shares: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    # Of numpy's definitions, the one for which a weight of 2 equals a row given twice.
    return np.quantile(column, shares, method="inverted_cdf", weights=weight)
