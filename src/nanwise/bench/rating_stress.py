"""The stress test of a recommender: what becomes of predictions when fewer ratings are known?"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nanwise.bench.ranking import rmse
from nanwise.stress_test.summary import LEVEL, output_facts

SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
#: draws at each share for small data, and ratings that all draws together may take
REPEATS, MOST_RATINGS = 10, 20_000_000
#: held-out ratings that are predicted
CELLS = 50_000
#: rows whose single predictions are shown, out of those with the most ratings
SAMPLE_ROWS, SAMPLE_FROM = 3, 20


def rating_stress(
    model: Any, held: sparse.csr_array, *, seed: int = 0, name: str = "model"
) -> dict[str, Any]:
    """Give a network fewer and fewer of each row's ratings and predict the same cells again.

    Parameters
    ----------
    model : Recommender
        A network: its ``by`` says whether its rows are items or users.
    held : csr_array, users × items
        Held-out ratings. At most 50,000 of them are predicted.
    seed : int
        Decides which ratings are hidden.
    name : str

    Returns
    -------
    dict
        Facts like those of :func:`nanwise.stress`: ``shares``, ``kept``, ``slope`` (change of the
        mean prediction per 10 points more ratings known) with its interval, ``sparsity_bias``,
        ``outputs``, ``scores``, ``samples``. A unit of the intervals is one row. Empty if no
        held-out rating is in a row that the network knows.

    Notes
    -----
    Each row keeps ``round(share * count)`` of its training ratings, at least one, chosen anew in
    every repeat. Only what the network sees changes; weights stay as they are.
    """
    rng = np.random.default_rng(seed)
    cells = _some(held, rng)
    hiding = _Hiding(model, cells)
    if not len(hiding.asked):
        return {}
    full = _Level(hiding)
    full.add(np.ones(model.matrix_.nnz, dtype=bool))
    levels = [full]
    for share in SHARES[1:]:
        level = _Level(hiding)
        for _ in range(_repeats(model.matrix_.nnz)):
            level.add(hiding.keep(share, rng))
        levels.append(level)
    return _facts(name, hiding, levels)


class _Hiding:
    """A fitted network, what it is asked, and which of its training ratings it may see."""

    def __init__(self, model: Any, cells: sparse.csr_array) -> None:
        self.model, self.cells = model, cells
        self.by = getattr(model, "by", "user")
        self.rows = _axis_of(model.matrix_, self.by)
        self.counts = np.bincount(self.rows, minlength=model.matrix_.shape[self.by == "item"])
        # Rows that are asked for and have something to hide, and the place of each cell among them.
        asked = _axis_of(cells, self.by)
        self.usable = self.counts[asked] > 0
        self.asked, self.group = np.unique(asked[self.usable], return_inverse=True)

    def keep(self, share: float, rng: np.random.Generator) -> np.ndarray:
        """Which stored ratings stay: exactly that share of each row, but at least one."""
        order = np.lexsort((rng.random(len(self.rows)), self.rows))
        first = np.cumsum(self.counts) - self.counts
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order)) - first[self.rows[order]]
        return place < np.maximum(np.rint(share * self.counts), 1)[self.rows]

    def predict(self, kept: np.ndarray) -> np.ndarray:
        """Predictions of a model with the same weights that sees only these ratings."""
        part = _select(self.model.matrix_, kept)
        return self.model.seeing(part).predict_matrix_at(self.cells)

    def mean_ratings(self) -> np.ndarray:
        """Mean training rating of each row that is asked for."""
        sums = np.bincount(self.rows, self.model.matrix_.data, minlength=len(self.counts))
        return sums[self.asked] / self.counts[self.asked]

    def means(self, predicted: np.ndarray) -> np.ndarray:
        """Mean prediction of each row."""
        sums = np.bincount(self.group, predicted[self.usable], minlength=len(self.asked))
        return sums / np.bincount(self.group, minlength=len(self.asked))


class _Level:
    """What came out at one share, repeat by repeat."""

    def __init__(self, hiding: _Hiding) -> None:
        self.hiding = hiding
        self.means: list[np.ndarray] = []
        self.counts: list[np.ndarray] = []
        self.errors: list[float] = []
        self.kept: list[float] = []

    def add(self, kept: np.ndarray) -> None:
        """Predict once."""
        hiding = self.hiding
        predicted = hiding.predict(kept)
        counts = np.bincount(hiding.rows[kept], minlength=len(hiding.counts))
        self.means.append(hiding.means(predicted))
        self.errors.append(rmse(hiding.cells.data, predicted))
        self.counts.append(counts[hiding.asked])
        self.kept.append(float((self.counts[-1] / hiding.counts[hiding.asked]).mean()))


def _facts(name: str, hiding: _Hiding, levels: list[_Level]) -> dict[str, Any]:
    kept = np.array([np.mean(level.kept) for level in levels])
    rows = np.stack([np.mean(level.means, axis=0) for level in levels])
    most = max(len(level.means) for level in levels)
    # Nothing is left to chance at full information: one prediction stands for all repeats.
    by_repeat = np.stack([np.resize([m.mean() for m in level.means], most) for level in levels])
    output = output_facts("rating", rows[0], rows, by_repeat, kept, LEVEL)
    return {
        "kind": "stress",
        "model": name,
        "rows_are": hiding.by,
        "rows": len(hiding.asked),
        "cells": int(hiding.cells.nnz),
        "repeats": most,
        "shares": list(SHARES),
        "kept": kept.tolist(),
        "output": "rating",
        **{key: output[key] for key in ("slope", "slope_low", "slope_high", "sparsity_bias")},
        "outputs": [output],
        "scores": {"RMSE": _spread([level.errors for level in levels])},
        "samples": _samples(hiding, levels),
    }


def _spread(runs: list[list[float]]) -> dict[str, Any]:
    """Mean over the repeats with their middle 95 %."""
    return {
        "mean": [float(np.mean(run)) for run in runs],
        "low": [float(np.quantile(run, 0.025)) for run in runs],
        "high": [float(np.quantile(run, 0.975)) for run in runs],
        "higher_is_better": False,
    }


def _samples(hiding: _Hiding, levels: list[_Level]) -> list[dict[str, Any]]:
    """Rows with many ratings, of low, middle and high mean: the same ones for every model."""
    many = np.argsort(-hiding.counts[hiding.asked], kind="stable")[:SAMPLE_FROM]
    order = many[np.argsort(hiding.mean_ratings()[many], kind="stable")]
    places = np.rint(np.linspace(0.1, 0.9, SAMPLE_ROWS) * (len(order) - 1)).astype(int)
    ids = hiding.model.items_ if hiding.by == "item" else hiding.model.users_
    return [
        {
            "row": f"{hiding.by} {ids[hiding.asked[at]]}",
            "observed": [int(c[at]) for level in levels for c in level.counts],
            "prediction": [float(m[at]) for level in levels for m in level.means],
            "mean_observed": [float(np.mean([c[at] for c in v.counts])) for v in levels],
            "mean_prediction": [float(np.mean([m[at] for m in v.means])) for v in levels],
        }
        for at in dict.fromkeys(order[places].tolist())
    ]


def _repeats(n_ratings: int) -> int:
    return max(1, min(REPEATS, MOST_RATINGS // (len(SHARES) * max(1, n_ratings))))


def _axis_of(matrix: sparse.csr_array, by: str) -> np.ndarray:
    """Row of the network in which each stored cell is."""
    if by == "item":
        return matrix.indices.astype(np.int64)
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _some(held: sparse.csr_array, rng: np.random.Generator) -> sparse.csr_array:
    """At most ``CELLS`` of the held-out ratings."""
    if held.nnz <= CELLS:
        return held
    kept = np.zeros(held.nnz, dtype=bool)
    kept[rng.choice(held.nnz, CELLS, replace=False, shuffle=False)] = True
    return _select(held, kept)


def _select(matrix: sparse.csr_array, kept: np.ndarray) -> sparse.csr_array:
    """The stored cells that are kept; stored zeros are ratings and stay."""
    before = np.concatenate([[0], np.cumsum(kept)]).astype(matrix.indptr.dtype)
    parts = (matrix.data[kept], matrix.indices[kept], before[matrix.indptr])
    return sparse.csr_array(parts, shape=matrix.shape)
