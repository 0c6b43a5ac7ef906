"""Named data sets: some bundled, some of scikit-learn, some looked for in ``$NANWISE_DATA``."""

from __future__ import annotations

import difflib
import importlib
from functools import cache
from typing import Any

from nanwise.data.sets.base import Dataset, Spec
from nanwise.errors import DataError

__all__ = ["Dataset", "known_datasets", "load_dataset"]

_FAMILIES = ("bundled", "gmmc", "uci")


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
    if name not in specs:
        near = difflib.get_close_matches(name, specs, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(specs)}"
        raise DataError(f"no data set is called {name!r}; {hint}")
    return specs[name].load(download)


def known_datasets() -> list[dict[str, Any]]:
    """Facts about every data set: name, task, target, rows, columns, missing_share, origin, …"""
    return [spec.facts() for spec in _specs().values()]


@cache
def _specs() -> dict[str, Spec]:
    modules = [importlib.import_module(f"nanwise.data.sets.{family}") for family in _FAMILIES]
    return {spec.name: spec for module in modules for spec in module.SPECS}
