"""not-MIWAE: MIWAE with a model of why values are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nanwise.estimators.impute.latent import LatentImputer
from nanwise.registry import method
from nanwise.train.checks import one_of
from nanwise.train.plan import Plan


@method(
    "not_miwae",
    kind="imputer",
    inputs="mixed",
    summary="MIWAE with a model of why values are missing, for gaps that depend on the missing "
    "value.",
    paper="Ipsen, Mattei, Frellsen: not-MIWAE: Deep Generative Modelling with Missing Not at "
    "Random Data, ICLR 2021",
    when="It is known that values go missing because of what they are (high incomes, readings "
    "above a limit). With gaps at random use miwae.",
    space={"latent": [2, 4, 8], "known": [None, "high", "low"]},
    tiny={"hidden": (8,), "latent": 2, "k": 3, "particles": 256, "plan": Plan(epochs=4)},
)
class NotMIWAEImputer(LatentImputer):
    """not-MIWAE: MIWAE with a model of why values are missing.

    The log odds that a value is missing are linear in the value itself; they join the bound, the
    weights of the fillings and those of the draws. What cannot be seen must be assumed: a flexible
    decoder explains cut distributions without any mechanism, so that ``hidden=()``, factor
    analysis, is the default.

    Parameters
    ----------
    hidden : tuple of int, default=()
        Widths of the hidden layers of encoder and decoder, beside a linear map from end to end.
    latent : int or None, default=None
        Width of the latent vector; None: half as many as there are features, 2 to 16.
    mechanism : {"self", "linear"}, default="self"
        Whether a value goes missing by itself, or by the whole row.
    known : {None, "high", "low"}, default=None
        With ``mechanism="self"``: that high, or low, numbers go missing is known. It is seldom seen
        from the data alone.
    k : int, default=10
        Samples of the bound in training.
    numbers : {"gaussian", "student"}, default="gaussian"
        Distribution of numbers around what the decoder says.
    variance : {"shared", "own"} or float, default="shared"
        Their variance: one for each column, of each row its own (as published), or fixed.
    activation : str, default="relu"
        relu, gelu, tanh, silu, elu or leaky_relu.
    particles : int, default=500
        Importance samples behind every answer; time goes with it, memory does not.
    plan : Plan or None
        How to train. None: 2000 steps of 128 rows, but 5 to 400 epochs, AdamW with a learning
        rate of 5e-3 that falls to 0.
    device : {None, "cpu", "cuda", "cuda:<n>", "auto"}
    kinds : sequence, mapping or None
        What the columns are, see :class:`nanwise.data.attributes.Layout`.
    random_state : int, RandomState or None

    Attributes
    ----------
    net_ : NotMIWAENet
        Trained.
    history_ : list of dict
        Losses of the epochs.
    n_iter_ : int
        Number of epochs.
    """

    def __init__(
        self,
        hidden: Sequence[int] = (),
        latent: int | None = None,
        mechanism: str = "self",
        known: str | None = None,
        k: int = 10,
        numbers: str = "gaussian",
        variance: str | float = "shared",
        activation: str = "relu",
        particles: int = 500,
        plan: Plan | None = None,
        device: Any = None,
        kinds: Any = None,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.latent = latent
        self.mechanism = mechanism
        self.known = known
        self.k = k
        self.numbers = numbers
        self.variance = variance
        self.activation = activation
        self.particles = particles
        self.plan = plan
        self.device = device
        self.kinds = kinds
        self.random_state = random_state

    def _check_settings(self) -> None:
        from nanwise.nets.mixed.not_miwae import KNOWN, MECHANISMS

        super()._check_settings()
        one_of("mechanism", self.mechanism, MECHANISMS)
        one_of("known", self.known, KNOWN)

    def _network(self, parts: tuple[Any, ...]) -> Any:
        from nanwise.nets.mixed.not_miwae import NotMIWAENet

        own = self._own("mechanism", "known", "k", "particles", "numbers", "variance")
        return NotMIWAENet(parts, latent=self._latent(parts), **own)
