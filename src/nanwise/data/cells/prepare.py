"""The published preparation of counts for AutoImpute: filter, library size, dispersion, log2."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from nanwise.data.cells.counts import Counts, as_counts, dense, has_names, like
from nanwise.errors import DataError, GapWarning

#: genes are compared with those of a similar mean: bins end at these quantiles of the means
QUANTILES = np.linspace(0.1, 1.0, 19)
#: makes the median absolute deviation of a normal distribution its standard deviation
MAD = 1.4826


class CellPrep(TransformerMixin, BaseEstimator):
    """Counts to values of a size that a network can learn: those of the most variable genes.

    Genes with a count above ``count`` in more than ``cells`` cells are kept, each cell is scaled to
    the median library size, the ``genes`` genes with the largest dispersion among genes of a
    similar mean are chosen, and values become ``log2(x + 1)``. A count of 0 stays 0.

    Parameters
    ----------
    count : int, default=2
    cells : int, default=3
    genes : int or None, default=1000
        None keeps all that pass the filter.

    Attributes
    ----------
    genes_ : ndarray of str
        The chosen genes, the most variable first.
    places_ : ndarray of int
        Where they stand in the counts.
    passed_ : ndarray of bool, shape (n_genes,)
        Which genes pass the filter. The library size of a cell is counted over these.
    library_size_ : float
        The median library size, which cells are scaled to.
    mean_, dispersion_, score_ : ndarray of shape (n_genes,)
        Mean of the scaled counts, variance over mean, and how far the latter is from its median
        among genes of a similar mean, in median absolute deviations; NaN for genes that did not
        pass.
    all_genes_ : ndarray of str
    n_features_in_ : int

    Notes
    -----
    On the raw counts of Blakeley this is the prepared matrix that the authors of AutoImpute
    published: the same 1000 genes in the same order, values equal to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise.data.cells import CellPrep
    >>> counts = np.random.default_rng(0).poisson(3, (20, 50))
    >>> prep = CellPrep(genes=10).fit(counts)
    >>> values = prep.transform(counts)
    >>> values.shape
    (20, 10)
    >>> back = prep.inverse_transform(values, counts)
    >>> bool(np.allclose(back, counts[:, prep.places_], atol=1e-4))
    True
    """

    def __init__(self, count: int = 2, cells: int = 3, genes: int | None = 1000) -> None:
        self.count = count
        self.cells = cells
        self.genes = genes

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose genes and find the median library size.

        Parameters
        ----------
        X : AnnData, DataFrame, sparse matrix or array of shape (n_cells, n_genes)
            Counts.
        y : None
            Not used.
        """
        self._check_settings()
        counts = as_counts(X)
        passed = _cells_above(counts.matrix, self.count) > self.cells
        if not passed.any():  # nothing is set before: an earlier fit stays whole
            raise DataError(
                f"none of {counts.shape[1]} genes has a count above {self.count} in more than "
                f"{self.cells} of {counts.shape[0]} cells; lower count or cells, or check that "
                "cells are rows and that X holds counts, not logarithms"
            )
        self.n_features_in_, self.all_genes_ = counts.shape[1], counts.genes
        self.passed_ = passed
        library = self._library(counts)
        self.library_size_ = float(np.median(library[library > 0]))
        self._score(_scaled(counts.matrix, self._factor(library)))
        order = np.argsort(-np.nan_to_num(self.score_, nan=-np.inf), kind="stable")
        most = int(self.passed_.sum())
        self.places_ = order[: most if self.genes is None else min(self.genes, most)]
        self.genes_ = self.all_genes_[self.places_]
        return self

    def transform(self, X: Any) -> Any:
        """Values ``log2(x + 1)`` of the chosen genes, in the form of X; float32.

        A cell with nothing in it stays 0 everywhere; a warning names it.
        """
        counts = self._read(X)
        library = self._library(counts)
        _warn_empty(library, counts.cells)
        chosen = dense(counts.matrix[:, self.places_], np.float64)
        values = np.log2(chosen * self._factor(library)[:, None] + 1).astype(np.float32)
        return like(X, values, self.genes_)

    def inverse_transform(self, values: Any, X: Any) -> Any:
        """Values of the chosen genes, filled or not, as counts of the cells they belong to.

        Parameters
        ----------
        values : array, DataFrame or AnnData of shape (n_cells, n_chosen)
            As from :meth:`transform`, with gaps filled or not.
        X : as in :meth:`transform`
            The counts that ``values`` were made of: they tell the library sizes. Cells in the same
            order; where both have names, these are compared.

        Returns
        -------
        Counts in the form of ``values``; not rounded.
        """
        counts, filled = self._read(X), as_counts(values)
        wanted = (counts.shape[0], len(self.places_))
        if filled.shape != wanted:
            raise DataError(f"values must have the shape {wanted} of X, got {filled.shape}")
        if has_names(values) and has_names(X):
            _refuse_other_cells(filled.cells, counts.cells)
        raw = np.exp2(dense(filled.matrix, np.float64)) - 1
        return like(values, raw / self._factor(self._library(counts))[:, None])

    # -- parts -----------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        for name, least in (("count", 0), ("cells", 0), ("genes", 1)):
            value = getattr(self, name)
            if name == "genes" and value is None:
                continue
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number from {least} on, got {value!r}")

    def _read(self, X: Any) -> Counts:
        check_is_fitted(self)
        counts = as_counts(X)
        if counts.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {counts.shape[1]} genes, CellPrep was fitted on {self.n_features_in_}"
            )
        if not np.array_equal(counts.genes, self.all_genes_):
            first = int(np.flatnonzero(counts.genes != self.all_genes_)[0])
            raise DataError(
                f"gene {first} of X is {counts.genes[first]!r}, CellPrep was fitted with "
                f"{self.all_genes_[first]!r} there; bring the genes into the same order"
            )
        return counts

    def _library(self, counts: Counts) -> np.ndarray:
        """Sums of the cells over the genes that pass the filter."""
        return np.asarray(counts.matrix @ self.passed_.astype(np.float64)).ravel()

    def _factor(self, library: np.ndarray) -> np.ndarray:
        """What cells are multiplied by; those with nothing by 1."""
        return np.where(library > 0, self.library_size_ / np.where(library > 0, library, 1), 1.0)

    def _score(self, scaled: Any) -> None:
        """Dispersion of every gene that passes, and how it stands out among similar means."""
        mean, variance = _moments(scaled)
        nothing = np.full(self.n_features_in_, np.nan)
        self.mean_, self.dispersion_, self.score_ = (nothing.copy() for _ in range(3))
        at = self.passed_
        self.mean_[at] = mean[at]
        self.dispersion_[at] = variance[at] / mean[at]
        self.score_[at] = standing_out(self.mean_[at], self.dispersion_[at])


