"""Every treatment of the gaps on one table: cells in, leaderboard, stress test and model out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nanwise.bench import board, grid
from nanwise.bench.case import Case, Record, plain, versions
from nanwise.bench.pool import spread
from nanwise.bench.run import run, run_stress
from nanwise.bench.store import Store
from nanwise.bench.table import Table, read
from nanwise.errors import TrainingError
from nanwise.registry import Method

MODEL = "model"
SHOWN = 10


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found.

    Attributes
    ----------
    facts : dict
        Everything a report shows, as plain values.
    model : TableModel
        The winner, fitted on all rows.
    records : list of Record
        The cells of the cross-validation.
    """

    facts: dict[str, Any]
    model: Any
    records: list[Record]


@dataclass(frozen=True)
class Settings:
    """The arguments of :func:`compare` that shape the grid and how it is run."""

    folds: int
    repeats: int
    budget: float | None
    jobs: int
    backend: str
    seed: int
    stress: bool
    progress: bool


def compare(
    frame_or_path: Any,
    target: str,
    task: str = "auto",
    methods: Sequence[str] | None = None,
    folds: int = 5,
    repeats: int = 1,
    out: str | Path | None = None,
    budget: float | None = None,
    jobs: int = 1,
    backend: str = "loky",
    schema: Any = None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    stress: bool = True,
    progress: bool = False,
) -> Comparison:
    """Cross-validate methods on the same folds of a table, rank them, and refit the best.

    Parameters
    ----------
    frame_or_path : DataFrame or path
        The table, gaps and all, with its target.
    target : str
        Name of the target column; rows without a target are left out and counted.
    task : {"auto", "classification", "regression"}
    methods : sequence of str, optional
        Names of registered methods; None compares every table method for the task.
    folds, repeats : int
        Cross-validation with ``folds`` folds, stratified by class, ``repeats`` times over.
    out : path, optional
        Folder for finished cells (``cells.jsonl``) and the winner (``model/``). A later run on the
        same table skips the cells that are already there.
    budget : float, optional
        Seconds after which no further cell is started (running ones are finished). Every method
        gets its first fold before any gets its second. The refit and the stress test come on top.
    jobs : int
        Processes; -1 for every core.
    backend : {"loky", "dask"}
    schema : Schema, mapping or path, optional
        Kinds of columns, see :func:`nanwise.bench.table.read`.
    params : mapping, optional
        Method name to its parameters; the name ``"*"`` reaches every network.
    seed : int
        Seed of the folds and of every fit.
    stress : bool
        Whether to stress the winner, ``zero``, ``sparsity_norm`` and ``hist_gradient_boosting``.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        For arguments and data that cannot be used.
    TrainingError
        If no method finished a single fold; what went wrong is stored and said.
    """
    settings = Settings(folds, repeats, budget, jobs, backend, seed, stress, progress)
    table = read(frame_or_path, target, task, schema)
    return cross_validate(table, grid.choose(methods, table.task), params, out, settings)


def cross_validate(
    table: Table,
    chosen: list[Method],
    params: Mapping[str, Mapping[str, Any]] | None,
    out: str | Path | None,
    settings: Settings,
) -> Comparison:
    """Run methods on the same folds of a table, or of what answers like one, and conclude.

    Parameters
    ----------
    table : Table
        Or an object with its ``y``, ``task``, ``target``, ``source``, ``notes`` and methods.
    chosen : list of Method
    params, out
        As in :func:`compare`.
    settings : Settings
    """
    grid.check_folds(table, settings.folds, settings.repeats)
    grid.refuse_unknown(params, chosen)
    plans = {method.name: grid.parameters(method, params) for method in chosen}
    todo = grid.cases(table.fingerprint(), chosen, plans, plain(settings.__dict__))
    store = Store(out)
    records = run_all(run, table, todo, store, settings)
    return _conclude(table, chosen, plans, todo, records, store, settings)


def run_all(
    what: Callable[..., Record], table: Table, todo: list[Case], store: Store, settings: Settings
) -> list[Record]:
    """Run what is not stored yet, keeping each record as it comes; all records, in order."""
    from tqdm import tqdm

    deadline = None if settings.budget is None else time.monotonic() + settings.budget
    left = grid.until(deadline, store.missing(todo))
    done = sum(map(store.has, todo))
    shown = not settings.progress
    with tqdm(total=len(todo), initial=done, unit="cell", disable=shown) as bar:
        for found in spread(what, left, settings.jobs, settings.backend, data=(table,)):
            store.add(found)
            bar.set_postfix_str(found.method)
            bar.update()
    return [found for found in map(store.get, todo) if found is not None]


