"""Conditional variational autoencoder: both halves know what is observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nanwise.estimators.impute.latent import LatentImputer
from nanwise.registry import method
from nanwise.train.plan import Plan


@method(
    "cvae",
    kind="imputer",
    inputs="mixed",
    summary="A variational autoencoder whose encoder and decoder see which cells are observed.",
    paper="Sohn, Lee, Yan: Learning Structured Output Representation Using Deep Conditional "
    "Generative Models, NeurIPS 2015",
    when="Gaps that tell something about the observed values. With gaps completely at random "
    "the marks are noise.",
    space={"latent": [4, 8, 16]},
    tiny={"hidden": (8,), "latent": 2, "particles": 16, "plan": Plan(epochs=4)},
)
class CVAEImputer(LatentImputer):
    """Conditional variational autoencoder: both halves know what is observed.

    As :class:`nanwise.VAEImputer`, with a mark for every attribute that is there as one more input
    of encoder and decoder.

    Parameters
    ----------
    hidden : tuple of int, default=(64, 64)
        Widths of the hidden layers of encoder and decoder, beside a linear map from end to end.
    latent : int or None, default=None
        Width of the latent vector; None: half as many as there are features, 2 to 16.
    hide : float, default=0.2
        Share of the observed attributes that are shown as missing in training, and are to be
        predicted all the same: without any, the decoder never learns what to say of an attribute
        that it is told is missing. 0 as published.
    numbers : {"gaussian", "student"}, default="gaussian"
        Distribution of numbers around what the decoder says.
    variance : {"shared", "own"} or float, default="shared"
        Their variance: one for each column, of each row its own (as published), or fixed.
    activation : str, default="relu"
        relu, gelu, tanh, silu, elu or leaky_relu.
    particles : int, default=200
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
    net_ : CVAENet
        Trained.
    history_ : list of dict
        Losses of the epochs.
    n_iter_ : int
        Number of epochs.
    """

    def __init__(
        self,
        hidden: Sequence[int] = (64, 64),
        latent: int | None = None,
        hide: float = 0.2,
        numbers: str = "gaussian",
        variance: str | float = "shared",
        activation: str = "relu",
        particles: int = 200,
        plan: Plan | None = None,
        device: Any = None,
        kinds: Any = None,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.latent = latent
        self.hide = hide
        self.numbers = numbers
        self.variance = variance
        self.activation = activation
        self.particles = particles
        self.plan = plan
        self.device = device
        self.kinds = kinds
        self.random_state = random_state

    def _network(self, parts: tuple[Any, ...]) -> Any:
        from nanwise.nets.mixed.cvae import CVAENet

        own = self._own("hide", "particles", "numbers", "variance")
        return CVAENet(parts, latent=self._latent(parts), **own)
