"""Predictions against the number of known ratings: what Figures 1 and 9 of the paper show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from nanwise.bench.case import Case, Record
from nanwise.bench.papers.sn_ratings_run import fit, parts_of, predictions, training_facts
from nanwise.bench.papers.sn_ratings_table import RatingTable
from nanwise.bench.papers.table import Get, Heading
from nanwise.bench.ranking import rmse
from nanwise.bench.rating_stress import rating_stress
from nanwise.bench.run import Measured, record
from nanwise.data.ratings import Ratings

#: numbers of known ratings at which a prediction is looked at, and draws at each of them
LEVELS, DRAWS = 20, 100
#: the single test rating is one of a user with so many training ratings, if there is one
KNOWN = 200
#: edges of the groups of users by their number of training ratings
GROUPS = (1, 20, 30, 45, 65, 95, 135, 190, 270, 10**9)


def run_sweep(case: Case) -> Record:
    """One model trained on user vectors, then shown ever fewer of the ratings it knows.

    Scores: ``slope``, the change of the mean predicted test rating for 10 points more of each
    user's ratings known (:func:`nanwise.bench.rating_stress.rating_stress`); ``spread``, the
    standard deviation of the predicted test ratings when all are known; ``rmse`` of these.

    Facts for the charts: ``point``, one test rating predicted from random parts of what is known of
    its user, and ``targets``, the mean test rating of users by how many ratings are known.
    """
    return record(case, partial(_measure, case))


def _measure(case: Case) -> Measured:
    train, test = parts_of(case)
    model, seconds = fit(case, train)
    predicted = predictions(model, test)
    stress = rating_stress(model, test.matrix, seed=case.seed)
    point = _point(model, train, test, np.random.default_rng(case.seed))
    return Measured(
        scores={
            "slope": stress["slope"],
            "spread": float(predicted.std()),
            "rmse": rmse(test.matrix.data, predicted),
        },
        fit_seconds=seconds,
        facts={**training_facts(model), "point": point, "targets": _targets(train, test)},
    )


def _point(
    model: Any, train: Ratings, test: Ratings, rng: np.random.Generator
) -> dict[str, list[float]]:
    """A test rating drawn at random, predicted from random parts of its user's ratings."""
    user, item = _choose(train, test, rng)
    known = train.matrix[[user]]
    levels = np.unique(np.rint(np.linspace(1 / LEVELS, 1, LEVELS) * known.nnz).astype(int))
    levels = levels[levels > 0]
    kept = [rng.choice(known.nnz, n, replace=False) for n in levels for _ in range(DRAWS)]
    drawn = _predict_from(model, train, known, kept, item).reshape(len(levels), DRAWS)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=1)
    parts = {"known": levels, "mean": drawn.mean(axis=1), "low": low, "high": high}
    return {name: part.tolist() for name, part in parts.items()}


def _choose(train: Ratings, test: Ratings, rng: np.random.Generator) -> tuple[int, int]:
    """User and item of a test rating: of one of the users with many ratings, no item without."""
    counts = np.diff(train.matrix.indptr)[test.rows]
    warm = np.bincount(train.matrix.indices, minlength=len(train.items))[test.matrix.indices] > 0
    least = min(KNOWN, counts[warm].max())
    place = rng.choice(np.flatnonzero(warm & (counts >= least)))
    return int(test.rows[place]), int(test.matrix.indices[place])


def _predict_from(
    model: Any, train: Ratings, known: sparse.csr_array, kept: list[np.ndarray], item: int
) -> np.ndarray:
    """Predictions of one item from several parts of the known ratings.

    What a network says of a user depends on the user's ratings alone, so each part takes the place
    of another user: some hundred parts are predicted at once.
    """
    places = np.flatnonzero(np.diff(train.matrix.indptr))
    found = []
    for start in range(0, len(kept), len(places)):
        parts = kept[start : start + len(places)]
        rows, cells = places[: len(parts)], np.concatenate(parts)
        at = np.repeat(rows, [len(part) for part in parts]), known.indices[cells]
        seen = sparse.csr_array((known.data[cells], at), shape=train.matrix.shape)
        asked = (np.ones(len(rows)), (rows, np.full(len(rows), item)))
        asked_cells = sparse.csr_array(asked, shape=train.matrix.shape)
        found.append(model.seeing(seen).predict_matrix_at(asked_cells))
    return np.concatenate(found)


def _targets(train: Ratings, test: Ratings) -> dict[str, list[float]]:
    """Mean test rating of groups of users, with its 95 % interval over users."""
    known = np.diff(train.matrix.indptr)
    asked = np.bincount(test.rows, minlength=len(known))
    means = np.bincount(test.rows, test.matrix.data, minlength=len(known)) / np.maximum(asked, 1)
    group = np.digitize(known, GROUPS)
    found: dict[str, list[float]] = {"known": [], "mean": [], "low": [], "high": []}
    for g in np.unique(group):
        there = (group == g) & (asked > 0)
        if there.sum() > 1:
            mean, half = means[there].mean(), 1.96 * means[there].std(ddof=1) / there.sum() ** 0.5
            for name, value in zip(
                found, (known[there].mean(), mean, mean - half, mean + half), strict=True
            ):
                found[name].append(float(value))
    return found


@dataclass(frozen=True)
class SweepTable(RatingTable):
    """A figure of predictions against the number of known ratings, with slopes as its numbers.

    Charts are drawn from run 0: one per column, with a line for each row of slopes.
    """

    targets: bool = False

    def drawings(self, scale: str, wanted: set[tuple[str, str]], get: Get) -> list[dict[str, Any]]:
        """What the paper plots, for one test rating; bands hold 95 % of the draws."""
        found = {column.name: self._facts(column, scale, wanted, get) for column in self.columns}
        charts = [
            _chart(name, "predicted rating", {row: facts["point"] for row, facts in rows.items()})
            for name, rows in found.items()
            if rows
        ]
        # They are the same whatever the model.
        targets = [facts["targets"] for rows in found.values() for facts in rows.values()]
        if self.targets and targets:
            charts.insert(0, _chart("Mean test rating", "rating", {"users": targets[0]}))
        return charts

    def _facts(
        self, column: Heading, scale: str, wanted: set[tuple[str, str]], get: Get
    ) -> dict[str, dict[str, Any]]:
        """What run 0 has kept for each model of a column."""
        rows = [
            row
            for row in self.rows
            if self.score(row, column) == self.metric.name and (row.name, column.name) in wanted
        ]
        records = {row.name: get(self.cases(row, column, scale)[0]) for row in rows}
        return {
            name.partition(":")[0]: found.facts
            for name, found in records.items()
            if found is not None and not found.failed
        }


def _chart(title: str, y_label: str, lines: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "title": title,
        "x_label": "known ratings of the user",
        "y_label": y_label,
        "caption": "",
        "series": [
            {"name": name, "x": line["known"], "y": line["mean"], "tone": tone}
            | {side: line[side] for side in ("low", "high")}
            for tone, (name, line) in enumerate(lines.items())
        ],
    }
