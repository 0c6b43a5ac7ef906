"""Little's test of whether values are missing completely at random."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc

from nanwise.gaussian.conditional import read_rows
from nanwise.gaussian.em import fit_rows
from nanwise.gaussian.moments import scales
from nanwise.gaussian.patterns import distinct, solve, stacks

#: least eigenvalue of the correlation matrix at which columns still count as independent
_DEPENDENT = 1e-6


class MCARTest(NamedTuple):
    """Result of :func:`mcar_test`.

    Attributes
    ----------
    statistic : float
        Little's d2.
    df : int
        Degrees of freedom: the observed columns summed over patterns, less the number of columns.
    p_value : float
        Small when the means differ between patterns by more than chance. NaN if ``df`` is 0: with
        one pattern there is nothing to compare.
    n_patterns : int
        Distinct patterns with at least one value.
    """

    statistic: float
    df: int
    p_value: float
    n_patterns: int


def mcar_test(X: Any) -> MCARTest:
    """Little's (1988) test of *missing completely at random*.

    If gaps fall completely at random, the rows of every pattern come from one distribution. The
    test compares the means of the patterns with those of all rows, estimated by maximum likelihood
    for a Gaussian:

        d2 = sum over patterns p of n_p (mean_p - mu_o)' S_oo^-1 (mean_p - mu_o)

    which is about chi-square with ``sum k_p - d`` degrees of freedom. A small p-value speaks
    against completely at random. A large one is no proof: gaps that depend on values without moving
    the means of what is seen, or on the missing value itself, can stay unnoticed. Heavy tails make
    p-values of tables with many rare patterns too small.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        Numbers; NaN is a gap. Rows with nothing observed, columns never observed and constant
        columns say nothing and are left out.

    Returns
    -------
    MCARTest

    Raises
    ------
    ValueError
        Fewer rows than columns, or a column that the others determine: the covariance cannot be
        inverted.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import mcar_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> X[X[:, 0] > 0.5, 1] = np.nan
    >>> mcar_test(X).p_value < 0.001
    True
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"X must be a table of shape (n, d), got shape {X.shape}")
    values, observed = read_rows(X, X.shape[1])
    columns = _varying(values, observed)
    rows = observed[:, columns].any(axis=1)
    values, observed = values[rows][:, columns], observed[rows][:, columns]
    if not len(columns):
        return MCARTest(0.0, 0, float("nan"), 0)
    _refuse_few_rows(*values.shape)
    first, which = distinct(observed)
    df = int(observed[first].sum()) - len(columns)
    if df == 0:
        return MCARTest(0.0, 0, float("nan"), len(first))
    statistic = _distance(values, observed, observed[first], which, columns)
    return MCARTest(statistic, df, float(chdtrc(df, statistic)), len(first))


def _varying(values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Columns in which at least two different values were observed."""
    low = np.min(values, axis=0, where=observed, initial=np.inf)
    high = np.max(values, axis=0, where=observed, initial=-np.inf)
    return np.flatnonzero(low < high)


def _refuse_few_rows(n: int, d: int) -> None:
    if n <= d:
        raise ValueError(
            f"the test needs more rows than columns, got {n} rows with a value and {d} columns "
            "that vary; leave out columns"
        )


def _distance(
    values: np.ndarray,
    observed: np.ndarray,
    kinds: np.ndarray,
    which: np.ndarray,
    columns: np.ndarray,
) -> float:
    """Little's d2, on the scale of correlations."""
    mean, cov = fit_rows(values, observed, shrinkage=0.0, tol=1e-6, max_iter=1000).moments
    scale = scales(cov)
    cov = cov / scale / scale[:, None]
    _refuse_dependent(cov, columns)
    counts = np.bincount(which, minlength=len(kinds))
    sums = np.zeros(kinds.shape)
    np.add.at(sums, which, np.where(observed, (values - mean) / scale, 0.0))
    apart = sums / counts[:, None]
    return float(counts @ (apart * solve(stacks(kinds), cov, apart).solution).sum(axis=1))


def _refuse_dependent(correlation: np.ndarray, columns: np.ndarray) -> None:
    power, axes = np.linalg.eigh(correlation)
    if power[0] < _DEPENDENT:
        column = int(columns[np.abs(axes[:, 0]).argmax()])
        raise ValueError(
            f"column {column} is determined by the others (least eigenvalue of the correlations "
            f"{power[0]:.1e}), so the test has no answer; leave it out"
        )
