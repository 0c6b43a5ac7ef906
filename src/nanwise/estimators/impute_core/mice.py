"""Multiple imputation by chained equations, with the draws of the parameters kept.

In a round every attribute in turn is regressed on the others over the rows that have it; one set
of parameters is drawn from the posterior of the regression, and the gaps are drawn given these.
After a burn-in, the parameters of every few rounds are kept. A new row is drawn by the same steps,
a number of sweeps over its gaps, with one kept set of parameters: no training row is needed, but
for the donors of predictive mean matching.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nanwise.estimators.impute_core.blocks import LEVELLED, Blocks, draw_level, most_common
from nanwise.estimators.impute_core.posterior import (
    affine,
    draw_linear,
    draw_logistic,
    logistic,
)

#: most rows among which a match is looked for
DONORS = 2000


class Model(NamedTuple):
    """Parameters of one attribute of K features given P others.

    Attributes
    ----------
    mean, coef : ndarray of shape (P + 1, K)
        Posterior mean (levels: mode) and draw.
    root : ndarray of shape (K, K)
        Of the noise of numbers; empty for levels.
    matches, donors : ndarray of shape (n,) and (n, K)
        Predictions of training rows, ascending, and the values these rows have; empty without
        matching.
    """

    mean: np.ndarray
    coef: np.ndarray
    root: np.ndarray
    matches: np.ndarray
    donors: np.ndarray


class Settings(NamedTuple):
    """Rounds before the first set that is kept, sets, rounds between them; donors (0: none)."""

    burn_in: int
    sets: int
    thin: int
    donors: int


class Learnt(NamedTuple):
    """First fill (F,), sets of models, one model per attribute, and of each round the trace.

    That is the mean and the standard deviation of the numbers drawn for gaps: means over the
    columns that have some, NaN without one.
    """

    start: np.ndarray
    sets: list[list[Model]]
    trace: list[tuple[float, float]]


def learn(
    blocks: Blocks, features: np.ndarray, observed: np.ndarray, settings: Settings, seed: int
) -> Learnt:
    """Draw parameters in rounds.

    Parameters
    ----------
    blocks : Blocks
    features : ndarray of shape (N, F)
    observed : ndarray of shape (N, A)
    settings : Settings
    seed : int
    """
    rng = np.random.default_rng(seed)
    start = most_common(blocks, features, observed)
    filled = np.where(blocks.spread(observed), features, start)
    kept: list[list[Model]] = []
    trace: list[tuple[float, float]] = []
    modes = [
        np.zeros((filled.shape[1] - _width(blocks, a) + 1, _width(blocks, a)))
        for a in range(len(blocks.kinds))
    ]
    for number in range(settings.burn_in + settings.sets * settings.thin):
        models = []
        for a in range(len(blocks.kinds)):
            model = _draw_model(blocks, filled, observed[:, a], a, modes[a], settings.donors, rng)
            modes[a] = model.mean
            _draw_gaps(blocks, filled, observed, a, model, settings.donors, rng)
            models.append(model)
        trace.append(_drawn(blocks, filled, observed))
        if number >= settings.burn_in and (number - settings.burn_in) % settings.thin == 0:
            kept.append(models)
    return Learnt(start, kept, trace)


def _drawn(blocks: Blocks, filled: np.ndarray, observed: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of numbers in gaps, by columns; then the mean over these."""
    numbers = np.array([kind not in LEVELLED for kind in blocks.kinds])
    gaps = ~blocks.spread(observed) & blocks.spread(numbers[None])
    there = gaps.any(axis=0)
    if not there.any():
        return np.nan, np.nan
    cells = np.ma.array(filled[:, there], mask=~gaps[:, there])
    return float(cells.mean(axis=0).mean()), float(cells.std(axis=0).mean())


