"""Chained equations with Bayesian ridge regressions, learnt into plain arrays.

Every column in turn is regressed on its neighbours over the rows in which it is observed, and its
gaps are replaced by the prediction; that is one round. The regressions of all rounds are kept, and
a new row goes through them in the same order, by itself.

The scheme is the deterministic one of scikit-learn's ``IterativeImputer`` (and gives its answers,
see the tests). It is written out here because that class takes no row weights and keeps its models
as objects, and because the small Gram matrix of a regression is several times cheaper to decompose
than its data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nanwise.estimators.impute_core.statistics import weighted_mean

#: precision of the hyper-priors and stopping rule of the evidence iteration, as in scikit-learn
_PRIOR, _RIDGE_TOL, _RIDGE_ROUNDS = 1e-6, 1e-3, 300


class Chain(NamedTuple):
    """What is learnt: R rounds over T target columns, each with P neighbours, of D columns.

    Attributes
    ----------
    start, low, high : ndarray of shape (D,)
        First fill, and the range that predictions are clipped to.
    targets : ndarray of shape (T,)
        Columns in the order in which they are filled.
    neighbours : ndarray of shape (T, P)
        Columns that each target is predicted from.
    coef : ndarray of shape (R, T, P)
    intercept : ndarray of shape (R, T)
    """

    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    targets: np.ndarray
    neighbours: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray


def fit_chain(
    values: np.ndarray,
    observed: np.ndarray,
    weight: np.ndarray,
    *,
    rounds: int = 10,
    tol: float = 1e-3,
    nearest: int | None = None,
    clip: bool = True,
) -> Chain:
    """Learn the regressions from rows with gaps.

    Parameters
    ----------
    values, observed : ndarray of shape (N, D)
    weight : ndarray of shape (N,)
        A row of weight w counts as w equal rows.
    rounds : int
        Most rounds over all columns.
    tol : float
        Stop when no row's fills moved in one round by more, in sum, than ``tol`` times the largest
        observed magnitude.
    nearest : int, optional
        Predict a column only from that many others: those it correlates with most after the first
        fill. The cost of a regression grows with its square.
    clip : bool
        Keep predictions within the range observed in training.
    """
    chain = _start(values, observed, weight, nearest, clip)
    filled = np.where(observed, values, chain.start)
    coefs, intercepts = [], []
    scale = np.abs(values[observed]).max(initial=0.0)
    for _ in range(rounds if chain.neighbours.size else 0):
        before = filled.copy()
        coef, intercept = _learn_round(filled, observed, weight, chain)
        coefs.append(coef)
        intercepts.append(intercept)
        if np.abs(filled - before).sum(axis=1).max() < tol * scale:
            break
    shape = (len(coefs), *chain.neighbours.shape)
    return chain._replace(
        coef=np.reshape(coefs, shape), intercept=np.reshape(intercepts, shape[:2])
    )


def apply_chain(chain: Chain, values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Rows without gaps, in float64; each row by itself."""
    filled = np.where(observed, values, chain.start).astype(np.float64, copy=False)
    rows = [np.flatnonzero(~observed[:, target]) for target in chain.targets]
    for coef, intercept in zip(chain.coef, chain.intercept, strict=True):
        for t, target in enumerate(chain.targets):
            if len(rows[t]):
                inputs = filled[np.ix_(rows[t], chain.neighbours[t])]
                guess = inputs @ coef[t] + intercept[t]
                filled[rows[t], target] = np.clip(guess, chain.low[target], chain.high[target])
    return filled


