"""A linear or logistic model of a table with gaps: impute m times, fit m times, pool."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from nanwise.estimators.impute.many import as_sampler, impute_many
from nanwise.pooling.design import Design, read_target, with_target
from nanwise.pooling.models import MODELS
from nanwise.pooling.rubin import pool
from nanwise.pooling.summary import PooledFit


class _Spec(NamedTuple):
    model: str
    intercept: bool


def pool_fit(
    estimator: Any,
    X: Any,
    y: Any,
    m: int = 5,
    imputer: Any = "mice",
    *,
    refit: str | None = "auto",
    random_state: Any = None,
) -> PooledFit:
    """Coefficients of a regression on a table with gaps, with intervals that count the gaps.

    The target takes part in the imputation: columns filled without it would have lost a part of
    their relation to it. Rows without a target help to fill the others and are then left out.

    Parameters
    ----------
    estimator : {"linear", "logistic"} or scikit-learn's LinearRegression or LogisticRegression
        The model. A logistic one must be without penalty (``C=np.inf``), for which alone the
        intervals hold.
    X : array or DataFrame of shape (n_rows, n_columns)
        Numbers, categories (one coefficient for every level but the first), dates; with gaps.
    y : array of shape (n_rows,)
        Numbers, or two classes.
    m : int, default=5
        Number of completed tables; of order 100 times the share of rows with gaps for figures that
        another seed would repeat.
    imputer : str or imputer, default="mice"
        One that samples; cloned, never changed.
    refit : {"auto", "bootstrap", None}, default="auto"
        Whether the imputer is fitted again for every table, see :func:`nanwise.impute_many`.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    PooledFit
        Prints as a table; ``to_frame()``, ``pooled``, ``wald()``.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import GaussianImputer, pool_fit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = 1 + X @ [2.0, 0.0] + rng.normal(size=300)
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> found = pool_fit("linear", X, y, imputer=GaussianImputer(), random_state=0)
    >>> found.terms, found.pooled.estimate.round(0).tolist()
    (['intercept', 'x0', 'x1'], [1.0, 2.0, 0.0])
    """
    spec = _read_estimator(estimator)
    design = Design(X, spec.intercept)
    target = read_target(y, spec.model)
    joint, name = with_target(X, target)
    sampler = _tell_kind(as_sampler(imputer), spec.model, name, np.shape(X)[1])
    tables = impute_many(sampler, joint, m, random_state, refit)
    rows = ~np.isnan(target)
    fits = [MODELS[spec.model](design.matrix(table)[rows], target[rows]) for table in tables]
    coef, covariance = (np.stack(part) for part in zip(*fits, strict=True))
    return PooledFit(
        model=spec.model,
        terms=design.terms,
        pooled=pool(coef, covariance, n=int(rows.sum()), k=len(design.terms)),
        n_rows=int(rows.sum()),
        imputer=imputer if isinstance(imputer, str) else type(imputer).__name__,
    )


def _read_estimator(estimator: Any) -> _Spec:
    if isinstance(estimator, str) and estimator in MODELS:
        return _Spec(estimator, True)
    from sklearn.linear_model import LinearRegression, LogisticRegression

    if isinstance(estimator, LinearRegression):
        return _Spec("linear", bool(estimator.fit_intercept))
    if isinstance(estimator, LogisticRegression):
        if not np.isinf(estimator.C) and getattr(estimator, "penalty", "") is not None:
            raise ValueError(
                f"{estimator!r} has a penalty, under which standard errors do not hold; give "
                "LogisticRegression(C=np.inf)"
            )
        return _Spec("logistic", bool(estimator.fit_intercept))
    raise ValueError(
        "estimator must be 'linear', 'logistic', LinearRegression() or "
        f"LogisticRegression(C=np.inf), got {estimator!r}"
    )


def _tell_kind(imputer: Any, model: str, name: str, place: int) -> Any:
    """An unfitted clone that knows of a binary target in the column after those of X."""
    fresh = clone(imputer)
    if model == "linear" or "kinds" not in fresh.get_params(deep=False):
        return fresh
    key, given = name or place, fresh.kinds
    if given is None or hasattr(given, "items"):
        return fresh.set_params(kinds={**(given or {}), key: "binary"})
    return fresh.set_params(kinds=[*given, "binary"])
