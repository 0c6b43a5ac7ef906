"""Each attribute by its Gaussian expectation and a forest that corrects it.

Moments come from EM. Forests learn what the expectation leaves over, from rows whose gaps are
filled without the help of the attribute in question
(:mod:`nanwise.estimators.impute_core.leave_out`), so that they meet in training what they will meet
in use. The answer is a weighted sum of both and of the mean; the weights, not negative, predict
best what trees have not seen. Before all that the expectation is shifted by what the gaps of the
row say (:mod:`nanwise.estimators.impute_core.gap_shift`).

A row may be filled twice: the second time with the first answers for its other gaps, which are
mostly better than expectations. Whether they are is tried on rows that a small model has not seen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nanwise.estimators.impute_core.blocks import LEVELLED, Blocks
from nanwise.estimators.impute_core.forest import Forest, grow, keep, predict
from nanwise.estimators.impute_core.gap_shift import Shift, learn_shift
from nanwise.estimators.impute_core.leave_out import Left, conditional, leave_out, without
from nanwise.gaussian.em import fit_rows

#: most numbers in the matrices behind :func:`leave_out`; larger tables give some of their rows
CELLS = 5 * 10**7
#: trees that are grown on samples of the rows, to see what forests say of rows they do not know
TRIED = 30
#: rows and trees of the small model that says whether a second filling helps
TRIAL_ROWS, TRIAL_TREES = 1500, 10


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
    """Moments of the features, one model per attribute, and how often a row is filled."""

    mean: np.ndarray
    cov: np.ndarray
    models: list[Model]
    rounds: int = 1


def learn(
    blocks: Blocks, features: np.ndarray, observed: np.ndarray, settings: Settings, seed: int
) -> Learnt:
    """Learn from features (N, F), of which the attributes ``observed`` (N, A) are there."""
    found = _learn(blocks, features, observed, settings, seed)
    return found._replace(rounds=_rounds(blocks, features, observed, settings, seed))


def _learn(
    blocks: Blocks, features: np.ndarray, observed: np.ndarray, settings: Settings, seed: int
) -> Learnt:
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


def _rounds(
    blocks: Blocks, features: np.ndarray, observed: np.ndarray, settings: Settings, seed: int
) -> int:
    """2 if a second filling brings the rows of a fifth nearer to what is hidden from them."""
    rng = np.random.default_rng([seed, 1])
    rows = rng.permutation(len(features))[:TRIAL_ROWS]
    known, asked = np.split(rows, [int(0.8 * len(rows))])
    held = observed[asked] & (rng.random((len(asked), observed.shape[1])) < 0.2)
    if len(known) < 2 or not held.any():
        return 1
    small = settings._replace(trees=min(TRIAL_TREES, settings.trees), sample=None)
    model = _learn(blocks, features[known], observed[known], small, seed)
    where, truth = blocks.spread(held), features[asked]
    shown = np.where(where, 0.0, truth), observed[asked] & ~held
    once, twice = (fill(blocks, model._replace(rounds=n), *shown) for n in (1, 2))
    errors = [((filled - truth)[where] ** 2).sum() for filled in (once, twice)]
    return 2 if errors[1] < errors[0] else 1


def fill(blocks: Blocks, learnt: Learnt, features: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Features without gaps; each row by itself."""
    filled = conditional(learnt.mean, learnt.cov, features, blocks.spread(observed))
    for again in range(learnt.rounds):
        out = filled.copy()
        for a, model in enumerate(learnt.models):
            rows, own = np.flatnonzero(~observed[:, a]), blocks.place(a)
            if len(rows):
                guess = _given_all(blocks, learnt, filled[rows], a) if again else filled[rows, own]
                guess = guess + Shift(*model.shift)(_gaps(observed[rows], a))
                inputs = blocks.others(filled[rows], a)
                out[rows, own] = blocks.clip(a, _answer(model, inputs, blocks.clip(a, guess)))
        filled = out
    return filled


def _given_all(blocks: Blocks, learnt: Learnt, filled: np.ndarray, a: int) -> np.ndarray:
    """Expectation of attribute ``a`` where nothing else lacks any more."""
    there = np.ones(filled.shape, dtype=bool)
    there[:, blocks.place(a)] = False
    return conditional(learnt.mean, learnt.cov, filled, there)[:, blocks.place(a)]


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
    inputs, rest = np.concatenate([inputs, guess], axis=1), y - guess
    tried, forest = _forests(inputs, rest, settings, seed)
    each = zip(y.T, guess.T, tried.T, strict=True)
    weights = np.stack([stack(*one) for one in each], axis=1)
    return Model(weights, tuple(keep(forest)) if weights[2].any() else (), tuple(shift))


def _forests(
    inputs: np.ndarray, rest: np.ndarray, settings: Settings, seed: int
) -> tuple[np.ndarray, Any]:
    """What trees say of rows that they have not seen, and the forest that answers.

    It has seen all rows: of rows that are nearly equal one knows the other.
    """
    asked = {**settings._asdict(), "extra": True}
    if settings.sample is not None and settings.sample < len(inputs):
        grown = grow(inputs, rest, seed, unseen=True, **asked)
        return grown.unseen, grown.model
    few = {**asked, "trees": min(TRIED, settings.trees)}
    tried = grow(inputs, rest, seed, unseen=True, **few).unseen
    return tried, grow(inputs, rest, seed, bootstrap=False, **asked).model


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
