"""What treatments share whose layer starts from a mixture of the incomplete training rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nanwise.estimators.neumiss_start import some_rows
from nanwise.estimators.treatment import Treatment
from nanwise.gaussian.mixture import fit_mixture
from nanwise.train.checks import number, whole

#: also keeps a forged model file from asking for any amount of memory
MOST_UNITS = 2**16


class MixtureTreatment(Treatment):
    """Base of the generalised neurons; a subclass says which layer they form.

    Parameters
    ----------
    units : int
        Number of neurons.
    components : int
        Of the mixture.
    gamma : float
        See :class:`nanwise.nn.InputMixture`.

    Attributes
    ----------
    weights_ : ndarray of shape (components,)
    means_, variances_ : ndarray of shape (components, n_features)
        The mixture by EM over the observed cells of at most 20,000 training rows.
    """

    units: int
    components: int
    gamma: float

    def fit(
        self, values: np.ndarray, observed: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        """Learn the mixture with which training starts."""
        self._check_settings()
        rows = some_rows(len(values))
        part = None if weight is None else weight[rows]
        found = fit_mixture(values[rows], observed[rows], self.components, part).parameters
        self.weights_, self.means_, self.variances_ = found
        return self

    def _check_settings(self) -> None:
        whole("units", self.units)
        if self.units > MOST_UNITS:
            raise ValueError(f"units must be at most {MOST_UNITS}, got {self.units!r}")
        whole("components", self.components)
        number("gamma", self.gamma, least=0.0)

    def _started(self, kind: Any, n_features: int) -> Any:
        """A layer of that kind with the mixture that was learnt."""
        self._check_settings()
        made = kind(n_features, self.units, self.components, self.gamma)
        return made.set_mixture(self.weights_, self.means_, self.variances_)
