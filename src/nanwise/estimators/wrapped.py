"""Any scikit-learn transformer as a treatment, and the rule for what ``gaps=`` may be."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from nanwise import registry
from nanwise.estimators.treatment import Treatment
from nanwise.missing import Observed, reopen


class Wrapped(Treatment):
    """A scikit-learn transformer that takes NaN and leaves none, for example ``SimpleImputer``.

    Parameters
    ----------
    transformer : estimator
        Something with ``fit`` and ``transform``; cloned, never changed.
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Fit a clone of the transformer on the rows in NaN form; weights do not reach it."""
        self.transformer_ = clone(self.transformer).fit(reopen(Observed(values, observed)))
        return self

    def prepare(self, values: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Transform the rows; the number of columns may change."""
        out = self.transformer_.transform(reopen(Observed(values, observed)))
        out = np.asarray(out.toarray() if hasattr(out, "toarray") else out, dtype=np.float64)
        if np.isnan(out).any():
            raise ValueError(
                f"{type(self.transformer).__name__} left gaps; a transformer given as gaps= must "
                "fill them all (for scikit-learn's imputers: keep_empty_features=True)"
            )
        return out, np.ones(out.shape, dtype=bool)

    def layer(self, n_features: int) -> Any:
        """Nothing is left to do."""
        from nanwise.nn.fill import Plain

        return Plain(n_features)


def resolve(gaps: Any) -> Treatment:
    """A fresh, unfitted treatment: from a name, a treatment, an imputer or another transformer."""
    if isinstance(gaps, str):
        if gaps in {found.name for found in registry.known("imputer")}:
            return Wrapped(registry.find(gaps).make())
        return registry.find(gaps, kind="treatment").make()
    if isinstance(gaps, Treatment):
        return clone(gaps)
    if hasattr(gaps, "fit") and hasattr(gaps, "transform"):
        return Wrapped(gaps)
    raise TypeError(
        "gaps must be the name of a treatment or imputer, a Treatment or a transformer, "
        f"got {type(gaps).__name__}"
    )
