"""Observed against imputed values of a column, as plain numbers for a picture."""

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
        return head | _curves(_numbers(observed, column.kind), _numbers(imputed, column.kind))
    return head | _shares(observed, imputed)


def _numbers(cells: Any, kind: str) -> np.ndarray:
    """Dates as years, so that an axis can be read."""
    values = cells.to_numpy()
    return 1970 + days(values) / 365.2425 if kind == "date" else values.astype(np.float64)


def _curves(observed: np.ndarray, imputed: np.ndarray) -> dict[str, Any]:
    observed, imputed = _some(observed), _some(imputed)
    both = np.concatenate([observed, imputed])
    low, high = np.quantile(both, [0.005, 0.995])
    # One width for both curves: a column filled by one value shows as a peak of that width.
    width = _bandwidth(observed if len(observed) > 1 else both)
    grid = np.linspace(low - 2 * width, high + 2 * width, POINTS)
    return {
        "x": grid.tolist(),
        "observed": _smooth(observed, grid, width),
        "imputed": _smooth(imputed, grid, width),
    }


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


def _shares(observed: Any, imputed: Any) -> dict[str, Any]:
    """The most frequent levels; those of the others together."""
    there, new = (cells.astype(str).value_counts(normalize=True) for cells in (observed, imputed))
    order = there.add(new, fill_value=0).sort_values(ascending=False, kind="stable")
    shown = list(order.index[:MOST_LEVELS])
    found = {
        name: [float(shares.get(level, 0.0)) for level in shown]
        for name, shares in (("observed", there), ("imputed", new))
    }
    if len(order) > MOST_LEVELS:
        shown.append(f"{len(order) - MOST_LEVELS} others")
        found = {name: [*shares, 1 - sum(shares)] for name, shares in found.items()}
    return {"levels": shown, **found}
