"""Whatever holds counts of genes in cells becomes one matrix with names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nanwise.data.frames import listed
from nanwise.errors import DataError, need


@dataclass(frozen=True)
class Counts:
    """Counts, or values made of them, of genes in cells; 0 means not seen.

    Attributes
    ----------
    matrix : ndarray or csr_array of shape (n_cells, n_genes)
        Finite numbers, none below 0; float32 or float64.
    cells, genes : ndarray of str
        Their names, each once.
    """

    matrix: Any
    cells: np.ndarray
    genes: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of cells and of genes."""
        return self.matrix.shape

    @property
    def seen_share(self) -> float:
        """Share of the entries that are not 0."""
        cells, genes = self.shape
        return _count(self.matrix) / (cells * genes)


def as_counts(X: Any) -> Counts:
    """Check counts and bring them into one form; a matrix that is right already is not copied.

    Parameters
    ----------
    X : Counts, AnnData, DataFrame, SciPy sparse matrix or array of shape (n_cells, n_genes)
        Names of an AnnData or a DataFrame are kept; those of others are ``cell0`` and ``gene0``,
        counted on.

    Raises
    ------
    DataError
        If an entry is negative, missing or infinite, if X is not two-dimensional or empty, or if a
        name occurs twice. The message names cell and gene.
    """
    if isinstance(X, Counts):
        return X
    matrix, cells, genes = _parts(X)
    matrix = _numbers(matrix)
    rows, columns = matrix.shape
    cells = _labels(cells, rows, "cell")
    genes = _labels(genes, columns, "gene")
    _refuse_twice(cells, "cell")
    _refuse_twice(genes, "gene")
    _refuse_values(matrix, cells, genes)
    return Counts(matrix, cells, genes)


def like(X: Any, values: np.ndarray, genes: np.ndarray | None = None) -> Any:
    """Values in the form of X: an AnnData or a DataFrame with its names, else the array itself.

    ``genes`` are the names of the columns if they are fewer than those of X.
    """
    if is_anndata(X):
        out = (X if genes is None else X[:, list(genes)]).copy()
        out.X = values
        return out
    if _is_frame(X):
        columns = X.columns if genes is None else list(genes)
        return need("pandas", "cli").DataFrame(values, index=X.index, columns=columns)
    if isinstance(X, Counts):
        return Counts(values, X.cells, X.genes if genes is None else genes)
    return values


def is_anndata(X: Any) -> bool:
    """Whether X is an AnnData, by what it has: the package need not be there to ask."""
    return all(hasattr(X, name) for name in ("X", "obs_names", "var_names"))


def has_names(X: Any) -> bool:
    """Whether X names its cells and genes itself."""
    return isinstance(X, Counts) or is_anndata(X) or _is_frame(X)


def dense(matrix: Any, dtype: Any = np.float32) -> np.ndarray:
    """The matrix as an array; one that is an array of this type already is not copied."""
    if sparse.issparse(matrix):
        return matrix.astype(dtype, copy=False).toarray()
    return np.asarray(matrix, dtype=dtype)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "index") and not sparse.issparse(X)


def _parts(X: Any) -> tuple[Any, Any, Any]:
    """Matrix and names; None where there are none."""
    if is_anndata(X):
        if X.X is None:
            raise DataError("the AnnData has no X; put the counts there, as in a.X = a.layers[…]")
        return X.X, X.obs_names, X.var_names
    if _is_frame(X):
        return X.to_numpy(), X.index, X.columns
    return X, None, None


def _numbers(matrix: Any) -> Any:
    """As CSR or as an array, of float32 if it was, else of float64."""
    if sparse.issparse(matrix):
        matrix = sparse.csr_array(matrix)
        matrix.sum_duplicates()
    elif isinstance(matrix, np.ma.MaskedArray):  # what is hidden is not 0: refused as NaN is
        matrix = np.ma.filled(matrix.astype(np.float64), np.nan)
    else:
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError(
            f"counts must have two dimensions, cells x genes, both above 0; got {matrix.shape}"
        )
    if matrix.dtype.kind == "c":
        raise DataError(f"counts must be real numbers, got {matrix.dtype}")
    if matrix.dtype == np.float32:
        return matrix
    try:
        return matrix.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"counts must be numbers: {error}; is a column of names among them? "
            "Cells are rows and genes are columns"
        ) from error


def _labels(names: Any, number: int, what: str) -> np.ndarray:
    if names is None:
        return np.array([f"{what}{k}" for k in range(number)], dtype=object)
    return np.array([str(name) for name in names], dtype=object)


def _refuse_twice(names: np.ndarray, what: str) -> None:
    found, times = np.unique(names, return_counts=True)
    twice = found[times > 1]
    if len(twice):
        raise DataError(
            f"{len(twice)} {what} names occur more than once: {listed(twice)}; each {what} needs a "
            "name of its own (in an AnnData: var_names_make_unique, obs_names_make_unique)"
        )


def _refuse_values(matrix: Any, cells: np.ndarray, genes: np.ndarray) -> None:
    stored = matrix.data if sparse.issparse(matrix) else matrix
    # NaN makes the smallest value NaN, and infinity shows at one of the ends
    if stored.size == 0 or (stored.min() >= 0 and np.isfinite(stored.max())):
        return
    wrong = np.flatnonzero(~((stored.ravel() >= 0) & np.isfinite(stored.ravel())))[0]
    if sparse.issparse(matrix):
        row = int(np.searchsorted(matrix.indptr, wrong, side="right")) - 1
        column = int(matrix.indices[wrong])
    else:
        row, column = (int(k) for k in np.unravel_index(wrong, matrix.shape))
    value = stored.ravel()[wrong]
    raise DataError(
        f"the count of gene {genes[column]!r} in cell {cells[row]!r} is {value:g}; counts are "
        "finite and at least 0, and a gene that was not seen is 0. Give counts, or values made of "
        "them that keep 0 at 0 (no centring)"
    )


def _count(matrix: Any) -> int:
    return matrix.count_nonzero() if sparse.issparse(matrix) else int(np.count_nonzero(matrix))
