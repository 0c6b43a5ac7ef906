"""Where the training of a NeuMiss network starts: at moments estimated from the incomplete rows.

Mean and covariance come from EM; the matrices then are those of a Chebyshev iteration for the
inverse covariance of every pattern, and the linear model is fitted to the rows that the network
completes with them. What is left to training is what the iteration misses at this depth, and what
the moments miss if values are not missing at random.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.gaussian.em import fit_rows
from nanwise.gaussian.moments import Moments

#: more rows than that do not make a better start, only a slower one
MAX_ROWS = 20_000
#: agreement of successive EM steps, enough for a start
TOL = 1e-3
MAX_ITER = 100
#: least penalty of the logistic model: classes that can be told apart have no finite solution
LEAST_PENALTY = 1e-4
#: how much lower than all others the intercept of a class without a row is
UNSEEN = 5.0


def start_regression(net: Any, values: Any, observed: Any, target: Any, weight: Any) -> None:
    """Set the weights of ``net`` (:class:`nanwise.nn.NeuMiss`) for a target of numbers.

    Parameters
    ----------
    net : NeuMiss
        With residual, unless its depth is at most 1.
    values, observed : Tensor, shape (N, D)
        Training rows, 0 in gaps.
    target : Tensor, shape (N, K)
        NaN where there is none.
    weight : Tensor, shape (N,), or None
    """
    values, observed, target, weight = _some_rows(values, observed, target, weight)
    scored = ~np.isnan(target)
    joint = row_moments(
        np.hstack([np.where(scored, target, 0.0), values]), np.hstack([scored, observed]), weight
    )
    k = target.shape[1]
    completed = _complete_by(net, joint.mean[k:], joint.cov[k:, k:], values, observed)
    penalty = shrinkage_for(values, observed)
    fits = [
        _least_squares(completed[there], y[there], weight[there], penalty)
        for y, there in zip(target.T, scored.T, strict=True)
    ]
    _set_linear(net, np.stack([coef for coef, _ in fits]), np.array([b for _, b in fits]))


def start_classification(net: Any, values: Any, observed: Any, target: Any, weight: Any) -> None:
    """The same for classes: ``target`` (N,) holds their numbers, ``net`` has one output for two."""
    values, observed, target, weight = _some_rows(values, observed, target, weight)
    moments = row_moments(values, observed, weight)
    completed = _complete_by(net, *moments, values, observed)
    penalty = max(shrinkage_for(values, observed), LEAST_PENALTY)
    _set_linear(net, *_logistic(completed, target, weight, penalty, net.out_features))


def row_moments(values: np.ndarray, observed: np.ndarray, weight: Any = None) -> Moments:
    """Mean and covariance of rows with gaps, shrunk where there are few rows.

    A row of weight 2 equals the row given twice, and only the ratios of weights matter.
    """
    if weight is not None:
        values, observed, weight = (part[weight > 0] for part in (values, observed, weight))
    shrinkage = shrinkage_for(values, observed)
    fit = fit_rows(values, observed, weight, shrinkage=shrinkage, tol=TOL, max_iter=MAX_ITER)
    return fit.moments


def shrinkage_for(values: np.ndarray, observed: np.ndarray) -> float:
    """``1 / (1 + (n / d)^2)``, n the mean number of values in a column of the *distinct* rows.

    Distinct, because rows may come repeated or with weights of any size.
    """
    d = values.shape[1]
    distinct = np.unique(np.hstack([np.where(observed, values, 0.0), observed]), axis=0)
    n = float(distinct[:, d:].sum(axis=0).mean())
    return 1 / (1 + (n / d) ** 2) if n else 0.5


def some_rows(n: int) -> np.ndarray:
    """At most ``MAX_ROWS`` of n row numbers, always the same ones."""
    if n <= MAX_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MAX_ROWS, replace=False))


def _some_rows(
    values: Any, observed: Any, target: Any, weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rows = some_rows(len(values))
    weight = np.ones(len(rows)) if weight is None else weight.double().numpy()[rows]
    return (
        values.numpy()[rows].astype(np.float64),
        observed.numpy()[rows],
        target.numpy()[rows],
        weight,
    )


def _complete_by(
    net: Any, mean: np.ndarray, cov: np.ndarray, values: np.ndarray, observed: np.ndarray
) -> np.ndarray:
    """Set the iteration of the network and let it complete the rows."""
    import torch

    net.set_moments(mean, cov, np.zeros(tuple(net.coef.shape)), iteration="chebyshev")
    with torch.inference_mode():
        rows = torch.as_tensor(values, dtype=net.mean.dtype)
        return net.complete(rows, torch.as_tensor(observed)).double().numpy()


def _least_squares(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, penalty: float
) -> tuple[np.ndarray, float]:
    """Ridge regression with a penalty per unit of weight; the intercept is free."""
    share = weight / weight.sum()
    x_mean, y_mean = share @ x, share @ y
    rest = x - x_mean
    gram = (rest * share[:, None]).T @ rest + penalty * np.eye(x.shape[1])
    coef = np.linalg.solve(gram, (rest * share[:, None]).T @ (y - y_mean))
    return coef, float(y_mean - coef @ x_mean)


def _logistic(
    x: np.ndarray, labels: np.ndarray, weight: np.ndarray, penalty: float, n_outputs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (n_outputs, D) and intercepts of a logistic model."""
    from sklearn.linear_model import LogisticRegression

    coef, intercept = np.zeros((n_outputs, x.shape[1])), np.zeros(n_outputs)
    if len(np.unique(labels)) < 2:
        return coef, intercept
    model = LogisticRegression(C=1 / (penalty * weight.sum()), max_iter=300)
    model.fit(x, labels, sample_weight=weight)
    if n_outputs == 1:
        return model.coef_, model.intercept_
    both = len(model.coef_) == 1  # two classes only: one row stands for their difference
    intercept[:] = model.intercept_.min() - UNSEEN
    signs = np.array([[-0.5], [0.5]])
    coef[model.classes_] = signs * model.coef_ if both else model.coef_
    intercept[model.classes_] = signs[:, 0] * model.intercept_ if both else model.intercept_
    return coef, intercept


def _set_linear(net: Any, coef: np.ndarray, intercept: np.ndarray) -> None:
    import torch

    with torch.no_grad():
        net.coef.copy_(torch.as_tensor(coef))
        net.intercept.copy_(torch.as_tensor(intercept))
