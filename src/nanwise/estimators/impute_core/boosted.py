"""Each attribute by gradient-boosted trees that correct its Gaussian expectation.

In the first round the trees see the other attributes of a row with their gaps as they are, and the
expectation of the attribute itself given what is observed of the others (moments by EM;
:func:`nanwise.estimators.impute_core.leave_out.expectations`): exactly what they see in use. That
which lacks is news to them. In the second round they see rows that the first has filled. Their
inputs are better, though filled with the help of the attribute that they predict: the more gaps,
the less the second answers count.

An attribute of several features, levels or a vector, is boosted along the directions in which most
of its expectation's errors lie.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nanwise.estimators.impute_core.blocks import Blocks
from nanwise.estimators.impute_core.leave_out import conditional, expectations, given_all, jitter
from nanwise.estimators.impute_core.stacked import stack
from nanwise.gaussian.em import fit_rows

#: most directions of one attribute, each of which has trees of its own
DIRECTIONS = 16
#: rows that a further leaf asks for, so that the trees of a small table learn less of its noise
ROWS_PER_LEAF, FEWEST_LEAVES = 200, 4
#: thresholds that a split chooses from; more are slower and hardly better
BINS = 63


class Settings(NamedTuple):
    """How trees are grown."""

    trees: int
    rate: float
    leaves: int
    leaf: int
    penalty: float


class Model(NamedTuple):
    """One attribute of K features, M of whose directions are boosted.

    Attributes
    ----------
    weights : ndarray of shape (2, K)
        Of 1 and of the expectation.
    axes : ndarray of shape (M, K)
        Directions, of length 1 and orthogonal.
    boosted : list of HistGradientBoostingRegressor
        One per direction, over the other features and the expectation.
    """

    weights: np.ndarray
    axes: np.ndarray
    boosted: list[Any]


class Learnt(NamedTuple):
    """Moments of the features and two models per attribute.

    Attributes
    ----------
    mean, cov : ndarray
        Moments (F,) and (F, F).
    first : list of Model
        Learnt beside gaps.
    again : list of Model
        Learnt from rows that the first ones filled.
    share : float
        What the answers of the second ones count: half of the share of cells that are there.
    """

    mean: np.ndarray
    cov: np.ndarray
    first: list[Model]
    again: list[Model]
    share: float


def learn(
    blocks: Blocks, features: np.ndarray, observed: np.ndarray, settings: Settings, seed: int
) -> Learnt:
    """Learn from features (N, F), of which the attributes ``observed`` (N, A) are there."""
    there = blocks.spread(observed)
    moments = fit_rows(features, there, tol=1e-3, max_iter=100).moments
    mean, cov = moments[0], moments[1] + np.diag(jitter(blocks))
    guess = expectations(blocks, mean, cov, features, there)
    gappy = np.where(there, features, np.nan)
    first = []
    for a in range(len(blocks.kinds)):
        rows, own = np.flatnonzero(observed[:, a]), blocks.place(a)
        inputs = _inputs(blocks, gappy[rows], guess[rows, own], a)
        first.append(_model(inputs, features[rows, own], settings, seed))
    learnt = Learnt(mean, cov, first, [], float(observed.mean()) / 2)
    filled = _first_fill(blocks, learnt, features, observed)
    return learnt._replace(again=_learn_again(blocks, learnt, filled, observed, settings, seed))


def fill(blocks: Blocks, learnt: Learnt, features: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Features without gaps; each row by itself."""
    first = _first_fill(blocks, learnt, features, observed)
    again = first.copy()
    for a, model in enumerate(learnt.again):
        rows, own = np.flatnonzero(~observed[:, a]), blocks.place(a)
        if len(rows):
            guess = given_all(blocks, learnt.mean, learnt.cov, first[rows], a)
            answer = _answer(model, _inputs(blocks, first[rows], guess, a))
            again[rows, own] = blocks.clip(a, answer)
    return first + learnt.share * (again - first)


