"""One Gaussian for all columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.features import Features
from nanwise.estimators.impute_core.blocks import LEVELLED, Blocks, draw_levels, make_blocks
from nanwise.gaussian.conditional import conditional_mean, conditional_sample
from nanwise.gaussian.em import fit_rows
from nanwise.gaussian.moments import Moments
from nanwise.registry import method


@method(
    "gaussian",
    kind="imputer",
    inputs="mixed",
    summary="Draws from one Gaussian for all columns, given what is observed in the row.",
    paper="Dempster, Laird, Rubin: Maximum Likelihood from Incomplete Data via the EM Algorithm, "
    "JRSS B 1977",
    when="Nearly linear relations; fast, and exact for Gaussian columns. Its parameters are taken "
    "as known: with few rows, draws of mice are a little wider and fairer.",
    space={"shrinkage": [None, 0.0, 0.1]},
    tiny={"max_iter": 20},
)
class NormalImputer(Imputer):
    """Fill gaps by the conditional expectation of a multivariate normal, or by draws from it.

    Mean and covariance are found by expectation maximisation over scaled numbers and one 0 / 1
    feature per level. A level is filled by the largest expectation; in draws, those of its features
    are taken, within 0 and 1, as probabilities, and one level is drawn from them.
    :class:`nanwise.GaussianImputer` is the same for numbers alone, with sample weights and the
    moments in the units of the table.

    Parameters
    ----------
    shrinkage : float of at least 0 and below 1, optional
        Share of a prior of independent columns; 0 is maximum likelihood, None a share that falls
        with the square of rows per column.
    tol : float, default=1e-4
        The search ends when a step changes no standardised mean or covariance by more.
    max_iter : int, default=500
        Most steps.
    kinds : sequence, mapping or None
        What the columns are, see :class:`nanwise.data.attributes.Layout`.
    random_state : int, RandomState or None
        Not used in learning; there so that all imputers are called alike.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    covariance_ : ndarray of shape (n_features, n_features)
        Of the features.
    widen_ : ndarray of shape (n_features,)
        What the noise of draws is multiplied by, near 1 with many rows per column (see
        :class:`nanwise.gaussian.em.GaussianFit`).
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import make_imputer
    >>> X = np.array([[1.0, 2.0], [2.0, 4.1], [3.0, 5.9], [4.0, np.nan]])
    >>> make_imputer("gaussian", shrinkage=0).fit_transform(X)[3].round(1).tolist()
    [4.0, 7.9]
    """

    samples = True

    def __init__(
        self,
        shrinkage: float | None = None,
        tol: float = 1e-4,
        max_iter: int = 500,
        kinds: Any = None,
        random_state: Any = None,
    ) -> None:
        self.shrinkage = shrinkage
        self.tol = tol
        self.max_iter = max_iter
        self.kinds = kinds
        self.random_state = random_state

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        self.features_ = Features(self.layout_).fit(codes)
        features, observed = self.features_.encode(codes)
        blocks = make_blocks(self.features_.parts_, features, observed)
        found = fit_rows(
            features,
            blocks.spread(observed),
            shrinkage=self.shrinkage,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.blocks_: tuple[Any, ...] = tuple(blocks)
        self.mean_, self.covariance_ = found.moments
        # Levels are drawn from probabilities, which noise does not make any fairer.
        numbers = [part.kind not in LEVELLED for part in self.features_.parts_]
        self.widen_ = np.where(blocks.spread(np.array([numbers]))[0], found.widen, 1.0)
        self.n_iter_, self.converged_ = max(found.n_iter, 1), found.converged

    def _fill(self, codes: np.ndarray) -> np.ndarray:
        filled = conditional_mean(self._features(codes), Moments(self.mean_, self.covariance_))
        return np.where(np.isnan(codes), self.features_.decode(filled), codes)

    def _draw(self, codes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        moments = Moments(self.mean_, self.covariance_)
        blocks, out = Blocks(*self.blocks_), np.empty((n, *codes.shape))
        draws = conditional_sample(self._features(codes), moments, n, rng, self.widen_)
        for k, drawn in enumerate(draws):
            decoded = self.features_.decode(draw_levels(blocks, drawn, rng))
            out[k] = np.where(np.isnan(codes), decoded, codes)
        return out

    def _features(self, codes: np.ndarray) -> np.ndarray:
        """Features with NaN in gaps."""
        features, observed = self.features_.encode(codes)
        return np.where(Blocks(*self.blocks_).spread(observed), features, np.nan)
