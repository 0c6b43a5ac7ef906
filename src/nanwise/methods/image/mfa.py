"""One mixture of factor analysers for whole pictures, fitted by EM, conditioned on each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nanwise.estimators.image.imputer import ImageImputer
from nanwise.registry import method
from nanwise.train.checks import number, whole

if TYPE_CHECKING:
    from nanwise.completion import MFA
    from nanwise.missing import Observed

#: numbers that the densities answered at once may hold
_ROOM = 1 << 23


@method(
    "mfa",
    kind="imputer",
    inputs="image",
    role="baseline",
    summary="One mixture of factor analysers for all pictures, learnt by EM; exact given a hole.",
    paper="Ghahramani, Hinton: The EM Algorithm for Mixtures of Factor Analyzers, 1996; "
    "Richardson, Weiss: On GANs and GMMs, NeurIPS 2018",
    when="Small pictures in which things have their places. Needs no network and few pictures; "
    "where things move about, DMFA is better.",
    space={"components": [1, 10, 30], "factors": [4, 8, 16]},
    tiny={"components": 2, "factors": 2, "steps": 5},
)
class MFAImputer(ImageImputer):
    """Fill holes from one mixture of factor analysers, conditioned on what is observed.

    EM learns the mixture from the observed pixels of all pictures. Given those of one picture, its
    hole has again such a density, in closed form.

    Parameters
    ----------
    components : int, default=10
        Number of factor analysers in the mixture.
    factors : int, default=8
        Factors of each.
    steps : int, default=50
        Most steps of EM.
    tolerance : float, default=0.01
        Stop when a step raises the log density of a picture by less.
    floor : float, default=1e-4
        Least variance of a pixel.
    prior : float, default=0.1
        The variance of each pixel in a component is learnt as if that many further pictures with
        the variance of the pixel in all pictures had been seen.
    random_state : int, RandomState or None

    Attributes
    ----------
    shape_ : tuple
        (C, H, W) of a picture.
    weights_, means_, factors_, noise_ : ndarray
        (K,), (K, C, H, W), (K, l, C, H, W), (K, C, H, W).
    history_ : list of float
        Objective of EM after every step, per picture.
    n_iter_ : int
        Number of steps.
    """

    def __init__(
        self,
        components: int = 10,
        factors: int = 8,
        steps: int = 50,
        tolerance: float = 0.01,
        floor: float = 1e-4,
        prior: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.components = components
        self.factors = factors
        self.steps = steps
        self.tolerance = tolerance
        self.floor = floor
        self.prior = prior
        self.random_state = random_state

    @property
    def at_once(self) -> int:  # type: ignore[override]
        """Pictures that are answered at once: each brings a whole mixture."""
        cells = self.components * (self.factors + 2) * int(np.prod(self.shape_))
        return min(max(_ROOM // cells, 1), 256)

    def density(self) -> MFA:
        """The mixture for whole pictures, one row: condition it, or draw new pictures from it."""
        import torch

        from nanwise.completion import MFA

        learnt = (self.weights_, self.means_, self.factors_, self.noise_)
        nothing = torch.zeros(1, *self.shape_, dtype=torch.bool)
        weights, means, factors, noise = (torch.as_tensor(part[None]).float() for part in learnt)
        return MFA(weights, means, factors, noise, nothing)

    def _check_settings(self) -> None:
        for name in ("components", "factors", "steps"):
            whole(name, getattr(self, name))
        number("tolerance", self.tolerance, least=0.0)
        number("floor", self.floor, above=0.0)
        number("prior", self.prior, least=0.0)

    def _learn(self, values: np.ndarray, observed: np.ndarray, seed: int) -> None:
        from nanwise.gaussian.factors import fit_factors

        found, self.history_ = fit_factors(
            values.reshape(len(values), -1),
            observed.reshape(len(values), -1),
            self.components,
            self.factors,
            steps=self.steps,
            tolerance=self.tolerance,
            floor=self.floor,
            prior=self.prior,
            rng=seed,
        )
        self.weights_ = found.weights
        self.means_ = found.means.reshape(-1, *self.shape_)
        self.factors_ = found.factors.reshape(*found.factors.shape[:2], *self.shape_)
        self.noise_ = found.noise.reshape(-1, *self.shape_)
        self.n_iter_ = len(self.history_)

    def _density(self, data: Observed) -> MFA:
        return self.density().condition(data)

    # -- saving ----------------------------------------------------------------------------------

    def __nanwise_state__(self) -> dict[str, Any]:
        learnt = {k: v for k, v in vars(self).items() if k.endswith("_")}
        return {"params": self.get_params(deep=False), "learnt": learnt}

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> MFAImputer:
        made = cls(**state["params"])
        for name, value in state["learnt"].items():
            setattr(made, name, value)
        if state["learnt"]:
            made._refuse_misfit()
        return made

    def _refuse_misfit(self) -> None:
        """Refuse a state whose parts do not belong together."""
        k, rank, shape = self.components, self.factors, tuple(self.shape_)
        wanted = ((k,), (k, *shape), (k, rank, *shape), (k, *shape))
        parts = (self.weights_, self.means_, self.factors_, self.noise_)
        if len(shape) != 3 or tuple(part.shape for part in parts) != wanted:
            raise ValueError("the mixture does not fit the shape and the parameters")
