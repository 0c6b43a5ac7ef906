"""Every treatment that fills gaps, as an imputer of tables of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from nanwise import registry
from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.features import Features
from nanwise.estimators.treatment import Treatment


class FillImputer(Imputer):
    """Fill gaps by a treatment such as ``mean``, ``knn``, ``iterative``, ``em`` or ``softimpute``.

    Numbers are standardised and every level of a category is a column of 0 and 1 while the
    treatment works; afterwards the level with the largest value is taken.

    Parameters
    ----------
    treatment : str or Treatment, default="iterative"
        One that fills every gap (``nanwise methods``).
    kinds : sequence, mapping or None
        What the columns are, see :class:`nanwise.data.attributes.Layout`.
    random_state : int, RandomState or None
        Not used by treatments; there so that all imputers are called alike.

    Attributes
    ----------
    treatment_ : Treatment
        Fitted.
    """

    def __init__(
        self, treatment: Any = "iterative", kinds: Any = None, random_state: Any = None
    ) -> None:
        self.treatment = treatment
        self.kinds = kinds
        self.random_state = random_state

    def _check_settings(self) -> None:
        if isinstance(self.treatment, str):
            found = registry.find(self.treatment, kind="treatment")
            if not found.fills:
                able = ", ".join(m.name for m in registry.known("treatment") if m.fills)
                raise ValueError(f"{found.name!r} does not fill gaps; treatments that do: {able}")
        elif not isinstance(self.treatment, Treatment):
            raise TypeError(
                f"treatment must be a name or a Treatment, got {type(self.treatment).__name__}"
            )

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        self.features_ = Features(self.layout_).fit(codes)
        named = isinstance(self.treatment, str)
        self.treatment_ = registry.find(self.treatment).make() if named else clone(self.treatment)
        self.centre_ = 0.0
        features, there = self._spread(codes)
        self.centre_ = features.sum(axis=0) / np.maximum(there.sum(axis=0), 1)
        self.treatment_.fit(*self._spread(codes))

    def _fill(self, codes: np.ndarray) -> np.ndarray:
        filled, there = self.treatment_.prepare(*self._spread(codes))
        if not there.all():  # constants are put in by a treatment's layer, in every batch
            filled = np.where(there, filled, self.treatment_.fill_)
        features = self._with_last(filled + self.centre_)
        return np.where(np.isnan(codes), self.features_.decode(features), codes)

    def _spread(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features around 0, and which are observed; of every category without the last level.

        All levels of a category sum to 1. With the last one among the features, a regression of one
        level on the others would fit perfectly and never look at any other column.
        """
        features, observed = self.features_.encode(codes)
        widths = [part.width for part in self.features_.parts_]
        kept = np.ones(features.shape[1], dtype=bool)
        kept[self._last_levels()] = False
        there = np.repeat(observed, widths, axis=1)[:, kept]
        return np.where(there, features[:, kept] - self.centre_, 0.0), there

    def _with_last(self, filled: np.ndarray) -> np.ndarray:
        """All features again: the last level of a category has what the others leave of 1."""
        last = self._last_levels()
        whole = np.insert(filled, last - np.arange(len(last)), 0.0, axis=1)
        for place, width in zip(last, self._widths("categorical"), strict=True):
            whole[:, place] = 1 - whole[:, place - width + 1 : place].sum(axis=1)
        return whole

    def _last_levels(self) -> np.ndarray:
        """Places of the last levels of categories among the features."""
        parts = self.features_.parts_
        ends = np.cumsum([part.width for part in parts]) - 1
        return ends[[part.kind == "categorical" for part in parts]]

    def _widths(self, kind: str) -> list[int]:
        return [part.width for part in self.features_.parts_ if part.kind == kind]


def make_imputer(name: str, **params: Any) -> Imputer:
    """The imputer of that name, or the treatment of that name as an imputer.

    Parameters
    ----------
    name : str
        See ``nanwise methods``.
    **params
        Of the imputer; for a treatment its own and ``kinds``.
    """
    if name in {found.name for found in registry.known("imputer")}:
        return registry.find(name).make(**params)
    names = imputer_names()
    if name not in names:
        raise ValueError(f"no imputer is called {name!r}; known: {', '.join(names)}")
    own = {key: params.pop(key) for key in ("kinds", "random_state") if key in params}
    return FillImputer(registry.find(name).make(**params), **own)


def imputer_names() -> list[str]:
    """Names of all imputers, those that are treatments included."""
    fills = [found.name for found in registry.known("treatment", inputs="table") if found.fills]
    return sorted(fills + [found.name for found in registry.known("imputer")])
