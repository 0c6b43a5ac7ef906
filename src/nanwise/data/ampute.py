"""Hide values on purpose, by mechanisms whose probabilities are written down.

Let ``p[i, j]`` be the probability that an observed cell in row i and column j is hidden, given the
table; cells are hidden independently of each other. Cells that are missing already stay missing
and are not counted: ``share`` is the expected share of the *observed* cells of the affected columns
that is hidden. With ``z`` the column standardised over its observed cells and ``s`` the logistic
function:

``mcar``
    ``p[i, j] = share``.
``mar``
    One column in ten, at least one, is never touched (*drivers*; columns without gaps are taken
    first, at random; when ``columns`` is given, all others are drivers). For every other column a
    direction is drawn, ``u[i, j] = z[i, drivers] @ w_j`` with w_j standard normal, and
    ``p[i, j] = s(b_j + STRENGTH * u[i, j] / sd(u[:, j]))``. A gap in a driver counts as its mean.
    So p depends on cells that stay observed only.
``mnar``
    Self-masking: ``p[i, j] = s(b_j + STRENGTH * z[i, j])``: large values are hidden more.
``quantile``
    Self-masking by rank: for each column the upper or the lower quarter of its values (a fair coin)
    is the tail. ``p = min(1, ODDS * q)`` in the tail and ``q`` outside: hidden ``ODDS`` times as
    often, as far as that is possible.
``gaussian_self_masking``
    ``p[i, j] = exp(-(z[i, j] - CENTRE)² / (2 t_j))``: values near ``CENTRE`` standard deviations
    above the mean are hidden most, larger ones less again. The mechanism of NeuMiss.
``probit_self_masking``
    ``p[i, j] = Φ(b_j + z[i, j])``, Φ the normal distribution function: large values are hidden
    more. The mechanism of NeuMiss, with the slope 1 on standardised values.

``b_j``, ``q`` and ``t_j`` are solved for, column by column, such that the mean of ``p[:, j]`` over
the observed cells is ``share``. :mod:`nanwise.data.simulate` has the mechanisms of NeuMiss on
Gaussian data, with the published parameters. Text and categories count by the position of their
sorted levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr, ndtri

from nanwise import missing
from nanwise.data.frames import as_frame, is_polars

MECHANISMS = (
    "mcar",
    "mar",
    "mnar",
    "quantile",
    "gaussian_self_masking",
    "probit_self_masking",
)
STRENGTH = 2.0
ODDS = 4.0
TAIL = 0.25
CENTRE = 2.0
DRIVERS = 0.1


def ampute(
    X: Any,
    share: float = 0.3,
    mechanism: str = "mcar",
    columns: Sequence[Any] | None = None,
    random_state: Any = None,
) -> Any:
    """Copy of a table with more gaps.

    Parameters
    ----------
    X : ndarray of numbers or DataFrame of pandas or polars
    share : float, default=0.3
        Expected share of the observed cells of ``columns`` that is hidden; 0 <= share < 1.
    mechanism : str, default="mcar"
        One of ``MECHANISMS``; :mod:`nanwise.data.ampute` says what each cell's probability is.
    columns : sequence of int or str, optional
        Columns that get gaps, by position or name. All by default; under ``"mar"`` all but the
        drivers.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    ndarray or DataFrame
        The kind of ``X``, with its column names, index and, as far as they can hold gaps, dtypes
        (integers become floats, bool becomes pandas' ``boolean``).
    """
    return hide_cells(X, held_cells(X, share, mechanism, columns, random_state))


def held_cells(
    X: Any,
    share: float = 0.3,
    mechanism: str = "mcar",
    columns: Sequence[Any] | None = None,
    random_state: Any = None,
) -> np.ndarray:
    """Boolean (N, D), True for the cells that :func:`ampute` hides; never one already missing."""
    if not 0 <= share < 1:
        raise ValueError(f"share must be at least 0 and less than 1, got {share}")
    if mechanism not in MECHANISMS:
        raise ValueError(f"mechanism must be one of {MECHANISMS}, got {mechanism!r}")
    rng = _generator(random_state)
    values, names = _numbers(X)
    chosen = _positions(columns, names)
    p = np.zeros(values.shape)
    if share > 0:
        _PROBABILITIES[mechanism](p, values, chosen, columns is None, share, rng)
    return (rng.random(values.shape) < p) & ~np.isnan(values)


def hide_cells(X: Any, held: np.ndarray) -> Any:
    """Copy of an array or frame in which the cells where ``held`` is True are gaps."""
    if is_polars(X):
        columns = X.get_columns()
        return X.with_columns(
            s.zip_with(type(s)(~held[:, j]), s.clear(len(s))) for j, s in enumerate(columns)
        )
    if not hasattr(X, "columns"):
        return missing.hide(np.asarray(X), held)
    out = {}
    for j, name in enumerate(X.columns):
        column = X.iloc[:, j]
        if held[:, j].any():
            column = column.astype("boolean") if column.dtype == bool else column
            column = column.mask(held[:, j])
        out[name] = column
    return type(X)(out, index=X.index, columns=X.columns)


def groups(
    X: Any, shares: Sequence[float] = (0.2, 0.8), random_state: Any = None
) -> tuple[Any, np.ndarray]:
    """Groups of rows with different rates of gaps (MCAR within each group).

    Rows are dealt to the groups at random, equally many to each (the first groups get one more when
    it does not come out even); an observed cell of a row in group g is hidden with probability
    ``shares[g]``.

    Returns
    -------
    X : as given, with more gaps
    group : ndarray of int, shape (N,)
        Position in ``shares``.
    """
    for share in shares:
        if not 0 <= share < 1:
            raise ValueError(f"shares must be at least 0 and less than 1, got {share}")
    rng = _generator(random_state)
    values, _ = _numbers(X)
    group = rng.permutation(np.arange(len(values)) % len(shares))
    p = np.asarray(shares, dtype=np.float64)[group]
    held = (rng.random(values.shape) < p[:, None]) & ~np.isnan(values)
    return hide_cells(X, held), group


def replicate(X: Any, r: int) -> Any:
    """The columns of ``X``, r times side by side; to be called *before* values are hidden.

    The j-th further copy of a column ``a`` of a pandas frame is called ``a__j``.
    """
    if r < 1:
        raise ValueError(f"r must be at least 1, got {r}")
    if not hasattr(X, "columns"):
        return np.tile(np.asarray(X), (1, r))
    names = [name if j == 0 else f"{name}__{j}" for j in range(r) for name in X.columns]
    return X.iloc[:, np.tile(np.arange(X.shape[1]), r)].set_axis(names, axis=1)


def _mcar(p: Any, values: Any, chosen: Any, free: bool, share: float, rng: Any) -> None:
    p[:, chosen] = share


def _mar(p: Any, values: Any, chosen: Any, free: bool, share: float, rng: Any) -> None:
    drivers = _drivers(values, chosen, free, rng)
    chosen = [j for j in chosen if j not in set(drivers)]
    z = np.nan_to_num(_standardised(values[:, drivers]), nan=0.0)
    u = _standardised(z @ rng.standard_normal((len(drivers), len(chosen))))
    for k, j in enumerate(chosen):
        p[:, j] = _logistic(STRENGTH * u[:, k], ~np.isnan(values[:, j]), share)


def _mnar(p: Any, values: Any, chosen: Any, free: bool, share: float, rng: Any) -> None:
    z = _standardised(values)
    for j in chosen:
        there = ~np.isnan(z[:, j])
        p[there, j] = _logistic(STRENGTH * z[there, j], np.ones(there.sum(), bool), share)


def _quantile(p: Any, values: Any, chosen: Any, free: bool, share: float, rng: Any) -> None:
    for j in chosen:
        upper = rng.random() < 0.5
        there = np.flatnonzero(~np.isnan(values[:, j]))
        if len(there):
            x = values[there, j] if upper else -values[there, j]
            p[there, j] = _two_rates(x > np.quantile(x, 1 - TAIL), share)


def _gaussian(p: Any, values: Any, chosen: Any, free: bool, share: float, rng: Any) -> None:
    z = _standardised(values)
    for j in chosen:
        there = ~np.isnan(z[:, j])
        p[there, j] = _bump((z[there, j] - CENTRE) ** 2 / 2, share)


def _probit(p: Any, values: Any, chosen: Any, free: bool, share: float, rng: Any) -> None:
    z = _standardised(values)
    for j in chosen:
        there = ~np.isnan(z[:, j])
        if there.any():
            x = z[there, j]
            p[there, j] = ndtr(x + _level(ndtr, abs(ndtri(share)), x, share))


_PROBABILITIES = {
    "mcar": _mcar,
    "mar": _mar,
    "mnar": _mnar,
    "quantile": _quantile,
    "gaussian_self_masking": _gaussian,
    "probit_self_masking": _probit,
}


def _bump(distance: np.ndarray, share: float) -> np.ndarray:
    """exp(-distance / t) with t such that the mean is ``share``; the mean rises with t."""
    if not len(distance):
        return distance
    high = distance.max() / -np.log(share)
    low = 1e-9 * high
    narrow = np.exp(-distance / low)
    if narrow.mean() >= share:  # more cells than that lie at the centre itself
        return narrow * (share / narrow.mean())
    return np.exp(-distance / brentq(lambda t: np.exp(-distance / t).mean() - share, low, high))


def _two_rates(tail: np.ndarray, share: float) -> np.ndarray:
    """Rates inside and outside the tail whose mean over the cells is ``share``."""
    part = tail.mean()
    outside = share / (1 + (ODDS - 1) * part)
    if ODDS * outside <= 1:
        return np.where(tail, ODDS * outside, outside)
    return np.where(tail, 1.0, (share - part) / (1 - part))


def _logistic(slope: np.ndarray, counted: np.ndarray, share: float) -> np.ndarray:
    """s(b + slope) with b such that the mean over the counted cells is ``share``."""
    if not counted.any():
        return np.zeros(len(slope))
    return expit(slope + _level(expit, abs(logit(share)), slope[counted], share))


def _level(curve: Any, reach: float, slope: np.ndarray, share: float) -> float:
    """Root b of ``mean(curve(b + slope)) = share``; ``reach`` is its size without slope."""
    reach += np.abs(slope).max() + 1
    return brentq(lambda b: curve(b + slope).mean() - share, -reach, reach, xtol=1e-12)


def _drivers(values: np.ndarray, chosen: list[int], free: bool, rng: Any) -> list[int]:
    """Columns that decide and are never hidden."""
    width = values.shape[1]
    can = list(range(width)) if free else [j for j in range(width) if j not in set(chosen)]
    n = max(1, int(DRIVERS * width)) if free else len(can)
    if not can or (free and width < 2):
        raise ValueError("mar needs at least one column that gets no gaps, to decide by")
    gaps = np.isnan(values[:, can]).sum(axis=0)
    order = np.lexsort((rng.random(len(can)), gaps))
    return sorted(can[k] for k in order[:n])


def _standardised(values: np.ndarray) -> np.ndarray:
    """Mean 0, standard deviation 1 over the observed cells; a constant column is 0."""
    there = ~np.isnan(values)
    count = np.maximum(there.sum(axis=0), 1)
    centred = values - np.where(there, values, 0).sum(axis=0) / count
    sd = np.sqrt(np.square(np.where(there, centred, 0)).sum(axis=0) / count)
    return centred / np.where(sd > 0, sd, 1)


def _numbers(X: Any) -> tuple[np.ndarray, list[Any]]:
    """Values as floats, and the names of the columns."""
    if not hasattr(X, "columns"):
        array = np.asarray(X)
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            raise ValueError(
                f"X must be a 2-D array of numbers or a frame, got dtype {array.dtype}, "
                f"shape {array.shape}"
            )
        return array.astype(np.float64), list(range(array.shape[1]))
    names = list(X.columns)
    frame = as_frame(X)
    return np.column_stack([_codes(frame.iloc[:, j]) for j in range(len(names))]), names


def _codes(column: Any) -> np.ndarray:
    """Numbers as they are; anything else by the position of its sorted values."""
    if column.dtype.kind in "fiub" and not hasattr(column, "cat"):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if hasattr(column, "cat"):
        codes = column.cat.codes.to_numpy()
    else:
        codes, cells = column.factorize()
        keys = [(str(type(cell)), cell) for cell in cells]
        rank = np.empty(len(keys) + 1, dtype=np.int64)
        rank[sorted(range(len(keys)), key=lambda k: keys[k])] = np.arange(len(keys))
        rank[-1] = -1
        codes = rank[codes]
    return np.where(codes < 0, np.nan, codes)


def _positions(columns: Sequence[Any] | None, names: list[Any]) -> list[int]:
    if columns is None:
        return list(range(len(names)))
    places = {name: j for j, name in enumerate(names)}
    found = [places.get(c, c) for c in columns]
    for given, j in zip(columns, found, strict=True):
        if not isinstance(j, (int, np.integer)) or not 0 <= j < len(names):
            raise ValueError(f"columns: there is no column {given!r} in the table")
    return sorted({int(j) for j in found})


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31 - 1)
    return np.random.default_rng(random_state)
