"""Predictions of cells against the number of genes that are known."""

from __future__ import annotations

from functools import partial

import numpy as np

from nanwise.bench.case import Case, Record
from nanwise.bench.papers.known_entries import SHARES, mean_targets, one_prediction, slope
from nanwise.bench.papers.sn_ratings_sweep import run_sweep
from nanwise.bench.papers.sn_series import run_series
from nanwise.bench.run import Measured, load_torch, record
from nanwise.data.cells import hide_seen, load_cells
from nanwise.data.cells.counts import dense

STAYS, CELLS, RATINGS = "physionet2012", "blakeley", "ml_100k"
#: share of the entries of cells that is hidden to be predicted
HIDDEN = 0.1


def run_known(case: Case) -> Record:
    """One model, then shown ever fewer of the entries that are known of a row.

    ``case.dataset`` is one of ``STAYS`` (:func:`~nanwise.bench.papers.sn_series.run_series`),
    ``RATINGS`` (:func:`~nanwise.bench.papers.sn_ratings_sweep.run_sweep`) and ``CELLS``
    (AutoImpute, a tenth of the entries hidden to be predicted).

    Scores: ``slope``, the change of the mean prediction for 10 points more of each row's entries
    known, and ``spread``, the standard deviation of the predictions when all are known. Facts for
    the charts: ``point``, one prediction from random parts of what is known of its row, and
    ``targets``, the mean target of rows by how many entries are known.
    """
    if case.dataset == RATINGS:
        return run_sweep(case)
    return run_series(case) if case.dataset == STAYS else record(case, partial(_cells, case))


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
    point = one_prediction(
        cell != 0, lambda kept: model.predict(np.where(kept, cell, 0))[:, gene], rng
    )
    targets = mean_targets((part != 0).sum(axis=1), _mean_by_row(values, rows, columns))
    level = [hidden(share).mean() for share in SHARES]
    return Measured(
        scores={"slope": slope(level), "spread": float(hidden(1.0).std())},
        facts={"point": point, "targets": targets},
    )


def _mean_by_row(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Mean of the hidden entries of each row; NaN where none is hidden."""
    count = np.bincount(rows, minlength=len(values))
    total = np.bincount(rows, values[rows, columns], minlength=len(values))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
