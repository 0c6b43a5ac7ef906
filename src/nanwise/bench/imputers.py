"""Imputers against each other: known cells hidden by mechanisms, filled, and scored."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nanwise.bench.case import Case, Record, digest, plain
from nanwise.bench.compare import run_all
from nanwise.bench.impute_check import DRAWN_ROWS, yardstick
from nanwise.bench.impute_score import impute_scores
from nanwise.bench.imputer_board import Setting
from nanwise.bench.imputer_facts import facts_of
from nanwise.bench.run import Measured, curve, load_torch, record
from nanwise.bench.store import Store
from nanwise.data.ampute import MECHANISMS, held_cells, hide_cells
from nanwise.data.encode import Encoder
from nanwise.data.schema import Schema
from nanwise.errors import DataError, TrainingError, need
from nanwise.estimators.impute.by_treatment import imputer_names
from nanwise.estimators.table_imputer import imputer_of
from nanwise.registry import Method, find


@dataclass(frozen=True)
class ImputerComparison:
    """What :func:`compare_imputers` found.

    Attributes
    ----------
    facts : dict
        Everything a report shows, as plain values.
    records : list of Record
        The cells: one for each method, setting and repeat.
    """

    facts: dict[str, Any]
    records: list[Record]


@dataclass(frozen=True)
class Table:
    """A table as a schema sees it, gaps and all.

    Attributes
    ----------
    X : DataFrame
        As :meth:`nanwise.data.schema.Schema.check` gives it.
    schema : Schema
    source : str
    notes : list of str
    """

    X: Any
    schema: Schema
    source: str = "data frame"
    notes: list[str] = field(default_factory=list)

    def fingerprint(self) -> str:
        """Hash of values, names and kinds of columns; equal on every machine."""
        pandas = need("pandas", "cli")
        cells = pandas.util.hash_pandas_object(self.X, index=False).to_numpy()
        return digest([self.schema.to_dict(), hashlib.sha256(cells).hexdigest()])


@dataclass(frozen=True)
class Settings:
    """How a grid is run."""

    budget: float | None
    jobs: int
    backend: str
    progress: bool


def compare_imputers(
    X: Any,
    methods: Sequence[str] | None = None,
    rates: Sequence[float] = (0.2, 0.5),
    mechanisms: Sequence[str] = ("mcar", "mar", "mnar"),
    *,
    repeats: int = 1,
    draws: int = 20,
    out: str | Path | None = None,
    budget: float | None = None,
    jobs: int = 1,
    backend: str = "loky",
    schema: Any = None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    progress: bool = False,
) -> ImputerComparison:
    """Hide known cells of a table in several ways, let imputers fill them, and rank the imputers.

    Every method sees the same hidden cells. It is fitted and asked on the same rows.

    Parameters
    ----------
    X : DataFrame, mapping of columns, 2-D array, or path of a file
        The table; it may have gaps of its own, which are never scored.
    methods : sequence of str, optional
        Names of imputers; None compares all.
    rates : sequence of float
        Shares of the observed cells that are hidden.
    mechanisms : sequence of str
        See :mod:`nanwise.data.ampute`. Each is taken at each rate.
    repeats : int
        How often cells are hidden anew.
    draws : int
        Draws for the scores of imputers that sample; fewer than 2: those scores are left out.
    out : path, optional
        Folder for finished cells (``cells.jsonl``); a later run skips those that are there.
    budget : float, optional
        Seconds after which no further cell is started. Every method gets the first setting before
        any gets the second.
    jobs : int
        Processes; -1 for every core.
    backend : {"loky", "dask"}
    schema : Schema, mapping or path, optional
        Kinds of columns; what is not said is inferred.
    params : mapping, optional
        Method name to its parameters.
    seed : int
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    ImputerComparison
        ``facts["leaderboard"]`` has the scores of :mod:`nanwise.bench.impute_score` for every
        method, over all settings and in each.
    """
    table = read(X, schema)
    chosen = choose(methods)
    settings = settings_of(mechanisms, rates, table)
    plans = _plans(chosen, params)
    todo = cases(table, chosen, plans, settings, repeats, draws, seed)
    store = Store(out)
    how = Settings(budget, jobs, backend, progress)
    start = time.perf_counter()
    records = run_all(run_imputer, table, todo, store, how)
    _refuse_nothing_done(records)
    asked = {
        "methods": [method.name for method in chosen],
        "rates": list(rates),
        "mechanisms": list(mechanisms),
        "repeats": repeats,
        "draws": draws,
        "seed": seed,
        "params": {name: value for name, value in plans.items() if value},
    }
    facts = facts_of(table, chosen, settings, repeats, records, store) | {"settings": asked}
    facts["seconds"] = time.perf_counter() - start
    return ImputerComparison(plain(facts), records)


def read(source: Any, schema: Any = None) -> Table:
    """Read a file or take a frame, and refuse what nothing can be hidden in."""
    name = "data frame"
    if isinstance(source, str | os.PathLike):
        from nanwise.data.table import read_table

        name, source = Path(source).name, read_table(source)
    kinds = Schema.infer(source, overrides=schema)
    X, notes = kinds.check(source)
    if len(X) < 4 or not X.shape[1]:
        raise DataError(f"need at least 4 rows and 1 column to compare imputers, got {X.shape}")
    if not X.notna().to_numpy().any():
        raise DataError("nothing is observed in the table: there is nothing to hide and fill")
    return Table(X, kinds, name, [str(note) for note in (*kinds.notes, *notes)])


def choose(names: Sequence[str] | None) -> list[Method]:
    """The named imputers, or all; simple ones first."""
    if names is not None and not names:
        raise ValueError("no imputer to compare: the list of methods is empty")
    for name in names or ():
        imputer_of(name)
    found = [find(name) for name in dict.fromkeys(names or imputer_names())]
    roles = ("baseline", "rival", "method")
    return sorted(found, key=lambda m: (roles.index(m.role), m.kind != "treatment", m.name))


def settings_of(
    mechanisms: Sequence[str], rates: Sequence[float], table: Table | None = None
) -> list[Setting]:
    """Each mechanism at each rate."""
    if not mechanisms or not rates:
        raise ValueError("need at least one mechanism and one rate")
    for name in mechanisms:
        if name not in MECHANISMS:
            raise ValueError(f"mechanisms must be of {', '.join(MECHANISMS)}; got {name!r}")
    for rate in rates:
        if not 0 < rate < 1:
            raise ValueError(f"rates are shares between 0 and 1, got {rate!r}")
    if table is not None and "mar" in mechanisms and table.X.shape[1] < 2:
        raise ValueError("mar hides by the values of other columns; the table has one column only")
    return [Setting(name, float(rate)) for name in mechanisms for rate in rates]


def cases(
    table: Table,
    methods: Sequence[Method],
    plans: Mapping[str, Any],
    settings: Sequence[Setting],
    repeats: int,
    draws: int,
    seed: int,
) -> list[Case]:
    """All cells; every method gets a setting before any gets the next one."""
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats!r}")
    fingerprint, protocol = table.fingerprint(), {"kind": "impute", "draws": draws}
    return [
        Case(fingerprint, method.name, plans[method.name], protocol, fold, seed, setting.to_dict())
        for fold in range(repeats)
        for setting in settings
        for method in methods
    ]


def run_imputer(case: Case, table: Table) -> Record:
    """One cell: hide, fit, fill, score."""

    def work() -> Measured:
        load_torch()
        hide = case.hide or {}
        order = [case.seed, case.fold]
        held = held_cells(table.X, hide["share"], hide["mechanism"], None, _rng(order))
        hidden = hide_cells(table.X, held)
        start = time.perf_counter()
        imputer = imputer_of(case.method, case.params, case.seed).fit(hidden)
        fitted = time.perf_counter()
        filled = imputer.transform(hidden)
        done = time.perf_counter()
        scores = _scored(table, held, filled, _draws(imputer, hidden, case))
        return Measured(scores, fitted - start, done - fitted, curve(imputer))

    return record(case, work)


def _rng(seeds: Sequence[int]) -> np.random.Generator:
    return np.random.default_rng(list(seeds))


def _draws(imputer: Any, hidden: Any, case: Case) -> tuple[np.ndarray, list[Any]] | None:
    """Which rows are drawn for, and the draws."""
    n = case.protocol["draws"]
    if not imputer.samples or n < 2:
        return None
    rows = np.sort(_rng([case.seed, case.fold, 1]).permutation(len(hidden))[:DRAWN_ROWS])
    return rows, imputer.sample(hidden.iloc[rows], n, case.seed)


def _scored(table: Table, held: np.ndarray, filled: Any, drawn: Any) -> dict[str, Any]:
    codes = Encoder(table.schema, onehot=False).fit().encode
    truth = codes(table.X)
    yard = yardstick(truth, table.schema)
    answers = codes(filled)
    scores = impute_scores(truth, answers, held, yard)
    if drawn is None:
        return scores
    rows, draws = drawn
    stack = np.stack([codes(draw) for draw in draws])
    few = impute_scores(truth[rows], answers[rows], held[rows], yard, stack)
    return scores | {name: few[name] for name in ("wasserstein_draws", "crps", "energy")}


def _plans(chosen: Sequence[Method], params: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    names = [method.name for method in chosen]
    for name, own in (params or {}).items():
        if name not in names:
            raise ValueError(f"params are given for {name!r}, which is not among the methods")
        imputer_of(name, own)
    return {name: dict((params or {}).get(name, {})) for name in names}


def _refuse_nothing_done(records: list[Record]) -> None:
    if not records:
        raise TrainingError("the budget was spent before the first cell was started; allow more")
    if all(found.failed for found in records):
        reasons = dict.fromkeys(f"{found.method}: {found.reason}" for found in records)
        raise TrainingError("every imputer failed; " + "; ".join(list(reasons)[:5]))
