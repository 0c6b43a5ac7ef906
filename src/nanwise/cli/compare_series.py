"""``nanwise compare --series``: treatments of gaps in series, ranked."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click


def compare_files(
    ctx: click.Context, data: str | None, target: str | None, given: dict[str, Any]
) -> None:
    """Read a long table and its outcomes, compare, save the best, write a report."""
    from nanwise.bench.series import choose, compare_series
    from nanwise.cli.compare import tell
    from nanwise.cli.files import output_folder
    from nanwise.cli.image_args import params_of
    from nanwise.cli.trouble import RESUME
    from nanwise.cli.wording import names
    from nanwise.data.series import read_series, with_outcomes
    from nanwise.estimators.series.supervised import NanSeriesClassifier

    _refuse_others(data, target, given)
    methods = names(given["methods"])
    choose(methods)  # a slip of the pen is said before a large file is read
    params = params_of({**given, "epochs": None, "device": None}, NanSeriesClassifier(), ("gaps",))
    source = Path(given["series"])
    outcomes, column = _outcomes(str(target))
    series = read_series(source, step=given["step"], end=given["end"])
    series = with_outcomes(series, outcomes, column)
    folder = output_folder(given["out"] or f"nanwise-{source.name.split('.')[0]}", [source])
    ctx.meta[RESUME] = f"finished cells are kept in {folder}: the same command again goes on there"
    found = compare_series(
        series,
        methods=methods,
        params={"*": params} if params else None,
        out=folder,
        stress=not given["no_stress"],
        progress=not given["quiet"],
        target=column or outcomes.stem,
        source=source.name,
        **{name: given[name] for name in ("task", "folds", "budget", "jobs", "backend", "seed")},
    )
    facts = found.facts
    facts["command"] = shlex.join(["nanwise", *sys.argv[1:]])
    tell(facts, folder)


def _refuse_others(data: str | None, target: str | None, given: dict[str, Any]) -> None:
    if data is not None:
        raise click.UsageError(f"Give --series or DATA, not both; got {data!r}.")
    if target is None:
        raise click.UsageError("Say what to predict: --target FILE, a table with id and outcome.")
    if given["schema"]:
        raise click.UsageError("--schema is for tables; the variables of series are numbers.")


def _outcomes(target: str) -> tuple[Path, str | None]:
    """``FILE`` or ``FILE:COLUMN``."""
    if Path(target).exists():
        return Path(target), None
    name, colon, column = target.rpartition(":")
    if colon and Path(name).exists():
        return Path(name), column
    raise ValueError(
        f"--target {target}: no such file; with --series it is a table with one line per id, or "
        "FILE:COLUMN"
    )
