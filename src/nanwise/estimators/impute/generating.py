"""Imputers whose network also makes new rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nanwise.estimators.impute.net import NetImputer
from nanwise.estimators.impute.template import describe, make_table
from nanwise.train.checks import whole


class GeneratingImputer(NetImputer):
    """Base of imputers that generate; not used by itself.

    The network has, beside what :class:`nanwise.estimators.impute.net.NetImputer` asks for,
    ``generate(n, generator) -> (n, F)``: new rows, levels as 0 / 1.
    """

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
        super().fit(X, y)
        self.template_ = describe(X, self.schema_encoder_)
        return self

    def generate(self, n: int = 1, random_state: Any = None) -> Any:
        """New rows from the model, without gaps.

        Parameters
        ----------
        n : int
            Number of rows.
        random_state : int, RandomState or None
            Seed.

        Returns
        -------
        array or DataFrame of shape (n, n_columns)
            Like the training table: a frame of the same library with the same names and dtypes. A
            column in which nothing was observed holds 0.
        """
        import torch

        check_is_fitted(self)
        whole("n", n)
        with torch.inference_mode():
            made = self._answering().generate(n, seeded_generator(random_state)).numpy()
        codes = np.zeros((n, len(self.seen_)))
        codes[:, self.seen_] = self.features_.decode(made)
        return make_table(self, self.template_, codes)


def seeded_generator(random_state: Any) -> Any:
    """A generator of torch with a seed drawn from ``random_state``."""
    import torch

    return torch.Generator().manual_seed(int(check_random_state(random_state).randint(2**31 - 1)))
