"""The coefficients of a pooled model as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nanwise.errors import need
from nanwise.pooling.design import INTERCEPT
from nanwise.pooling.rubin import Pooled
from nanwise.pooling.wald import WaldTest


@dataclass(frozen=True, eq=False, repr=False)
class PooledFit:
    """What :func:`nanwise.pool_fit` found.

    Attributes
    ----------
    model : str
        ``linear`` or ``logistic``.
    terms : list of str
        Names of the coefficients.
    pooled : Pooled
        Estimates, standard errors, degrees of freedom and so on, one per term.
    n_rows : int
        Rows with a target.
    imputer : str
        What filled the gaps.
    """

    model: str
    terms: list[str]
    pooled: Pooled
    n_rows: int
    imputer: str

    def columns(self, level: float = 0.95) -> dict[str, np.ndarray]:
        """The columns of the table, in order."""
        found = self.pooled
        low, high = found.interval(level)
        return {
            "estimate": found.estimate,
            "se": found.se,
            "statistic": found.statistic,
            "df": found.df,
            "p_value": found.p_value,
            "low": low,
            "high": high,
            "increase": found.increase,
            "fmi": found.fmi,
        }

    def to_frame(self, level: float = 0.95) -> Any:
        """A pandas DataFrame with a row for each term; ``low`` and ``high`` at that level."""
        pd = need("pandas", "data")
        return pd.DataFrame(self.columns(level), index=pd.Index(self.terms, name="term"))

    def wald(self, terms: Sequence[str] | None = None) -> WaldTest:
        """Test that these coefficients are all 0; None: all but the intercept."""
        terms = [t for t in self.terms if t != INTERCEPT] if terms is None else list(terms)
        strange = [term for term in terms if term not in self.terms]
        if strange or not terms:
            raise ValueError(f"terms must be some of {self.terms}, got {terms}")
        return self.pooled.wald(np.eye(len(self.terms))[[self.terms.index(t) for t in terms]])

    def __repr__(self) -> str:
        columns = {name: [_shown(name, v) for v in col] for name, col in self.columns().items()}
        lines = _aligned(["", *self.terms], [[name, *cells] for name, cells in columns.items()])
        head = (
            f"{self.model} model, {self.n_rows} rows, {self.pooled.m} tables completed by "
            f"{self.imputer}; low and high: 95 % interval"
        )
        return "\n".join([head, *lines])


def _shown(name: str, value: float) -> str:
    if name == "p_value":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if name in ("df", "statistic"):
        return f"{value:.1f}"
    return f"{value:.2f}" if name in ("increase", "fmi") else f"{value:.4g}"


def _aligned(names: list[str], columns: list[list[str]]) -> list[str]:
    left = max(map(len, names))
    widths = [max(map(len, column)) for column in columns]
    return [
        "  ".join(
            [name.ljust(left), *(c[i].rjust(w) for c, w in zip(columns, widths, strict=True))]
        )
        for i, name in enumerate(names)
    ]
