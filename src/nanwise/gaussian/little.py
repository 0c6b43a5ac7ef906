"""Little's test of whether values are missing completely at random."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.special import chdtrc

from nanwise.gaussian.em import fit_rows
from nanwise.gaussian.moments import Moments, scales
from nanwise.gaussian.patterns import distinct, solve, stacks
from nanwise.missing import gaps_to_nan, observe, refuse_infinite

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
        A column with no more values than there are columns, that the others determine, or that is
        hardly ever observed together with them: the covariance cannot be inverted.

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
    names = list(X.columns) if hasattr(X, "columns") else None
    values, observed = observe(_numbers(X, names))
    columns = _varying(values, observed)
    shown = [str(j) if names is None else repr(names[j]) for j in columns]
    rows = observed[:, columns].any(axis=1)
    values, observed = values[rows][:, columns], observed[rows][:, columns]
    if not len(columns):
        return MCARTest(0.0, 0, float("nan"), 0)
    first, which = distinct(observed)
    df = int(observed[first].sum()) - len(columns)
    if df == 0:
        return MCARTest(0.0, 0, float("nan"), len(first))
    _refuse_few_values(observed, shown)
    moments = fit_rows(values, observed, shrinkage=0.0, tol=1e-5).moments
    _refuse_dependent(moments.cov, shown)
    statistic = _distance(values, observed, moments, first, which)
    return MCARTest(statistic, df, float(chdtrc(df, statistic)), len(first))


def _numbers(X: Any, names: list[Any] | None) -> np.ndarray:
    """The table in float64."""
    if issparse(X):
        raise TypeError(
            f"mcar_test takes an array or a frame, got {type(X).__name__}; pass X.toarray() if its "
            "absent cells are zeros, nanwise.missing.from_sparse if they are gaps"
        )
    try:
        X = gaps_to_nan(np.asarray(X)).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"mcar_test takes columns of numbers; leave out or encode the others ({error})"
        ) from error
    if X.ndim != 2:
        raise ValueError(f"X must be a table of shape (n, d), got shape {X.shape}")
    refuse_infinite(X, names)
    return X


def _varying(values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Columns in which at least two different values were observed."""
    low = np.min(values, axis=0, where=observed, initial=np.inf)
    high = np.max(values, axis=0, where=observed, initial=-np.inf)
    return np.flatnonzero(low < high)


def _refuse_few_values(observed: np.ndarray, names: list[str]) -> None:
    """With so few values a column fits the others exactly and the likelihood has no maximum."""
    counts, d = observed.sum(axis=0), len(names)
    least = int(counts.argmin())
    if counts[least] <= d:
        raise ValueError(
            f"column {names[least]} has {counts[least]} values, the test needs more than there are "
            f"columns that vary, {d}; leave it or others out"
        )


def _refuse_dependent(cov: np.ndarray, names: list[str]) -> None:
    scale = scales(cov)
    power, axes = np.linalg.eigh(cov / scale / scale[:, None])
    if power[0] < _DEPENDENT:
        name = names[int(np.abs(axes[:, 0]).argmax())]
        raise ValueError(
            f"column {name} is determined by the others, or too little of it is observed together "
            f"with them (least eigenvalue of the correlations {power[0]:.1e}); leave it out"
        )


def _distance(
    values: np.ndarray, observed: np.ndarray, moments: Moments, first: np.ndarray, which: np.ndarray
) -> float:
    """Little's d2, on the scale of correlations."""
    scale, counts = scales(moments.cov), np.bincount(which)
    rest = np.where(observed, (values - moments.mean) / scale, 0.0)
    apart = np.zeros((len(first), len(scale)))
    np.add.at(apart, which, rest)
    apart /= counts[:, None]
    correlation = moments.cov / scale / scale[:, None]
    solution = solve(stacks(observed[first]), correlation, apart).solution
    return float(counts @ (apart * solution).sum(axis=1))
