"""Observed against imputed values of a column, as plain numbers for a picture.

The one place for smooth curves and for shares of levels: reports (:mod:`nanwise.bench`) and
diagnostics (:mod:`nanwise.estimators.impute.diagnose`) both take them from here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.data.kinds import Column
from nanwise.data.parse import days

POINTS = 64
MOST_VALUES = 2000
MOST_LEVELS = 12
SEED = 0


def density(column: Column, observed: Any, imputed: Any) -> dict[str, Any]:
    """Curves of numbers and dates, shares of levels.

    Parameters
    ----------
    column : Column
        What the column is.
    observed, imputed : Series
        Its cells, as :meth:`nanwise.data.schema.Schema.check` gives them, without gaps.

    Returns
    -------
    dict
        ``name``, ``kind``, ``n_observed``, ``n_imputed``, ``observed`` and ``imputed`` (densities
        at ``x``, or shares of ``levels``). Numbers beyond the 0.5 % and 99.5 % quantiles of all
        values are not drawn.
    """
    head = {
        "name": column.name,
        "kind": column.kind,
        "n_observed": len(observed),
        "n_imputed": len(imputed),
    }
    if column.kind in ("numeric", "date"):
        return head | curves(_numbers(observed, column.kind), _numbers(imputed, column.kind))
    return head | _frequent(observed, imputed)


def curves(observed: np.ndarray, imputed: np.ndarray, points: int = POINTS) -> dict[str, Any]:
    """Smoothed densities of two samples at the same points, with kernels of the same width.

    Parameters
    ----------
    observed, imputed : array of float
        Without gaps, not both empty. Of very many values some are drawn, always the same.
    points : int
        Number of points.

    Returns
    -------
    dict
        ``x`` and the densities ``observed`` and ``imputed`` there; 0 for an empty sample.
    """
    observed, imputed = _some(observed), _some(imputed)
    both = np.concatenate([observed, imputed])
    low, high = np.quantile(both, [0.005, 0.995])
    # One width for both curves: a column filled by one value shows as a peak of that width.
    width = _bandwidth(observed if len(observed) > 1 else both)
    grid = np.linspace(low - 2 * width, high + 2 * width, points)
    return {
        "x": grid.tolist(),
        "observed": _smooth(observed, grid, width),
        "imputed": _smooth(imputed, grid, width),
    }


def shares(observed: np.ndarray, imputed: np.ndarray, n_levels: int) -> dict[str, list[float]]:
    """How often each level was seen and was imputed.

    Parameters
    ----------
    observed, imputed : array of int
        Positions of levels.
    n_levels : int
        Number of levels.

    Returns
    -------
    dict
        ``observed`` and ``imputed``: shares by level, 0 for an empty sample.
    """
    counts = [np.bincount(codes, minlength=n_levels) for codes in (observed, imputed)]
    there, new = ((count / max(count.sum(), 1)).tolist() for count in counts)
    return {"observed": there, "imputed": new}


def _numbers(cells: Any, kind: str) -> np.ndarray:
    """Dates as years, so that an axis can be read."""
    values = cells.to_numpy()
    return 1970 + days(values) / 365.2425 if kind == "date" else values.astype(np.float64)


def _some(values: np.ndarray) -> np.ndarray:
    """Enough of them for a picture."""
    if len(values) <= MOST_VALUES:
        return values
    return np.random.default_rng(SEED).choice(values, MOST_VALUES, replace=False)


def _bandwidth(values: np.ndarray) -> float:
    """Silverman's rule of thumb, with the smaller of two measures of spread."""
    quartiles = np.subtract(*np.quantile(values, [0.75, 0.25])) / 1.34
    spread = min((s for s in (values.std(), quartiles) if s > 0), default=0.0)
    return float(0.9 * spread * len(values) ** -0.2) or 0.05 * max(1.0, abs(float(values[0])))


def _smooth(values: np.ndarray, grid: np.ndarray, width: float) -> list[float]:
    if not len(values):
        return [0.0] * len(grid)
    kernel = np.exp(-0.5 * ((grid[:, None] - values) / width) ** 2)
    return (kernel.mean(axis=1) / (width * np.sqrt(2 * np.pi))).tolist()


def _frequent(observed: Any, imputed: Any) -> dict[str, Any]:
    """The most frequent levels; those of the others together."""
    words = np.concatenate(
        [cells.astype(str).to_numpy(dtype=object) for cells in (observed, imputed)]
    )
    levels, codes = np.unique(words, return_inverse=True)
    found = shares(codes[: len(observed)], codes[len(observed) :], len(levels))
    order = np.argsort(-np.add(found["observed"], found["imputed"]), kind="stable")
    first, rest = order[:MOST_LEVELS], order[MOST_LEVELS:]
    names = [str(levels[k]) for k in first]
    values = {side: [share[k] for k in first] for side, share in found.items()}
    if len(rest):
        names.append(f"{len(rest)} others")
        values = {side: [*v, sum(found[side][k] for k in rest)] for side, v in values.items()}
    return {"levels": names, **values}
