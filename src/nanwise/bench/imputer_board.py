"""From records of imputers to a leaderboard over several settings of hiding.

A *setting* is a mechanism at a rate. A method's error in a setting is the mean over repeats; its
overall error, by which it is ranked, the mean over settings. Where a cell of a method failed or
was not run, the method has no overall error and comes after those that have one, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nanwise.bench.board import NOT_RUN
from nanwise.bench.case import Record
from nanwise.bench.impute_score import IMPUTE_METRICS
from nanwise.registry import Method

RANKED = "error"


@dataclass(frozen=True)
class Setting:
    """How cells are hidden."""

    mechanism: str
    rate: float

    @property
    def name(self) -> str:
        """For headings."""
        return f"{self.mechanism.upper()} {100 * self.rate:g} %"

    def to_dict(self) -> dict[str, Any]:
        """As ``Case.hide``."""
        return {"mechanism": self.mechanism, "share": self.rate}


class Line:
    """What is known of one method: its records by setting.

    Parameters
    ----------
    method : Method
    records : iterable of Record
        Of any methods; those of this one are kept.
    settings : sequence of Setting
    repeats : int
        Planned cells of each setting.
    """

    def __init__(
        self, method: Method, records: Iterable[Record], settings: Sequence[Setting], repeats: int
    ):
        self.method, self.settings, self.repeats = method, settings, repeats
        own = [record for record in records if record.method == method.name]
        self.done = [record for record in own if not record.failed]
        self.failed = [record for record in own if record.failed]

    @property
    def complete(self) -> bool:
        """Whether every planned cell was scored."""
        return len(self.done) == self.repeats * len(self.settings)

    @property
    def error(self) -> str | None:
        """Why cells are missing, or None."""
        if self.failed:
            return self.failed[0].reason
        if not self.complete:
            planned = self.repeats * len(self.settings)
            return f"{NOT_RUN} ({planned - len(self.done)} of {planned} cells)"
        return None

    def in_setting(self, name: str, setting: Setting) -> float | None:
        """Mean of a score over the finished repeats of a setting."""
        hide = setting.to_dict()
        return _mean(r.scores.get(name) for r in self.done if r.case["hide"] == hide)

    def overall(self, name: str) -> float | None:
        """Mean of a score over the settings it is known in."""
        return _mean(self.in_setting(name, setting) for setting in self.settings)

    def seconds(self, name: str) -> float | None:
        """Mean time of a finished cell."""
        return _mean(getattr(record, name) for record in self.done)


def leaderboard(lines: Sequence[Line], baseline: Line | None) -> list[dict[str, Any]]:
    """Rows of the leaderboard, best first; methods without all cells last."""
    ordered = sorted(lines, key=_place)
    rows = [_row(line, baseline) for line in ordered]
    ranks = iter(range(1, len(rows) + 1))
    return [{"rank": next(ranks) if row["error"] is None else None, **row} for row in rows]


def best_in(lines: Iterable[Line], setting: Setting) -> str | None:
    """Name of the method with the smallest error in a setting."""
    found = [(line.in_setting(RANKED, setting), line.method.name) for line in lines]
    scored = [(value, name) for value, name in found if value is not None]
    return min(scored)[1] if scored else None


def _place(line: Line) -> tuple[int, float, str]:
    group = 2 if line.failed else int(not line.complete)
    value = line.overall(RANKED)
    return group, np.inf if value is None else value, line.method.name


def _row(line: Line, baseline: Line | None) -> dict[str, Any]:
    return {
        "method": line.method.name,
        "role": line.method.role,
        "summary": line.method.summary,
        "mean": line.overall(RANKED),
        "relative": _relative(line, baseline),
        "settings": [line.in_setting(RANKED, setting) for setting in line.settings],
        "scores": {name: line.overall(name) for name in IMPUTE_METRICS},
        "by_setting": [
            {name: line.in_setting(name, setting) for name in IMPUTE_METRICS}
            for setting in line.settings
        ],
        "fit_seconds": line.seconds("fit_seconds"),
        "fill_seconds": line.seconds("predict_seconds"),
        "failures": len(line.failed),
        "error": line.error,
    }


def _relative(line: Line, baseline: Line | None) -> float | None:
    """Error divided by that of the baseline in the same setting, mean over settings."""
    if baseline is None:
        return None
    pairs = [(line.in_setting(RANKED, s), baseline.in_setting(RANKED, s)) for s in line.settings]
    return _mean(ours / theirs for ours, theirs in pairs if ours is not None and theirs)


def _mean(values: Iterable[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None
