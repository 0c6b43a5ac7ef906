"""Rows as blocks of features, one per attribute, and rounds over these.

An attribute of any kind is a block of features (:mod:`nanwise.estimators.impute.features`). In one
round every block in turn is learnt from the others, over the rows in which it is observed, and
replaced where it is not. The models of the rounds are kept; a new row goes through them in the
same order, by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

#: kinds that are predicted as probabilities
LEVELLED = ("binary", "categorical", "ordinal")


class Blocks(NamedTuple):
    """Where the attributes are.

    Attributes
    ----------
    kinds : tuple of str
    stops : tuple of int
        Feature at which each attribute ends.
    low, high : ndarray of shape (F,)
        Range that answers are kept within: that of the observed values.
    """

    kinds: tuple[str, ...]
    stops: tuple[int, ...]
    low: np.ndarray
    high: np.ndarray

    def place(self, a: int) -> slice:
        """The features of attribute ``a``."""
        return slice(self.stops[a - 1] if a else 0, self.stops[a])

    def others(self, filled: np.ndarray, a: int) -> np.ndarray:
        """All features but those of attribute ``a``."""
        own = self.place(a)
        return np.concatenate([filled[:, : own.start], filled[:, own.stop :]], axis=1)

    def clip(self, a: int, answers: np.ndarray) -> np.ndarray:
        """Answers for attribute ``a`` within the observed range."""
        own = self.place(a)
        return np.clip(answers, self.low[own], self.high[own])

    def spread(self, observed: np.ndarray) -> np.ndarray:
        """Per feature (N, F) what is given per attribute (N, A)."""
        return np.repeat(observed, np.diff((0, *self.stops)), axis=1)


#: (models of the attribute, inputs of some rows) -> answers (N, width)
Answer = Callable[[Any, np.ndarray], np.ndarray]


def make_blocks(parts: Sequence[Any], features: np.ndarray, observed: np.ndarray) -> Blocks:
    """Blocks of features (N, F), with the range of what is observed (N, A)."""
    stops = tuple(int(stop) for stop in np.cumsum([part.width for part in parts]))
    blocks = Blocks(tuple(part.kind for part in parts), stops, np.empty(0), np.empty(0))
    there = blocks.spread(observed)
    low = np.min(features, axis=0, where=there, initial=np.inf)
    high = np.max(features, axis=0, where=there, initial=-np.inf)
    return blocks._replace(low=np.where(low > high, 0, low), high=np.where(low > high, 0, high))


def most_common(blocks: Blocks, features: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """A first fill (F,): means of numbers, the most frequent level as 0 and 1."""
    there = blocks.spread(observed)
    mean = features.sum(axis=0, where=there) / np.maximum(there.sum(axis=0), 1)
    return harden(blocks, mean[None])[0]


def harden(blocks: Blocks, features: np.ndarray) -> np.ndarray:
    """Levels as 0 and 1 instead of probabilities, in a copy."""
    out = features.copy()
    for a, kind in enumerate(blocks.kinds):
        own = blocks.place(a)
        if kind == "categorical":
            best = features[:, own].argmax(axis=1)
            out[:, own] = best[:, None] == np.arange(own.stop - own.start)
        elif kind in LEVELLED:
            out[:, own] = features[:, own] >= 0.5
    return out


def by_gaps(observed: np.ndarray) -> list[int]:
    """Attributes that have gaps, those with few of them first."""
    gaps = (~observed).sum(axis=0)
    return [int(a) for a in np.argsort(gaps, kind="stable") if gaps[a]]


def without_gaps(observed: np.ndarray) -> list[int]:
    """Attributes that are always observed."""
    return [int(a) for a in np.flatnonzero(observed.all(axis=0))]


def replay(
    blocks: Blocks,
    filled: np.ndarray,
    observed: np.ndarray,
    models: Sequence[tuple[int, Any]],
    answer: Answer,
    finish: Callable[[Blocks, np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Fill the gaps by kept models, in place and in their order.

    ``models`` are pairs of an attribute and what was learnt for it; ``finish`` is applied to the
    features after each of them, if given, for example to harden levels.
    """
    for a, model in models:
        rows = np.flatnonzero(~observed[:, a])
        if len(rows):
            found = blocks.clip(a, answer(model, blocks.others(filled[rows], a)))
            put(blocks, filled, rows, a, found, finish)
    return filled


def put(
    blocks: Blocks,
    filled: np.ndarray,
    rows: np.ndarray,
    a: int,
    found: np.ndarray,
    finish: Callable[[Blocks, np.ndarray], np.ndarray] | None = None,
) -> None:
    """Replace attribute ``a`` of some rows, in place."""
    if finish is not None:
        whole = np.zeros((len(rows), filled.shape[1]))
        whole[:, blocks.place(a)] = found
        found = finish(blocks, whole)[:, blocks.place(a)]
    filled[rows, blocks.place(a)] = found


def draw_levels(blocks: Blocks, features: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Levels drawn as 0 and 1, their features taken as probabilities; in a copy."""
    out = features.copy()
    for a, kind in enumerate(blocks.kinds):
        own = blocks.place(a)
        if kind in LEVELLED and own.stop > own.start:
            out[:, own] = draw_level(kind, np.clip(features[:, own], 0.0, 1.0), rng)
    return out


def draw_level(kind: str, chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One level per row, as 0 and 1.

    ``chances`` (N, levels) need not sum to 1; of an ordinal attribute they are those to reach each
    level.
    """
    uniform = rng.random((len(chances), 1))
    if kind != "categorical":
        return (uniform < np.minimum.accumulate(chances, axis=1)).astype(np.float64)
    reached = chances.cumsum(axis=1)
    level = (reached < uniform * reached[:, -1:]).sum(axis=1).clip(max=chances.shape[1] - 1)
    return (level[:, None] == np.arange(chances.shape[1])).astype(np.float64)
