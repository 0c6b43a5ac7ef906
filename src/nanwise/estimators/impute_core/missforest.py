"""Rounds of forests over all attributes until they change more, not less.

The rule to stop is the published one. After each round the change is measured: of numbers
``Σ (new - old)² / Σ new²``, of levels the share of the gaps that changed. As soon as neither is
smaller than in the round before, the table of the round before counts. Forests of rounds only make
the inputs of others and have fewer trees; those that answer are grown on the table that counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nanwise.estimators.impute_core.blocks import (
    LEVELLED,
    Blocks,
    by_gaps,
    harden,
    most_common,
    put,
    replay,
    without_gaps,
)
from nanwise.estimators.impute_core.forest import Forest, ask, grow, keep, predict

#: trees that are kept of each round; of the forests that answer, all are
EARLY = 10


class Settings(NamedTuple):
    """How forests are grown, see :func:`nanwise.estimators.impute_core.forest.grow`."""

    trees: int
    leaf: int
    inputs: float | str
    sample: int | None
    extra: bool
    n_jobs: int | None


class Learnt(NamedTuple):
    """What is kept.

    Attributes
    ----------
    start : ndarray of shape (F,)
        First fill.
    models : list of (int, Forest)
        Attributes and their forests, in the order in which gaps are filled.
    changes : list of (float, float)
        Per round the change of numbers and of levels, NaN where there are none.
    """

    start: np.ndarray
    models: list[tuple[int, Forest]]
    changes: list[tuple[float, float]]


def learn(
    blocks: Blocks,
    features: np.ndarray,
    observed: np.ndarray,
    settings: Settings,
    rounds: int,
    round_trees: int,
    seed: int,
) -> Learnt:
    """Fill the gaps of features (N, F) in rounds, and keep the forests that a new row needs.

    Parameters
    ----------
    blocks : Blocks
    features : ndarray of shape (N, F)
    observed : ndarray of shape (N, A)
    settings : Settings
    rounds : int
        Most rounds.
    round_trees : int
        Most trees of a forest in these.
    seed : int
    """
    rng = np.random.default_rng(seed)
    start = most_common(blocks, features, observed)
    filled = np.where(blocks.spread(observed), features, start)
    kept: list[tuple[int, Forest]] = []
    changes: list[tuple[float, float]] = []
    if len(blocks.kinds) == 1:
        return Learnt(start, kept, changes)
    few = settings._replace(trees=min(round_trees, settings.trees))
    for _ in range(rounds if by_gaps(observed) else 0):
        before = filled.copy()
        grown = _round(blocks, filled, observed, few, rng)
        changes.append(_change(blocks, before, filled, observed))
        if len(changes) > 1 and not _any_smaller(changes[-1], changes[-2]):
            filled = before
            break
        kept += [(a, keep(model, EARLY)) for a, model in grown]
    for a in (*by_gaps(observed), *without_gaps(observed)):
        kept.append((a, keep(_grow(blocks, filled, observed, a, settings, rng))))
    return Learnt(start, kept, changes)


def fill(blocks: Blocks, learnt: Learnt, features: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Features without gaps; each row by itself."""
    filled = np.where(blocks.spread(observed), features, learnt.start)
    return replay(blocks, filled, observed, learnt.models, predict, harden)


def _round(
    blocks: Blocks,
    filled: np.ndarray,
    observed: np.ndarray,
    settings: Settings,
    rng: np.random.Generator,
) -> list[tuple[int, Any]]:
    """Forests of one round; the gaps of ``filled`` are replaced in place."""
    grown = []
    for a in by_gaps(observed):
        model = _grow(blocks, filled, observed, a, settings, rng)
        rows = np.flatnonzero(~observed[:, a])
        found = ask(model, blocks.others(filled[rows], a))
        put(blocks, filled, rows, a, blocks.clip(a, found), harden)
        grown.append((a, model))
    return grown


def _grow(
    blocks: Blocks,
    filled: np.ndarray,
    observed: np.ndarray,
    a: int,
    settings: Settings,
    rng: np.random.Generator,
) -> Any:
    there = observed[:, a]
    inputs, target = blocks.others(filled[there], a), filled[there, blocks.place(a)]
    seed = int(rng.integers(2**31 - 1))
    # a class is told by its majority down to single rows, a mean wants a few
    leaf = 1 if blocks.kinds[a] in LEVELLED else settings.leaf
    return grow(inputs, target, seed, **settings._replace(leaf=leaf)._asdict()).model


def _change(
    blocks: Blocks, before: np.ndarray, after: np.ndarray, observed: np.ndarray
) -> tuple[float, float]:
    levels = np.array([kind in LEVELLED for kind in blocks.kinds])
    number = blocks.spread(~levels[None])[0]
    numbers, categories = np.nan, np.nan
    if number.any():
        size = float((after[:, number] ** 2).sum())
        numbers = float(((after - before)[:, number] ** 2).sum()) / (size or 1.0)
    gaps = ~observed & levels
    if gaps.any():
        moved = [
            _moved(before[:, blocks.place(a)], after[:, blocks.place(a)], gaps[:, a])
            for a, kind in enumerate(blocks.kinds)
            if kind in LEVELLED
        ]
        categories = float(sum(moved)) / int(gaps.sum())
    return numbers, categories


def _moved(before: np.ndarray, after: np.ndarray, gap: np.ndarray) -> int:
    """Number of gaps in which some feature is another one now."""
    return int((before != after).any(axis=1)[gap].sum())


def _any_smaller(new: tuple[float, float], old: tuple[float, float]) -> bool:
    return any(now < then for now, then in zip(new, old, strict=True))
