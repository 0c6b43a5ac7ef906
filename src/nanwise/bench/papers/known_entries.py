"""Predictions against the number of known entries: slopes, one prediction, mean targets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: shares of the known entries that are left for the slope
SHARES = tuple(k / 10 for k in range(1, 11))
#: numbers of known entries at which one prediction is looked at, and draws at each of them
LEVELS, DRAWS = 20, 50
#: groups of rows by their number of known entries
GROUPS = 8

Lines = dict[str, list[float]]
#: from which entries of one row something is left (draws, entries) to predictions (draws,)
Ask = Callable[[np.ndarray], np.ndarray]


def slope(level: list[float]) -> float:
    """Change of the mean prediction for 10 points more, from that at each of ``SHARES``."""
    return float(np.polyfit(SHARES, level, 1)[0]) * 0.1


def one_prediction(known: np.ndarray, ask: Ask, rng: np.random.Generator) -> Lines:
    """A prediction from random parts of what is known of one row, mean and middle 95 %."""
    places = np.flatnonzero(known)
    levels = np.unique(np.rint(np.linspace(1 / LEVELS, 1, LEVELS) * len(places)).astype(int))
    levels = levels[levels > 0]
    kept = np.zeros((len(levels) * DRAWS, known.size), dtype=bool)
    for row, n in zip(kept, np.repeat(levels, DRAWS), strict=True):
        row[rng.choice(places, n, replace=False)] = True
    drawn = ask(kept.reshape(-1, *known.shape)).reshape(len(levels), DRAWS)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=1)
    return _lines(levels, drawn.mean(axis=1), low, high)


def mean_targets(known: np.ndarray, target: np.ndarray) -> Lines:
    """Mean target of groups of rows of nearly equal size, with its 95 % interval."""
    known, target = known[~np.isnan(target)], target[~np.isnan(target)]
    order = np.argsort(known, kind="stable")
    groups = [group for group in np.array_split(order, GROUPS) if len(group) > 1]
    mean = np.array([target[group].mean() for group in groups])
    half = np.array([1.96 * target[group].std(ddof=1) / len(group) ** 0.5 for group in groups])
    return _lines(
        np.array([known[group].mean() for group in groups]), mean, mean - half, mean + half
    )


def _lines(known: np.ndarray, mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> Lines:
    parts = {"known": known, "mean": mean, "low": low, "high": high}
    return {name: part.tolist() for name, part in parts.items()}
