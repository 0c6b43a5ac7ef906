"""Rubin's rules.

Of m completed tables, let Q_i be the estimates and U_i their variances. With the means Q and U and
the variance B of the Q_i,

    T = U + (1 + 1/m) B,    r = (1 + 1/m) B / U,    lambda = (1 + 1/m) B / T                 (1)

are the total variance, its relative increase by the gaps and the share that the gaps have in it.
``(Q - Q0) / sqrt(T)`` has about a t distribution; its degrees of freedom are (Rubin, 1987) (2) or,
if those of the complete table are known to be v_c, (Barnard and Rubin, 1999) (3):

    v_m = (m - 1) / lambda^2                                                                (2)
    1 / v = 1 / v_m + 1 / v_o,    v_o = (1 - lambda) v_c (v_c + 1) / (v_c + 3)              (3)
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import stats

from nanwise.pooling.wald import WaldTest, wald_test
from nanwise.train.checks import number


@dataclass(frozen=True, eq=False)
class Pooled:
    """What several completed tables say together about one number or several.

    All but ``m`` and the covariances are floats for one number and arrays of shape (p,) for p.

    Attributes
    ----------
    m : int
        Number of completed tables.
    estimate : float or ndarray
        Mean of the estimates.
    within : float or ndarray
        Mean of their variances: the uncertainty that there would be without gaps.
    between : float or ndarray
        Variance of the estimates: the uncertainty from the gaps.
    df : float or ndarray
        Degrees of freedom; infinite for a large table without gaps.
    df_complete : float
        Those of the complete table, infinite if not known.
    within_covariance, between_covariance : ndarray of shape (p, p) or None
        If covariance matrices were given.
    """

    m: int
    estimate: Any
    within: Any
    between: Any
    df: Any
    df_complete: float = np.inf
    within_covariance: np.ndarray | None = None
    between_covariance: np.ndarray | None = None

    @property
    def variance(self) -> Any:
        """Total variance of the estimate."""
        return self.within + (1 + 1 / self.m) * self.between

    @property
    def covariance(self) -> np.ndarray:
        """Total covariance matrix, (p, p)."""
        within, between = self._covariances()
        return within + (1 + 1 / self.m) * between

    @property
    def se(self) -> Any:
        """Standard error."""
        return _plain(np.sqrt(self.variance))

    @property
    def increase(self) -> Any:
        """Relative increase of the variance by the gaps, r of (1)."""
        return _ratio((1 + 1 / self.m) * self.between, self.within)

    @property
    def share(self) -> Any:
        """Share of the gaps in the total variance, lambda of (1)."""
        return _ratio((1 + 1 / self.m) * self.between, self.variance)

    @property
    def fmi(self) -> Any:
        """Fraction of the information that is missing (Rubin, 1987, 3.1.10).

        R's mice puts the degrees of freedom of (3) where Rubin has those of (2); its figure does
        not go to 0 when there are no gaps.
        """
        old = _df_large(self.share, self.m)
        return self.share + 2 / ((old + 3) * (1 + self.increase))

    @property
    def statistic(self) -> Any:
        """Estimate over standard error."""
        return _ratio(self.estimate, self.se)

    @property
    def p_value(self) -> Any:
        """Two-sided, of the hypothesis that the number is 0."""
        return _like(2 * stats.t.sf(np.abs(self.statistic), self.df), self.estimate)

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Lower and upper end of the confidence interval."""
        number("level", level, above=0.0, below=1.0)
        half = _like(stats.t.ppf((1 + level) / 2, self.df), self.estimate) * self.se
        return self.estimate - half, self.estimate + half

    def wald(self, contrast: Any = None, value: Any = 0.0) -> WaldTest:
        """Test several numbers, or linear combinations of them, at once.

        Parameters
        ----------
        contrast : array of shape (q, p), optional
            What is tested is ``contrast @ estimate == value``. None: all numbers.
        value : float or array of shape (q,)
        """
        within, between = self._covariances()
        contrast = np.eye(len(within)) if contrast is None else np.atleast_2d(contrast)
        return wald_test(
            contrast @ self.estimate - value,
            contrast @ within @ contrast.T,
            contrast @ between @ contrast.T,
            self.m,
            self.df_complete,
        )

    def _covariances(self) -> tuple[np.ndarray, np.ndarray]:
        if self.within_covariance is None or self.between_covariance is None:
            raise ValueError(
                "only variances were pooled; give pool() covariance matrices, shape (m, p, p), for "
                "a joint covariance or test"
            )
        return self.within_covariance, self.between_covariance

    def __repr__(self) -> str:
        low, high = self.interval()
        parts = {
            "estimate": self.estimate,
            "se": self.se,
            "df": self.df,
            "interval": np.array([low, high]),
            "p_value": self.p_value,
            "fmi": self.fmi,
        }
        shown = (
            f"{name}={np.array2string(np.asarray(v), precision=4, separator=', ')}"
            for name, v in parts.items()
        )
        return f"Pooled(m={self.m}, " + ", ".join(" ".join(s.split()) for s in shown) + ")"