def _first_fill(
    blocks: Blocks, learnt: Learnt, features: np.ndarray, observed: np.ndarray
) -> np.ndarray:
    """The answers of the first models, from what is observed and from nothing else."""
    there = blocks.spread(observed)
    filled = conditional(learnt.mean, learnt.cov, features, there)
    gappy = np.where(there, features, np.nan)
    for a, model in enumerate(learnt.first):
        rows, own = np.flatnonzero(~observed[:, a]), blocks.place(a)
        if len(rows):
            inputs = _inputs(blocks, gappy[rows], filled[rows, own], a)
            filled[rows, own] = blocks.clip(a, _answer(model, inputs))
    return filled


def _learn_again(
    blocks: Blocks,
    learnt: Learnt,
    filled: np.ndarray,
    observed: np.ndarray,
    settings: Settings,
    seed: int,
) -> list[Model]:
    models = []
    for a in range(len(blocks.kinds)):
        known = filled[observed[:, a]]
        guess = given_all(blocks, learnt.mean, learnt.cov, known, a)
        inputs = _inputs(blocks, known, guess, a)
        models.append(_model(inputs, known[:, blocks.place(a)], settings, seed))
    return models


# -- one attribute ---------------------------------------------------------------------------------


class Inputs(NamedTuple):
    """What is known of some rows about an attribute of K features.

    Attributes
    ----------
    guess : ndarray of shape (N, K)
        Its expectation, within the range that was observed.
    all : ndarray of shape (N, F)
        The other features and the guess; NaN in gaps, if these are kept.
    """

    guess: np.ndarray
    all: np.ndarray


def _inputs(blocks: Blocks, rows: np.ndarray, guess: np.ndarray, a: int) -> Inputs:
    guess = blocks.clip(a, guess)
    return Inputs(guess, np.concatenate([blocks.others(rows, a), guess], axis=1))


def _model(inputs: Inputs, y: np.ndarray, settings: Settings, seed: int) -> Model:
    """Learn features (N, K) of an attribute, in the rows that have it."""
    each = zip(y.T, inputs.guess.T, strict=True)
    weights = np.array([stack(*one) for one in each]).reshape(y.shape[1], 2).T
    rest = y - weights[0] - weights[1] * inputs.guess
    # trees with fewer rows have no split
    axes = _directions(rest) if len(y) >= 2 * settings.leaf else np.zeros((0, y.shape[1]))
    targets = (rest @ axis for axis in axes)
    return Model(weights, axes, [_boost(inputs.all, t, settings, seed) for t in targets])


def _answer(model: Model, inputs: Inputs) -> np.ndarray:
    found = model.weights[0] + model.weights[1] * inputs.guess
    for axis, boosted in zip(model.axes, model.boosted, strict=True):
        found += boosted.predict(inputs.all)[:, None] * axis
    return found


def _directions(rest: np.ndarray) -> np.ndarray:
    """Axes (M, K) along which errors (N, K) are largest; none where there are no errors."""
    power, axes = np.linalg.eigh(rest.T @ rest / len(rest))
    # what rounding leaves of a constant, and of levels, which sum to 1
    counts = power > 1e-9
    return axes[:, counts][:, ::-1][:, :DIRECTIONS].T


def _boost(x: np.ndarray, y: np.ndarray, settings: Settings, seed: int) -> Any:
    from sklearn import config_context
    from sklearn.ensemble import HistGradientBoostingRegressor

    leaves = max(min(len(y) // ROWS_PER_LEAF, settings.leaves), FEWEST_LEAVES)
    model = HistGradientBoostingRegressor(
        max_iter=settings.trees,
        learning_rate=settings.rate,
        max_leaf_nodes=min(leaves, settings.leaves),
        min_samples_leaf=settings.leaf,
        l2_regularization=settings.penalty,
        max_bins=BINS,
        early_stopping=False,
        random_state=seed,
    )
    # scikit-learn finds no thresholds where nothing is observed; a constant is not split either
    x = np.where(np.isnan(x).all(axis=0), 0.0, x)
    with config_context(skip_parameter_validation=True, assume_finite=True):
        return model.fit(x, y)
