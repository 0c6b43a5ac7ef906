"""From whatever the user holds to a float matrix with NaN, the same way for every estimator."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.utils.validation import validate_data

from nanwise.errors import DataError, GapWarning
from nanwise.missing import gaps_to_nan, refuse_infinite


def is_frame(x: Any) -> bool:
    """Whether ``x`` is a pandas or polars DataFrame; neither is imported for the question."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    return (pandas is not None and isinstance(x, pandas.DataFrame)) or (
        polars is not None and isinstance(x, polars.DataFrame)
    )


def read_features(estimator: Any, X: Any, *, reset: bool, schema: Any = None) -> Any:
    """Features as float64 (N, D) with NaN, or as CSR if the estimator has ``sparse="stored"``.

    A frame with columns that are not numbers is encoded (``estimator.encoder_``, learnt when
    ``reset``); so is every frame when a complete ``schema`` is given. All else must be numeric.
    """
    stored = getattr(estimator, "sparse", None) == "stored"
    if sp.issparse(X) and not stored:
        able = hasattr(estimator, "sparse")
        way = "set sparse='stored'" if able else "pass nanwise.missing.from_sparse(X)"
        raise TypeError(_SPARSE_REFUSED.format(type(X).__name__, way))
    if is_frame(X):
        refuse_equal_names(X)
    if reset:
        mixed = is_frame(X) and (schema is not None or has_other_than_numbers(X))
        estimator.encoder_ = _learn_encoder(X, schema) if mixed else None
    if estimator.encoder_ is not None:
        if is_frame(X):
            return encode_frame(estimator, estimator.encoder_, X, reset=reset)
        refuse_without_names(estimator.encoder_, X)
    X = validate_data(
        estimator,
        gaps_to_nan(X) if isinstance(X, np.ndarray) else X,
        reset=reset,
        accept_sparse="csr" if stored else False,
        dtype=np.float64,
        ensure_all_finite=False,
    )
    if sp.issparse(X):
        return _stored_cells(X)
    refuse_infinite(X, getattr(estimator, "feature_names_in_", None))
    return X


def warn_about_gaps(x: Any, names: Any = None) -> None:
    """One warning that names the columns in which nothing was observed at all."""
    if sp.issparse(x):
        return
    empty = np.flatnonzero(np.isnan(x).all(axis=0))
    if len(empty):
        shown = ", ".join(repr(names[j]) if names is not None else str(j) for j in empty[:5])
        more = f" and {len(empty) - 5} more" if len(empty) > 5 else ""
        warnings.warn(
            f"nothing was observed in column {shown}{more}: it cannot be learnt from",
            GapWarning,
            stacklevel=3,
        )


def _stored_cells(csr: Any) -> Any:
    """The same rows with every observed cell stored once: a stored NaN is a gap like any other."""
    infinite = np.flatnonzero(np.isinf(csr.data))
    if len(infinite):
        row = int(np.searchsorted(csr.indptr, infinite[0], side="right")) - 1
        refuse_infinite(csr[[row]].toarray(), first_row=row)
    gaps = np.isnan(csr.data)
    if not gaps.any() and csr.has_canonical_format:
        return csr
    csr = csr.copy()
    if gaps.any():
        csr.indptr = np.concatenate([[0], np.cumsum(~gaps)])[csr.indptr].astype(csr.indptr.dtype)
        csr.data, csr.indices = csr.data[~gaps], csr.indices[~gaps]
    csr.sum_duplicates()
    return csr


def refuse_equal_names(frame: Any) -> None:
    """DataError if two columns have the same name."""
    names = list(frame.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"{names.count(twice)} columns of X are called {twice!r}; give every column its own "
            "name, so that it can be found again in other rows"
        )


def refuse_without_names(encoder: Any, X: Any) -> None:
    """TypeError if rows without names are to stand for columns that are not numbers."""
    other = [column for column in encoder.schema.columns if column.kind != "numeric"]
    if other:
        raise TypeError(
            f"the model was fitted on a data frame in which column {other[0].name!r} is "
            f"{other[0].kind}; pass a data frame with the same columns, got {type(X).__name__}"
        )


def _learn_encoder(X: Any, schema: Any) -> Any:
    from nanwise.data.encode import Encoder
    from nanwise.data.schema import Schema

    return Encoder(Schema.infer(X) if schema is None else schema).fit()


def encode_frame(
    estimator: Any, encoder: Any, X: Any, *, reset: bool, stacklevel: int = 4
) -> np.ndarray:
    """Codes of a frame by a fitted encoder; new rows get warnings, names are kept or compared."""
    checked, notes = encoder.schema.check(X)
    for note in () if reset else notes:
        warnings.warn(str(note), GapWarning, stacklevel=stacklevel)
    validate_data(estimator, checked, reset=reset, skip_check_array=True)
    return encoder.encode(checked)


def has_other_than_numbers(frame: Any) -> bool:
    """Whether a frame has columns of texts, categories, truth values or dates."""
    import narwhals.stable.v2 as nw

    return not all(dtype.is_numeric() for dtype in nw.from_native(frame).schema.values())


_SPARSE_REFUSED = (
    "Sparse data was passed for X ({}), and it is not clear what its absent cells mean. "
    "If absent means missing, {}; if absent means zero (as in the output of scikit-learn's own "
    "transformers), pass X.toarray()."
)
