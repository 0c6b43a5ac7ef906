"""Series from a long table: one line per value, with id, time and variable."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from nanwise.data.series.core import SeriesData, id_text
from nanwise.data.series.frames import frame_of
from nanwise.errors import DataError, need

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("id", "time", "variable", "value")
#: values of one sequence and of all, gaps included
MOST_CELLS, MOST_IN_ALL = 100_000_000, 1_000_000_000
#: steps of one sequence; no recurrent network here learns anything from that many
MOST_STEPS = 100_000
#: steps before the first value of any sequence from which on times must count from elsewhere
EMPTY_STEPS = 1000
_HOUR = np.timedelta64(3600, "s")


def read_series(
    source: Any,
    *,
    step: float | None = None,
    end: float | None = None,
    columns: Sequence[str] = COLUMNS,
    variables: Sequence[str] | None = None,
) -> SeriesData:
    """Series from a file or data frame with one line per value.

    Parameters
    ----------
    source : path or DataFrame
        CSV, TSV or Parquet with the columns id, time, variable, value; further ones are ignored.
    step : float, optional
        Width of a time step: values from ``k * step`` on, before ``(k + 1) * step``, are in step k,
        and a sequence ends with its last value. None: every time of a sequence at which there is a
        line is a step.
    end : float, optional
        With ``step``: all sequences end here, have ``ceil(end / step)`` steps, and what comes later
        is left out.
    columns : sequence of four str
        What the columns for id, time, variable and value are called.
    variables : sequence of str, optional
        Which variables, in which order; for a model's new data those it was fitted on. None: all,
        by name.

    Returns
    -------
    SeriesData
        ``X`` is a list of arrays (T_i, D); with ``end`` one array (N, T, D). Sequences in the
        order in which their ids first occur.

    Notes
    -----
    Times are numbers, or dates, which are counted in hours from the first line of the sequence.
    Lines need not be sorted. Of several values for the same id, variable and step the latest
    counts, of those at the same time the one that comes last in the file. An empty value is a gap,
    but its line makes a step, unless ``step`` says where steps are. Lines of variables that are not
    chosen make none; a sequence has at least one. Lines without id, time or variable are left out.
    ``notes`` has the numbers.
    """
    _check(step, end, columns)
    frame = _frame(source, columns)
    notes: list[str] = []
    frame = _complete(frame, notes)
    ids, record = _numbered(frame["id"])
    names, variable = _chosen(frame["variable"], variables, notes)
    value = _numbers(frame["value"], "value", gaps=True)
    time = _hours(frame["time"], record, len(ids))
    if step is not None:
        _refuse_before(time, frame.index.to_numpy())
    order = np.lexsort((time, record))  # stable: lines of equal time stay in the order of the file
    table = _Lines(record[order], time[order], variable[order], value[order])
    return _series(table.used(len(ids)), ids, names, step, end, notes)


def _refuse_before(time: np.ndarray, rows: np.ndarray) -> None:
    """DataError for times below 0."""
    if len(time) and time.min() < 0:
        first = int(time.argmin())
        raise DataError(
            f"with a step, times count from 0, but row {rows[first]} (counted from 0) has "
            f"{time[first]:g}; subtract the time at which the sequences begin"
        )


class _Lines:
    """Lines sorted by sequence and time; variable -1: not among the chosen ones."""

    def __init__(
        self, record: np.ndarray, time: np.ndarray, variable: np.ndarray, value: np.ndarray
    ) -> None:
        self.record, self.time, self.variable, self.value = record, time, variable, value

    def keep(self, rows: np.ndarray) -> _Lines:
        """Some of the lines."""
        return _Lines(*(part[rows] for part in vars(self).values()))

    def used(self, n: int) -> _Lines:
        """Lines of chosen variables; of a sequence that has none its first line, an empty step."""
        chosen = self.variable >= 0
        has = np.bincount(self.record[chosen], minlength=n) > 0
        first = np.r_[True, np.diff(self.record) != 0]
        return self.keep(chosen | (first & ~has[self.record]))

    @property
    def told(self) -> np.ndarray:
        """Which lines hold a value that is used."""
        return (self.variable >= 0) & ~np.isnan(self.value)

    def repeated(self) -> int:
        """How many values have another one for the same sequence, time and variable."""
        told = self.keep(self.told)
        keys = np.stack([told.record, told.time, told.variable])
        return keys.shape[1] - np.unique(keys, axis=1).shape[1]


def _series(
    lines: _Lines,
    ids: np.ndarray,
    names: list[str],
    step: float | None,
    end: float | None,
    notes: list[str],
) -> SeriesData:
    _note(
        notes,
        lines.repeated(),
        "values have another one for the same id, time and variable: the last line counts",
    )
    if end is not None:
        late = lines.time >= end
        _note(notes, int(late.sum()), f"lines at or after time {end:g} were left out")
        lines = lines.keep(~late)
    reading = {"step": step, "end": end}
    if step is None:
        number, times = _by_time(lines, len(ids))
        X: Any = _filled(lines, number, [len(t) for t in times], names)
        return SeriesData(X, ids, names, times=times, notes=notes, reading=reading)
    # 0.3 / 0.1 is a little less than 3
    places = np.floor(np.round(lines.time / step, 9))
    _refuse_many(places, step, len(names))
    number = places.astype(np.int64)
    last = np.zeros(len(ids), dtype=np.int64)
    if end is not None:
        last[:] = int(np.ceil(round(end / step, 9))) - 1
        number = np.minimum(number, last[0])
    np.maximum.at(last, lines.record[lines.told], number[lines.told])
    number = np.minimum(number, last[lines.record])  # an empty cell behind the last value
    if (last + 1).sum() * len(names) > MOST_IN_ALL:
        raise DataError(
            f"a step of {step:g} makes sequences of {(last + 1).sum():,} steps in all, too many to "
            "hold; take a larger step, fewer variables or fewer sequences"
        )
    X = _filled(lines, number, (last + 1).tolist(), names)
    X = X if end is None else np.stack(X)
    return SeriesData(X, ids, names, notes=notes, reading=reading)


def _refuse_many(places: np.ndarray, step: float, width: int) -> None:
    """DataError for a sequence too long for memory, and if times count from elsewhere."""
    if not len(places):
        return
    first, length = float(places.min()), float(places.max()) + 1
    if length * width > MOST_CELLS or first > max(EMPTY_STEPS, 0.9 * length):
        raise DataError(
            f"a step of {step:g} makes a sequence of {length:,.0f} steps, because times count from "
            f"0, and the first {first:,.0f} steps of all sequences are empty; subtract the time at "
            "which the sequences begin, or take a larger step"
        )
    if length > MOST_STEPS:
        raise DataError(
            f"a step of {step:g} makes a sequence of {length:,.0f} steps, more than "
            f"{MOST_STEPS:,}; it has the unit of the times, of dates hours: take a larger one"
        )


def _by_time(lines: _Lines, n: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Number of the step of each line within its sequence, and the times of the steps."""
    new = np.ones(len(lines.time), dtype=bool)
    new[1:] = (np.diff(lines.record) != 0) | (np.diff(lines.time) != 0)
    count = np.cumsum(new)
    first = np.searchsorted(lines.record, np.arange(n))
    number = count - count[first][lines.record]
    ends = np.searchsorted(lines.record[new], np.arange(1, n))
    return number, np.split(lines.time[new], ends)