def standing_out(mean: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
    """How far dispersions are from the median of their bin, in median absolute deviations of it.

    Bins are ranges of ``mean`` between its :data:`QUANTILES`. In a bin where all dispersions are
    equal, nothing stands out: 0.
    """
    bins = np.digitize(mean, np.quantile(mean, QUANTILES), right=True)
    out = np.zeros(len(mean))
    for one in np.unique(bins):
        at = bins == one
        off = dispersion[at] - np.median(dispersion[at])
        spread = MAD * np.median(np.abs(off))
        out[at] = np.abs(off) / spread if spread > 0 else 0.0
    return out


def _cells_above(matrix: Any, count: int) -> np.ndarray:
    return np.asarray((matrix > count).sum(axis=0)).ravel()


def _scaled(matrix: Any, factor: np.ndarray) -> Any:
    if sparse.issparse(matrix):
        return sparse.diags_array(factor).dot(matrix)
    return matrix * factor[:, None]


def _moments(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (over n - 1) of the columns; a sparse matrix stays sparse."""
    n = matrix.shape[0]
    if not sparse.issparse(matrix):
        return matrix.mean(axis=0), matrix.var(axis=0, ddof=1) if n > 1 else np.zeros(len(matrix.T))
    mean = np.asarray(matrix.sum(axis=0)).ravel() / n
    squares = np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel()
    return mean, np.maximum(squares - n * mean**2, 0.0) / max(n - 1, 1)


def _refuse_other_cells(cells: np.ndarray, expected: np.ndarray) -> None:
    off = np.flatnonzero(cells != expected)
    if len(off):
        raise DataError(
            f"cell {off[0]} of values is {cells[off[0]]!r}, that of X {expected[off[0]]!r}; bring "
            "the cells into the same order"
        )


def _warn_empty(library: np.ndarray, cells: np.ndarray) -> None:
    empty = np.flatnonzero(library == 0)
    if len(empty):
        warnings.warn(
            f"{len(empty)} cells have no count in any gene that passes the filter, first "
            f"{cells[empty[0]]!r}; there is nothing to scale them by",
            GapWarning,
            stacklevel=3,
        )
