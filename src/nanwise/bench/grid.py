"""Which cells a comparison has, and in which order they are run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nanwise.bench.case import Case
from nanwise.bench.table import Table
from nanwise.data.split import folds
from nanwise.registry import Method, find, known

KINDS = ("treatment", "predictor")
#: kinds that a network stands behind
NETWORKS = ("treatment", "imputer")
ROLES = ("baseline", "rival", "method")
EVERY_TREATMENT = "*"


def choose(names: Sequence[str] | None, task: str) -> list[Method]:
    """The named methods, or all table methods for the task; simple and quick ones first.

    Imputers are compared when they are named: most train a network of their own.
    """
    if names is None:
        found = [m for kind in KINDS for m in known(kind, inputs="table", task=task)]
    else:
        found = [_fit_for(find(name), task) for name in dict.fromkeys(names)]
    if not found:
        raise ValueError("no method to compare: the list of methods is empty")
    return sorted(found, key=lambda m: (ROLES.index(m.role), m.kind, m.name))


def _fit_for(method: Method, task: str) -> Method:
    if method.kind != "imputer" and (method.kind not in KINDS or method.inputs != "table"):
        raise ValueError(f"method {method.name!r} ({method.kind}) does not predict from a table")
    if task not in method.tasks:
        tasks = " and ".join(method.tasks)
        raise ValueError(f"method {method.name!r} is for {tasks}, the task is {task}")
    return method


def parameters(method: Method, given: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Any]:
    """Parameters of a method: those of ``"*"`` (all networks), then its own."""
    given = given or {}
    own = dict(given.get(method.name, {}))
    if method.kind not in NETWORKS:
        return own
    shared = given.get(EVERY_TREATMENT, {})
    return {**shared, **own, "plan": {**shared.get("plan", {}), **own.get("plan", {})}}


def refuse_unknown(given: Mapping[str, Any] | None, methods: Iterable[Method]) -> None:
    """Parameters of a method that is not compared are a slip of the pen: say so."""
    names = {method.name for method in methods} | {EVERY_TREATMENT}
    extra = sorted(set(given or {}) - names)
    if extra:
        raise ValueError(f"params are given for {extra[0]!r}, which is not among the methods")


def cases(
    dataset: str, methods: Sequence[Method], params: Mapping[str, Any], protocol: Mapping[str, Any]
) -> list[Case]:
    """All cells, fold by fold: every method gets its first fold before any gets its second."""
    count = protocol["folds"] * protocol["repeats"]
    # Repeats only add folds: a run with more repeats finds the earlier cells in the store.
    split = {"kind": "folds", "folds": protocol["folds"]}
    return [
        Case(dataset, method.name, params[method.name], split, fold, protocol["seed"])
        for fold in range(count)
        for method in methods
    ]


def split(table: Table, case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of a case; the same for every method."""
    repeat, fold = divmod(case.fold, case.protocol["folds"])
    return folds(table.y, table.task, case.protocol["folds"], seed=case.seed + repeat)[fold]


def check_folds(table: Table, count: int, repeats: int) -> None:
    """Refuse what cannot be split; note what can only be split badly."""
    if count < 2 or repeats < 1:
        raise ValueError(f"need folds >= 2 and repeats >= 1, got {count} and {repeats}")
    note = folds(table.y, table.task, count).note
    if note:
        table.notes.append(note)


def until(deadline: float | None, items: Iterable[Case]) -> Iterator[Case]:
    """The items, ending early once ``time.monotonic()`` has passed the deadline."""
    for item in items:
        if deadline is not None and time.monotonic() >= deadline:
            return
        yield item
