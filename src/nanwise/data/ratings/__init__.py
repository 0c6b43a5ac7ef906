"""Ratings of items by users: read, split, filtered, simulated; always sparse."""

from nanwise.data.ratings.core import Ratings
from nanwise.data.ratings.reading import from_csr, from_frame, read_ratings
from nanwise.data.ratings.scale import Scale
from nanwise.data.ratings.splits import k_core, split_ratings, time_order
from nanwise.data.ratings.synthetic import synthetic_ratings

__all__ = [
    "Ratings",
    "Scale",
    "from_csr",
    "from_frame",
    "k_core",
    "read_ratings",
    "split_ratings",
    "synthetic_ratings",
    "time_order",
]
