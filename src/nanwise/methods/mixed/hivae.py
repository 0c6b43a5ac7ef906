"""HI-VAE: mixture prior and a likelihood for every kind of attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nanwise.estimators.impute.latent import LatentImputer
from nanwise.registry import method
from nanwise.train.plan import Plan


@method(
    "hivae",
    kind="imputer",
    inputs="mixed",
    summary="A variational autoencoder with a mixture prior and a likelihood per kind of "
    "attribute.",
    paper="Nazábal, Olmos, Ghahramani, Valera: Handling Incomplete Heterogeneous Data Using "
    "VAEs, Pattern Recognition 2020",
    when="Tables of mixed kinds (counts, categories, ordinal answers, skewed numbers) with "
    "groups in them.",
    space={"components": [5, 10, 20], "latent": [2, 5, 10]},
    tiny={"hidden": (8,), "latent": 2, "components": 3, "particles": 16, "plan": Plan(epochs=4)},
)
class HIVAEImputer(LatentImputer):
    """HI-VAE: mixture prior and a likelihood for every kind of attribute.

    A component of a mixture, a latent vector around the centre of the component, and a short vector
    for each attribute, from which its likelihood comes. ``hidden=()`` makes the encoders linear, as
    published; scales come from the training rows instead of every batch.

    Parameters
    ----------
    hidden : tuple of int, default=(64,)
        Widths of the hidden layers of encoder and decoder, beside a linear map from end to end.
    latent : int or None, default=None
        Width of the latent vector; None: half as many as there are features, 2 to 16.
    components : int, default=10
        Components of the mixture.
    width : int, default=5
        Width of the vector between the latent one and each attribute.
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
    net_ : HIVAENet
        Trained.
    history_ : list of dict
        Losses of the epochs.
    n_iter_ : int
        Number of epochs.
    """

    def __init__(
        self,
        hidden: Sequence[int] = (64,),
        latent: int | None = None,
        components: int = 10,
        width: int = 5,
        activation: str = "relu",
        particles: int = 200,
        plan: Plan | None = None,
        device: Any = None,
        kinds: Any = None,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.latent = latent
        self.components = components
        self.width = width
        self.activation = activation
        self.particles = particles
        self.plan = plan
        self.device = device
        self.kinds = kinds
        self.random_state = random_state

    def _network(self, parts: tuple[Any, ...]) -> Any:
        from nanwise.nets.mixed.hivae import HIVAENet

        own = self._own("components", "width", "particles")
        return HIVAENet(parts, latent=self._latent(parts), **own)
