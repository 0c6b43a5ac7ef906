"""Published tables on ratings: the penalty of every cell is searched for before its runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nanwise.bench.case import Case
from nanwise.bench.papers.sn_ratings_run import not_there
from nanwise.bench.papers.sn_ratings_search import best_of, next_to_try
from nanwise.bench.papers.table import Get, Heading, PublishedTable

#: stands in ``params`` where the penalty is to be found on validation ratings
FIND = "find"
#: what headings say to the table in ``protocol``; it is no part of a case
_OF_THE_TABLE = ("centre", "tuned_with", "patient")


@dataclass(frozen=True)
class Search:
    """The search for one penalty: what is known, and its latest steps, still to be run if open."""

    losses: Mapping[float, float]
    cases: tuple[Case, ...]
    open: bool

    @property
    def best(self) -> float | None:
        """The penalty that was chosen; None as long as there is none."""
        known = [loss for loss in self.losses.values() if math.isfinite(loss)]
        return best_of(self.losses) if known and not self.open else None


@dataclass(frozen=True)
class RatingTable(PublishedTable):
    """A published table on ratings.

    Where ``params["penalty"]`` is (or holds) ``FIND``, it is chosen on the validation ratings of
    run 0 among numbers of one significant digit. Headings put into ``protocol``: ``centre``, where
    that search starts, ``tuned_with``, parameters that are others during the search, and
    ``patient``, whether to stop later.

    A scale says how many ``runs`` there are on each data set (others are not run), whether the
    search ends with ``fine`` steps, on how many ``users`` (None: all) with at most how many hidden
    ``units`` (None: as published), single settings of the training in ``plans``, by method, or by
    method and data set, and a factor of the patience of rows that are ``patient``.
    """

    def absent(self, row: Heading, column: Heading, scale: str) -> str | None:
        """As for every table, and whether the ratings are there and part of the scale."""
        dataset = row.dataset or column.dataset or ""
        if dataset not in self.sizes(scale)["runs"]:
            return f"{dataset} is not run at scale {scale!r}"
        return super().absent(row, column, scale) or not_there(dataset)

    def runs(self, row: Heading, column: Heading, scale: str, get: Get) -> list[Case]:
        """Steps of the search while it is open, then the runs with what it found."""
        cases = self.cases(row, column, scale)
        if not searched(cases[0].params):
            return cases
        found = self.search(row, column, scale, get)
        if found.best is None:
            return list(found.cases)
        return [_with_penalty(case, found.best) for case in cases]

    def cases(self, row: Heading, column: Heading, scale: str) -> list[Case]:
        """The runs behind one cell, with ``FIND`` for a penalty that is still to be found."""
        sizes = self.sizes(scale)
        asked = {**self.protocol, **column.protocol, **row.protocol}
        params = {**self.params, **column.params, **row.params}
        method = row.method or column.method or ""
        dataset = row.dataset or column.dataset or ""
        params["plan"] = {**params.get("plan", {}), **_sized_plan(sizes, method, dataset, asked)}
        if sizes["units"] is not None:
            params["hidden"] = min(params["hidden"], sizes["units"])
        own = {k: v for k, v in asked.items() if k not in _OF_THE_TABLE}
        return [
            Case(
                dataset=dataset,
                method=method,
                params=params,
                protocol={"part": "test", **own, "users": sizes["users"]},
                fold=run,
                seed=run,
            )
            for run in range(sizes["runs"].get(dataset, 1))
        ]

    def search(self, row: Heading, column: Heading, scale: str, get: Get) -> Search:
        """How far the search for the penalty of one cell has come."""
        asked = {**self.protocol, **column.protocol, **row.protocol}
        first, centre = self.cases(row, column, scale)[0], asked["centre"]
        if self.sizes(scale)["units"] is None:
            first = replace(first, params={**first.params, **asked.get("tuned_with", {})})
        losses: dict[float, float] = {}
        cases: tuple[Case, ...] = ()
        while values := next_to_try(losses, centre, self.sizes(scale)["fine"]):
            cases = tuple(_probe(first, value) for value in values)
            records = [get(case) for case in cases]
            if None in records:
                return Search(losses, cases, open=True)
            for value, found in zip(values, records, strict=True):
                loss = None if found is None else found.scores.get("valid_rmse")
                losses[value] = math.inf if loss is None else loss
        return Search(losses, cases, open=False)

    def remarks(self, row: Heading, column: Heading, scale: str, get: Get) -> list[str]:
        """The penalty that was chosen for a cell, beside those that were tried."""
        if not searched(self.cases(row, column, scale)[0].params):
            return []
        found = self.search(row, column, scale, get)
        if found.best is None:
            return []
        tried = ", ".join(f"{value:g}: {found.losses[value]:.4f}" for value in sorted(found.losses))
        place = f"{row.name}, {column.name}"
        return [f"{place}: λ = {found.best:g}, by validation RMSE ({tried})"]


def _sized_plan(
    sizes: Mapping[str, Any], method: str, dataset: str, asked: Mapping[str, Any]
) -> dict[str, Any]:
    plans = sizes["plans"]
    plan = dict(plans.get(f"{method} {dataset}") or plans.get(method) or {})
    if asked.get("patient"):
        plan["patience"] *= sizes["patient"]
    return plan


def searched(params: Mapping[str, Any]) -> bool:
    """Whether the penalty is to be found."""
    penalty = params.get("penalty")
    return penalty == FIND or (isinstance(penalty, list) and FIND in penalty)


def _probe(case: Case, value: float) -> Case:
    """One step of the search: train on run 0 without its validation ratings, score those."""
    params = {**_filled(case.params, value), "refit": False}
    return replace(case, params=params, protocol={**case.protocol, "part": "validation"})


def _with_penalty(case: Case, value: float) -> Case:
    return replace(case, params=_filled(case.params, value))


def _filled(params: Mapping[str, Any], value: float) -> dict[str, Any]:
    penalty = params["penalty"]
    filled = [value if p == FIND else p for p in penalty] if isinstance(penalty, list) else value
    return {**params, "penalty": filled}
