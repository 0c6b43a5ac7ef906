"""How far the tables and figures of a paper have been computed again, and where that is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nanwise.bench.contents import Item, papers_of
from nanwise.bench.measured import file_name, measured
from nanwise.bench.papers.table import NO_DATA, PublishedTable, tables
from nanwise.bench.reproduce import computed
from nanwise.errors import DataError

REPRODUCED = "reproduced"
IN_PART = "paper scale"
LAPTOP = "laptop scale"
SIMULATED = "simulated"
NOT_MEASURED = "not measured"
NO_METHOD = "not in this version"
NOTHING = "nothing to compute"

#: the page of the documentation (``make docs``) that shows the measured figures
PAGE = "site/published/"

COUNTS = ("measured", "cells", "absent", "good", "judged")

Facts = dict[str, Any]


def overview(family: str, out: str | Path | None = None) -> list[Facts]:
    """Every table and figure of the papers of a family with its state.

    Parameters
    ----------
    family : str
        ``"sn"`` (the ICLR paper and the draft), ``"vsae"``, ``"misconv"``, ``"neumiss"`` …
    out : path, optional
        An ``--out`` folder of ``nanwise reproduce``: its reports count instead of the figures that
        come with the package, unless they are of the smoke scale.

    Returns
    -------
    list of dict
        ``paper``, ``name`` as printed, ``what`` it shows, ``id`` of our table or None, ``state``
        (``reproduced``: all measured at scale paper; ``paper scale``: some of it; ``laptop scale``;
        with ``simulated`` before it where the data had to be simulated; ``not measured``; ``data
        not available``; ``not in this version``; ``nothing to compute``), ``remark`` on it,
        ``measured`` and ``cells``: how many of how many cells; ``absent``: how many could not be
        measured, because their data were not available; ``good`` of ``judged``: how many are
        within the published interval or better; ``where`` the figures are.
    """
    known = {table.id: table for table in tables()}
    return [
        {"paper": paper.title, "name": item.name, "what": item.what, **_line(item, id, known, out)}
        for paper in papers_of(family)
        for item in paper.items
        for id in item.ids or (None,)
    ]


def figures_of(id: str, out: str | Path | None = None) -> tuple[Facts | None, str]:
    """Measured facts of a table and where they are: a report in ``out``, else the package's."""
    if out is not None:
        local = Path(out) / file_name(id)
        facts = _report(local)
        if facts is not None:
            return facts, str(local.with_suffix(".html"))
    facts = measured(id)
    return facts, "" if facts is None else f"{PAGE}#{id.replace('/', '-')}"


def _report(path: Path) -> Facts | None:
    """Facts of a report, if it is there and has a figure that may be compared."""
    if not path.is_file():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        verdicts = [cell["verdict"] for *_, cell in _measured_cells(facts)]
        scale = facts["scale"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is no report of nanwise reproduce ({error}); delete it, or give another --out"
        ) from error
    return facts if scale != "smoke" and verdicts else None


def _line(
    item: Item, id: str | None, known: dict[str, PublishedTable], out: str | Path | None
) -> Facts:
    line: Facts = {"id": id, "where": "", **dict.fromkeys(COUNTS, 0)}
    if id is None:
        return {**line, "state": NOTHING, "remark": item.instead}
    if id not in known:
        return {**line, "state": NO_METHOD, "remark": f"no table {id!r} in this version"}
    table = known[id]
    line["cells"] = len(computed(table))
    facts, where = figures_of(id, out)
    counts = {} if facts is None else _counts(table, facts)
    if facts is None or not counts["measured"]:
        state, remark = _why_not(table)
        return {**line, "state": _of_data(table, state), "remark": remark}
    done = REPRODUCED if counts["measured"] == line["cells"] else IN_PART
    state = _of_data(table, done if facts["scale"] == "paper" else LAPTOP)
    return {**line, **counts, "where": where, "state": state, "remark": table.stand_in}


def _of_data(table: PublishedTable, state: str) -> str:
    return f"{SIMULATED}, {state}" if table.stand_in else state


def _counts(table: PublishedTable, facts: Facts) -> Facts:
    """Cells that are measured, that can be judged, and that are within or better."""
    names = {(row.name, column.name) for row, column in computed(table)}
    better = "above" if table.metric.higher_is_better else "below"
    verdicts = [
        cell["verdict"] for row, column, cell in _measured_cells(facts) if (row, column) in names
    ]
    judged = [verdict for verdict in verdicts if verdict in ("within", "above", "below")]
    absent = [
        cell
        for row, column, cell in _cells(facts)
        if (row, column) in names and (cell.get("error") or "").startswith(NO_DATA)
    ]
    return {
        "measured": len(verdicts),
        "absent": len(absent),
        "judged": len(judged),
        "good": sum(verdict in ("within", better) for verdict in judged),
    }


def _measured_cells(facts: Facts) -> list[tuple[str, str, Facts]]:
    """Row, column and cell of every figure of ours."""
    return [found for found in _cells(facts) if found[2]["ours"] is not None]


def _cells(facts: Facts) -> list[tuple[str, str, Facts]]:
    return [
        (row["name"], column, cell)
        for row in facts["rows"]
        for column, cell in zip(facts["columns"], row["cells"], strict=True)
    ]


def _why_not(table: PublishedTable) -> tuple[str, str]:
    """Why nothing was measured: no method, no data, or nobody has done it yet."""
    cells = computed(table)
    # At the scale of the paper no data set is left out for its size.
    reasons = [table.absent(row, column, "paper") for row, column in cells]
    if None in reasons:
        return NOT_MEASURED, ""
    # A reason that every table would give is about the method, one of its own about the data.
    methods = [PublishedTable.absent(table, row, column, "paper") for row, column in cells]
    lacking = [reason for reason, method in zip(reasons, methods, strict=True) if reason == method]
    if lacking:
        return NO_METHOD, str(lacking[0])
    return NO_DATA, str(reasons[0]).removeprefix(f"{NO_DATA}: ") if reasons else ""
