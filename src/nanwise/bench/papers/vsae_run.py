"""The protocol of the VSAE papers: hide, train on incomplete rows, fill the gaps of others."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from nanwise.bench.case import Case, Record
from nanwise.bench.impute_score import Yardstick, impute_scores
from nanwise.bench.papers.vsae_data import Rows, held_of, rows_of
from nanwise.bench.papers.vsae_pictures import pictures_of
from nanwise.bench.run import Measured, load_torch, record
from nanwise.bench.score import Scores
from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.table_imputer import imputer_of, imputer_settings


def run_impute(case: Case) -> Record:
    """One run on a table, or on rows of several modalities.

    ``case.protocol`` holds ``test`` (share of the rows of a table), ``rows`` (at most so many,
    drawn at random; None: all), ``latent_each`` (latents per attribute, for models that share them
    between attributes) and ``pictures`` (how many rows are shown in the report; run 0 only).
    ``case.hide`` names mechanism and share. Rows, hidden cells and test rows depend on the seed
    and on nothing else.

    Scores: on a table those of :mod:`nanwise.bench.impute_score`. On modalities the mean squared
    error of each vector, ``mse_<name>``, per number and over the rows that miss it; ``sum`` of
    these; ``pfc``, the share of labels that are wrong.
    """
    return record(case, partial(_measure, case))


def _measure(case: Case) -> Measured:
    rows = rows_of(case)
    held = held_of(rows, case.hide or {}, case.seed)
    hidden = np.where(held, np.nan, rows.values)
    imputer = _imputer(case, rows)
    load_torch()
    started = time.perf_counter()
    imputer.fit(hidden[~rows.test])
    fitted = time.perf_counter()
    filled = imputer.transform(hidden[rows.test])
    found = Measured(fit_seconds=fitted - started, predict_seconds=time.perf_counter() - fitted)
    found.scores = scores_of(rows, filled, held[rows.test])
    found.facts = {"epochs": getattr(imputer, "n_iter_", None)}
    if case.protocol.get("pictures") and case.fold == 0 and rows.modal:
        shown = case.protocol["pictures"]
        found.facts["pictures"] = pictures_of(imputer, rows, filled, held[rows.test], shown)
    return found


def _imputer(case: Case, rows: Rows) -> Imputer:
    params = dict(case.params)
    each = case.protocol.get("latent_each")
    known = imputer_settings(case.method)
    if each is not None and "latent" in known:
        params["latent"] = each * len(rows.attributes)
    if "kinds" in known:
        params["kinds"] = rows.kinds
    return imputer_of(case.method, params, case.seed)


def scores_of(rows: Rows, filled: np.ndarray, held: np.ndarray) -> Scores:
    """Scores of filled test rows."""
    truth = rows.values[rows.test]
    if rows.modal:
        return _modal_scores(rows, truth, filled, held)
    levels = [_levels(rows.values[:, a.columns], a.kind) for a in rows.attributes]
    scores = impute_scores(truth, filled, held, Yardstick.of(rows.values, levels))
    return {name: value for name, value in scores.items() if value is not None}


def _levels(cells: np.ndarray, kind: str) -> int:
    return 0 if kind == "real" else int(np.nanmax(cells)) + 1


def _modal_scores(rows: Rows, truth: np.ndarray, filled: np.ndarray, held: np.ndarray) -> Scores:
    scores: Scores = {}
    squares: list[float | None] = []
    for attribute in rows.attributes:
        gap = held[:, attribute.columns.start]
        x, y = truth[gap][:, attribute.columns], filled[gap][:, attribute.columns]
        if attribute.kind == "vector":
            squares.append(float(np.mean((x - y) ** 2)) if gap.any() else None)
            scores[f"mse_{attribute.name}"] = squares[-1]
        else:
            scores["pfc"] = float(np.mean(x != y)) if gap.any() else None
    scores["sum"] = None if None in squares else sum(s for s in squares if s is not None)
    return scores


def pictures_in(found: Record | None) -> list[dict[str, Any]]:
    """What a run has kept to be shown."""
    return [] if found is None else list(found.facts.get("pictures") or [])
