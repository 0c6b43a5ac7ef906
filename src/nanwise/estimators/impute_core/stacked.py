"""Each attribute by its Gaussian expectation and a forest that corrects it.

Moments come from EM. Forests learn what the expectation leaves over, from rows whose gaps are
filled without the help of the attribute in question
(:mod:`nanwise.estimators.impute_core.leave_out`), so that they meet in training what they will meet
in use. The answer is a weighted sum of both and of the mean; the weights, not negative, predict
best what the forest's trees have not seen. Before all that the expectation is shifted by what the
gaps of the row say (:mod:`nanwise.estimators.impute_core.gap_shift`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nanwise.estimators.impute_core.blocks import LEVELLED, Blocks
from nanwise.estimators.impute_core.forest import Forest, grow, keep, predict
from nanwise.estimators.impute_core.gap_shift import Shift, learn_shift
from nanwise.estimators.impute_core.leave_out import Left, conditional, leave_out, without
from nanwise.gaussian.em import fit_rows

#: most numbers in the matrices behind :func:`leave_out`; larger tables give some of their rows
CELLS = 5 * 10**7


class Settings(NamedTuple):
    """How moments are found and forests are grown."""

    trees: int
    leaf: int
    inputs: float | str
    sample: int | None
    n_jobs: int | None


class Model(NamedTuple):
    """One attribute of K features.

    Attributes
    ----------
    weights : ndarray of shape (3, K)
        Of 1, of the Gaussian expectation and of the forest's correction.
    forest : tuple of ndarray
        A :class:`Forest` over the other features and the expectation.
    shift : tuple of ndarray
        A :class:`Shift` of the expectation by gaps of the other attributes.
    """

    weights: np.ndarray
    forest: tuple[np.ndarray, ...]
    shift: tuple[np.ndarray, ...]


class Learnt(NamedTuple):
    """Moments of the features, and one model per attribute."""

    mean: np.ndarray
    cov: np.ndarray
    models: list[Model]


def learn(
    blocks: Blocks, features: np.ndarray, observed: np.ndarray, settings: Settings, seed: int
) -> Learnt:
    """Learn from features (N, F), of which the attributes ``observed`` (N, A) are there."""
    rng = np.random.default_rng(seed)
    there = blocks.spread(observed)
    mean, cov = fit_rows(features, there, tol=1e-3, max_iter=100).moments
    cov = cov + np.diag(_jitter(blocks))
    most = max(int(CELLS / features.shape[1] ** 2), 2)
    if len(features) > most:
        rows = np.sort(rng.choice(len(features), most, replace=False))
        features, observed, there = features[rows], observed[rows], there[rows]
    left = leave_out(blocks, mean, cov, features, there)
    models = [
        _model(blocks, left, features, observed, a, settings, int(rng.integers(2**31 - 1)))
        for a in range(len(blocks.kinds))
    ]
    return Learnt(mean, cov, models)


def fill(blocks: Blocks, learnt: Learnt, features: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Features without gaps; each row by itself."""
    filled = conditional(learnt.mean, learnt.cov, features, blocks.spread(observed))
    out = filled.copy()
    for a, model in enumerate(learnt.models):
        rows, own = np.flatnonzero(~observed[:, a]), blocks.place(a)
        if len(rows):
            moved = filled[rows, own] + Shift(*model.shift)(_gaps(observed[rows], a))
            guess = blocks.clip(a, moved)
            answer = _answer(model, blocks.others(filled[rows], a), guess)
            out[rows, own] = blocks.clip(a, answer)
    return out


def stack(y: np.ndarray, *guesses: np.ndarray) -> np.ndarray:
    """Weights of 1 and of each guess (N,), these not negative, with the least squared error."""
    from scipy.optimize import nnls

    columns = np.column_stack(guesses)
    there = np.isfinite(columns).all(axis=1)
    if there.sum() < 2:
        return np.array([0.0, 1.0, *np.zeros(len(guesses) - 1)])
    columns, y = columns[there], y[there]
    middle, mean = columns.mean(axis=0), y.mean()
    weights, _ = nnls(columns - middle, y - mean)
    return np.array([mean - middle @ weights, *weights])


def _model(
    blocks: Blocks,
    left: Left,
    features: np.ndarray,
    observed: np.ndarray,
    a: int,
    settings: Settings,
    seed: int,
) -> Model:
    rows = np.flatnonzero(observed[:, a])
    inputs, guess = without(left, blocks, a, rows)
    guess, y = blocks.clip(a, guess), features[rows, blocks.place(a)]
    gaps = _gaps(observed[rows], a)
    if len(rows) < 2:
        still = Shift(np.zeros(gaps.shape[1]), np.zeros((gaps.shape[1], guess.shape[1])))
        return Model(np.outer([0.0, 1.0, 0.0], np.ones(guess.shape[1])), (), tuple(still))
    shift = learn_shift(gaps, y - guess)
    guess = blocks.clip(a, guess + shift(gaps))
    grown = grow(
        np.concatenate([inputs, guess], axis=1),
        y - guess,
        seed,
        extra=True,
        unseen=True,
        **settings._asdict(),
    )
    each = zip(y.T, guess.T, grown.unseen.T, strict=True)
    weights = np.stack([stack(*one) for one in each], axis=1)
    return Model(weights, tuple(keep(grown.model)) if weights[2].any() else (), tuple(shift))


def _gaps(observed: np.ndarray, a: int) -> np.ndarray:
    """Which attributes other than ``a`` lack, as numbers."""
    return np.delete(~observed, a, axis=1).astype(np.float64)


def _answer(model: Model, inputs: np.ndarray, guess: np.ndarray) -> np.ndarray:
    found = model.weights[0] + model.weights[1] * guess
    if not model.forest:
        return found
    correction = predict(Forest(*model.forest), np.concatenate([inputs, guess], axis=1))
    return found + model.weights[2] * correction


def _jitter(blocks: Blocks) -> np.ndarray:
    """What keeps covariances regular: the levels of an attribute always sum to 1."""
    widths = np.diff((0, *blocks.stops))
    own = [1e-3 if kind in LEVELLED else 1e-8 for kind in blocks.kinds]
    return np.repeat(own, widths)
