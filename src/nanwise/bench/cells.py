"""Imputers of cells scored on entries that were seen and are hidden from them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from tqdm import tqdm

from nanwise.bench.board import interval
from nanwise.bench.case import Case, Record, plain, versions
from nanwise.bench.compare import warnings_of
from nanwise.bench.run import Measured, record
from nanwise.data.cells import Counts, as_counts, hide_seen
from nanwise.data.cells.counts import dense
from nanwise.errors import GapWarning, TrainingError
from nanwise.estimators.cells.autoimpute import AutoImpute

SHARES = tuple(k / 10 for k in range(1, 10))
SCORES = {"rmse": "RMSE", "mae": "MAE", "nmse": "NMSE"}
#: methods by name: ``make(seed) -> unfitted model``
METHODS: dict[str, Callable[[int], Filler]] = {
    "AutoImpute w/ SN": lambda seed: AutoImpute(random_state=seed),
    "AutoImpute w/o SN": lambda seed: AutoImpute(normalize=False, random_state=seed),
    "mean of each gene": lambda seed: GeneMeans(),
}


class Filler(Protocol):
    """What is asked of a model."""

    def fit(self, X: Any) -> Any:
        """Learn from cells in which 0 means not seen."""

    def predict(self, X: Any) -> np.ndarray:
        """Answers for all entries."""


class GeneMeans:
    """The simple thing to beat: the mean of what was seen of a gene; of all genes if nothing."""

    def fit(self, X: np.ndarray) -> Self:
        """Learn the means."""
        seen = np.count_nonzero(X, axis=0)
        sums = X.sum(axis=0, dtype=np.float64)
        self.means_ = np.where(seen > 0, sums / np.maximum(seen, 1), sums.sum() / seen.sum())
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The same answers for every cell."""
        return np.broadcast_to(self.means_, X.shape)


def hidden_scores(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """RMSE, mean absolute error and ``NMSE = ‖truth - found‖ / ‖truth‖`` of hidden entries."""
    off = truth.astype(np.float64) - found
    return {
        "rmse": float(np.sqrt(np.mean(off**2))),
        "mae": float(np.mean(np.abs(off))),
        "nmse": float(np.linalg.norm(off) / np.linalg.norm(truth.astype(np.float64))),
    }


def score_hidden(
    model: Filler, values: np.ndarray, share: float, seed: int
) -> tuple[dict[str, float], float]:
    """Hide a share of what was seen, fit the model on the rest, and score it on what is hidden.

    Returns
    -------
    scores : dict
        See :func:`hidden_scores`. Answers are not cut off at 0.
    seconds : float
        Of the fit.
    """
    part, rows, columns = hide_seen(values, share, seed)
    start = time.perf_counter()
    with warnings.catch_warnings():
        # genes and cells that nothing is left of are our doing
        warnings.simplefilter("ignore", GapWarning)
        model.fit(part)
    took = time.perf_counter() - start
    return hidden_scores(values[rows, columns], model.predict(part)[rows, columns]), took


def evaluate_hidden(
    X: Any,
    methods: Mapping[str, Callable[[int], Filler]] | None = None,
    *,
    shares: Sequence[float] = SHARES,
    runs: int = 3,
    seed: int = 0,
    progress: bool = False,
) -> dict[str, Any]:
    """Score imputers of cells at several shares of hidden entries.

    All methods of a run see the same entries. Each run hides others.

    Parameters
    ----------
    X : Counts, AnnData, DataFrame, sparse matrix or array of shape (n_cells, n_genes)
        Values as from :class:`nanwise.data.cells.CellPrep`; 0 means not seen.
    methods : mapping, optional
        Name to ``make(seed) -> model``; default: ``METHODS``.
    shares : sequence of float
        Of the entries that were seen.
    runs : int
        Per method and share.
    seed : int
    progress : bool

    Returns
    -------
    dict
        Facts for :func:`nanwise.report.write`. ``rows`` holds for each method and share the mean
        and half of the 95 % interval of RMSE, MAE and NMSE, and the seconds of a fit, over the
        ``runs`` that came to an end (None where ``failed`` ones are all there is); ``failures``
        says of each failed run what went wrong.

    Raises
    ------
    TrainingError
        If every run failed.
    """
    if runs < 1:
        raise ValueError(f"runs must be at least 1, got {runs!r}")
    counts = as_counts(X)
    values, chosen = dense(counts.matrix), dict(methods or METHODS)
    start = time.perf_counter()
    cases = [
        Case("cells", name, seed=run, hide={"mechanism": "seen", "share": share})
        for name in chosen
        for share in shares
        for run in range(seed, seed + runs)
    ]
    found = [
        record(case, partial(_measure, chosen[case.method], values, case))
        for case in tqdm(cases, disable=not progress, unit=" fit")
    ]
    _refuse_nothing_done(found)
    return plain(
        {
            "kind": "cells",
            "title": "Imputation of cells",
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "data": cell_facts(counts) | {"notes": warnings_of(found)},
            "rows": [_row(name, share, found) for name in chosen for share in shares],
            "failures": [_failure(one) for one in found if one.failed],
            "seconds": time.perf_counter() - start,
            "settings": {"runs": runs, "seed": seed},
            "versions": versions(),
            "command": None,
        }
    )


def cell_facts(counts: Counts) -> dict[str, Any]:
    """Size of a matrix of cells and how much of it is 0."""
    return {
        "source": None,
        "cells": counts.shape[0],
        "genes": counts.shape[1],
        "zero_share": 1 - counts.seen_share,
        "notes": [],
    }


def _measure(make: Callable[[int], Filler], values: np.ndarray, case: Case) -> Measured:
    scores, took = score_hidden(make(case.seed), values, _share(case.hide), case.seed)
    return Measured(scores=dict(scores), fit_seconds=took)


def _share(hide: Mapping[str, Any] | None) -> float:
    return (hide or {})["share"]


def _refuse_nothing_done(found: list[Record]) -> None:
    if found and all(one.failed for one in found):
        reasons = dict.fromkeys(f"{one.method}: {one.reason}" for one in found)
        raise TrainingError("every fit failed; " + "; ".join(list(reasons)[:5]))


def _row(method: str, share: float, found: list[Record]) -> dict[str, Any]:
    """One line of the table; a failed run counts as failed and as nothing else."""
    here = [one for one in found if one.method == method and _share(one.case["hide"]) == share]
    done = [one for one in here if not one.failed]
    return {
        "method": method,
        "share": share,
        **{name: _mean([one.scores[name] for one in done]) for name in SCORES},
        "runs": len(done),
        "failed": len(here) - len(done),
        "fit_seconds": float(np.mean([one.fit_seconds for one in done])) if done else None,
    }


def _mean(values: list[Any]) -> dict[str, float | None]:
    mean, half = interval(values) if values else (None, None)
    return {"mean": mean, "ci": half}


def _failure(one: Record) -> dict[str, Any]:
    where = f"{_share(one.case['hide']):g} hidden, seed {one.case['seed']}"
    return {"method": one.method, "fold": where, "error": one.reason}
