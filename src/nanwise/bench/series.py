"""Treatments of gaps in series against each other, on the same folds and the same network."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from nanwise.bench.case import Case, digest, plain
from nanwise.bench.compare import Comparison, Settings, cross_validate
from nanwise.bench.grid import ROLES
from nanwise.bench.overview import pattern, target_facts
from nanwise.bench.table import TASKS, read_target
from nanwise.data.series import SeriesData
from nanwise.errors import DataError
from nanwise.estimators.series.inputs import Sequences, read_sequences
from nanwise.registry import Method, find

#: what is compared unless something else is asked for; on standardised variables mean is zero
TREATMENTS = ("zero", "forward_fill", "observation_indicator", "decay", "sparsity_norm")


@dataclass
class SeriesTable:
    """Series with a target, in the place of a :class:`nanwise.bench.table.Table`.

    Attributes
    ----------
    data : SeriesData
        With a target.
    y : ndarray, shape (N,)
    task, target, source : str
    notes : list of str
    """

    data: SeriesData
    y: np.ndarray
    task: str
    target: str
    source: str
    notes: list[str] = field(default_factory=list)
    stressed: ClassVar[tuple[str, ...]] = ("zero", "sparsity_norm")
    #: a sequence is as large as many rows
    stress_sizes: ClassVar[dict[str, Any]] = {"repeats": 5, "rows": 100}

    @cached_property
    def sequences(self) -> Sequences:
        """The sequences, checked."""
        return read_sequences(self.data)

    @property
    def is_array(self) -> bool:
        """Whether all there is fits into one array: equal lengths, no statics."""
        return self.data.statics is None and len(np.unique(self.sequences.lengths)) == 1

    def part(self, rows: np.ndarray) -> tuple[Any, np.ndarray]:
        """Sequences and targets of some rows; an array where it can be one."""
        chosen = self.sequences[rows]
        if not self.is_array:
            return chosen, self.y[rows]
        return chosen.steps.reshape(len(rows), -1, chosen.steps.shape[1]), self.y[rows]

    def whole(self) -> tuple[Any, np.ndarray]:
        """All sequences with the names of their variables, and the targets."""
        return self.sequences, self.y

    def model_of(self, case: Case) -> Any:
        """The unfitted model of a case."""
        from nanwise.estimators.series.supervised import NanSeriesClassifier, NanSeriesRegressor

        kind = NanSeriesClassifier if self.task == "classification" else NanSeriesRegressor
        params = dict(case.params)
        plan = {f"plan__{name}": value for name, value in params.pop("plan", {}).items()}
        return kind(gaps=case.method, random_state=case.seed).set_params(**params, **plan)

    def fingerprint(self) -> str:
        """Hash of values, names, target and task; equal on every machine."""
        cells = hashlib.sha256(np.ascontiguousarray(self.sequences.steps))
        for part in (self.sequences.lengths, self.sequences.statics):
            cells.update(b"|" if part is None else np.ascontiguousarray(part))
        names = [self.data.variables, self.target, self.task, self.y.tolist()]
        return digest([*names, cells.hexdigest()])

    def overview(self) -> dict[str, Any]:
        """What the series look like, as plain facts for a report: rows are sequences."""
        found = self.sequences
        observed = ~np.isnan(found.steps)
        first = np.cumsum(found.lengths) - found.lengths
        ever = np.logical_or.reduceat(observed, first, axis=0)
        return plain(
            {
                "source": self.source,
                "rows": len(self.y),
                "columns": len(self.data.variables),
                "target": self.target,
                "task": self.task,
                **target_facts(self.y, self.task),
                "missing_share": float(1 - observed.mean()),
                "about": self._lengths(observed),
                "notes": list(self.notes),
                "column_facts": self._variables(observed),
                "pattern": pattern(ever, self.data.variables),
            }
        )

    def _lengths(self, observed: np.ndarray) -> list[str]:
        lengths = self.sequences.lengths
        span = f"{lengths.min()} to {lengths.max()}" if np.ptp(lengths) else f"{lengths[0]}"
        empty = float((~observed.any(axis=1)).mean())
        return [
            f"Rows are sequences of {span} time steps, columns their variables; {empty:.0%} of the "
            "steps hold no value. The pattern of gaps shows which variables a sequence has at all."
        ]

    def _variables(self, observed: np.ndarray) -> list[dict[str, Any]]:
        out = []
        for j, name in enumerate(self.data.variables):
            values = self.sequences.steps[observed[:, j], j]
            ends = np.quantile(values, [0, 0.5, 1]) if len(values) else None
            told = "never observed"
            if ends is not None:
                told = f"{ends[0]:.4g} to {ends[2]:.4g}, median {ends[1]:.4g}"
            out.append(
                {
                    "name": name,
                    "kind": "numeric",
                    "missing": float(1 - observed[:, j].mean()),
                    "distinct": len(np.unique(values)),
                    "summary": told,
                }
            )
        return out


def compare_series(
    data: SeriesData,
    task: str = "auto",
    methods: Sequence[str] | None = None,
    folds: int = 5,
    repeats: int = 1,
    out: str | Path | None = None,
    budget: float | None = None,
    jobs: int = 1,
    backend: str = "loky",
    params: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    stress: bool = True,
    progress: bool = False,
    target: str = "target",
    source: str = "series",
) -> Comparison:
    """Cross-validate treatments of gaps in series on the same folds, rank them, refit the best.

    Parameters
    ----------
    data : SeriesData
        With a target ``y``, see :func:`nanwise.data.series.with_outcomes`.
    methods : sequence of str, optional
        Values of ``gaps`` of :class:`nanwise.NanSeriesClassifier`; None: ``TREATMENTS``.
    stress : bool
        Whether to stress the winner, ``zero`` and ``sparsity_norm``: 100 sequences, 5 repeats.
        Left out, with a note, where sequences differ in length or have statics.
    target, source : str
        What the report calls the target and the data.
    task, folds, repeats, out, budget, jobs, backend, params, seed, progress
        As in :func:`nanwise.compare`; ``params={"*": {"units": 32}}`` reaches every network.

    Returns
    -------
    Comparison
        Its model is a NanSeriesClassifier or NanSeriesRegressor.
    """
    table = _table(data, task, target, source)
    chosen = choose(methods)
    if stress and not table.is_array:
        table.notes.append(
            "The stress test was left out: it needs sequences of equal length without statics."
        )
        stress = False
    settings = Settings(folds, repeats, budget, jobs, backend, seed, stress, progress)
    return cross_validate(table, chosen, params, out, settings)


def choose(names: Sequence[str] | None) -> list[Method]:
    """The named treatments of series, or the usual ones; simple and quick ones first."""
    found = [find(name, "treatment", "series") for name in dict.fromkeys(names or TREATMENTS)]
    return sorted(found, key=lambda m: (ROLES.index(m.role), m.name))


def _table(data: SeriesData, task: str, target: str, source: str) -> SeriesTable:
    if task not in TASKS:
        raise ValueError(f"task must be one of {TASKS}, got {task!r}")
    if data.y is None:
        raise DataError("the series have no target; add one with with_outcomes(data, outcomes)")
    y, task = read_target(data.y, task, target)
    return SeriesTable(data, y, task, target, source, list(data.notes))
