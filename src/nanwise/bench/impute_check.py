"""How well an imputer does: cells that are known are hidden, and filled again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from nanwise.bench.impute_score import (
    Yardstick,
    column_errors,
    crps,
    impute_scores,
    mean_of,
    wasserstein,
)
from nanwise.data.ampute import held_cells, hide_cells
from nanwise.data.encode import Encoder
from nanwise.data.schema import OTHER, Schema
from nanwise.estimators.table_imputer import TableImputer, imputer_of

if TYPE_CHECKING:
    import pandas as pd

#: rows that the check scores, draws that it takes, and rows that are drawn for
CHECK_ROWS, CHECK_DRAWS, DRAWN_ROWS = 10_000, 20, 2_000
BASELINE = "mean"


def fit(model: TableImputer, before: pd.DataFrame, progress: bool = False) -> TableImputer:
    """Fit on a checked frame; a progress bar belongs to this run and not to the model."""
    params = dict(model.params or {})
    own = imputer_of(model.method, params).get_params(deep=False)
    if not (progress and "plan" in own):
        return model.fit_checked(before)
    model.params = params | {"plan": {"progress": True} | dict(params.get("plan", {}))}
    model.fit_checked(before)
    model.params = params
    model.imputer_.set_params(plan__progress=False)
    return model


def held_out_check(
    model: TableImputer, before: pd.DataFrame, share: float, seed: int, progress: bool = False
) -> dict[str, Any]:
    """Hide a share of the observed cells, fit again without them, and compare with mean filling.

    At most 10,000 rows are scored; draws are scored on 2,000 of them.
    """
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(before))[:CHECK_ROWS])
    held = np.zeros(before.shape, dtype=bool)
    held[rows] = held_cells(before.iloc[rows], share, "mcar", None, rng)
    _keep_rare(held, before)
    hidden = hide_cells(before, held)
    again = fit(clone(model), hidden, progress)
    mean = TableImputer(BASELINE, schema=model.schema, random_state=seed).fit_checked(hidden)
    codes = Encoder(model.schema_, onehot=False).fit().encode
    yard = yardstick(codes(before), model.schema_)
    truth, asked, cells = codes(before.iloc[rows]), hidden.iloc[rows], held[rows]
    filled, plainly = (_unrounded(one, asked, codes) for one in (again, mean))
    drawn = _drawn(again, asked, codes, seed)
    found = {
        "share": share,
        "cells": int(held.sum()),
        "scores": _scores(truth, filled, cells, yard, drawn),
        "mean_scores": impute_scores(truth, plainly, cells, yard),
    }
    return found | {"columns": _by_column(truth, filled, plainly, cells, yard, drawn, model)}


def yardstick(codes: np.ndarray, schema: Schema) -> Yardstick:
    """What errors are measured in, from all observed cells and the kinds of the columns."""
    levels = [_n_levels(column) for column in schema.columns]
    return Yardstick.of(codes, levels, [column.kind == "ordinal" for column in schema.columns])


def _keep_rare(held: np.ndarray, before: pd.DataFrame) -> None:
    """Do not hold cells of the level that stands for all rare ones: no answer fills these."""
    for j, name in enumerate(before.columns):
        if before[name].dtype == "category" and OTHER in before[name].cat.categories:
            held[:, j] &= (before[name] != OTHER).to_numpy()


def _n_levels(column: Any) -> int:
    if column.kind == "boolean":
        return 2
    return len(column.levels) if column.kind in ("categorical", "ordinal") else 0


def _unrounded(model: TableImputer, asked: pd.DataFrame, codes: Any) -> np.ndarray:
    """Codes as the imputer gives them, before they are written with the decimals of the column."""
    return codes(model.imputer_.transform(asked))


def _drawn(model: TableImputer, asked: pd.DataFrame, codes: Any, seed: int) -> np.ndarray | None:
    if not model.imputer_.samples:
        return None
    draws = model.imputer_.sample(asked.iloc[:DRAWN_ROWS], CHECK_DRAWS, seed)
    return np.stack([codes(draw) for draw in draws])


def _scores(
    truth: np.ndarray, filled: np.ndarray, held: np.ndarray, yard: Yardstick, drawn: Any
) -> dict[str, Any]:
    scores = impute_scores(truth, filled, held, yard)
    if drawn is None:
        return scores
    n = drawn.shape[1]
    few = impute_scores(truth[:n], filled[:n], held[:n], yard, drawn)
    return scores | {name: few[name] for name in ("wasserstein_draws", "crps", "energy")}


def _by_column(
    truth: np.ndarray,
    filled: np.ndarray,
    plainly: np.ndarray,
    held: np.ndarray,
    yard: Yardstick,
    drawn: Any,
    model: TableImputer,
) -> list[dict[str, Any]]:
    ours, theirs = (column_errors(truth, f, held, yard) for f in (filled, plainly))
    apart = wasserstein(truth, filled[None], held, yard)
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "held": int(held[:, j].sum()),
            "measure": "share wrong" if yard.levels[j] else "RMSE / sd",
            "error": ours[j],
            "mean_error": theirs[j],
            "wasserstein": apart[j],
            "crps": _column_crps(truth, held, yard, drawn, j),
        }
        for j, column in enumerate(model.schema_.columns)
    ]


def _column_crps(
    truth: np.ndarray, held: np.ndarray, yard: Yardstick, drawn: Any, j: int
) -> float | None:
    if drawn is None:
        return None
    n = drawn.shape[1]
    only = np.zeros((n, held.shape[1]), dtype=bool)
    only[:, j] = held[:n, j]
    return mean_of(crps(truth[:n], drawn, only, yard))
