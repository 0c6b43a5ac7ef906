"""Can the imputations be believed? Facts as plain dicts; nothing is drawn here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from nanwise.data.ampute import hide_cells
from nanwise.data.attributes import LEVELLED, Attribute
from nanwise.errors import DataError
from nanwise.estimators.impute.cells import observed_cells, take_rows
from nanwise.estimators.impute.densities import curves, shares
from nanwise.estimators.impute.many import as_sampler, seeded
from nanwise.estimators.impute.tables import read_cells
from nanwise.train.checks import number, whole

#: rows of which cells are hidden and drawn again
_ROWS = 2000
#: fewest values that a column keeps when others of it are hidden
_KEPT = 2


def densities(X: Any, tables: Any, bins: int = 20, points: int = 64) -> dict[str, Any]:
    """Observed against imputed values, column by column.

    They need not look alike where values are not missing completely at random, but values that were
    never observed, or a single peak, ask for a reason.

    Parameters
    ----------
    X : array or DataFrame
        The table with its gaps.
    tables : table or list of tables
        Completed, for example by :func:`nanwise.impute_many`.
    bins, points : int
        Bins of the histograms, points of the smooth curves.

    Returns
    -------
    dict
        ``columns``: for every column with gaps a dict of ``name``, ``kind``, ``n_observed``,
        ``n_imputed``; for numbers ``edges`` and ``x`` and, in ``observed`` and ``imputed``, the
        ``mean``, ``std``, densities by bin (``histogram``) and at ``x`` (``curve``: kernels of one
        width for both, so that a single value is a peak of that width), and ``distance``, the
        largest difference of the distribution functions; for levels the ``levels`` and, in
        ``observed`` and ``imputed``, their shares.
    """
    whole("bins", bins)
    whole("points", points)
    reader = _Reader().read(X)
    tables = tables if isinstance(tables, list) else [tables]
    codes, gap = reader.codes(X), ~observed_cells(X)
    filled = np.stack([reader.codes(table) for table in tables])
    columns = []
    for attribute, j in reader.columns():
        if gap[:, j].any() and not gap[:, j].all():
            here, new = codes[~gap[:, j], j], filled[:, gap[:, j], j].ravel()
            head = {
                "name": attribute.name,
                "kind": attribute.kind,
                "n_observed": len(here),
                "n_imputed": len(new),
            }
            if attribute.kind in LEVELLED:
                columns.append(head | _levels(here, new, reader.levels(attribute, j)))
            else:
                columns.append(head | _numbers(here, new, bins, points))
    return {"kind": "densities", "tables": len(tables), "columns": columns}


def convergence(imputer: Any) -> dict[str, Any]:
    """How fitting went: losses of epochs, changes of rounds or the likelihood of steps.

    Of chained equations whose parameters are drawn (``mice``) the trace is that of the numbers
    drawn for gaps, which never rests: it should wander about a level, without a trend.

    Parameters
    ----------
    imputer : imputer
        Fitted.

    Returns
    -------
    dict
        ``unit`` (epoch, round or step), ``trace`` (a dict of lists of numbers, NaN as None) and
        ``change``: by how much the first of them still changed over its last tenth, relative to the
        whole way it went; 0 is a trace at rest. Empty for an imputer that is fitted in one go.
    """
    unit, trace = _trace(imputer)
    if not trace:
        return {"kind": "convergence", "unit": None, "trace": {}, "change": None}
    first = np.array([v for v in next(iter(trace.values())) if v is not None])
    return {"kind": "convergence", "unit": unit, "trace": trace, "change": _last_change(first)}


def coverage(
    imputer: Any,
    X: Any,
    share: float = 0.1,
    draws: int = 100,
    at: Sequence[float] = (0.5, 0.8, 0.9, 0.95),
    random_state: Any = None,
) -> dict[str, Any]:
    """Over-imputation: hide known cells, draw them, and see whether the draws enclose them.

    Parameters
    ----------
    imputer : str or imputer
        One that samples; cloned, and fitted on the table without the hidden cells.
    X : array or DataFrame
        The table.
    share : float, default=0.1
        Share of the observed cells to hide; of large tables in 2,000 rows.
    draws : int, default=100
        Number of draws.
    at : sequence of float
        Levels of the intervals.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    dict
        ``at``; ``coverage``, the share of hidden numbers inside the intervals at each level, over
        all columns (None without numbers); ``columns``: for every column ``name``, ``kind``,
        ``cells`` and, for numbers, ``coverage`` and the mean ``width`` of the intervals in standard
        deviations of the column; for levels ``probability``, the mean share of the draws that have
        the hidden level, and ``hits``, how often most of them have it.
    """
    number("share", share, above=0.0, below=1.0)
    whole("draws", draws)
    for level in at:
        number("at", level, above=0.0, below=1.0)
    rng = check_random_state(random_state)
    sampler = as_sampler(imputer)
    held = _to_hide(observed_cells(X), share, rng)
    hidden, rows = hide_cells(X, held), np.flatnonzero(held.any(axis=1))
    fitted = seeded(sampler, rng).fit(hidden)
    drawn = fitted.sample(take_rows(hidden, rows), draws, random_state=rng.randint(2**31 - 1))
    reader = _Reader(getattr(sampler, "kinds", None)).read(X)
    truth = reader.codes(X)
    found = _Held(held[rows], truth[rows], np.stack([reader.codes(table) for table in drawn]))
    columns = [_covered(found, a, j, truth[:, j], at) for a, j in reader.columns()]
    return {
        "kind": "coverage",
        "share": share,
        "draws": draws,
        "at": list(at),
        "coverage": _over_all([c for c in columns if "coverage" in c]),
        "columns": columns,
    }


class _Reader(BaseEstimator):
    """Tables as codes, the same way for all of them."""

    def __init__(self, kinds: Any = None) -> None:
        self.kinds = kinds

    def read(self, X: Any) -> _Reader:
        read_cells(self, X, reset=True)
        return self

    def codes(self, table: Any) -> np.ndarray:
        return read_cells(self, table, reset=False)

    def columns(self) -> list[tuple[Attribute, int]]:
        return [(a, j) for a in self.table_layout_.attributes for j in a.columns]

    def levels(self, attribute: Attribute, j: int) -> list[Any]:
        """What the user calls them."""
        if self.schema_encoder_ is None:
            return list(attribute.levels)
        own = list(self.schema_encoder_.schema.columns[j].levels)
        return own or [bool(level) for level in attribute.levels]


class _Held(NamedTuple):
    """Hidden cells: where (N, D), the truth (N, D), and what was drawn (n, N, D)."""

    where: np.ndarray
    truth: np.ndarray
    drawn: np.ndarray


def _numbers(here: np.ndarray, new: np.ndarray, bins: int, points: int) -> dict[str, Any]:
    edges = np.histogram_bin_edges(np.concatenate([here, new]), bins)
    smooth = curves(here, new, points)
    return {
        "edges": edges.tolist(),
        "x": smooth["x"],
        "observed": _described(here, edges) | {"curve": smooth["observed"]},
        "imputed": _described(new, edges) | {"curve": smooth["imputed"]},
        "distance": _distance(here, new),
    }


def _described(values: np.ndarray, edges: np.ndarray) -> dict[str, Any]:
    return {
        "mean": float(values.mean()),
        "std": float(values.std()),
        "histogram": np.histogram(values, edges, density=True)[0].tolist(),
    }


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """Kolmogorov and Smirnov's."""
    both = np.sort(np.concatenate([a, b]))
    shares = [np.searchsorted(np.sort(v), both, side="right") / len(v) for v in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())