def draw(
    blocks: Blocks,
    start: np.ndarray,
    models: Sequence[Model],
    features: np.ndarray,
    observed: np.ndarray,
    sweeps: int,
    donors: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Features (N, F) with gaps drawn, given one set of models."""
    filled = np.where(blocks.spread(observed), features, start)
    for _ in range(sweeps):
        for a, model in enumerate(models):
            _draw_gaps(blocks, filled, observed, a, model, donors, rng)
    return filled


def expect(
    blocks: Blocks,
    start: np.ndarray,
    models: Sequence[Model],
    features: np.ndarray,
    observed: np.ndarray,
    sweeps: int,
) -> np.ndarray:
    """Features (N, F) with gaps at what their regressions expect; no noise."""
    filled = np.where(blocks.spread(observed), features, start)
    for _ in range(sweeps):
        for a, model in enumerate(models):
            rows = np.flatnonzero(~observed[:, a])
            if len(rows):
                found = affine(model.mean, blocks.others(filled[rows], a))
                levels = blocks.kinds[a] in LEVELLED
                filled[rows, blocks.place(a)] = (
                    _chances(blocks.kinds[a], found) if levels else blocks.clip(a, found)
                )
    return filled


def average(sets: Sequence[Sequence[Model]]) -> list[Model]:
    """Models with the mean of the sets' posterior means."""
    return [
        models[0]._replace(mean=np.mean([model.mean for model in models], axis=0))
        for models in zip(*sets, strict=True)
    ]


def _draw_model(
    blocks: Blocks,
    filled: np.ndarray,
    there: np.ndarray,
    a: int,
    mode: np.ndarray,
    donors: int,
    rng: np.random.Generator,
) -> Model:
    x, y = blocks.others(filled[there], a), filled[there, blocks.place(a)]
    none = np.empty(0), np.empty((0, y.shape[1]))
    if blocks.kinds[a] in LEVELLED:
        mean, coef = draw_logistic(x, y, mode, rng)
        return Model(mean, coef, np.empty((0, 0)), *none)
    mean, coef, root = draw_linear(x, y, rng)
    if not donors:
        return Model(mean, coef, root, *none)
    rows = rng.permutation(len(x))[:DONORS]
    # of a vector, rows are matched by the sum of what is predicted for its columns
    guess = affine(mean, x[rows]).sum(axis=1)
    order = np.argsort(guess, kind="stable")
    return Model(mean, coef, root, guess[order], y[rows][order])


def _draw_gaps(
    blocks: Blocks,
    filled: np.ndarray,
    observed: np.ndarray,
    a: int,
    model: Model,
    donors: int,
    rng: np.random.Generator,
) -> None:
    """Draw the gaps of one attribute, in place."""
    rows = np.flatnonzero(~observed[:, a])
    if not len(rows):
        return
    found = affine(model.coef, blocks.others(filled[rows], a))
    if blocks.kinds[a] in LEVELLED:
        found = draw_level(blocks.kinds[a], _chances(blocks.kinds[a], found), rng)
    elif len(model.matches):
        found = _matched(model, found.sum(axis=1), donors, rng)
    else:
        found = found + rng.standard_normal(found.shape) @ model.root
    filled[rows, blocks.place(a)] = found


def _chances(kind: str, scores: np.ndarray) -> np.ndarray:
    """Probabilities of levels; of an ordinal attribute, to reach each."""
    chances = logistic(scores)
    if kind == "categorical":
        return chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300)
    return np.minimum.accumulate(chances, axis=1)


def _matched(model: Model, guess: np.ndarray, donors: int, rng: np.random.Generator) -> np.ndarray:
    """Values of one of the nearest training rows."""
    near = min(donors, len(model.matches))
    first = np.searchsorted(model.matches, guess) - near // 2
    first = np.clip(first, 0, len(model.matches) - near)
    return model.donors[first + rng.integers(near, size=len(guess))]


def _width(blocks: Blocks, a: int) -> int:
    own = blocks.place(a)
    return own.stop - own.start