def _filled(
    lines: _Lines, number: np.ndarray, lengths: list[int], names: list[str]
) -> list[np.ndarray]:
    """One array (T_i, D) per sequence."""
    first = np.concatenate([[0], np.cumsum(lengths)])
    steps = np.full((first[-1], len(names)), np.nan)
    told = lines.told
    # of equal places the last one stays
    steps[(first[lines.record] + number)[told], lines.variable[told]] = lines.value[told]
    return np.split(steps, first[1:-1])


# -- columns ---------------------------------------------------------------------------------------


def _check(step: float | None, end: float | None, columns: Sequence[str]) -> None:
    for name, number in (("step", step), ("end", end)):
        if number is not None and not (isinstance(number, Real) and 0 < number < np.inf):
            raise DataError(f"{name} must be a number above 0, got {number!r}")
    if end is not None and step is None:
        raise DataError("end needs step: without steps of equal width there is no grid to end")
    if isinstance(columns, str) or len(columns) != len(COLUMNS):
        raise DataError(
            f"columns must name four columns, for {', '.join(COLUMNS)}; got {columns!r}"
        )


def _frame(source: Any, columns: Sequence[str]) -> pd.DataFrame:
    frame, where = frame_of(source, "the table", lambda _: (columns[0], columns[2]))
    for name in columns:
        if name not in frame.columns:
            raise DataError(
                f"{where} has no column {name!r}; a long table has one line per value with id, "
                f"time, variable and value. There are: {', '.join(map(str, frame.columns))}; "
                "rename yours, or name them with columns= in Python"
            )
    frame = frame[list(columns)].reset_index(drop=True)
    frame.columns = list(COLUMNS)
    return frame


