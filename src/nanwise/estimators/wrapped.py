"""Any scikit-learn transformer as a treatment, and the rule for what ``gaps=`` may be."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from nanwise import registry
from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.many import samplers, samples
from nanwise.estimators.treatment import Treatment
from nanwise.missing import Observed, reopen


class Wrapped(Treatment):
    """A scikit-learn transformer that takes NaN and leaves none, for example ``SimpleImputer``.

    Parameters
    ----------
    transformer : estimator
        Something with ``fit`` and ``transform``; cloned, never changed.
    draws : int, default=1
        Above 1, rows are completed that many times by draws instead of once by ``transform``.
    random_state : int, default=0
        Seed of the draws, and of a transformer that has a ``random_state`` of None.
    """

    def __init__(self, transformer: Any, draws: int = 1, random_state: int = 0) -> None:
        self.transformer = transformer
        self.draws = draws
        self.random_state = random_state

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Fit a clone of the transformer on the rows in NaN form; weights do not reach it."""
        fresh = clone(self.transformer)
        if fresh.get_params(deep=False).get("random_state", 0) is None:
            fresh.set_params(random_state=self.random_state)
        self.transformer_ = fresh.fit(reopen(Observed(values, observed)))
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

    def complete(
        self, values: np.ndarray, observed: np.ndarray, alone: bool = True
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows, ``draws`` times, in the form of :meth:`prepare`.

        Parameters
        ----------
        values, observed : ndarray of shape (N, D)
        alone : bool, default=True
            Whether every row is drawn by itself, all rows from the same random numbers: the
            answer for a row then depends on nothing but the row, and rows that differ little get
            answers that differ little. False: all rows at once, each with random numbers of its
            own, as one wants it for training.
        """
        rows = np.asarray(reopen(Observed(values, observed)), dtype=np.float64)
        drawn = np.repeat(rows[None], self.draws, axis=0)
        gappy = np.flatnonzero(~observed.all(axis=1))
        if len(gappy):
            drawn[:, gappy] = self._alone(rows[gappy]) if alone else self._sample(rows[gappy])
        return [(one, np.ones(one.shape, dtype=bool)) for one in drawn]

    def _alone(self, rows: np.ndarray) -> np.ndarray:
        if isinstance(self.transformer_, Imputer):
            return self._sample(rows, alone=True)
        return np.concatenate([self._sample(row[None]) for row in rows], axis=1)

    def _sample(self, rows: np.ndarray, **how: Any) -> np.ndarray:
        seed = self.random_state
        return np.asarray(self.transformer_.sample(rows, self.draws, random_state=seed, **how))

    def layer(self, n_features: int) -> Any:
        """Nothing is left to do."""
        from nanwise.nn.fill import Plain

        return Plain(n_features)


def resolve(gaps: Any, draws: int = 1, random_state: int = 0) -> Treatment:
    """A fresh, unfitted treatment: from a name, a treatment, an imputer or another transformer.

    ``draws`` above 1 asks for an imputer that samples; ``random_state`` seeds whatever has no seed
    of its own.
    """
    if isinstance(gaps, Treatment):
        found = clone(gaps)
    elif isinstance(gaps, str) and gaps not in _imputers():
        found = registry.find(gaps, kind="treatment").make()
    else:
        found = Wrapped(unwrapped(gaps), draws, random_state)
    if draws > 1 and not (isinstance(found, Wrapped) and samples(found.transformer)):
        raise TypeError(
            f"draws={draws} needs an imputer that samples as gaps: one of {', '.join(samplers())}; "
            f"got gaps={gaps!r}"
        )
    return found


def unwrapped(gaps: Any) -> Any:
    """What the user sees and sets: the imputer or treatment of that name, or the object itself."""
    if isinstance(gaps, str):
        return registry.find(gaps).make() if gaps in _imputers() else resolve(gaps)
    if hasattr(gaps, "fit") and hasattr(gaps, "transform"):
        return gaps
    raise TypeError(
        "gaps must be the name of a treatment or imputer, a Treatment or a transformer, "
        f"got {type(gaps).__name__}"
    )


def _imputers() -> set[str]:
    return {found.name for found in registry.known("imputer")}
