"""MIWAE, a deep latent variable model trained by importance-weighted bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nanwise.estimators.impute.latent import LatentImputer
from nanwise.registry import method
from nanwise.train.plan import Plan


@method(
    "miwae",
    kind="imputer",
    inputs="mixed",
    summary="A deep latent variable model of what is observed; gaps by importance sampling.",
    paper="Mattei, Frellsen: MIWAE: Deep Generative Modelling and Imputation of Incomplete "
    "Data Sets, ICML 2019",
    when="Some thousand rows with dependences that are not linear, gaps at random, several "
    "imputations wanted. With few rows em is as accurate and faster.",
    space={"latent": [4, 8, 16], "k": [5, 20]},
    tiny={"hidden": (8,), "latent": 2, "k": 3, "particles": 16, "plan": Plan(epochs=4)},
)
class MIWAEImputer(LatentImputer):
    """MIWAE, a deep latent variable model trained by importance-weighted bounds.

    The bound of the likelihood of the observed cells tightens with ``k``. A gap is filled by the
    weighted mean over importance samples; draws are samples resampled by weight.

    Parameters
    ----------
    hidden : tuple of int, default=(64, 64)
        Widths of the hidden layers of encoder and decoder, beside a linear map from end to end.
    latent : int or None, default=None
        Width of the latent vector; None: half as many as there are features, 2 to 16.
    k : int, default=5
        Samples of the bound in training.
    hide : float, default=0.0
        Share of the observed attributes that the encoder is not shown in training.
    numbers : {"gaussian", "student"}, default="gaussian"
        Distribution of numbers around what the decoder says. Student's, as published, cares less
        about far values: of a skewed column the fills are nearer to the median than to the mean.
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
    net_ : MIWAENet
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
        k: int = 5,
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
        self.k = k
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
        from nanwise.nets.mixed.miwae import MIWAENet

        own = self._own("k", "hide", "particles", "numbers", "variance")
        return MIWAENet(parts, latent=self._latent(parts), **own)