def _complete(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    there = frame[["id", "time", "variable"]].notna().all(axis=1)
    _note(notes, int((~there).sum()), "lines without id, time or variable were left out")
    if not there.any():
        raise DataError("no line has an id, a time and a variable: there is no sequence")
    return frame[there]


def _numbered(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Ids as they first occur, and the number of each line's id; 1 and "1" are the same."""
    pandas = need("pandas", "cli")
    codes, names = pandas.factorize(column)
    same, _ = pandas.factorize(np.array([id_text(name) for name in names], dtype=object))
    _, first = np.unique(same, return_index=True)
    return np.asarray(names)[first], same[codes]


def _chosen(
    column: Any, variables: Sequence[str] | None, notes: list[str]
) -> tuple[list[str], np.ndarray]:
    if isinstance(variables, str):
        raise DataError(f"variables must be a list of names, as in [{variables!r}]")
    texts = column.astype(str)
    names = sorted(set(texts)) if variables is None else [str(name) for name in variables]
    if len(set(names)) < len(names) or not names:
        raise DataError(f"variables must be different names, at least one; got {names}")
    place = {name: number for number, name in enumerate(names)}
    found = texts.map(place)
    _note(notes, int(found.isna().sum()), "lines of other variables were not used")
    return names, found.fillna(-1).to_numpy(dtype=np.int64)


def _numbers(column: Any, name: str, gaps: bool = False) -> np.ndarray:
    numbers = need("pandas", "cli").to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    bad = np.isinf(numbers) | (np.isnan(numbers) & column.notna().to_numpy())
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"column {name!r} must hold numbers, but row {column.index[row]} (counted from 0) has "
            f"{_shown(column.iloc[row])}" + ("; leave the cell empty for a gap" if gaps else "")
        )
    return numbers


def _shown(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


def _hours(column: Any, record: np.ndarray, n: int) -> np.ndarray:
    """Times as numbers; dates in hours from the first of each sequence."""
    pandas = need("pandas", "cli")
    if pandas.api.types.is_numeric_dtype(column.dtype):
        return _numbers(column, "time")
    words = pandas.to_numeric(column.astype(object), errors="coerce").isna()
    if not words.any():  # numbers kept as text or as objects
        return _numbers(column, "time")
    # one clock for all: differences do not depend on which
    dates = pandas.to_datetime(column, errors="coerce", format="ISO8601", utc=True)
    if dates.isna().any():
        # a word is more likely the slip than the numbers around it
        strange = dates.isna() & words
        row = int(np.flatnonzero(strange if strange.any() else dates.isna())[0])
        raise DataError(
            "column 'time' must hold numbers or dates such as 2024-05-31 14:00, but row "
            f"{column.index[row]} (counted from 0) has {column.iloc[row]!r}"
        )
    moments = dates.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")
    first = np.full(n, moments.max())
    np.minimum.at(first, record, moments)
    return (moments - first[record]) / _HOUR


def _note(notes: list[str], count: int, words: str) -> None:
    if count:
        notes.append(f"{count:,} {words}")
