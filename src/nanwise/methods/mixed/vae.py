"""Variational autoencoder over incomplete rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nanwise.estimators.impute.latent import LatentImputer
from nanwise.registry import method
from nanwise.train.plan import Plan


@method(
    "vae",
    kind="imputer",
    inputs="mixed",
    summary="A variational autoencoder trained on what is observed; gaps by importance sampling.",
    paper="Kingma, Welling: Auto-Encoding Variational Bayes, ICLR 2014",
    when="A simple density of the rows. MIWAE has the tighter bound and is usually more accurate.",
    space={"latent": [4, 8, 16]},
    tiny={"hidden": (8,), "latent": 2, "particles": 16, "plan": Plan(epochs=4)},
)
class VAEImputer(LatentImputer):
    """Variational autoencoder over incomplete rows.

    The evidence lower bound is that of the observed cells; the encoder sees zeros in gaps.

    Parameters
    ----------
    hidden : tuple of int, default=(64, 64)
        Widths of the hidden layers of encoder and decoder, beside a linear map from end to end.
    latent : int or None, default=None
        Width of the latent vector; None: half as many as there are features, 2 to 16.
    hide : float, default=0.0
        Share of the observed attributes that the encoder is not shown in training.
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
    net_ : VAENet
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
        hide: float = 0.0,
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
        from nanwise.nets.mixed.vae import VAENet

        own = self._own("hide", "particles", "numbers", "variance")
        return VAENet(parts, latent=self._latent(parts), **own)
