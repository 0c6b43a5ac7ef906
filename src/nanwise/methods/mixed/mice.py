"""Multiple imputation by chained equations."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.features import Features
from nanwise.estimators.impute_core.blocks import Blocks, make_blocks
from nanwise.estimators.impute_core.mice import Model, Settings, average, draw, expect, learn
from nanwise.registry import method
from nanwise.train.checks import whole


@method(
    "mice",
    kind="imputer",
    inputs="mixed",
    summary="Draws from regressions of each column on the others, whose parameters are drawn too.",
    paper="van Buuren, Groothuis-Oudshoorn: mice: Multivariate Imputation by Chained Equations in "
    "R, JSS 2011",
    when="Several honest completions for pooled estimates, on tables of up to some hundred columns "
    "with nearly linear relations; pmm=True for numbers that are skewed or come in few values.",
    space={"pmm": [False, True]},
    tiny={"burn_in": 5, "sets": 8, "thin": 1, "sweeps": 8},
)
class MICEImputer(Imputer):
    """Fill gaps by chained equations: several draws, or one expectation.

    Numbers by Bayesian linear regression or predictive mean matching, levels by logistic
    regression. The chain of draws runs over the training rows once; parameters are kept along the
    way, and rows, old or new, are drawn by sweeps over their gaps with one set of parameters per
    draw.

    Parameters
    ----------
    pmm : bool, default=False
        Fill a number by the value of a training row with a similar prediction, instead of by the
        prediction and Gaussian noise.
    donors : int, default=5
        Training rows that one is chosen from, with ``pmm``.
    burn_in : int, default=10
        Rounds before parameters are kept.
    sets : int, default=10
        Sets of parameters, of which every draw takes one. Further draws begin with the first set
        again: as good for the distribution of a single cell, but not independent of the draws
        before, as pooling needs them. :func:`nanwise.impute_many` and :func:`nanwise.pool_fit`
        therefore learn at least as many sets as there are tables, and refuse more tables than a
        fitted imputer has sets.
    thin : int, default=3
        Rounds from one set to the next.
    sweeps : int, default=10
        Passes over the gaps of a row in :meth:`sample` and :meth:`transform`.
    kinds : sequence, mapping or None
        What the columns are, see :class:`nanwise.data.attributes.Layout`.
    random_state : int, RandomState or None

    Attributes
    ----------
    sets_ : list
        Kept parameters.
    own_draws_ : int
        Number of sets: draws that can be pooled.
    trace_ : list
        Of each round the mean and the standard deviation of the numbers drawn for gaps, in units
        of the columns' standard deviations, the mean over columns.

    Notes
    -----
    :meth:`transform` makes the sweeps without noise, with the mean of the kept parameters; numbers
    then stay within their observed range.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import MICEImputer
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 1)) + 0.1 * rng.normal(size=(300, 3))
    >>> x[0] = [1.0, 1.0, np.nan]
    >>> draws = MICEImputer(random_state=0).fit(x).sample(x, 50, random_state=0)[:, 0, 2]
    >>> bool(0.8 < draws.mean() < 1.2), bool(0.05 < draws.std() < 0.2)
    (True, True)
    """

    samples = True
    proper = True

    def __init__(
        self,
        pmm: bool = False,
        donors: int = 5,
        burn_in: int = 10,
        sets: int = 10,
        thin: int = 3,
        sweeps: int = 10,
        kinds: Any = None,
        random_state: Any = None,
    ) -> None:
        self.pmm = pmm
        self.donors = donors
        self.burn_in = burn_in
        self.sets = sets
        self.thin = thin
        self.sweeps = sweeps
        self.kinds = kinds
        self.random_state = random_state

    def ready_for(self, n: int) -> Self:
        """Have at least ``n`` sets of parameters, so that as many draws can be pooled.

        Parameters
        ----------
        n : int
            Number of draws.

        Returns
        -------
        self
        """
        return self.set_params(sets=max(self.sets, n))

    def _check_settings(self) -> None:
        for name in ("donors", "burn_in", "sets", "thin", "sweeps"):
            whole(name, getattr(self, name))

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        self.features_ = Features(self.layout_).fit(codes)
        features, observed = self.features_.encode(codes)
        blocks = make_blocks(self.features_.parts_, features, observed)
        settings = Settings(self.burn_in, self.sets, self.thin, self._donors())
        self.blocks_: tuple[Any, ...] = tuple(blocks)
        found = learn(blocks, features, observed, settings, seed)
        self.start_ = found.start
        self.sets_ = [[tuple(model) for model in models] for models in found.sets]
        self.trace_ = [list(step) for step in found.trace]
        self.own_draws_ = len(found.sets)

    def _fill(self, codes: np.ndarray) -> np.ndarray:
        features, observed = self.features_.encode(codes)
        models = average(self._models())
        blocks = Blocks(*self.blocks_)
        filled = expect(blocks, self.start_, models, features, observed, self.sweeps)
        return np.where(np.isnan(codes), self.features_.decode(filled), codes)

    def _draw(self, codes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        features, observed = self.features_.encode(codes)
        blocks, sets = Blocks(*self.blocks_), self._models()
        out = np.empty((n, *codes.shape))
        for k in range(n):
            models = sets[k % len(sets)]
            filled = draw(
                blocks, self.start_, models, features, observed, self.sweeps, self._donors(), rng
            )
            out[k] = np.where(np.isnan(codes), self.features_.decode(filled), codes)
        return out

    def _donors(self) -> int:
        return self.donors if self.pmm else 0

    def _models(self) -> list[list[Model]]:
        return [[Model(*model) for model in models] for models in self.sets_]
