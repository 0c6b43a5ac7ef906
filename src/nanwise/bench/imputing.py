"""A table with gaps in; completed tables, a check on held-out cells and facts for a report out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from nanwise import registry
from nanwise.bench.case import plain
from nanwise.bench.impute_check import fit, held_out_check
from nanwise.bench.impute_facts import facts_of
from nanwise.data.schema import Schema
from nanwise.errors import DataError
from nanwise.estimators.impute.by_treatment import imputer_names
from nanwise.estimators.table_imputer import TableImputer, imputer_of

if TYPE_CHECKING:
    import pandas as pd

#: preferred methods, the first that is registered counts
SINGLE, SEVERAL = ("chained", "iterative"), ("mice", "gaussian")


@dataclass(frozen=True)
class Imputation:
    """What :func:`impute` found.

    Attributes
    ----------
    facts : dict
        Everything a report shows, as plain values.
    model : TableImputer
        Fitted on the whole table.
    before : DataFrame
        The table as the schema sees it, with its gaps.
    tables : list of DataFrame
        The same, filled; one, or ``m`` draws.
    """

    facts: dict[str, Any]
    model: TableImputer
    before: pd.DataFrame
    tables: list[pd.DataFrame]


def default_method(m: int = 1) -> str:
    """What is used when no method is named: for one best value, or for several draws."""
    names = imputer_names() if m == 1 else samplers()
    wanted = SINGLE if m == 1 else (*SEVERAL, *names)
    return next((name for name in wanted if name in names), SINGLE[-1])


def impute(
    frame: Any,
    method: str | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    m: int = 1,
    schema: Any = None,
    check: float = 0.1,
    seed: int = 0,
    progress: bool = False,
) -> Imputation:
    """Fill the gaps of a table, once or ``m`` times, and measure how well on cells held out.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, mapping of columns, or 2-D array
    method : str, optional
        Name of an imputer; None: :func:`default_method`.
    params : mapping, optional
        Its parameters, see :func:`nanwise.estimators.table_imputer.imputer_of`.
    m : int
        1 fills with the best single value; more: so many random draws each.
    schema : Schema, mapping or path, optional
        Kinds of columns; what is not said is inferred.
    check : float
        Share of the observed cells that is hidden, from a second fit, to be scored on; 0: none.
    seed : int
        Seed of the fits, the draws and of what is hidden.
    progress : bool
        Whether a network shows a progress bar.
    """
    method = default_method(m) if method is None else method
    _refuse(method, params, m, check)
    kinds = Schema.infer(frame, overrides=schema)
    before, notes = kinds.check(frame)
    _refuse_nothing(before)
    model = TableImputer(
        method, params=dict(params or {}), schema=kinds, random_state=seed, draws=m
    )
    seconds, start = {}, perf_counter()
    fit(model, before, progress)
    seconds["fit"], start = perf_counter() - start, perf_counter()
    tables = [model.transform(before)] if m == 1 else model.sample(before, m, seed)
    seconds["fill"], start = perf_counter() - start, perf_counter()
    checked = held_out_check(model, before, check, seed, progress) if check else None
    seconds["check"] = perf_counter() - start
    facts = facts_of(model, before, tables, checked, seconds, [*kinds.notes, *notes])
    facts["settings"] = {"method": method, "params": dict(params or {}), "m": m, "seed": seed}
    facts["settings"]["check"] = check
    return Imputation(plain(facts), model, before, tables)


def _refuse(method: str, params: Mapping[str, Any] | None, m: int, check: float) -> None:
    if not isinstance(m, int) or m < 1:
        raise ValueError(f"m must be a whole number of at least 1, got {m!r}")
    if not 0 <= check < 1:
        raise ValueError(f"check must be a share of at least 0 and below 1, got {check!r}")
    imputer = imputer_of(method, params)
    if m > 1 and not imputer.samples:
        raise ValueError(
            f"{method} gives one answer, not {m} different ones; leave m at 1, or take an imputer "
            f"that draws: {', '.join(samplers()) or 'none is registered'}"
        )
    _refuse_device(getattr(imputer, "device", None))


def samplers() -> list[str]:
    """Names of the imputers that draw."""
    return [
        found.name for found in registry.known("imputer") if getattr(found.make, "samples", False)
    ]


def _refuse_device(device: Any) -> None:
    """A GPU that is not there, before a long file is learnt from."""
    if device is None:
        return
    from nanwise.train.engine import make_fabric

    make_fabric(device)


def _refuse_nothing(before: pd.DataFrame) -> None:
    if len(before) < 2:
        raise DataError(f"an imputer learns from at least two rows, got {len(before)}")
    if not before.notna().to_numpy().any():
        raise DataError("nothing is observed in the table: there is nothing to learn from")
