"""The base of imputers for pictures: holes in, whole pictures out, observed pixels untouched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nanwise.errors import DataError
from nanwise.estimators.image.inputs import read_pictures
from nanwise.estimators.image.pictures import blocks, plain
from nanwise.estimators.whole_fit import all_or_nothing
from nanwise.missing import observe
from nanwise.train.checks import whole

if TYPE_CHECKING:
    import torch

    from nanwise.completion import MFA
    from nanwise.missing import Observed


class ImageImputer(TransformerMixin, BaseEstimator):
    """Base of every imputer for pictures; not used by itself.

    A subclass has ``random_state`` among its parameters and fills in

    - ``_learn(values, observed, seed)``: learn from pictures (N, C, H, W), 0 in holes, and where
      they are observed;
    - ``_density(data)``: the :class:`nanwise.completion.MFA` of the holes of a few pictures (an
      ``Observed`` of float32 tensors), observed pixels certain.

    It may replace ``_mean``, ``_draw`` and ``_log_prob``, which ask the density.
    """

    random_state: Any

    #: whether holes can be filled by random draws
    samples = True
    #: pictures that are answered at once; memory goes with it
    at_once = 256

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from pictures with holes.

        Parameters
        ----------
        X : array of shape (n_pictures, channels, height, width)
            Floats between 0 and 1; NaN is missing. Whole pictures are welcome, none is needed.
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._check_settings()
        X = read_pictures(X)
        if len(X) < 2:
            raise DataError(f"{type(self).__name__} needs at least two pictures to learn from")
        values, observed = observe(X.astype(np.float32, copy=False))
        if not observed.any():
            raise DataError("no pixel of any picture in X is observed: there is nothing to learn")
        self.shape_ = tuple(int(side) for side in X.shape[1:])
        self._learn(values, observed, int(check_random_state(self.random_state).randint(2**31 - 1)))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The same pictures with every hole filled by its expectation, cut off at 0 and 1.

        Observed pixels are those of ``X``, bit for bit.
        """
        X = self._read(X)
        out = X.copy()
        for part in blocks(len(X), self.at_once):
            self._put(out[part], X[part], self._mean(self._tensors(X[part])))
        return out

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Pictures with holes filled by draws, cut off at 0 and 1.

        Parameters
        ----------
        X : array of shape (n_pictures, channels, height, width)
        n : int
            Number of draws.
        random_state : int, RandomState or None
            Seed. The draws of one picture depend on it and on the place of the picture in ``X``.

        Returns
        -------
        ndarray of shape (n, n_pictures, channels, height, width)
        """
        import torch

        whole("n", n)
        X = self._read(X)
        generator = torch.Generator()
        generator.manual_seed(int(check_random_state(random_state).randint(2**31 - 1)))
        out = np.repeat(X[None], n, axis=0)
        for part in blocks(len(X), self.at_once):
            drawn = self._draw(self._tensors(X[part]), n, generator)
            for k in range(n):
                self._put(out[k, part], X[part], drawn[k])
        return out

    def complete(self, X: Any) -> MFA:
        """The density of the holes of these pictures, in float32, observed pixels certain.

        It holds several maps per picture: ask for as many at once as memory has room for.

        Parameters
        ----------
        X : array of shape (n_pictures, channels, height, width)
        """
        from nanwise.completion import MFA

        X = self._read(X)
        parts = [self._density_of(X[part]) for part in blocks(len(X), self.at_once)]
        return parts[0] if len(parts) == 1 else MFA(*map(_join, zip(*parts, strict=True)))

    def log_prob(self, X: Any, truth: Any) -> np.ndarray:
        """Log density of what was in the holes, given the rest of each picture.

        Parameters
        ----------
        X : array of shape (n_pictures, channels, height, width)
            Pictures with holes.
        truth : array of the same shape
            The same pictures with fewer holes, or none.

        Returns
        -------
        ndarray of shape (n_pictures,)
            Of the pixels observed in ``truth`` and not in ``X``; 0 where there is none.
        """
        import torch

        X, truth = self._read(X), read_pictures(truth, self.shape_, "truth")
        if len(X) != len(truth):
            raise DataError(f"X has {len(X)} pictures, truth has {len(truth)}; both must be equal")
        with torch.inference_mode():
            parts = [
                self._log_prob(self._tensors(X[part]), self._tensors(truth[part])).numpy()
                for part in blocks(len(X), self.at_once)
            ]
        return np.concatenate(parts)

    def score(self, X: Any, y: Any) -> float:
        """Mean of :meth:`log_prob` over the pictures; ``y`` are the same with fewer holes."""
        return float(self.log_prob(X, y).mean())

    # -- what a method fills in ------------------------------------------------------------------

    def _check_settings(self) -> None:
        """Refuse what cannot be used before any data is looked at."""

    def _learn(self, values: np.ndarray, observed: np.ndarray, seed: int) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not learn")

    def _density(self, data: Observed) -> MFA:
        raise NotImplementedError(f"{type(self).__name__} has no density")

    def _mean(self, data: Observed) -> torch.Tensor:
        import torch

        with torch.inference_mode():
            return self._density(data).mean()

    def _draw(self, data: Observed, n: int, generator: torch.Generator) -> torch.Tensor:
        import torch

        with torch.inference_mode():
            return self._density(data).sample(n, generator)

    def _log_prob(self, data: Observed, truth: Observed) -> torch.Tensor:
        return self._density(data).log_prob(truth, ~data.observed)

    # -- parts -----------------------------------------------------------------------------------

    def _density_of(self, X: np.ndarray) -> MFA:
        import torch

        with torch.no_grad():
            return self._density(self._tensors(X))

    def _read(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return read_pictures(X, self.shape_)

    def _tensors(self, X: np.ndarray) -> Observed:
        import torch

        return observe(torch.as_tensor(plain(X), dtype=torch.float32))

    def _put(self, out: np.ndarray, X: np.ndarray, filled: torch.Tensor) -> None:
        """Write what fills holes into ``out``, and into nothing else."""
        holes = np.isnan(X)
        found = filled.numpy()[holes]
        if not np.isfinite(found).all():
            raise DataError(f"{type(self).__name__} left holes: its answer is not a number")
        out[holes] = found.clip(0, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = False
        return tags


def _join(parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
    import torch

    return torch.cat(parts)
