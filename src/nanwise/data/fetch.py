"""Files of named data sets: found in a folder of the user's, or fetched when the user asks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nanwise.errors import DataError, need

#: environment variable with the folder in which data sets are looked for
FOLDER = "NANWISE_DATA"


@dataclass(frozen=True)
class File:
    """One file of a data set.

    Attributes
    ----------
    path : str
        Where it lies below ``$NANWISE_DATA``, and below the cache when it was fetched.
    url : str
        Its official address; empty where there is none that gives this very file.
    sha256 : str
        Checksum of the official bytes; empty where they are not known to us. Then the content
        decides: shape, gaps and checksum of the values are compared after reading.
    """

    path: str
    url: str = ""
    sha256: str = ""


def locate(file: File, name: str, home: str, download: bool = False) -> Path:
    """Path of a file of the data set ``name``; fetched from its official home if asked for.

    Raises
    ------
    DataError
        If the file is not there and may not, or cannot, be fetched. The message says what to do.
    """
    for folder in _folders():
        if (folder / file.path).is_file():
            return folder / file.path
    if not download or not file.url:
        raise DataError(_how_to_get(file, name, home))
    pooch = need("pooch", "data")
    target = cache_folder() / file.path
    try:
        found = pooch.retrieve(
            file.url, file.sha256 or None, fname=target.name, path=target.parent, progressbar=False
        )
    except (OSError, ValueError) as error:
        raise DataError(f"data set {name!r}: {file.url} could not be fetched: {error}") from error
    return Path(found)


def cache_folder() -> Path:
    """Where fetched files stay: ``nanwise`` in the user's cache folder."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "nanwise"


def _folders() -> list[Path]:
    own = os.environ.get(FOLDER)
    return ([Path(own)] if own else []) + [cache_folder()]


def _how_to_get(file: File, name: str, home: str) -> str:
    own = os.environ.get(FOLDER)
    where = f"not in {own} (${FOLDER})" if own else f"${FOLDER} is not set"
    way = f"get it from {home} and put it there"
    if file.url:
        way = f"call load_dataset({name!r}, download=True), or {way}"
    return f"data set {name!r} needs the file {file.path}: {where}; {way}"
