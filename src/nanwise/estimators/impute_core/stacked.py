"""Each attribute by its Gaussian expectation and a forest that corrects it.

Moments come from EM. Forests learn what the expectation leaves over, from rows whose gaps are
filled without the help of the attribute in question
(:mod:`nanwise.estimators.impute_core.leave_out`), so that they meet in training what they will meet
in use. The answer is a weighted sum of both and of the mean; the weights, not negative, predict
best what trees have not seen. Before all that the expectation is shifted by what the gaps of the
row say (:mod:`nanwise.estimators.impute_core.gap_shift`).

A row may go through these models again, its other gaps now filled by their answers instead of
expectations. Then the same is learnt once more from the filled rows, as MissForest does: its inputs
are better, though not free of the attribute that they predict: the more gaps, the more of the
inputs were filled with its help, and the less the second models count, half where there are hardly
any gaps. How often to go through the first ones is tried with a small model, on cells that are
hidden from it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nanwise.estimators.impute_core.blocks import Blocks
from nanwise.estimators.impute_core.forest import Forest, grow, keep, predict
from nanwise.estimators.impute_core.gap_shift import Shift, learn_shift
from nanwise.estimators.impute_core.leave_out import (
    conditional,
    given_all,
    jitter,
    leave_out,
    without,
)
from nanwise.gaussian.em import fit_rows

#: most numbers in the matrices behind :func:`leave_out`; larger tables give some of their rows
CELLS = 5 * 10**7
#: trees that are grown on samples of the rows, to see what forests say of rows they do not know
TRIED = 30
#: rows and trees of the small model that says how often, and the share of cells hidden from it
TRIAL_ROWS, TRIAL_TREES, TRIAL_HELD = 1500, 20, 0.1
#: most times that a row goes through the first models; more of them may drift away
ROUNDS = 3


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
    """Moments of the features, models of the attributes, and how a row is filled by them.

    Attributes
    ----------
    mean, cov : ndarray
        Moments (F,) and (F, F).
    first : list of Model
        One per attribute, learnt beside expectations.
    again : list of Model
        One per attribute, learnt from rows that the first ones filled.
    rounds : int
        How often a row goes through the first ones.
    share : float
        What the answers of the second ones count, from 0 to 1/2.
    """

    mean: np.ndarray
    cov: np.ndarray
    first: list[Model]
    again: list[Model]
    rounds: int = 1
    share: float = 0.5


def learn(
    blocks: Blocks, features: np.ndarray, observed: np.ndarray, settings: Settings, seed: int
) -> Learnt:
    """Learn from features (N, F), of which the attributes ``observed`` (N, A) are there."""
    found = _learn_first(blocks, features, observed, settings, seed)
    rounds = _rounds(blocks, features, observed, settings, seed)
    found = found._replace(rounds=rounds, share=float(observed.mean()) / 2)
    return found._replace(again=_learn_again(blocks, found, features, observed, settings, seed))


def fill(blocks: Blocks, learnt: Learnt, features: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Features without gaps; each row by itself."""
    first = _fills(blocks, learnt, features, observed, learnt.rounds)[-1]
    again = _pass(blocks, learnt, learnt.again, first, observed)
    return first + learnt.share * (again - first)


def _fills(
    blocks: Blocks, learnt: Learnt, features: np.ndarray, observed: np.ndarray, rounds: int
) -> list[np.ndarray]:
    """Features without gaps after each passage through the first models."""
    filled = conditional(learnt.mean, learnt.cov, features, blocks.spread(observed))
    fills = [_pass(blocks, learnt, learnt.first, filled, observed, expected=True)]
    while len(fills) < rounds:
        fills.append(_pass(blocks, learnt, learnt.first, fills[-1], observed))
    return fills


