"""The MovieLens ratings of GroupLens; their terms forbid passing them on, so none is bundled.

Looked for in ``$NANWISE_DATA`` and the cache in the layout of the official archives, unpacked
(``ml-1m/ratings.dat``, gzipped or not) or not (``ml-1m.zip``).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nanwise.data.fetch import FOLDER, File, cache_folder, locate
from nanwise.errors import DataError

if TYPE_CHECKING:
    from nanwise.data.ratings import Ratings

_HOME = "https://files.grouplens.org/datasets/movielens"


@dataclass(frozen=True)
class RatingsSpec:
    """A set of ratings described by plain values, before anything is read.

    Attributes
    ----------
    name, about, source, licence, citation : str
    ratings, users, items : int
        How many there are.
    member : str
        Path of the file in the archive, and below the folder where it is unpacked.
    archive : File
        The official zip file.
    scale : tuple of float
        Smallest, largest and step.
    checksum : str
        :func:`ratings_checksum`; empty where the official ratings are not known to us.
    """

    name: str
    about: str
    ratings: int
    users: int
    items: int
    member: str
    archive: File
    scale: tuple[float, float, float]
    source: str
    checksum: str = ""
    licence: str = "GroupLens: research use, no redistribution without permission"
    citation: str = "Harper, Konstan (2015), The MovieLens datasets: history and context"

    def facts(self) -> dict[str, Any]:
        """Plain values for lists."""
        return asdict(self)

    def load(self, download: bool = False) -> Ratings:
        """Read the set and check that it is the one described here."""
        ratings = self.read(self._found() or self._unpacked(download))
        self._verify(ratings)
        return ratings

    def read(self, path: Path) -> Ratings:
        """Read a file in the layout of this set: user, item, rating, time, no header.

        Times that are 0 throughout (some copies have lost them) are left out.
        """
        from nanwise.data.ratings import read_ratings

        ratings = read_ratings(path, (0, 1, 2, 3), duplicates="error", scale=self.scale)
        if ratings.time is not None and not ratings.time.any():
            facts = {**ratings.facts, "note": "all times are 0 in this copy: left out"}
            return replace(ratings, time=None, facts=facts)
        return ratings

    def _found(self) -> Path | None:
        own = os.environ.get(FOLDER)
        folders = [*([Path(own)] if own else []), cache_folder()]
        paths = [folder / f"{self.member}{end}" for folder in folders for end in ("", ".gz")]
        return next((path for path in paths if path.is_file()), None)

    def _unpacked(self, download: bool) -> Path:
        """The ratings out of the archive, kept in the cache."""
        try:
            archive = locate(self.archive, self.name, self.source, download)
        except DataError as error:
            if download:
                raise
            raise DataError(self._how_to_get()) from error
        target = cache_folder() / self.member
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            _extract(archive, self.member, target)
        except (KeyError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{archive} is not the archive of {self.name!r} with {self.member}: {error}"
            ) from error
        return target

    def _how_to_get(self) -> str:
        own = os.environ.get(FOLDER)
        where = f"not in {own} (${FOLDER})" if own else f"${FOLDER} is not set"
        return (
            f"ratings {self.name!r} need the file {self.member}: {where}; call "
            f"load_ratings({self.name!r}, download=True), or get it from {self.source} "
            "and put it there"
        )

    def _verify(self, ratings: Ratings) -> None:
        where = ratings.facts["source"]
        got = (len(ratings), len(ratings.users), len(ratings.items))
        expected = (self.ratings, self.users, self.items)
        if got != expected:
            raise DataError(
                f"ratings {self.name!r}: expected {expected[0]:,} ratings of {expected[1]:,} users "
                f"and {expected[2]:,} items, got {got[0]:,}, {got[1]:,} and {got[2]:,} in {where}; "
                "the file is another version or cut off"
            )
        if self.checksum and ratings_checksum(ratings) != self.checksum:
            raise DataError(
                f"ratings {self.name!r}: the ratings in {where} are not the expected ones "
                "(checksum differs); the file is another version or was changed"
            )


def ratings_checksum(ratings: Ratings) -> str:
    """Checksum of users, items (whole numbers) and ratings, whatever their order; not of times."""
    users, items = ratings.users[ratings.rows], ratings.items[ratings.matrix.indices]
    order = np.lexsort((items, users))
    digest = hashlib.sha256()
    for part, kind in ((users, "<i8"), (items, "<i8"), (ratings.matrix.data, "<f4")):
        digest.update(part[order].astype(kind).tobytes())
    return digest.hexdigest()[:16]


def _extract(archive: Path, member: str, target: Path) -> None:
    """Unpack one file; seen under its name only when it is complete."""
    with (
        tempfile.TemporaryDirectory(dir=target.parent) as folder,
        zipfile.ZipFile(archive) as packed,
    ):
        os.replace(packed.extract(member, folder), target)


SPECS = [
    RatingsSpec(
        name="ml_100k",
        about="MovieLens 100K: 1 to 5 stars, 1997 to 1998, at least 20 ratings per user",
        ratings=100_000,
        users=943,
        items=1682,
        member="ml-100k/u.data",
        archive=File(
            "ml-100k.zip",
            f"{_HOME}/ml-100k.zip",
            "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        ),
        scale=(1, 5, 1),
        source="https://grouplens.org/datasets/movielens/100k/",
        checksum="6949bdd25f48b9ba",
    ),
    RatingsSpec(
        name="ml_1m",
        about="MovieLens 1M: 1 to 5 stars, 2000 to 2003, at least 20 ratings per user",
        ratings=1_000_209,
        users=6040,
        items=3706,
        member="ml-1m/ratings.dat",
        archive=File(
            "ml-1m.zip",
            f"{_HOME}/ml-1m.zip",
            "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
        ),
        scale=(1, 5, 1),
        source="https://grouplens.org/datasets/movielens/1m/",
        checksum="97d0ec2baaaa45c0",
    ),
    RatingsSpec(
        name="ml_10m",
        about="MovieLens 10M: half stars from 0.5 to 5, 1995 to 2009, at least 20 ratings per user",
        ratings=10_000_054,
        users=69_878,
        items=10_677,
        member="ml-10M100K/ratings.dat",
        archive=File(
            "ml-10m.zip",
            f"{_HOME}/ml-10m.zip",
            "813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
        ),
        scale=(0.5, 5, 0.5),
        source="https://grouplens.org/datasets/movielens/10m/",
    ),
]
