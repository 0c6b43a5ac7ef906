"""Estimators that see a row as a Gaussian vector: a regressor and an imputer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    OneToOneFeatureMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nanwise.errors import DataError
from nanwise.estimators.inputs import read_features, warn_about_gaps
from nanwise.estimators.targets import read_numbers, read_weight
from nanwise.estimators.whole_fit import all_or_nothing
from nanwise.gaussian.conditional import conditional_mean, conditional_sample
from nanwise.gaussian.em import fit_rows
from nanwise.gaussian.moments import Moments
from nanwise.missing import observe


class _Gaussian(BaseEstimator):
    """What both share: settings, and moments from rows with gaps."""

    def __init__(
        self, shrinkage: float | None = None, tol: float = 1e-4, max_iter: int = 500
    ) -> None:
        self.shrinkage = shrinkage
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, rows: np.ndarray, sample_weight: Any) -> None:
        weight = None if sample_weight is None else read_weight(sample_weight, len(rows))
        values, observed = observe(rows)
        found = fit_rows(
            values,
            observed,
            weight,
            shrinkage=self.shrinkage,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.mean_, self.covariance_ = found.moments
        self.widen_ = found.widen
        self.log_likelihood_ = list(found.log_likelihood)
        self.n_iter_, self.converged_ = max(found.n_iter, 1), found.converged

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class EMRegressor(MultiOutputMixin, RegressorMixin, _Gaussian):
    """Linear regression on rows with gaps, through the joint Gaussian of target and features.

    Mean and covariance of (y, x) are found by expectation maximisation; the prediction is
    ``E[y | what is observed of x]``. It is the best one possible if (y, x) is Gaussian and values
    are missing completely at random or at random (given what is observed).

    Parameters
    ----------
    shrinkage : float of at least 0 and below 1, optional
        Share of a prior of independent columns; 0 is maximum likelihood, None a share that falls
        with the square of rows per column (see :func:`nanwise.gaussian.em.fit_gaussian`).
    tol : float, default=1e-4
        The search ends when a step changes no standardised mean or covariance by more.
    max_iter : int, default=500
        Most steps.

    Attributes
    ----------
    mean_ : ndarray of shape (n_outputs + n_features,)
        Mean of (y, x).
    covariance_ : ndarray of shape (n_outputs + n_features, n_outputs + n_features)
    log_likelihood_ : list of float
        Per row, before each step.
    n_iter_ : int
    converged_ : bool
    n_outputs_ : int
    flat_ : bool
        Whether predictions have shape (n_rows,).
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A column that was constant or never observed in training has no influence on predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import EMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X.sum(axis=1)
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> EMRegressor().fit(X, y).predict([[1.0, 1.0], [1.0, np.nan]]).round(1).tolist()
    [2.0, 1.1]
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the moments of target and features.

        Parameters
        ----------
        X : array or DataFrame of shape (n_rows, n_features)
            NaN, None, NA and null are gaps.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
            The target. One of several may have gaps.
        sample_weight : array of shape (n_rows,), optional
            A row of weight w counts as w equal rows.

        Returns
        -------
        self
        """
        X = read_features(self, X, reset=True)
        y, self.flat_ = read_numbers(y, type(self).__name__)
        check_consistent_length(X, y)
        warn_about_gaps(X, getattr(self, "feature_names_in_", None))
        self.n_outputs_ = y.shape[1]
        self._learn(np.concatenate([y, X], axis=1), sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Expectation of the target of each row, shape (n_rows,) or (n_rows, n_outputs)."""
        check_is_fitted(self)
        X = read_features(self, X, reset=False)
        unknown = np.full((len(X), self.n_outputs_), np.nan)
        both = np.concatenate([unknown, X], axis=1)
        answer = conditional_mean(both, Moments(self.mean_, self.covariance_))
        return answer[:, 0] if self.flat_ else answer[:, : self.n_outputs_]


class GaussianImputer(OneToOneFeatureMixin, TransformerMixin, _Gaussian):
    """Fill gaps with their expectation given what is observed in the row.

    Mean and covariance are found by expectation maximisation. Observed cells stay as they are, bit
    for bit; a row with nothing observed gets the mean; :meth:`sample` gives draws instead of
    expectations, for multiple imputation.

    Parameters
    ----------
    shrinkage : float of at least 0 and below 1, optional
        Share of a prior of independent columns; 0 is maximum likelihood, None a share that falls
        with the square of rows per column (see :func:`nanwise.gaussian.em.fit_gaussian`).
    tol : float, default=1e-4
        The search ends when a step changes no standardised mean or covariance by more.
    max_iter : int, default=500
        Most steps.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    covariance_ : ndarray of shape (n_features, n_features)
    widen_ : ndarray of shape (n_features,)
        What the noise of draws is multiplied by, near 1 with many rows per column (see
        :class:`nanwise.gaussian.em.GaussianFit`).
    log_likelihood_ : list of float
        Per row, before each step.
    n_iter_ : int
    converged_ : bool
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A constant column is filled with its value, a column never observed with 0.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import GaussianImputer
    >>> X = np.array([[1.0, 2.0], [2.0, 4.1], [3.0, 5.9], [4.0, np.nan]])
    >>> GaussianImputer(shrinkage=0).fit_transform(X)[3].round(1).tolist()
    [4.0, 7.9]
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the moments.

        Parameters
        ----------
        X : array or DataFrame of shape (n_rows, n_features)
            Numbers; NaN, None, NA and null are gaps.
        y : None
            Not used.
        sample_weight : array of shape (n_rows,), optional
            A row of weight w counts as w equal rows.

        Returns
        -------
        self
        """
        X = self._read(X, reset=True)
        warn_about_gaps(X, getattr(self, "feature_names_in_", None))
        self._learn(X, sample_weight)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Rows with gaps filled, shape (n_rows, n_features)."""
        check_is_fitted(self)
        return conditional_mean(self._read(X, reset=False), self._moments())

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Rows with gaps filled by draws from their distribution given what is observed.

        Parameters
        ----------
        X : array or DataFrame of shape (n_rows, n_features)
        n : int
            Number of draws of every row.
        random_state : int, RandomState or None
            Seed.

        Returns
        -------
        ndarray of shape (n, n_rows, n_features)
        """
        check_is_fitted(self)
        X = self._read(X, reset=False)
        rng = check_random_state(random_state)
        return conditional_sample(X, self._moments(), n, rng, self.widen_)

    def _moments(self) -> Moments:
        return Moments(self.mean_, self.covariance_)

    def _read(self, X: Any, reset: bool) -> np.ndarray:
        X = read_features(self, X, reset=reset)
        if self.encoder_ is not None:
            column = next(c for c in self.encoder_.schema.columns if c.kind != "numeric")
            raise DataError(
                f"GaussianImputer takes columns of numbers, but column {column.name!r} is "
                f"{column.kind}; leave it out or encode it first"
            )
        return X
