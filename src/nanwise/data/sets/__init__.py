"""Named data sets: some bundled, some of scikit-learn, some looked for in ``$NANWISE_DATA``."""

from __future__ import annotations

import difflib
import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

from nanwise.data.sets.base import Dataset, Spec
from nanwise.errors import DataError

if TYPE_CHECKING:
    from nanwise.data.ratings import Ratings
    from nanwise.data.sets.modalities import Modalities, ModalitySpec
    from nanwise.data.sets.movielens import RatingsSpec

__all__ = [
    "Dataset",
    "find_modalities",
    "known_datasets",
    "known_modalities",
    "known_ratings",
    "load_dataset",
    "load_modalities",
    "load_ratings",
]

_FAMILIES = ("bundled", "gmmc", "uci")
_MODAL_FAMILIES = ("pictures", "mosi")


def load_dataset(name: str, download: bool = False) -> Dataset:
    """A data set by its name.

    Parameters
    ----------
    name : str
        One of :func:`known_datasets`.
    download : bool, default=False
        Fetch the files from their official home when they are neither in ``$NANWISE_DATA`` nor in
        the cache. Nothing is fetched without it.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If there is no such set, its files are not there, or they are not the expected ones.
    """
    specs = _specs()
    if name in _ratings_specs():
        raise DataError(f"{name!r} holds ratings, not a table; use load_ratings({name!r})")
    if name not in specs:
        near = difflib.get_close_matches(name, specs, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(specs)}"
        raise DataError(f"no data set is called {name!r}; {hint}")
    return specs[name].load(download)


def known_datasets() -> list[dict[str, Any]]:
    """Facts about every data set: name, task, target, rows, columns, missing_share, origin, …"""
    return [spec.facts() for spec in _specs().values()]


def load_ratings(name: str, download: bool = False) -> Ratings:
    """A set of ratings by its name: ``ml_100k``, ``ml_1m`` or ``ml_10m``.

    Parameters
    ----------
    name : str
        One of :func:`known_ratings`.
    download : bool, default=False
        Fetch the files from their official home when they are neither in ``$NANWISE_DATA`` nor in
        the cache. Nothing is fetched without it.

    Returns
    -------
    Ratings

    Raises
    ------
    DataError
        If there is no such set, its files are not there, or they are not the expected ones.
    """
    specs = _ratings_specs()
    if name not in specs:
        raise DataError(f"no set of ratings is called {name!r}; known: {', '.join(specs)}")
    return specs[name].load(download)


def known_ratings() -> list[dict[str, Any]]:
    """Facts about every set of ratings: name, ratings, users, items, about, source, …"""
    return [spec.facts() for spec in _ratings_specs().values()]


def load_modalities(name: str) -> Modalities:
    """A set of rows of several modalities by its name.

    Parameters
    ----------
    name : str
        One of :func:`known_modalities`; see :mod:`nanwise.data.sets.modalities`.

    Returns
    -------
    Modalities

    Raises
    ------
    DataError
        If there is no such set, its files are not there, or they are not the expected ones.
    """
    return find_modalities(name).load()


def known_modalities() -> list[dict[str, Any]]:
    """Facts about every set of several modalities: name, rows, shapes, about, source, …"""
    return [spec.facts() for spec in _modal_specs().values()]


def find_modalities(name: str) -> ModalitySpec:
    """The description of a set of several modalities, before anything is read."""
    specs = _modal_specs()
    if name not in specs:
        raise DataError(f"no set of modalities is called {name!r}; known: {', '.join(specs)}")
    return specs[name]


@cache
def _modal_specs() -> dict[str, ModalitySpec]:
    modules = [importlib.import_module(f"nanwise.data.sets.{name}") for name in _MODAL_FAMILIES]
    return {spec.name: spec for module in modules for spec in module.SPECS}


@cache
def _ratings_specs() -> dict[str, RatingsSpec]:
    from nanwise.data.sets.movielens import SPECS

    return {spec.name: spec for spec in SPECS}


@cache
def _specs() -> dict[str, Spec]:
    modules = [importlib.import_module(f"nanwise.data.sets.{family}") for family in _FAMILIES]
    return {spec.name: spec for module in modules for spec in module.SPECS}