def bayesian_ridge(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
    """Coefficients and intercept of a Bayesian ridge regression.

    Noise precision and prior precision are set by MacKay's evidence iteration. All of it happens in
    the eigenbasis of the weighted Gram matrix, where one step costs P operations.
    """
    total = weight.sum()
    x_mean, y_mean = weight @ x / total, weight @ y / total
    root = np.sqrt(weight)
    x, y = (x - x_mean) * root[:, None], (y - y_mean) * root
    power, basis = np.linalg.eigh(x.T @ x)
    power = np.maximum(power, 0.0)
    moment, square = basis.T @ (x.T @ y), float(y @ y)
    coef = basis @ _evidence(power, moment, square, total, basis)
    return coef, float(y_mean - x_mean @ coef)


def _evidence(
    power: np.ndarray, moment: np.ndarray, square: float, total: float, basis: np.ndarray
) -> np.ndarray:
    """Posterior mean in the eigenbasis after the precisions have settled."""
    noise, prior = 1.0 / (square / total + float(np.finfo(np.float64).eps)), 1.0
    old = None
    for _ in range(_RIDGE_ROUNDS):
        coef = moment / (power + prior / noise)
        error = max(float(square - 2 * coef @ moment + coef @ (power * coef)), 0.0)
        freedom = float((noise * power / (prior + noise * power)).sum())
        prior = (freedom + 2 * _PRIOR) / (float(coef @ coef) + 2 * _PRIOR)
        noise = (total - freedom + 2 * _PRIOR) / (error + 2 * _PRIOR)
        if old is not None and np.abs(basis @ (coef - old)).sum() < _RIDGE_TOL:
            break
        old = coef
    return moment / (power + prior / noise)


def _start(
    values: np.ndarray, observed: np.ndarray, weight: np.ndarray, nearest: int | None, clip: bool
) -> Chain:
    """Chain with first fill, ranges, order and neighbours, and no round yet."""
    start = weighted_mean(values, observed, weight)
    low, high = np.full_like(start, -np.inf), np.full_like(start, np.inf)
    if clip:
        low = np.where(observed, values, np.inf).min(axis=0, initial=np.inf)
        high = np.where(observed, values, -np.inf).max(axis=0, initial=-np.inf)
    seen = np.flatnonzero(observed.any(axis=0))
    gaps = weight @ ~observed[:, seen]
    targets = seen[np.argsort(gaps, kind="stable")]
    neighbours = _neighbours(np.where(observed, values, start), weight, seen, targets, nearest)
    empty = np.zeros((0, *neighbours.shape))
    return Chain(start, low, high, targets, neighbours, empty, empty[..., 0:0].reshape(0, 0))


def _neighbours(
    filled: np.ndarray,
    weight: np.ndarray,
    seen: np.ndarray,
    targets: np.ndarray,
    nearest: int | None,
) -> np.ndarray:
    """For each target all other seen columns, or the most correlated ones, in column order."""
    others = np.array([seen[seen != target] for target in targets], dtype=np.int64)
    others = others.reshape(len(targets), max(len(seen) - 1, 0))
    if nearest is None or nearest >= others.shape[1]:
        return others
    centred = filled - weight @ filled / weight.sum()
    covariance = (centred * weight[:, None]).T @ centred
    spread = np.sqrt(np.maximum(np.diag(covariance), np.finfo(np.float64).tiny))
    closeness = np.abs(covariance) / spread / spread[:, None]
    best = np.argsort(
        -np.take_along_axis(closeness[targets], others, axis=1), axis=1, kind="stable"
    )
    return np.sort(np.take_along_axis(others, best[:, :nearest], axis=1), axis=1)


def _learn_round(
    filled: np.ndarray, observed: np.ndarray, weight: np.ndarray, chain: Chain
) -> tuple[np.ndarray, np.ndarray]:
    """One round of regressions; the gaps of ``filled`` are replaced in place."""
    coefs, intercepts = np.zeros(chain.neighbours.shape), np.zeros(len(chain.targets))
    for t, target in enumerate(chain.targets):
        there = observed[:, target]
        inputs = filled[:, chain.neighbours[t]]
        coefs[t], intercepts[t] = bayesian_ridge(
            inputs[there], filled[there, target], weight[there]
        )
        guess = inputs[~there] @ coefs[t] + intercepts[t]
        filled[~there, target] = np.clip(guess, chain.low[target], chain.high[target])
    return coefs, intercepts
