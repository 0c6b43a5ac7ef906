"""Sparse matrices whose stored cells are the observed ones, and products that never get dense.

:class:`Rows` and :class:`Affine` carry wide sparse tables through a first layer. :class:`Pattern`,
:func:`sparse_mm` and :func:`sampled_mm` are for models that also answer at the observed cells only,
as recommenders do.
"""

from nanwise.nn.sparse.pattern import Pattern
from nanwise.nn.sparse.products import sampled_mm, sampled_squared_error, sparse_mm
from nanwise.nn.sparse.room import Room
from nanwise.nn.sparse.rows import Affine, Rows, rows_linear

__all__ = [
    "Affine",
    "Pattern",
    "Room",
    "Rows",
    "rows_linear",
    "sampled_mm",
    "sampled_squared_error",
    "sparse_mm",
]
