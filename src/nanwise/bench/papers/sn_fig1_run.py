"""Predictions against the number of known entries, of stays in intensive care and of cells."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from nanwise.bench.case import Case, Record
from nanwise.bench.papers.sn_ratings_sweep import run_sweep
from nanwise.bench.run import Measured, load_torch, record
from nanwise.data.cells import hide_seen, load_cells
from nanwise.data.cells.counts import dense
from nanwise.data.series import SeriesData
from nanwise.registry import find

STAYS, CELLS, RATINGS = "physionet2012", "blakeley", "ml_100k"
#: shares of the known entries that are left for the slope
SHARES = tuple(k / 10 for k in range(1, 11))
#: numbers of known entries at which one prediction is looked at, and draws at each of them
LEVELS, DRAWS = 20, 50
#: stays that are predicted again for the slope
ASKED = 300
#: groups of rows by their number of known entries
GROUPS = 8
#: share of the entries of cells that is hidden to be predicted
HIDDEN = 0.1

Lines = dict[str, list[float]]
#: from which entries of one row something is left (draws, entries) to predictions (draws,)
Ask = Callable[[np.ndarray], np.ndarray]


def run_known(case: Case) -> Record:
    """One model, then shown ever fewer of the entries that are known of a row.

    ``case.dataset`` is one of ``STAYS`` (an LSTM, set A of PhysioNet 2012, asked about set C),
    ``CELLS`` (AutoImpute, a tenth of the entries hidden to be predicted) and ``RATINGS``
    (:func:`~nanwise.bench.papers.sn_ratings_sweep.run_sweep`).

    Scores: ``slope``, the change of the mean prediction for 10 points more of each row's entries
    known, and ``spread``, the standard deviation of the predictions when all are known. Facts for
    the charts: ``point``, one prediction from random parts of what is known of its row, and
    ``targets``, the mean target of rows by how many entries are known.
    """
    if case.dataset == RATINGS:
        return run_sweep(case)
    return record(case, partial(_stays if case.dataset == STAYS else _cells, case))


# -- stays -----------------------------------------------------------------------------------------


def _stays(case: Case) -> Measured:
    from nanwise.estimators.series.supervised import NanSeriesClassifier
    from nanwise.train.plan import Plan

    load_torch()
    rng = np.random.default_rng(case.seed)
    train, held, test = (_part(split, case, rng) for split in "abc")
    params = {**case.params, "plan": Plan(**case.params["plan"])}
    model = NanSeriesClassifier(find(case.method).make(), random_state=case.seed, **params)
    model.fit(train.X, train.y, validation=(held.X, held.y))

    def death(X: np.ndarray) -> np.ndarray:
        return model.predict_proba(X)[:, 1]

    asked = test.X[:ASKED]
    level = [death(_thinned(asked, share, rng)).mean() for share in SHARES]
    busy = asked[np.argsort(-np.isfinite(asked).sum(axis=(1, 2)))[: max(1, len(asked) // 4)]]
    one = busy[rng.integers(len(busy))]
    point = _point(np.isfinite(one), lambda kept: death(np.where(kept, one, np.nan)), rng)
    targets = _targets(np.isfinite(train.X).sum(axis=(1, 2)), np.asarray(train.y, dtype=float))
    return _measured(level, death(asked).std(), point, targets)


def _part(split: str, case: Case, rng: np.random.Generator) -> SeriesData:
    data = _load(split, case.protocol["steps"])
    return data.take(rng.permutation(len(data))[: case.protocol["rows"]])


@lru_cache(maxsize=3)
def _load(split: str, steps: int) -> SeriesData:
    """Kept, because a worker meets the same sets in many cells; never written to."""
    from nanwise.data.series import load_physionet2012

    return load_physionet2012(split, steps)


def _thinned(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(X.shape, dtype=np.float32) < share, X, np.nan)


# -- cells -----------------------------------------------------------------------------------------


def _cells(case: Case) -> Measured:
    from nanwise.estimators.cells.autoimpute import AutoImpute

    load_torch()
    rng = np.random.default_rng(case.seed)
    values = dense(load_cells(case.dataset).matrix)
    part, rows, columns = hide_seen(values, HIDDEN, case.seed)
    params = dict(case.params)
    epochs = params.pop("epochs")
    model = AutoImpute.published(random_state=case.seed, **params)
    model.set_params(plan__epochs=epochs).fit(part)

    def hidden(share: float) -> np.ndarray:
        kept = np.where(rng.random(part.shape) < share, part, 0)
        return model.predict(kept)[rows, columns]

    place = rng.integers(len(rows))
    cell, gene = part[rows[place]], columns[place]
    point = _point(cell != 0, lambda kept: model.predict(np.where(kept, cell, 0))[:, gene], rng)
    targets = _targets((part != 0).sum(axis=1), _mean_by_row(values, rows, columns))
    level = [hidden(share).mean() for share in SHARES]
    return _measured(level, hidden(1.0).std(), point, targets)


def _mean_by_row(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Mean of the hidden entries of each row; NaN where none is hidden."""
    count = np.bincount(rows, minlength=len(values))
    total = np.bincount(rows, values[rows, columns], minlength=len(values))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


# -- both ------------------------------------------------------------------------------------------


def _measured(level: list[float], spread: float, point: Lines, targets: Lines) -> Measured:
    slope = float(np.polyfit(SHARES, level, 1)[0]) * 0.1
    facts = {"point": point, "targets": targets}
    return Measured(scores={"slope": slope, "spread": float(spread)}, facts=facts)


def _point(known: np.ndarray, ask: Ask, rng: np.random.Generator) -> Lines:
    """A prediction from random parts of what is known of one row, mean and middle 95 %."""
    places = np.flatnonzero(known)
    levels = np.unique(np.rint(np.linspace(1 / LEVELS, 1, LEVELS) * len(places)).astype(int))
    levels = levels[levels > 0]
    kept = np.zeros((len(levels) * DRAWS, known.size), dtype=bool)
    for row, n in zip(kept, np.repeat(levels, DRAWS), strict=True):
        row[rng.choice(places, n, replace=False)] = True
    drawn = ask(kept.reshape(-1, *known.shape)).reshape(len(levels), DRAWS)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=1)
    return _lines(levels, drawn.mean(axis=1), low, high)


def _targets(known: np.ndarray, target: np.ndarray) -> Lines:
    """Mean target of groups of rows of nearly equal size, with its 95 % interval."""
    known, target = known[~np.isnan(target)], target[~np.isnan(target)]
    order = np.argsort(known, kind="stable")
    groups = [group for group in np.array_split(order, GROUPS) if len(group) > 1]
    mean = np.array([target[group].mean() for group in groups])
    half = np.array([1.96 * target[group].std(ddof=1) / len(group) ** 0.5 for group in groups])
    return _lines(
        np.array([known[group].mean() for group in groups]), mean, mean - half, mean + half
    )


def _lines(known: np.ndarray, mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> Lines:
    parts = {"known": known, "mean": mean, "low": low, "high": high}
    return {name: part.tolist() for name, part in parts.items()}
