"""Multimodal variational autoencoder: a product of experts, one per attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nanwise.estimators.impute.latent import LatentImputer
from nanwise.registry import method
from nanwise.train.plan import Plan


@method(
    "mvae",
    kind="imputer",
    inputs="mixed",
    summary="Every attribute has an encoder of its own; the product of those that are there is "
    "the posterior.",
    paper="Wu, Goodman: Multimodal Generative Models for Scalable Weakly-Supervised Learning, "
    "NeurIPS 2018",
    when="Few, rich attributes (vectors, categories with many levels), of which some are "
    "missing as a whole.",
    space={"latent": [4, 8, 16], "warm_up": [0.0, 0.4]},
    tiny={"hidden": (8,), "latent": 2, "particles": 16, "plan": Plan(epochs=4)},
)
class MVAEImputer(LatentImputer):
    """Multimodal variational autoencoder: a product of experts, one per attribute.

    Attributes that are missing are left out of the product, in which the prior takes part. The
    bound of the row is trained together with those of single attributes.

    Parameters
    ----------
    hidden : tuple of int, default=(64, 64)
        Widths of the hidden layers of encoder and decoder, beside a linear map from end to end.
    latent : int or None, default=None
        Width of the latent vector; None: half as many as there are features, 2 to 16.
    warm_up : float, default=0.4
        Share of the epochs over which the weight of the divergence from the prior rises to 1.
    singles : int, default=4
        Most attributes per step whose own bound joins that of the row. Bounds of fewer than all are
        scaled up.
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
    net_ : MVAENet
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
        warm_up: float = 0.4,
        singles: int = 4,
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
        self.warm_up = warm_up
        self.singles = singles
        self.numbers = numbers
        self.variance = variance
        self.activation = activation
        self.particles = particles
        self.plan = plan
        self.device = device
        self.kinds = kinds
        self.random_state = random_state

    def _network(self, parts: tuple[Any, ...]) -> Any:
        from nanwise.nets.mixed.mvae import MVAENet

        own = self._own("warm_up", "singles", "particles", "numbers", "variance")
        return MVAENet(parts, latent=self._latent(parts), **own)