def _pass(
    blocks: Blocks,
    learnt: Learnt,
    models: list[Model],
    filled: np.ndarray,
    observed: np.ndarray,
    expected: bool = False,
) -> np.ndarray:
    """Answer each gap, from answers to those before it if ``filled`` are not mere expectations."""
    out = filled.copy()
    source = filled if expected else out
    for a, model in enumerate(models):
        rows, own = np.flatnonzero(~observed[:, a]), blocks.place(a)
        if len(rows):
            known = source[rows]
            guess = known[:, own] if expected else _given_all(blocks, learnt, known, a)
            guess = blocks.clip(a, guess + Shift(*model.shift)(_gaps(observed[rows], a)))
            answer = _answer(model, blocks.others(known, a), guess)
            out[rows, own] = blocks.clip(a, answer)
    return out


def _given_all(blocks: Blocks, learnt: Learnt, filled: np.ndarray, a: int) -> np.ndarray:
    return given_all(blocks, learnt.mean, learnt.cov, filled, a)


# -- learning --------------------------------------------------------------------------------------


def _learn_first(
    blocks: Blocks, features: np.ndarray, observed: np.ndarray, settings: Settings, seed: int
) -> Learnt:
    rng = np.random.default_rng(seed)
    moments = fit_rows(features, blocks.spread(observed), tol=1e-3, max_iter=100).moments
    mean, cov = moments[0], moments[1] + np.diag(jitter(blocks))
    rows = _some(features, seed)
    features, observed = features[rows], observed[rows]
    left = leave_out(blocks, mean, cov, features, blocks.spread(observed))
    models = []
    for a in range(len(blocks.kinds)):
        inputs, guess = without(left, blocks, a, np.flatnonzero(observed[:, a]))
        models.append(_model(blocks, inputs, guess, features, observed, a, settings, _draw(rng)))
    return Learnt(mean, cov, models, [])


def _learn_again(
    blocks: Blocks,
    learnt: Learnt,
    features: np.ndarray,
    observed: np.ndarray,
    settings: Settings,
    seed: int,
) -> list[Model]:
    """Models of rows that the first ones fill."""
    rng = np.random.default_rng([seed, 2])
    rows = _some(features, seed)
    features, observed = features[rows], observed[rows]
    filled = _fills(blocks, learnt, features, observed, learnt.rounds)[-1]
    models = []
    for a in range(len(blocks.kinds)):
        known = filled[observed[:, a]]
        inputs, guess = blocks.others(known, a), _given_all(blocks, learnt, known, a)
        models.append(_model(blocks, inputs, guess, features, observed, a, settings, _draw(rng)))
    return models


def _rounds(
    blocks: Blocks, features: np.ndarray, observed: np.ndarray, settings: Settings, seed: int
) -> int:
    """How often to go through the first models: what brings a small one nearest to hidden cells."""
    rng = np.random.default_rng([seed, 1])
    rows = np.sort(rng.permutation(len(features))[:TRIAL_ROWS])
    truth, there = features[rows], observed[rows]
    held = there & (rng.random(there.shape) < TRIAL_HELD)
    where = blocks.spread(held)
    shown, seen = np.where(where, 0.0, truth), there & ~held
    small = settings._replace(trees=min(TRIAL_TREES, settings.trees), sample=None)
    model = _learn_first(blocks, shown, seen, small, seed)
    fills = _fills(blocks, model, shown, seen, ROUNDS)
    return 1 + int(np.argmin([((filled - truth)[where] ** 2).sum() for filled in fills]))


def _some(features: np.ndarray, seed: int) -> np.ndarray:
    """Rows to learn from; all, if their matrices are not too large."""
    most = max(int(CELLS / features.shape[1] ** 2), 2)
    if len(features) <= most:
        return np.arange(len(features))
    return np.sort(np.random.default_rng([seed, 3]).choice(len(features), most, replace=False))


def _draw(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31 - 1))


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
    inputs: np.ndarray,
    guess: np.ndarray,
    features: np.ndarray,
    observed: np.ndarray,
    a: int,
    settings: Settings,
    seed: int,
) -> Model:
    """Learn attribute ``a`` from the rows that have it, given their other features and a guess."""
    rows = np.flatnonzero(observed[:, a])
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
