"""How many cells the spread of a column rests on."""

from __future__ import annotations

import numpy as np

from nanwise.data.attributes import Layout
from nanwise.estimators.impute.features import SKEWED

#: kinds of single numbers
_NUMBERS = ("real", *SKEWED)
#: a column whose spread rests on a larger share of its cells is never thin: of a Gaussian one it is
#: a third, of an exponential one a ninth
_SHARE = 0.1


def spread_cells(values: np.ndarray) -> float:
    """Effective number of cells behind a variance: (Σ d²)² / Σ d⁴ over deviations d from the mean.

    k cells that differ equally from all others make it about k; n Gaussian cells n / 3; a column
    with one value 0. NaN is left out.
    """
    seen = values[~np.isnan(values)]
    if len(seen) == 0 or seen.min() == seen.max():
        return 0.0
    deviation = seen - seen.mean()
    # neither large nor small units leave the range of floating point numbers
    square = (deviation / np.abs(deviation).max()) ** 2
    return float(square.sum() ** 2 / (square**2).sum())


def thin_attributes(layout: Layout, codes: np.ndarray, fewest: float) -> list[int]:
    """Positions of the single numbers whose spread rests on fewer than ``fewest`` cells.

    Parameters
    ----------
    layout : Layout
        What the columns are.
    codes : ndarray of shape (N, D)
        NaN in gaps. Skewed kinds count by their logarithms, as networks see them.
    fewest : float
        Of short columns a tenth of the observed cells, where that is less: few rows do not make a
        column thin.
    """
    thin = []
    for a, attribute in enumerate(layout.attributes):
        if attribute.kind not in _NUMBERS:
            continue
        column = codes[:, attribute.columns[0]]
        if attribute.kind in SKEWED:
            column = np.log1p(np.maximum(column, 0))
        enough = min(fewest, _SHARE * np.count_nonzero(~np.isnan(column)))
        if spread_cells(column) < enough:
            thin.append(a)
    return thin