def _levels(here: np.ndarray, new: np.ndarray, levels: list[Any]) -> dict[str, Any]:
    there, drawn = (v[~np.isnan(v)].astype(int) for v in (here, new))
    return {"levels": levels, **shares(there, drawn, len(levels))}


def _trace(imputer: Any) -> tuple[str, dict[str, list[float | None]]]:
    history = getattr(imputer, "history_", None)
    if history:
        names = [n for n in ("valid_loss", "train_loss") if history[-1].get(n) is not None]
        return "epoch", {n: _plain([step.get(n) for step in history]) for n in names}
    changes = getattr(imputer, "changes_", None)
    if changes:
        numbers, levels = (list(part) for part in zip(*changes, strict=True))
        return "round", {"numbers": _plain(numbers), "levels": _plain(levels)}
    drawn = getattr(imputer, "trace_", None)
    if drawn and np.isfinite(drawn).all():
        means, spreads = (list(part) for part in zip(*drawn, strict=True))
        return "round", {"mean": _plain(means), "standard deviation": _plain(spreads)}
    inner = getattr(imputer, "treatment_", imputer)
    for name, learnt in (("change", "steps_"), ("log_likelihood", "log_likelihood_")):
        steps = list(getattr(inner, learnt, ()))
        if steps:
            return "step", {name: _plain(steps)}
    return "step", {}


def _plain(values: list[Any]) -> list[float | None]:
    numbers = [np.nan if value is None else float(value) for value in values]
    return [value if np.isfinite(value) else None for value in numbers]


def _last_change(trace: np.ndarray) -> float | None:
    if len(trace) < 2:
        return None
    way = float(np.ptp(trace))
    last = trace[-max(len(trace) // 10, 2) :]
    return float(np.ptp(last)) / way if way else 0.0


def _to_hide(there: np.ndarray, share: float, rng: np.random.RandomState) -> np.ndarray:
    """Cells to hide: a share of the observed ones in some rows; every column keeps some."""
    rows = np.zeros(len(there), dtype=bool)
    rows[rng.permutation(len(there))[:_ROWS]] = True
    held = there & rows[:, None] & (rng.uniform(size=there.shape) < share)
    left = (there & ~held).sum(axis=0)
    held[:, left < _KEPT] = False
    if not held.any():
        raise DataError(
            f"no cell could be hidden: {int(there.sum())} cells are observed, share is {share:g}; "
            "give more rows or a larger share"
        )
    return held


def _covered(
    held: _Held, attribute: Attribute, j: int, truth: np.ndarray, at: Sequence[float]
) -> dict[str, Any]:
    """One column of :func:`coverage`."""
    cells = held.where[:, j] & ~np.isnan(held.truth[:, j])
    true, drawn = held.truth[cells, j], held.drawn[:, cells, j]
    head = {"name": attribute.name, "kind": attribute.kind, "cells": len(true)}
    if not len(true):
        return head
    if attribute.kind in LEVELLED:
        counts = np.stack([(drawn == k).mean(axis=0) for k in range(len(attribute.levels))])
        chance = counts[true.astype(int), np.arange(len(true))]
        hits = counts.argmax(axis=0) == true
        return head | {"probability": float(chance.mean()), "hits": float(hits.mean())}
    spread = float(np.nanstd(truth)) or 1.0
    inside, width = [], []
    for level in at:
        # Of n draws and the truth, any order is equally likely: these ends cover exactly `level`.
        ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0, method="weibull")
        inside.append(float(((ends[0] <= true) & (true <= ends[1])).mean()))
        width.append(float((ends[1] - ends[0]).mean()) / spread)
    return head | {"coverage": inside, "width": width}


def _over_all(columns: list[dict[str, Any]]) -> list[float] | None:
    if not columns:
        return None
    weights = [column["cells"] for column in columns]
    return np.average([column["coverage"] for column in columns], axis=0, weights=weights).tolist()