def pool(estimates: Any, variances: Any, n: int | None = None, k: int | None = None) -> Pooled:
    """Combine the estimates from several completed tables by Rubin's rules.

    Parameters
    ----------
    estimates : array of shape (m,) or (m, p)
        One number, or p numbers, from each of m tables.
    variances : array of shape (m,), (m, p) or (m, p, p)
        Their squared standard errors, or covariance matrices.
    n : int, optional
        Rows of the table. None: so many that it does not matter.
    k : int, optional
        Parameters of the model; None: as many as there are estimates.

    Returns
    -------
    Pooled

    Examples
    --------
    >>> from nanwise import pool
    >>> found = pool([0.9, 1.1, 1.3], [0.04, 0.05, 0.06], n=100, k=2)
    >>> round(found.estimate, 2), round(found.se, 3)
    (1.1, 0.321)
    >>> [round(float(end), 2) for end in found.interval()]
    [0.33, 1.87]
    """
    estimates, variances, covariances = _read(estimates, variances)
    m = len(estimates)
    within, between = variances.mean(axis=0), estimates.var(axis=0, ddof=1)
    share = _ratio((1 + 1 / m) * between, within + (1 + 1 / m) * between)
    complete = _df_complete(n, k, estimates)
    inside = across = None
    if covariances is not None:
        inside = covariances.mean(axis=0)
        across = np.atleast_2d(np.cov(estimates, rowvar=False))
    return Pooled(
        m=m,
        estimate=_plain(estimates.mean(axis=0)),
        within=_plain(within),
        between=_plain(between),
        df=_plain(barnard_rubin(share, m, complete)),
        df_complete=complete,
        within_covariance=inside,
        between_covariance=across,
    )


def barnard_rubin(share: Any, m: int, df_complete: float = np.inf) -> Any:
    """Degrees of freedom (3), those of (2) for an infinitely large table."""
    old = _df_large(share, m)
    if np.isinf(df_complete):
        return old
    there = (1 - share) * df_complete * (df_complete + 1) / (df_complete + 3)
    # Of 1 / v = 1 / v_m + 1 / v_o with v_m possibly infinite, v_o possibly 0.
    return there / (1 + there / old)


def _df_large(share: Any, m: int) -> Any:
    with np.errstate(divide="ignore"):
        return (m - 1) / np.square(np.asarray(share, dtype=float))[()]


def _df_complete(n: Any, k: Any, estimates: np.ndarray) -> float:
    if n is None:
        if k is not None:
            raise ValueError(f"k = {k!r} is of use only together with n, the number of rows")
        return np.inf
    k = (1 if estimates.ndim == 1 else estimates.shape[1]) if k is None else k
    for name, value in (("n", n), ("k", k)):
        if not isinstance(value, Real) or isinstance(value, bool):
            raise TypeError(f"{name} must be a number, got {value!r}")
    if not n > k:
        raise ValueError(f"n, the number of rows, must be above k = {k!r}, got {n!r}")
    return float(n) - float(k)


def _read(estimates: Any, variances: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Estimates, variances of the same shape, and covariance matrices if there are any."""
    estimates, variances = (np.asarray(part, dtype=float) for part in (estimates, variances))
    if estimates.ndim not in (1, 2) or len(estimates) < 2:
        raise ValueError(
            "estimates must have shape (m,) or (m, p) with m >= 2 completed tables: the spread "
            f"between them is what the gaps cost; got shape {estimates.shape}"
        )
    joint = estimates.ndim == 2 and variances.shape == (*estimates.shape, estimates.shape[1])
    if not joint and variances.shape != estimates.shape:
        raise ValueError(
            f"variances must have the shape {estimates.shape} of the estimates, or be covariance "
            f"matrices; got shape {variances.shape}"
        )
    covariances = variances if joint else None
    if covariances is not None:
        variances = np.diagonal(covariances, axis1=1, axis2=2)
    if not (np.isfinite(estimates).all() and np.isfinite(variances).all()):
        raise ValueError("estimates and variances must be finite numbers")
    if (variances < 0).any():
        raise ValueError("a variance is negative; give squared standard errors")
    return estimates, variances, covariances


def _ratio(a: Any, b: Any) -> Any:
    """a / b, where 0 / 0 is 0: nothing that comes of nothing."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        return _plain(np.where(a == 0, 0.0, a / b))


def _plain(value: Any) -> Any:
    value = np.asarray(value)
    return float(value) if value.ndim == 0 else value


def _like(value: Any, other: Any) -> Any:
    return float(value) if np.ndim(other) == 0 else np.asarray(value)
