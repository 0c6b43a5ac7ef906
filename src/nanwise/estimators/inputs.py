"""From whatever the user holds to a float matrix with NaN, the same way for every estimator."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.utils.validation import validate_data

from nanwise.errors import GapWarning
from nanwise.missing import refuse_infinite


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
    if sp.issparse(X) and getattr(estimator, "sparse", None) != "stored":
        raise TypeError(_SPARSE_REFUSED.format(type(X).__name__))
    if reset:
        mixed = is_frame(X) and (schema is not None or _has_other_than_numbers(X))
        estimator.encoder_ = _learn_encoder(X, schema) if mixed else None
    if estimator.encoder_ is not None and is_frame(X):
        return _encode(estimator, X, reset)
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr" if getattr(estimator, "sparse", None) == "stored" else False,
        dtype=np.float64,
        ensure_all_finite=False,
    )
    names = getattr(estimator, "feature_names_in_", None)
    refuse_infinite(X.data if sp.issparse(X) else X, None if sp.issparse(X) else names)
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


def _learn_encoder(X: Any, schema: Any) -> Any:
    from nanwise.data.encode import Encoder
    from nanwise.data.schema import Schema

    return Encoder(Schema.infer(X) if schema is None else schema).fit()


def _encode(estimator: Any, X: Any, reset: bool) -> np.ndarray:
    encoder = estimator.encoder_
    checked, notes = encoder.schema.check(X)
    for note in () if reset else notes:
        warnings.warn(str(note), GapWarning, stacklevel=4)
    validate_data(estimator, checked, reset=reset, skip_check_array=True)
    return encoder.encode(checked)


def _has_other_than_numbers(frame: Any) -> bool:
    import narwhals.stable.v2 as nw

    return not all(dtype.is_numeric() for dtype in nw.from_native(frame).schema.values())


_SPARSE_REFUSED = (
    "Sparse data was passed for X ({}), and it is not clear what its absent cells mean. "
    "If absent means missing, set sparse='stored'; if absent means zero (as in the output of "
    "scikit-learn's own transformers), pass X.toarray()."
)
