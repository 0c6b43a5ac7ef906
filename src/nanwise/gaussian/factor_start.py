"""Where EM for a mixture of factor analysers begins."""

from __future__ import annotations

import numpy as np

#: rows that are looked at to begin with
_SOME = 2000
_ROUNDS = 10

Start = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def start(
    values: np.ndarray,
    observed: np.ndarray,
    components: int,
    rank: int,
    floor: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, Start]:
    """Variance of each column, and weights, means, factors and noise to begin with.

    Some rows, gaps filled by the column's mean, are put into clusters; of each cluster the first
    principal components are the factors.
    """
    some = rng.permutation(len(values))[:_SOME]
    m = observed[some]
    mean, spread = _columns(values, observed, floor)
    x = np.where(m, values[some], mean).astype(np.float64)
    label = _clusters(x, components, rng)
    found = [_component(x[label == k], mean, spread, rank, rng) for k in range(components)]
    means, factors, noise = (np.stack(part) for part in zip(*found, strict=True))
    weights = (np.bincount(label, minlength=components) + 1) / (len(some) + components)
    return spread, (weights, means, factors, np.maximum(noise, floor))


def _columns(
    values: np.ndarray, observed: np.ndarray, floor: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every column; one never observed has those of all cells."""
    count = observed.sum(axis=0)
    cells = values[observed].astype(np.float64)
    mean = np.where(
        count > 0, values.sum(axis=0, dtype=np.float64) / np.maximum(count, 1), cells.mean()
    )
    off = np.einsum("nd,nd->d", values, values, dtype=np.float64) / np.maximum(count, 1) - mean**2
    return mean, np.maximum(np.where(count > 0, off, cells.var()), floor)


def _clusters(x: np.ndarray, components: int, rng: np.random.Generator) -> np.ndarray:
    """Labels of rows by a few rounds of k-means, from rows that are far from each other."""
    centres = x[rng.integers(len(x), size=1)]
    while len(centres) < components:
        far = _distances(x, centres).min(axis=1)
        chance = far / far.sum() if far.sum() > 0 else None
        centres = np.concatenate([centres, x[rng.choice(len(x), size=1, p=chance)]])
    for _ in range(_ROUNDS if components > 1 else 0):
        label = _distances(x, centres).argmin(axis=1)
        for k in np.unique(label):
            centres[k] = x[label == k].mean(axis=0)
    return _distances(x, centres).argmin(axis=1)


def _distances(x: np.ndarray, centres: np.ndarray) -> np.ndarray:
    cross = x @ centres.T
    return np.maximum((x * x).sum(1)[:, None] - 2 * cross + (centres * centres).sum(1), 0.0)


def _component(
    x: np.ndarray, mean: np.ndarray, spread: np.ndarray, rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, factors (l, D) and noise of one cluster; what it is too small for is drawn."""
    if len(x) < 2:
        return mean, 0.1 * np.sqrt(spread) * rng.normal(size=(rank, len(mean))), spread
    centre = x.mean(axis=0)
    _, size, axes = np.linalg.svd(x - centre, full_matrices=False)
    factors = 0.01 * np.sqrt(spread) * rng.normal(size=(rank, len(mean)))
    top = min(rank, len(size))
    factors[:top] += axes[:top] * size[:top, None] / np.sqrt(len(x))
    noise = np.maximum(x.var(axis=0) - (factors**2).sum(axis=0), 0.1 * spread)
    return centre, factors, noise
