"""Where the training of a NeuMiss network starts: at moments estimated from the incomplete rows.

Mean and covariance come from EM. With them every row's best prediction is known, if values are
missing at random: that of a linear model on the row's conditional expectation. The network first
gets the matrices of a Chebyshev iteration for the inverse covariance of every pattern, and is then
fitted to these predictions, which are free of the noise of the target. What is left to training on
the target is what the moments miss if values are not missing at random.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.gaussian.conditional import expectation
from nanwise.gaussian.em import fit_rows
from nanwise.gaussian.moments import Moments
from nanwise.train.plan import Plan

#: more rows than that do not make a better start, only a slower one
MAX_ROWS = 20_000
#: agreement of successive EM steps, enough for a start
TOL = 1e-3
MAX_ITER = 100
#: least penalty of the logistic model: classes that can be told apart have no finite solution
LEAST_PENALTY = 1e-4
#: how much lower than all others the intercept of a class without a row is
UNSEEN = 5.0
#: share of the largest eigenvalue down to which the Chebyshev iteration is accurate at the start
LOWER = 1 / 60
BATCH = 256
FITTING_STEPS = 10_000
LEAST_EPOCHS, MOST_EPOCHS = 25, 50
#: decay = PULL * parameters / rows, see benchmarks/neumiss_gap.py
PULL = 40.0
MOST_PULL = 300.0


def start_regression(net: Any, source: Any, seed: int, device: str | None = None) -> None:
    """Set the weights of ``net`` (:class:`nanwise.nn.NeuMiss`) for a target of numbers.

    Parameters
    ----------
    net : NeuMiss
        With residual, unless its depth is at most 1.
    source : DenseSource
        Training rows; the target (N, K) is NaN where there is none.
    seed : int
        Of the order of rows.
    device : str, optional
        Where to train.
    """
    values, observed, target, weight = _some_rows(source)
    scored = ~np.isnan(target)
    joint = row_moments(
        np.hstack([np.where(scored, target, 0.0), values]), np.hstack([scored, observed]), weight
    )
    k = target.shape[1]
    moments = Moments(joint.mean[k:], joint.cov[k:, k:])
    completed = _complete(values, observed, moments)
    penalty = shrinkage_for(values, observed)
    fits = [
        _least_squares(completed[there], y[there], weight[there], penalty)
        for y, there in zip(target.T, scored.T, strict=True)
    ]
    coef, intercept = np.stack([coef for coef, _ in fits]), np.array([b for _, b in fits])
    _fit_to(net, source, moments, (coef, intercept), seed, device)


def start_classification(net: Any, source: Any, seed: int, device: str | None = None) -> None:
    """The same for classes: the target (N,) holds their numbers; one output for two of them."""
    values, observed, target, weight = _some_rows(source)
    moments = row_moments(values, observed, weight)
    completed = _complete(values, observed, moments)
    penalty = max(shrinkage_for(values, observed), LEAST_PENALTY)
    linear = _logistic(completed, target, weight, penalty, net.out_features)
    _fit_to(net, source, moments, linear, seed, device)


def _fit_to(
    net: Any,
    source: Any,
    moments: Moments,
    linear: tuple[np.ndarray, np.ndarray],
    seed: int,
    device: str | None,
) -> None:
    """Fit the network to a linear model on conditional expectations; decay then pulls it there."""
    import torch
    from torch import nn

    from nanwise.estimators.sources import DenseSource
    from nanwise.nets.losses import squared
    from nanwise.nets.table_net import TableNet
    from nanwise.train.loop import train

    coef, intercept = linear
    net.set_moments(*moments, coef, intercept, iteration="chebyshev", lower=LOWER)
    values, observed = source.values.double().numpy(), source.observed.numpy()
    if observed.all():
        # The network gives the linear model already: Adam would only blow up rounding errors.
        net.stay()
        return
    aim = _complete(values, observed, moments) @ coef.T + intercept
    dtype = source.values.dtype
    precision = str(dtype).removeprefix("torch.")
    weight = None if source.weight is None else source.weight.numpy()
    rows = DenseSource(values, observed, torch.as_tensor(aim, dtype=dtype), weight, precision)
    trainable = TableNet(net, nn.Identity(), squared)
    train(trainable, rows, fitting_plan(len(rows), precision), seed=seed, device=device)
    net.train().stay()


def fitting_plan(n_rows: int, precision: str = "float32") -> Plan:
    """How long the network is fitted to the predictions of the moments."""
    steps = max(n_rows // BATCH, 1)
    epochs = min(max(FITTING_STEPS // steps, LEAST_EPOCHS), MOST_EPOCHS)
    return Plan(epochs=epochs, batch=BATCH, lr=4e-3, weight_decay=0.0, precision=precision)


def decay_for(net: Any, n_rows: int) -> float:
    """Weight decay towards the start: the more parameters to a row, the stronger."""
    n_parameters = sum(parameter.numel() for parameter in net.parameters())
    return min(PULL * n_parameters / n_rows, MOST_PULL)


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


def _some_rows(source: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Values, observed, target and weight of the rows that the moments are learnt from."""
    rows = some_rows(len(source))
    weight = np.ones(len(rows)) if source.weight is None else source.weight.double().numpy()[rows]
    return (
        source.values.numpy()[rows].astype(np.float64),
        source.observed.numpy()[rows],
        source.target.numpy()[rows],
        weight,
    )


def _complete(values: np.ndarray, observed: np.ndarray, moments: Moments) -> np.ndarray:
    return np.where(observed, values, expectation(values, observed, moments))


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