def _conclude(
    table: Table,
    chosen: list[Method],
    plans: dict[str, dict[str, Any]],
    todo: list[Case],
    records: list[Record],
    store: Store,
    settings: Settings,
) -> Comparison:
    _refuse_nothing_done(records)
    lines = board.lines(records, chosen, settings.folds * settings.repeats)
    metric = board.primary_metric(records, table.task)
    winner = board.winner(lines, metric)
    model = _refit(next(case for case in todo if case.method == winner.method.name), table)
    baseline = board.best_baseline(lines, metric)
    table.notes += _notes(store, winner) + warnings_of(records)
    facts = {
        "kind": "compare",
        "title": f"{table.target} from {table.source}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": table.overview(),
        "metric": dict(metric.__dict__),
        "leaderboard": board.leaderboard(lines, metric, 1 / (settings.folds - 1)),
        "baseline": None if baseline is None else baseline.method.name,
        "winner": _winner(winner, plans, model, store),
        "curves": {r.method: r.history for r in records if r.fold == 0 and r.history},
        "stress": _stress(table, todo, lines, winner, store, settings),
        "failures": _failures(records),
        "settings": {**settings.__dict__, "methods": [m.name for m in chosen], "params": plans},
        "versions": versions(),
        "command": None,
    }
    return Comparison(plain(facts), model, records)


def _refuse_nothing_done(records: list[Record]) -> None:
    if not records:
        raise TrainingError("the budget was spent before the first cell was started; allow more")
    if all(found.failed for found in records):
        reasons = dict.fromkeys(f"{found.method}: {found.reason}" for found in records)
        raise TrainingError("every method failed; " + "; ".join(list(reasons)[:5]))


def _refit(case: Case, table: Table) -> Any:
    return table.model_of(case).fit(*table.whole())


def _winner(
    line: board.Line, plans: dict[str, dict[str, Any]], model: Any, store: Store
) -> dict[str, Any]:
    name = line.method.name
    if store.path is None:
        return {"method": name, "path": None, "params": plans[name]}
    from nanwise.saving import save

    path = store.path.parent / MODEL
    save(model, path)
    return {"method": name, "path": str(path), "params": plans[name]}


def _stress(
    table: Table,
    todo: list[Case],
    lines: list[board.Line],
    winner: board.Line,
    store: Store,
    settings: Settings,
) -> dict[str, Any]:
    """Facts by method, for the winner and those one would compare it with, if they ran."""
    if not settings.stress:
        return {}
    able = {line.method.name for line in lines if line.done}
    names = [name for name in dict.fromkeys((winner.method.name, *table.stressed)) if name in able]
    firsts = {case.method: case for case in reversed(todo)}
    protocol = {"kind": "stress", "folds": settings.folds, **table.stress_sizes}
    cases = [Case(**{**firsts[name].__dict__, "protocol": protocol}) for name in names]
    free = Settings(**{**settings.__dict__, "budget": None, "progress": False})
    found = run_all(run_stress, table, cases, store, free)
    return {r.method: {"error": r.reason} if r.failed else r.facts for r in found}


def _failures(records: list[Record]) -> list[dict[str, Any]]:
    failed = [found for found in records if found.failed]
    return [{"method": r.method, "fold": r.fold, "error": r.reason} for r in failed]


def warnings_of(records: list[Record]) -> list[str]:
    """Each warning once, with the methods it came from: in workers nobody would see them."""
    found: dict[str, list[str]] = {}
    for one in records:
        for text in one.warnings:
            methods = found.setdefault(text.splitlines()[0], [])
            methods += [one.method] if one.method not in methods else []
    return [f"{text} ({', '.join(methods)})" for text, methods in list(found.items())[:SHOWN]]


def _notes(store: Store, winner: board.Line) -> list[str]:
    notes = []
    if store.torn:
        notes.append(f"{store.torn} cut-off lines among the stored cells were passed over")
    if not winner.complete:
        notes.append(
            f"no method finished all folds; the winner finished {len(winner.done)} of "
            f"{winner.planned}"
        )
    return notes
