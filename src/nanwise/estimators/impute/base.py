"""The base of all imputers: tables in, tables without gaps out, observed cells untouched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nanwise import registry
from nanwise.completion import TableCompletion
from nanwise.errors import DataError
from nanwise.estimators.impute.tables import give_back, read_cells
from nanwise.estimators.inputs import is_frame, warn_about_gaps
from nanwise.estimators.whole_fit import all_or_nothing
from nanwise.train.checks import whole


class Imputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base of every imputer; not used by itself.

    A subclass has the parameters ``kinds`` and ``random_state`` among its own and fills in

    - ``_learn(codes, seed)``: learn from (N, D) codes (see :mod:`nanwise.data.attributes`), NaN in
      gaps; columns in which nothing is observed are not among them;
    - ``_fill(codes)``: the same rows with every gap filled by one best value (real: an expectation;
      levels: the likeliest), each row by itself;
    - ``_draw(codes, n, rng)``: (n, N, D) random completions, if there are any.

    ``self.layout_`` describes the columns that ``_learn`` sees.
    """

    kinds: Any
    random_state: Any

    #: whether gaps can be filled by random draws
    samples = False
    #: whether draws also vary by what is not known of the parameters, as Rubin's rules ask for
    proper = False
    #: draws that have parameters of their own, once it is fitted; None: any number
    own_draws_: int | None = None
    #: rows that are filled at once; memory goes with it, answers do not
    rows_at_once = 4096

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows with gaps.

        Parameters
        ----------
        X : array or DataFrame (pandas, polars) of shape (n_rows, n_columns)
            NaN, None, NA and null are gaps.
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._check_settings()
        codes = read_cells(self, X, reset=True)
        if len(codes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two rows to learn from, got n_samples = "
                f"{len(codes)}"
            )
        warn_about_gaps(codes, self.table_layout_.column_names)
        self.seen_ = ~np.isnan(codes).all(axis=0)
        least, largest = np.fmin.reduce(codes, axis=0), np.fmax.reduce(codes, axis=0)
        self.constants_ = np.where(least == largest, least, np.nan)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.layout_ = self.table_layout_.restrict(self.seen_)
        self._learn(codes[:, self.seen_], seed)
        return self

    def transform(self, X: Any) -> Any:
        """The same table with its gaps filled by the best single value.

        Observed cells are those of ``X``, bit for bit; names, index and dtypes stay. An integer
        column is filled by whole numbers, a column that had one value in training by that. A column
        in which nothing was observed in training is filled by 0; a categorical one of that kind
        stays as it is.
        """
        check_is_fitted(self)
        codes = read_cells(self, X, reset=False)
        out = np.empty_like(codes)
        for part in self._blocks(len(codes)):
            out[part] = self._whole(self._fill(codes[part][:, self.seen_])[None])[0]
        return give_back(self, X, out)

    def sample(self, X: Any, n: int = 1, random_state: Any = None, alone: bool = False) -> Any:
        """Tables with gaps filled by draws from their distribution given what is observed.

        Parameters
        ----------
        X : array or DataFrame of shape (n_rows, n_columns)
        n : int
            Number of draws.
        random_state : int, RandomState or None
            Seed.
        alone : bool, default=False
            Whether every row is drawn by itself, all from the same random numbers: what is drawn
            for a row then depends on nothing but the row and the seed. Takes longer.

        Returns
        -------
        ndarray of shape (n, n_rows, n_columns), or a list of n frames like ``X``
        """
        check_is_fitted(self)
        whole("n", n)
        if not self.samples:
            able = [m.name for m in registry.known("imputer") if getattr(m.make, "samples", False)]
            raise TypeError(
                f"{type(self).__name__} gives one answer and cannot draw others; those that "
                f"sample: {', '.join(able)}"
            )
        codes = read_cells(self, X, reset=False)
        seed = check_random_state(random_state).randint(2**31 - 1)
        rng = np.random.default_rng(seed)
        out = np.empty((n, *codes.shape))
        for part in self._blocks(len(codes)):
            rows = codes[part][:, self.seen_]
            drawn = self._draw_each(rows, n, seed) if alone else self._draw(rows, n, rng)
            out[:, part] = self._whole(drawn)
        tables = [give_back(self, X, draw) for draw in out]
        return tables if is_frame(X) else np.stack(tables)

    def ready_for(self, n: int) -> Self:
        """Set what learning must provide so that ``n`` draws can be pooled; called before ``fit``.

        Parameters
        ----------
        n : int
            Number of draws.

        Returns
        -------
        self
        """
        return self

    def complete(self, X: Any) -> TableCompletion:
        """What the gaps of these rows may hold: an object with ``mean()`` and ``sample(n)``.

        Parameters
        ----------
        X : array or DataFrame of shape (n_rows, n_columns)
        """
        check_is_fitted(self)
        return TableCompletion(self, X, ~np.isnan(read_cells(self, X, reset=False)))

    # -- what a method fills in ------------------------------------------------------------------

    def _check_settings(self) -> None:
        """Refuse what cannot be used before any data is looked at."""

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not learn")

    def _fill(self, codes: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} does not fill")

    def _draw(self, codes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} does not draw")

    # -- parts -----------------------------------------------------------------------------------

    def _draw_each(self, codes: np.ndarray, n: int, seed: int) -> np.ndarray:
        """As ``_draw``, every row by itself and from the same seed."""
        rows = (row[None] for row in codes)
        return np.concatenate([self._draw(r, n, np.random.default_rng(seed)) for r in rows], axis=1)

    def _blocks(self, n_rows: int) -> Iterator[slice]:
        for start in range(0, n_rows, self.rows_at_once):
            yield slice(start, start + self.rows_at_once)

    def _whole(self, seen: np.ndarray) -> np.ndarray:
        """(n, N, D): columns of one value have it, those never observed are 0 (levels: unknown)."""
        if np.isnan(seen).any():
            raise DataError(f"{type(self).__name__} left gaps: its answer is not a number")
        out = np.zeros((*seen.shape[:2], len(self.seen_)))
        out[..., self.seen_] = seen
        return np.where(np.isnan(self.constants_), out, self.constants_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
