"""GAIN, generative adversarial imputation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanwise.estimators.impute.net import NetImputer
from nanwise.registry import method
from nanwise.train.checks import number, one_of, whole
from nanwise.train.plan import Plan


@method(
    "gain",
    kind="imputer",
    inputs="mixed",
    summary="A generator fills gaps such that a discriminator cannot tell them from values.",
    paper="Yoon, Jordon, van der Schaar: GAIN: Missing Data Imputation using Generative "
    "Adversarial Nets, ICML 2018",
    when="Thousands of rows with relations that are not linear. Small tables, and tables where "
    "intervals matter, are better served by chained equations or the latent variable models.",
    space={"alpha": [10.0, 100.0], "hint_rate": [0.5, 0.9], "hide": [0.1, 0.3]},
    tiny={"iterations": 60, "hidden": (16,)},
)
class GAINImputer(NetImputer):
    """Fill gaps by a generator that plays against a discriminator.

    The generator fills a row's gaps; the discriminator tells, cell by cell, what was observed and
    what was filled, helped by a hint. The published game shows the generator every value whose
    squared error it is scored on, so that all it learns about gaps comes from the discriminator;
    here a share of the observed cells is hidden from it in every step by default, and these count
    in the squared error.

    Parameters
    ----------
    hidden : sequence of int or None, default=(128, 128)
        Widths of the hidden layers of the generator, beside a linear map from end to end; those of
        the discriminator are a quarter as wide. None: two as wide as there are features in both
        networks, and no such map, as published.
    alpha : float, default=100.0
        Weight of the squared error in the generator's loss.
    hint : {"code", "paper"}, default="code"
        Whether what is not revealed is told as missing and scored like the rest (the authors'
        code), or told as 1/2 and the only thing that is scored (the paper).
    hint_rate : float, default=0.9
        Share of the cells of which the discriminator is told what they are.
    hide : float, default=0.2
        Share of the observed cells hidden from the generator in each step; 0 as published.
    repeat : float, default=0.3
        Weight of the squared error of cells that the generator sees, relative to those hidden from
        it. Above 0 it keeps the network from fitting single rows of small tables; more costs
        accuracy on large ones.
    noise : float, default=0.01
        What the generator sees in a gap is uniform between 0 and this.
    scale : {"standard", "minmax"}, default="standard"
        How numbers are scaled. As published: "minmax", and answers stay within the observed range.
    iterations : int, default=500
        Steps if ``plan`` is None.
    plan : Plan or None
        How to train. None stands for ``Plan(batch=128, lr=1e-2, optimizer="adam",
        weight_decay=0, schedule="cosine")`` with as many epochs as make ``iterations`` steps, and
        ``lr=1e-3`` if ``hidden`` is None.
    device : {None, "cpu", "cuda", "cuda:<n>", "auto"}
    kinds : sequence, mapping or None
        What the columns are, see :class:`nanwise.data.attributes.Layout`.
    random_state : int, RandomState or None

    Attributes
    ----------
    net_, history_, n_iter_
        The networks and their training; ``losses`` has those of both players.

    Notes
    -----
    The authors' code of 2020 is ``GAINImputer(hidden=None, hide=0, scale="minmax",
    iterations=10000, plan=Plan(...))`` with ``alpha=100``, that of 2018 has ``alpha=10`` and 5000
    iterations; both train without a schedule.

    :meth:`sample` draws fresh noise for the generator, levels from their probabilities and, with
    ``hide`` above 0, errors of numbers of the size seen on hidden cells. Without ``hide`` the noise
    is the only thing that varies, and draws differ far less than values do.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import GAINImputer
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 1)) * [1.0, 2.0, -1.0]
    >>> x[0, 0] = np.nan
    >>> filled = GAINImputer(random_state=0).fit(x).transform(x)
    >>> bool(abs(filled[0, 0] - x[0, 1] / 2) < 0.2)
    True
    """

    samples = True

    def __init__(
        self,
        hidden: Sequence[int] | None = (128, 128),
        alpha: float = 100.0,
        hint: str = "code",
        hint_rate: float = 0.9,
        hide: float = 0.2,
        repeat: float = 0.3,
        noise: float = 0.01,
        scale: str = "standard",
        iterations: int = 500,
        plan: Plan | None = None,
        device: Any = None,
        kinds: Any = None,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.alpha = alpha
        self.hint = hint
        self.hint_rate = hint_rate
        self.hide = hide
        self.repeat = repeat
        self.noise = noise
        self.scale = scale
        self.iterations = iterations
        self.plan = plan
        self.device = device
        self.kinds = kinds
        self.random_state = random_state

    def _check_settings(self) -> None:
        whole("iterations", self.iterations)
        number("alpha", self.alpha, least=0.0)
        number("hint_rate", self.hint_rate, least=0.0, below=1.0 + 1e-9)
        number("hide", self.hide, least=0.0, below=1.0)
        number("repeat", self.repeat, above=0.0)
        number("noise", self.noise, least=0.0)
        one_of("hint", self.hint, ("code", "paper"))
        one_of("scale", self.scale, ("standard", "minmax"))
        super()._check_settings()

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        self.n_rows_ = len(codes)
        super()._learn(codes, seed)

    def _default_plan(self) -> Plan:
        steps = math.ceil(getattr(self, "n_rows_", 128) / 128)
        return Plan(
            epochs=math.ceil(self.iterations / steps),
            lr=1e-3 if self.hidden is None else 1e-2,
            optimizer="adam",
            weight_decay=0.0,
        )

    def _network(self, parts: tuple[Any, ...]) -> Any:
        from nanwise.nets.mixed.gain import GAINNet

        return GAINNet(
            parts,
            self.hidden,
            alpha=self.alpha,
            hint=self.hint,
            hint_rate=self.hint_rate,
            noise=self.noise,
            hide=self.hide,
            repeat=self.repeat,
            bounded=self.scale == "minmax",
        )
