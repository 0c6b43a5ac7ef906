"""MisGAN: generative adversarial networks learnt from incomplete rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanwise.estimators.impute.generating import GeneratingImputer
from nanwise.registry import method
from nanwise.train.checks import number, whole
from nanwise.train.plan import Plan


@method(
    "misgan",
    kind="imputer",
    inputs="mixed",
    summary="Generators of rows, of patterns of gaps and of fills, each against a critic.",
    paper="Li, Jiang, Marlin: MisGAN: Learning from Incomplete Data with Generative Adversarial "
    "Networks, ICLR 2019",
    when="New rows are wanted as well as fills, and there are thousands of rows to learn from. "
    "Slower than GAIN and less exact than chained equations.",
    space={"gamma": [0.0, 30.0, 100.0], "latent": [16, 64]},
    tiny={"iterations": 20, "hidden": (16,), "latent": 4},
)
class MisGANImputer(GeneratingImputer):
    """Fill gaps by an imputer that plays against a generator of whole rows.

    One generator makes rows and one makes patterns of gaps, such that rows with these gaps cannot
    be told from those observed; an imputer fills gaps such that its rows cannot be told from those
    of the first generator. All distances are Wasserstein distances with a gradient penalty.

    Parameters
    ----------
    hidden : sequence of int, default=(128, 256)
        Widths of the hidden layers of the generators; those of the critics are in reverse.
    latent : int, default=32
        Width of the noise behind a row.
    alpha : float, default=0.1
        Weight, for the generator of patterns, of how well rows with gaps are told apart.
    beta : float, default=0.1
        Weight, for the generator of rows, of how well filled rows are told apart.
    gamma : float, default=100.0
        Weight of the imputer's squared error where the truth is known; 0 as published.
    hide : float, default=0.2
        Share of the observed cells that the imputer does not see in a step, and whose squared error
        counts with the others; 0 as published.
    penalty : float, default=10.0
        Weight of the gradient penalty.
    critics : int, default=5
        Steps of the critics for one of the generators, and of the imputer if ``gamma`` is 0.
    iterations : int, default=3000
        Steps of the critics if ``plan`` is None.
    plan : Plan or None
        How to train. None stands for ``Plan(batch=128, lr=1e-3, optimizer="adam", weight_decay=0,
        beta1=0.5, beta2=0.9, schedule="cosine")`` with as many epochs as make ``iterations`` steps.
    device : {None, "cpu", "cuda", "cuda:<n>", "auto"}
    kinds : sequence, mapping or None
        What the columns are, see :class:`nanwise.data.attributes.Layout`.
    random_state : int, RandomState or None

    Attributes
    ----------
    net_, history_, n_iter_
        The networks and their training; ``losses`` has those of all players.

    Notes
    -----
    As published: ``gamma=0, hide=0``, ``latent=128`` and
    ``Plan(epochs=1000, batch=64, lr=1e-4, optimizer="adam", weight_decay=0, beta1=0.5, beta2=0.9,
    schedule=None)`` (the imputer at twice that rate).

    :meth:`transform` is the mean over 16 fixed noises. :meth:`sample` draws fresh noise, levels
    from their probabilities and, with ``hide`` above 0, errors of numbers of the size seen on
    hidden cells.
    """

    samples = True
    scale = "minmax"

    def __init__(
        self,
        hidden: Sequence[int] = (128, 256),
        latent: int = 32,
        alpha: float = 0.1,
        beta: float = 0.1,
        gamma: float = 100.0,
        hide: float = 0.2,
        penalty: float = 10.0,
        critics: int = 5,
        iterations: int = 3000,
        plan: Plan | None = None,
        device: Any = None,
        kinds: Any = None,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.latent = latent
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.hide = hide
        self.penalty = penalty
        self.critics = critics
        self.iterations = iterations
        self.plan = plan
        self.device = device
        self.kinds = kinds
        self.random_state = random_state

    def _check_settings(self) -> None:
        for name in ("latent", "critics", "iterations"):
            whole(name, getattr(self, name))
        for name in ("alpha", "beta", "gamma", "penalty"):
            number(name, getattr(self, name), least=0.0)
        number("hide", self.hide, least=0.0, below=1.0)
        super()._check_settings()

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        self.n_rows_ = len(codes)
        super()._learn(codes, seed)

    def _default_plan(self) -> Plan:
        steps = math.ceil(getattr(self, "n_rows_", 128) / 128)
        return Plan(
            epochs=math.ceil(self.iterations / steps),
            optimizer="adam",
            weight_decay=0.0,
            beta1=0.5,
            beta2=0.9,
        )

    def _network(self, parts: tuple[Any, ...]) -> Any:
        from nanwise.nets.mixed.misgan import MisGANNet

        return MisGANNet(
            parts,
            self.hidden,
            self.latent,
            alpha=self.alpha,
            beta=self.beta,
            gamma=self.gamma,
            penalty=self.penalty,
            critics=self.critics,
            hide=self.hide,
        )
